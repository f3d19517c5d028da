/* SPDX-License-Identifier: Apache-2.0 */
/* stress_host.c - a host that does everything at the same time, with the recorder in it.
 *
 * usage: stress_host [SECONDS]
 * Threads that allocate, compete for locks, wait for conditions, sleep, poll and block in pipes; threads that live for
 * microseconds; modules that are loaded and unloaded; forks; and snapshots all the time. It must exit with 0, every
 * snapshot must be readable, and the host's own sums must be right. Prints what was recorded and lost. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "names.h"
#include "snapshot_folder.h"
#include "stallbox/stallbox.h"

enum {
    WORKERS = 8
};

static atomic_bool goes_on = true;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static long under_lock; /* protected by lock */
static atomic_long locked, interrupted, short_lives, module_turns, forks;
static int pipe_fds[2];

static void pause_us(long us)
{
    const struct timespec pause = {us / 1000000, us % 1000000 * 1000};
    if (nanosleep(&pause, NULL) != 0 && errno == EINTR) {
        interrupted++;
    }
}

__attribute__((noinline)) static unsigned compute(unsigned depth, unsigned seed)
{
    volatile unsigned sum = seed;
    for (int i = 0; i < 2000; i++) {
        sum += sum * 31 + (unsigned)i;
    }
    return depth == 0 ? sum : compute(depth - 1, sum) + 1;
}

static void allocate(unsigned *seed)
{
    void *volatile blocks[16];
    for (int i = 0; i < 16; i++) {
        blocks[i] = malloc(16 + rand_r(seed) % 4000);
    }
    for (int i = 0; i < 16; i++) {
        free(blocks[i]);
    }
}

static void *work(void *number)
{
    unsigned seed = (unsigned)(uintptr_t)number + 1;
    while (goes_on) {
        struct timespec soon;
        struct pollfd none = {.fd = -1};
        char byte = 1;
        switch (rand_r(&seed) % 7) {
        case 0:
            allocate(&seed);
            break;
        case 1:
            pthread_mutex_lock(&lock);
            under_lock++;
            locked++;
            if (rand_r(&seed) % 8 == 0) {
                pause_us(500);
            }
            pthread_mutex_unlock(&lock);
            break;
        case 2:
            clock_gettime(CLOCK_REALTIME, &soon);
            soon.tv_nsec = soon.tv_nsec + 300000 < 1000000000 ? soon.tv_nsec + 300000 : 999999999;
            pthread_mutex_lock(&lock);
            pthread_cond_timedwait(&condition, &lock, &soon);
            pthread_mutex_unlock(&lock);
            pthread_cond_signal(&condition);
            break;
        case 3:
            compute(rand_r(&seed) % 40, seed);
            break;
        case 4:
            if (poll(&none, 1, 1) < 0 && errno == EINTR) {
                interrupted++;
            }
            break;
        case 5:
            if (write(pipe_fds[1], &byte, 1) == 1) {
                while (read(pipe_fds[0], &byte, 1) < 0 && errno == EINTR) {
                }
            }
            break;
        default:
            pause_us(200);
        }
    }
    return NULL;
}

static void *live_shortly(void *unused)
{
    unsigned seed = 1;
    (void)unused;
    allocate(&seed);
    return NULL;
}

static void *make_threads(void *unused)
{
    (void)unused;
    while (goes_on) {
        pthread_t threads[8];
        int made = 0;
        while (made < 8 && pthread_create(&threads[made], NULL, live_shortly, NULL) == 0) {
            made++;
        }
        for (int i = 0; i < made; i++) {
            pthread_join(threads[i], NULL);
            short_lives++;
        }
    }
    return NULL;
}

static void *load_modules(void *unused)
{
    (void)unused;
    while (goes_on) {
        void *module = dlopen(LATE_MODULE, RTLD_NOW);
        void (*late_sleep)(long) = module != NULL ? (void (*)(long))dlsym(module, "late_module_sleep") : NULL;
        if (late_sleep == NULL) {
            fprintf(stderr, "stress_host: %s\n", dlerror());
            exit(1);
        }
        late_sleep(1);
        dlclose(module);
        module_turns++;
    }
    return NULL;
}

static void fork_once(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        void *volatile memory = malloc(1000);
        free(memory);
        pause_us(100);
        _exit(7);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7) {
        fprintf(stderr, "stress_host: a forked child did not end as it should\n");
        exit(1);
    }
    forks++;
}

struct read_back {
    unsigned count;
    unsigned long records, drops[SBX_DROP_COUNT];
};

/* One after another, because there may be hundreds. */
static const char *read_back(void *context, const char *path, struct sbx_snapshot *snapshot)
{
    struct read_back *all = context;
    bool is_damaged = snapshot->drops[SBX_DROP_BAD_RECORD] != 0;
    all->count++;
    all->records += snapshot->record_count;
    for (int i = 0; i < SBX_DROP_COUNT; i++) {
        all->drops[i] = snapshot->drops[i] > all->drops[i] ? snapshot->drops[i] : all->drops[i];
    }
    sbx_snapshot_destroy(snapshot);
    unlink(path);
    return is_damaged ? "holds bytes that are no record" : NULL;
}

/* Read every snapshot back. Returns how many there are; exits when one is damaged. */
static unsigned check_snapshots(const char *raw)
{
    struct read_back all = {0};
    char why[700];
    if (snapshot_folder_visit(raw, read_back, &all, why, sizeof why) != 0) {
        fprintf(stderr, "stress_host: %s\n", why);
        exit(1);
    }
    unsigned count = all.count;
    unsigned long records = all.records;
    const unsigned long *drops = all.drops;
    printf("%u snapshots, %lu records read back\n", count, records);
    for (int i = 0; i < SBX_DROP_COUNT; i++) {
        if (drops[i] != 0) {
            printf("  dropped %lu %s\n", drops[i], sbx_drop_name((uint32_t)i));
        }
    }
    return count;
}

int main(int argc, char **argv)
{
    int seconds = argc > 1 ? atoi(argv[1]) : 5;
    char folder[] = "/tmp/sbx-stress-host-XXXXXX", spool[64], recordings[64], raw[80];
    pthread_t threads[WORKERS + 2];
    if (mkdtemp(folder) == NULL || pipe(pipe_fds) != 0) {
        perror("stress_host");
        return 1;
    }
    snprintf(spool, sizeof spool, "%s/spool", folder);
    snprintf(recordings, sizeof recordings, "%s/recordings", folder);
    snprintf(raw, sizeof raw, "%s/raw", spool);
    struct stallbox_options options = {.sizeof_options = sizeof options,
                                       .spool_path = spool,
                                       .recording_path = recordings,
                                       .anr_ms = 2000,
                                       .slow_message_ms = 20,
                                       .interval_us = 1000};
    enum stallbox_result result = stallbox_start(&options);
    if (result != STALLBOX_OK) {
        fprintf(stderr, "stress_host: start: %s\n", stallbox_result_name(result));
        return 1;
    }
    for (uintptr_t i = 0; i < WORKERS; i++) {
        pthread_create(&threads[i], NULL, work, (void *)i);
    }
    pthread_create(&threads[WORKERS], NULL, make_threads, NULL);
    pthread_create(&threads[WORKERS + 1], NULL, load_modules, NULL);

    time_t end = time(NULL) + seconds;
    for (unsigned turn = 0; time(NULL) < end; turn++) {
        struct pollfd none = {.fd = -1};
        poll(&none, 1, 1);
        if (turn % 50 == 0) {
            pause_us(30000); /* a slow message: a snapshot */
        }
        if (turn % 97 == 0) {
            fork_once();
        }
        if (turn % 113 == 0) {
            stallbox_snapshot(0);
        }
        compute(turn % 30, turn);
    }
    goes_on = false;
    for (int i = 0; i < WORKERS + 2; i++) {
        pthread_join(threads[i], NULL);
    }
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    stallbox_read_counts(&counts);
    result = stallbox_stop(10000);
    printf("%ld locked, %ld short threads, %ld module turns, %ld forks, %ld calls interrupted\n", (long)locked,
           (long)short_lives, (long)module_turns, (long)forks, (long)interrupted);
    printf("%llu records at points, %llu by signal, %llu of blocked threads, %llu messages\n",
           (unsigned long long)counts.captures_sync, (unsigned long long)counts.captures_async,
           (unsigned long long)counts.captures_observed, (unsigned long long)counts.messages);
    unsigned snapshots = check_snapshots(raw);
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    int removed = system(command);
    if (under_lock != locked || interrupted != 0 || snapshots == 0 || result != STALLBOX_OK || removed != 0) {
        fprintf(stderr, "stress_host: %ld under the lock, %ld interrupted, %u snapshots, stop: %s\n", under_lock,
                (long)interrupted, snapshots, stallbox_result_name(result));
        return 1;
    }
    return 0;
}
