/* SPDX-License-Identifier: Apache-2.0 */
/* bench_watching.c - the cost of watching workers from inside, and what it would cost from a process beside them.
 *
 * usage: bench_watching [--children N] [--seconds N]
 * Families of N recorded workers (default 8, at most the number of seats), with default settings, for N seconds each
 * (default 10):
 *
 *   idle    polls ten times a second and does nothing
 *   serves  computes for half a millisecond, polls for five
 *   waits   sleeps for 50 ms in each message, polls for one: there is a blocked thread to look at
 *
 * `within` is the worker's own watch thread: its CPU time and how often it ran, from /proc/PID/task/TID/schedstat.
 *
 * `beside` is a model that costs less than a real watcher. This process looks at each worker as often as the worker's
 * own thread ran, and does only what no such watcher could omit. It reads the cache line of the header and that of the
 * first thread in the worker's recording, and asks for the worker's CPU time. If a thread is blocked in a message, it
 * reads where, and 4 KiB of its stack. If a thread runs, it asks the kernel whether a signal may be sent to it, as a
 * sender must. It decides nothing, writes no record, keeps no budget, and its sleeps are counted once for all
 * workers. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "recording_format.h"
#include "stallbox/stallbox.h"

enum {
    CHILDREN_MAX = 64,
    SETTLE_MS = 4000,
    PATIENCE_MS = 60000
};
enum kind {
    IDLE,
    SERVES,
    WAITS,
    KINDS
};
static const char *const names[KINDS] = {"idle", "serves", "waits"};

struct worker {
    pid_t pid;
    int watch_schedstat, syscall_file;
    const struct sbx_recording_header *header;
    const struct sbx_thread_entry *first;
};
struct counts {
    double cpu_us, ran;
};

static double now_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void pause_us(long us)
{
    struct timespec left = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&left, NULL);
}

static void be_worker(enum kind kind, int until)
{
    static const int polls_ms[KINDS] = {100, 5, 1};
    struct pollfd waited = {.fd = until, .events = POLLIN};
    volatile unsigned sum = 0;
    while (poll(&waited, 1, polls_ms[kind]) == 0) {
        double begin_us = now_us(CLOCK_MONOTONIC);
        while (kind == SERVES && now_us(CLOCK_MONOTONIC) - begin_us < 500) {
            sum += 1;
        }
        if (kind == WAITS) {
            pause_us(50000);
        }
    }
    _exit(0);
}

/* Finds the one thread of a process that has this name; 0: there is none. */
static int find_thread(pid_t pid, const char *wanted)
{
    char path[64], name[32] = "";
    int found = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && found == 0 && (entry = readdir(folder)) != NULL;) {
        int tid = atoi(entry->d_name);
        snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)pid, tid);
        FILE *file = tid > 0 ? fopen(path, "re") : NULL;
        if (file != NULL) {
            found = fgets(name, sizeof name, file) != NULL && strncmp(name, wanted, strlen(wanted)) == 0 ? tid : 0;
            fclose(file);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}

static bool map_recording(struct worker *worker, const char *recordings)
{
    char begin[32], path[512];
    struct stat status;
    snprintf(begin, sizeof begin, "%d-", (int)worker->pid);
    DIR *folder = opendir(recordings);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", recordings, entry->d_name);
        int file = strncmp(entry->d_name, begin, strlen(begin)) == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (file >= 0 && fstat(file, &status) == 0) {
            void *map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, file, 0);
            worker->header = map != MAP_FAILED ? map : NULL;
        }
        if (file >= 0) {
            close(file);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    if (worker->header != NULL) {
        worker->first = (const void *)((const char *)worker->header + worker->header->threads.at);
    }
    return worker->header != NULL;
}

static bool attend(struct worker *worker, const char *recordings)
{
    char path[64];
    int tid = 0;
    for (int waited_ms = 0; tid == 0 && waited_ms < PATIENCE_MS; waited_ms += 20) {
        pause_us(20000);
        tid = find_thread(worker->pid, "sbx-watch");
    }
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)worker->pid, tid);
    worker->watch_schedstat = open(path, O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)worker->pid, (int)worker->pid);
    worker->syscall_file = open(path, O_RDONLY | O_CLOEXEC);
    return tid != 0 && worker->watch_schedstat >= 0 && worker->syscall_file >= 0 && map_recording(worker, recordings);
}

static struct counts read_counts(const struct worker *worker)
{
    char text[96] = "";
    unsigned long long ran_ns = 0, waited_ns = 0, slices = 0;
    if (pread(worker->watch_schedstat, text, sizeof text - 1, 0) > 0) {
        (void)sscanf(text, "%llu %llu %llu", &ran_ns, &waited_ns, &slices);
    }
    return (struct counts){(double)ran_ns / 1e3, (double)slices};
}

/* Looks once at a worker from this process. */
static void look(const struct worker *worker)
{
    static volatile uint64_t seen;
    clockid_t clock;
    struct timespec used;
    uint32_t kind = __atomic_load_n(&worker->first->call_kind, __ATOMIC_ACQUIRE);
    uint64_t message = __atomic_load_n(&worker->first->message_begin_ns, __ATOMIC_RELAXED);
    seen += __atomic_load_n(&worker->header->heartbeat_ns, __ATOMIC_RELAXED) + message;
    if (clock_getcpuclockid(worker->pid, &clock) == 0 && clock_gettime(clock, &used) == 0) {
        seen += (uint64_t)used.tv_nsec;
    }
    if (message == 0) {
        return;
    }
    if (kind == 0) {
        seen += (uint64_t)kill(worker->pid, 0);
        return;
    }
    char text[256] = "", stack[4096];
    unsigned long long sp = 0;
    if (pread(worker->syscall_file, text, sizeof text - 1, 0) > 0 &&
        sscanf(text, "%*s %*s %*s %*s %*s %*s %*s %llx", &sp) == 1) {
        struct iovec mine = {stack, sizeof stack}, theirs = {(void *)(uintptr_t)sp, sizeof stack};
        seen += (uint64_t)process_vm_readv(worker->pid, &mine, 1, &theirs, 1, 0);
    }
}

/* Makes `looks_each` looks at each worker, spread evenly over `seconds`. Returns the CPU time that this process used,
 * in us. */
static double look_beside(const struct worker *workers, int children, double looks_each, double seconds)
{
    double begin_us = now_us(CLOCK_PROCESS_CPUTIME_ID);
    long rounds = (long)(looks_each + 0.5), pause = rounds > 0 ? (long)(seconds * 1e6 / (double)rounds) : 0;
    for (long i = 0; i < rounds; i++) {
        pause_us(pause);
        for (int k = 0; k < children; k++) {
            look(&workers[k]);
        }
    }
    return now_us(CLOCK_PROCESS_CPUTIME_ID) - begin_us;
}

static int compare_kind(enum kind kind, int children, double seconds, const char *recordings)
{
    static struct worker workers[CHILDREN_MAX];
    int until[2];
    struct counts sum = {0, 0};
    if (pipe(until) != 0) {
        return 1;
    }
    for (int i = 0; i < children; i++) {
        workers[i] = (struct worker){.pid = fork()};
        if (workers[i].pid == 0) {
            close(until[1]);
            be_worker(kind, until[0]);
        }
    }
    int failed = 0;
    for (int i = 0; i < children; i++) {
        failed |= !attend(&workers[i], recordings);
    }
    if (failed == 0) {
        pause_us(SETTLE_MS * 1000L);
        struct counts before[CHILDREN_MAX];
        for (int i = 0; i < children; i++) {
            before[i] = read_counts(&workers[i]);
        }
        pause_us((long)(seconds * 1e6));
        for (int i = 0; i < children; i++) {
            struct counts after = read_counts(&workers[i]);
            sum.cpu_us += after.cpu_us - before[i].cpu_us;
            sum.ran += after.ran - before[i].ran;
        }
        double each_second = 1 / (seconds * children), looks_each = sum.ran / children;
        double beside_us = look_beside(workers, children, looks_each, seconds);
        printf("%-8s %8.1f %14.1f %14.1f %14.1f %14.2f\n", names[kind], sum.ran * each_second, sum.cpu_us * each_second,
               beside_us * each_second, sum.ran > 0 ? sum.cpu_us / sum.ran : 0, sum.ran > 0 ? beside_us / sum.ran : 0);
        fflush(stdout);
    }
    close(until[1]);
    close(until[0]);
    while (wait(NULL) > 0) {
    }
    return failed;
}

int main(int argc, char **argv)
{
    int children = 8, failed = 0;
    double seconds = 10;
    for (int i = 1; i + 1 < argc; i += 2) {
        children = strcmp(argv[i], "--children") == 0 ? atoi(argv[i + 1]) : children;
        seconds = strcmp(argv[i], "--seconds") == 0 ? atof(argv[i + 1]) : seconds;
    }
    if (children < 1 || children > CHILDREN_MAX || seconds <= 0) {
        fputs("usage: bench_watching [--children N] [--seconds N]\n", stderr);
        return 2;
    }
    char folder[] = "/tmp/bench-watching-XXXXXX", spool[64], command[96],
         recordings[] = "/dev/shm/bench-watching-XXXXXX";
    if (mkdtemp(folder) == NULL || mkdtemp(recordings) == NULL) {
        return 1;
    }
    snprintf(spool, sizeof spool, "%s/spool", folder);
    struct stallbox_options options = {
        .sizeof_options = sizeof options, .spool_path = spool, .recording_path = recordings};
    if (stallbox_start(&options) != STALLBOX_OK) {
        fputs("bench_watching: the recorder did not start\n", stderr);
        return 1;
    }
    pause_us(500000);
    printf("%d workers, us of processor time a worker and second\n", children);
    printf("%-8s %8s %14s %14s %14s %14s\n", "worker", "looks/s", "within", "beside", "within a look", "beside a look");
    for (int kind = 0; kind < KINDS && failed == 0; kind++) {
        failed = compare_kind((enum kind)kind, children, seconds, recordings);
    }
    stallbox_stop(5000);
    snprintf(command, sizeof command, "rm -rf %s %s", folder, recordings);
    return failed != 0 || system(command) != 0;
}
