/* SPDX-License-Identifier: Apache-2.0 */
/* bench_agent.c - what the recorder's own threads cost an application: how long a snapshot takes and whether a thread
 * waits for it, how often the recorder's threads wake while the application rests, and how much memory they use.
 *
 * usage: bench_agent [--json] [--rounds N] [--seconds N]
 * N seconds of rest are watched (default 60) in a process of its own, while other processes measure. Nothing disturbs a
 * process at rest.
 * Why it matters: a snapshot that delays the application would be a stall of our own making, and wake-ups use a
 * laptop's battery. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "control_order.h"
#include "order.h"
#include "rounds.h"
#include "stallbox/stallbox.h"

enum {
    ROUNDS_DEFAULT = 21,
    SECONDS_DEFAULT = 60,
    SETTLE_S = 3, /* until the rows are built and written, and the watch thread has seen that nothing happens */
    BUSY_THREADS = 8,
    MEMORY_THREADS = 50,
    OUR_THREADS = 2, /* sbx-watch and sbx-modules */
    WINDOW_MS = 150, /* each has one snapshot or none */
};

static char folder[64], spool[64];

static enum stallbox_result start(void)
{
    snprintf(folder, sizeof folder, "%s/stallbox-bench-%d", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
             (int)getpid());
    snprintf(spool, sizeof spool, "/var/tmp/stallbox-spool-%d", (int)getpid()); /* on a disk, if there is one */
    const struct stallbox_options options = {
        .sizeof_options = sizeof options, .recording_path = folder, .spool_path = spool, .interval_us = 1000};
    enum stallbox_result result = stallbox_start(&options);
    if (result != STALLBOX_OK) {
        fprintf(stderr, "bench_agent: no recorder: %s\n", stallbox_result_name(result));
    }
    return result;
}

static void empty_spool(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s/raw", spool);
    DIR *listing = opendir(path);
    for (struct dirent *entry = listing != NULL ? readdir(listing) : NULL; entry != NULL; entry = readdir(listing)) {
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/raw/%.255s", spool, entry->d_name);
            unlink(path);
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
}

static void stop(void)
{
    char path[80];
    stallbox_stop(5000);
    empty_spool();
    snprintf(path, sizeof path, "%s/raw", spool);
    rmdir(path);
    rmdir(spool);
    rmdir(folder);
}

static void sleep_ms(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

/* A child process that runs `body` and writes a result at the end. */
struct child {
    pid_t pid;
    int result;
};

static struct child start_child(const char *what)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return (struct child){-1, -1};
    }
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/proc/self/exe", "bench_agent", "--child", what, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    return (struct child){pid, ends[0]};
}

static bool end_child(const struct child *child)
{
    int status = -1;
    close(child->result);
    return waitpid(child->pid, &status, 0) == child->pid && status == 0;
}

/* ---- at rest ---- */

static int rest(void)
{
    char ready = 1;
    if (start() != STALLBOX_OK) {
        return 1;
    }
    sleep_ms(SETTLE_S * 1000);
    if (write(STDOUT_FILENO, &ready, 1) != 1) {
        return 1;
    }
    struct pollfd parent = {.fd = STDOUT_FILENO};
    poll(&parent, 1, -1); /* until the parent no longer reads our output */
    stop();
    return 0;
}

/* Reads how often our threads of process `pid` went to sleep so far, which is as often as they were woken. Returns
 * false if there are not two of them. */
static bool read_wake_ups(pid_t pid, long *count_out)
{
    char path[512], line[256];
    int threads = 0;
    *count_out = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    for (struct dirent *task = tasks != NULL ? readdir(tasks) : NULL; task != NULL; task = readdir(tasks)) {
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/status", (int)pid, task->d_name);
        FILE *status = task->d_name[0] != '.' ? fopen(path, "re") : NULL;
        bool is_ours = false;
        while (status != NULL && fgets(line, sizeof line, status) != NULL) {
            long count;
            is_ours = is_ours || strncmp(line, "Name:\tsbx-", 10) == 0;
            if (is_ours && sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1) {
                *count_out += count;
                threads++;
            }
        }
        if (status != NULL) {
            fclose(status);
        }
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return threads == OUR_THREADS;
}

/* ---- memory ---- */

static pthread_barrier_t all_there;

static void *work_and_rest(void *unused)
{
    void *volatile memory[16] = {NULL};
    for (int i = 0; i < 400; i++) { /* 200 ms in which a sample is due every millisecond */
        for (int k = 0; k < 2000; k++) {
            free(memory[k % 16]);
            memory[k % 16] = malloc(64);
        }
        sleep_ms(1);
    }
    for (int k = 0; k < 16; k++) {
        free(memory[k]);
    }
    pthread_barrier_wait(&all_there);
    sleep_ms(3600 * 1000);
    return unused;
}

struct memory {
    double all, recording, library; /* KiB resident */
};

static struct memory read_memory(void)
{
    struct memory found = {0, 0, 0};
    char line[1024];
    enum {
        OTHER,
        RECORDING,
        LIBRARY
    } mapping = OTHER;
    FILE *smaps = fopen("/proc/self/smaps", "re");
    while (smaps != NULL && fgets(line, sizeof line, smaps) != NULL) {
        unsigned long begin, end;
        double kib;
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2) {
            mapping = strstr(line, SBX_RECORDING_SUFFIX) != NULL ? RECORDING
                      : strstr(line, "/libstallbox") != NULL     ? LIBRARY
                                                                 : OTHER;
        } else if (sscanf(line, "Rss: %lf kB", &kib) == 1) {
            found.all += kib;
            found.recording += mapping == RECORDING ? kib : 0;
            found.library += mapping == LIBRARY ? kib : 0;
        }
    }
    if (smaps != NULL) {
        fclose(smaps);
    }
    return found;
}

static int use_memory(bool is_started)
{
    pthread_barrier_init(&all_there, NULL, MEMORY_THREADS + 1);
    if (is_started && start() != STALLBOX_OK) {
        return 1;
    }
    for (int i = 0; i < MEMORY_THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work_and_rest, NULL) != 0) {
            return 1;
        }
    }
    pthread_barrier_wait(&all_there);
    sleep_ms(500);
    struct memory memory = read_memory();
    if (write(STDOUT_FILENO, &memory, sizeof memory) != (ssize_t)sizeof memory) {
        return 1;
    }
    if (is_started) {
        stop();
    }
    _exit(0);
}

static bool measure_memory(const struct bench_options *options)
{
    struct memory without, with;
    struct child bare = start_child("memory-bare");
    bool is_done = read(bare.result, &without, sizeof without) == (ssize_t)sizeof without && end_child(&bare);
    struct child recorded = start_child("memory");
    is_done = is_done && read(recorded.result, &with, sizeof with) == (ssize_t)sizeof with && end_child(&recorded);
    if (!is_done) {
        return false;
    }
    static struct bench_series ours, recording;
    bench_series_add(&ours, ((with.all - with.recording) - (without.all - without.library)) / 1024);
    bench_series_add(&recording, with.recording / 1024);
    const struct bench_line lines[] = {
        {"agent", "memory beyond the recording, 50 threads", "MiB", NULL, "value <= 8"},
        {"agent", "memory of the recording, 50 threads", "MiB", NULL, NULL},
    };
    bench_print(options->json, &lines[0], &ours, NULL);
    bench_print(options->json, &lines[1], &recording, NULL);
    return true;
}

/* ---- a snapshot of a busy application ---- */

static uint32_t is_over, spin_window;
static double longest_gap_ns[4096]; /* longest gaps of the spinning thread, by window */
static long spinner_slept;          /* voluntary switches of the spinning thread, which itself never asks for one */

static void *be_busy(void *seed)
{
    uint64_t random = (uint64_t)(uintptr_t)seed;
    void *memory[64] = {NULL};
    while (sbx_load_relaxed(&is_over) == 0) { /* relaxed: a flag */
        random = random * 6364136223846793005u + 1442695040888963407u;
        void **place = &memory[random >> 58];
        free(*place);
        *place = malloc((random >> 40) % 2000 + 1);
    }
    for (int i = 0; i < 64; i++) {
        free(memory[i]);
    }
    return NULL;
}

static void *spin(void *unused)
{
    struct rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    double last = bench_now_ns();
    while (sbx_load_relaxed(&is_over) == 0) { /* relaxed: a flag */
        uint32_t window = sbx_load_relaxed(&spin_window);
        double now = bench_now_ns();
        if (now - last > longest_gap_ns[window]) {
            longest_gap_ns[window] = now - last;
        }
        last = now;
    }
    getrusage(RUSAGE_THREAD, &after);
    spinner_slept = after.ru_nvcsw - before.ru_nvcsw;
    return unused;
}

static void tell(const struct bench_options *options, const char *metric, const char *unit, const char *peer,
                 const char *reach, const struct bench_series *ours, const struct bench_series *theirs)
{
    const struct bench_line line = {"agent", metric, unit, peer, reach};
    bench_print(options->json, &line, ours, theirs);
}

/* Runs `busy` threads beside the spinning one. With none, the machine has an idle CPU; with eight, it has none. */
static bool measure_snapshots(const struct bench_options *options, int busy)
{
    pthread_t threads[BUSY_THREADS], spinner;
    struct bench_series with = {.count = 0}, without = {.count = 0}, durable = {.count = 0}, slept = {.count = 0};
    char metric[128];
    is_over = 0;
    spin_window = 0;
    for (int i = 0; i < busy; i++) {
        pthread_create(&threads[i], NULL, be_busy, (void *)(uintptr_t)(i + 1));
    }
    sleep_ms(500);
    pthread_create(&spinner, NULL, spin, NULL);
    bool is_done = true;
    for (int round = 0; is_done && round < options->rounds; round++) {
        for (int k = 0; k < 2; k++) {
            bool has_snapshot = (round + k) % 2 == 0;
            longest_gap_ns[spin_window + 1] = 0;
            sbx_store_relaxed(&spin_window, spin_window + 1); /* relaxed: a gap at the border counts in either */
            double begin = bench_now_ns();
            if (has_snapshot) {
                is_done = stallbox_snapshot(5000) == STALLBOX_OK;
                bench_series_add(&durable, (bench_now_ns() - begin) / 1e6);
            }
            double left_ms = WINDOW_MS - (bench_now_ns() - begin) / 1e6;
            sleep_ms(left_ms > 0 ? (long)left_ms : 0);
            bench_series_add(has_snapshot ? &with : &without, longest_gap_ns[spin_window] / 1e6);
            empty_spool();
        }
    }
    sbx_store_relaxed(&is_over, 1);
    pthread_join(spinner, NULL);
    for (int i = 0; i < busy; i++) {
        pthread_join(threads[i], NULL);
    }
    bench_series_add(&slept, (double)spinner_slept);
    snprintf(metric, sizeof metric, "trigger to durable snapshot, %d threads busy", busy + 1);
    tell(options, metric, "ms", NULL, "value < 50", &durable, NULL);
    if (busy == 0) { /* otherwise the scheduler's gaps are longer than the windows */
        tell(options, "longest gap of a spinning thread in a snapshot", "ms", "the same without a snapshot",
             "ratio no thread waits: 1.00", &with, &without);
    }
    snprintf(metric, sizeof metric, "waits of a thread that spins meanwhile, %d busy", busy + 1);
    tell(options, metric, "waits", NULL, "value <= 0", &slept, NULL);
    return is_done;
}

static int measure_all(const struct bench_options *options)
{
    bench_print_heading(options->json, "the recorder's own threads");
    struct child resting = start_child("rest");
    char ready = 0;
    bool is_resting = read(resting.result, &ready, 1) == 1;
    sleep_ms(SETTLE_S * 1000); /* its output was an event, and the watch thread has looked at it by now */
    long before = 0, after = 0;
    is_resting = read_wake_ups(resting.pid, &before) && is_resting;
    double rested = bench_now_ns();

    bool is_done = is_resting && measure_memory(options) && start() == STALLBOX_OK;
    struct sbx_recording_header *header = is_done ? bench_control_open(folder, (uint32_t)getpid()) : NULL;
    if (header != NULL) {
        struct sbx_capture_settings settings = sbx_control_page_of(header)->in_force;
        settings.min_gap_ms = 100;
        is_done = bench_control_order(header, &settings) && measure_snapshots(options, BUSY_THREADS) &&
                  measure_snapshots(options, 0);
        stop();
    }
    double left_ms = options->seconds * 1e3 - (bench_now_ns() - rested) / 1e6;
    sleep_ms(left_ms > 0 ? (long)left_ms : 0);
    is_resting = read_wake_ups(resting.pid, &after) && is_resting;
    double seconds = (bench_now_ns() - rested) / 1e9;
    close(resting.result); /* the child's output has no reader now: it stops its recorder and ends */
    is_done = waitpid(resting.pid, NULL, 0) == resting.pid && is_done;
    if (is_resting) {
        struct bench_series woken = {.count = 0};
        char metric[128];
        bench_series_add(&woken, (double)(after - before));
        snprintf(metric, sizeof metric, "wake-ups of an application at rest in %.0f s", seconds);
        tell(options, metric, "wake-ups", NULL, "value <= 0", &woken, NULL);
    } else {
        fprintf(stderr, "bench_agent: the threads of the application at rest cannot be read\n");
    }
    return is_resting && is_done && header != NULL ? 0 : 1;
}

int main(int count, char **arguments)
{
    struct bench_options options = {.rounds = ROUNDS_DEFAULT, .seconds = SECONDS_DEFAULT};
    if (count == 3 && strcmp(arguments[1], "--child") == 0) {
        return strcmp(arguments[2], "rest") == 0 ? rest() : use_memory(strcmp(arguments[2], "memory") == 0);
    }
    return bench_read_options(count, arguments, &options) ? measure_all(&options) : 2;
}
