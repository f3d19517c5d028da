/* SPDX-License-Identifier: Apache-2.0 */
/* bench_points.c - what a capture point adds to its call, when nothing is due and when a sample is due every
 * millisecond; and the cost of a recorder that is present but switched off.
 *
 * usage: bench_points [--json] [--rounds N]
 * One process measures. Its hooks are removed and installed again from round to round through the control page, so that
 * bare and hooked calls are the same code at the same addresses. For "switched off", this would prove nothing. So there
 * each round starts processes: one that never started a recorder, one that started it and switched it off, and one
 * without a recorder but with a thread that sleeps. In a process with several threads, glibc locks with atomic
 * instructions, and the kernel counts references of descriptors. So a second thread, whatever code starts it, costs a
 * program that had only one. Why it matters: a program makes millions of these calls. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "control_order.h"
#include "rounds.h"
#include "stallbox/stallbox.h"

enum {
    ROUNDS_DEFAULT = 41,
    OFF_ROUNDS = 15,
    OFF_PASSES = 7, /* in each process of a pair; the process's own median counts */
    REPEATS = 3,    /* of each call in a round; the smallest counts, because other programs disturbed it least */
    MIX_SLOTS = 512,
    GAP_US = 5000, /* the default: running threads get no signals more often than this */
};

/* ---- the calls ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int file_fd, pair_fds[2], loop_set, client_fd;
static volatile uint64_t sink;

static void malloc_pair(int calls)
{
    for (int i = 0; i < calls; i++) {
        void *volatile memory = malloc(32);
        free(memory);
    }
}

/* Sizes from 16 bytes to 4 KiB, small ones more often. Each block lives until its slot is chosen again. */
static void malloc_mix(int calls)
{
    static void *slots[MIX_SLOTS];
    uint32_t random = 2463534242u;
    for (int i = 0; i < calls; i++) {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        uint32_t slot = random % MIX_SLOTS;
        free(slots[slot]);
        slots[slot] = malloc((size_t)16 << (random >> 9) % 9 >> (random >> 20) % 3);
    }
    for (int i = 0; i < MIX_SLOTS; i++) {
        free(slots[i]);
        slots[i] = NULL;
    }
}

static void mutex_pair(int calls)
{
    for (int i = 0; i < calls; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
}

static void read_clock(int calls)
{
    for (int i = 0; i < calls; i++) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        sink += (uint64_t)now.tv_nsec;
    }
}

static void read_byte(int calls)
{
    for (int i = 0; i < calls; i++) {
        char byte = 0;
        sink += (uint64_t)pread(file_fd, &byte, 1, 0);
    }
}

/* A message in both directions, with both ends in this thread: two sends, and two receives that need not wait. */
static void ping(int calls)
{
    for (int i = 0; i < calls; i++) {
        char byte = 1;
        sink += (uint64_t)send(pair_fds[0], &byte, 1, 0);
        sink += (uint64_t)recv(pair_fds[1], &byte, 1, 0);
        sink += (uint64_t)send(pair_fds[1], &byte, 1, 0);
        sink += (uint64_t)recv(pair_fds[0], &byte, 1, 0);
    }
}

/* Turns of a loop that always finds an event, because the event is never consumed. The messages between the turns are
 * empty. */
static void turn(int calls)
{
    for (int i = 0; i < calls; i++) {
        struct epoll_event event;
        sink += (uint64_t)epoll_wait(loop_set, &event, 1, -1);
    }
}

/* Reads by the thread with the loop, from a client that has sent nothing: prompt calls. */
static void read_client(int calls)
{
    for (int i = 0; i < calls; i++) {
        char byte;
        sink += (uint64_t)read(client_fd, &byte, 1);
    }
}

static const struct call {
    const char *name;
    void (*body)(int calls);
    int calls; /* in one measurement, which takes about a millisecond */
    const char *reach;
} calls[] = {
    {"malloc + free of 32 bytes", malloc_pair, 60000, "ratio <= 1.1"},
    {"malloc + free, random sizes and lifetimes", malloc_mix, 30000, NULL},
    {"mutex lock + unlock, uncontended", mutex_pair, 60000, "ratio <= 1.3"},
    {"clock_gettime", read_clock, 30000, NULL},
    {"pread of one byte", read_byte, 4000, NULL},
    {"socketpair ping", ping, 500, NULL},
    {"a turn of a loop: epoll_wait", turn, 3000, NULL},
    {"a read that cannot wait, of a client in a loop", read_client, 5000, NULL},
};
enum {
    CALLS = sizeof calls / sizeof calls[0]
};

static double measure(const struct call *call)
{
    double best = 0;
    call->body(call->calls / 8);
    for (int i = 0; i < REPEATS; i++) {
        double begin = bench_now_ns();
        call->body(call->calls);
        double each = (bench_now_ns() - begin) / call->calls;
        best = i == 0 || each < best ? each : best;
    }
    return best;
}

/* A client of this process, as its hooks know it if they are in. */
static bool open_client(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t bytes = sizeof address;
    int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(door, (const struct sockaddr *)&address, sizeof address.sun_family) != 0 || listen(door, 1) != 0 ||
        getsockname(door, (struct sockaddr *)&address, &bytes) != 0 ||
        connect(other, (const struct sockaddr *)&address, bytes) != 0) { /* a name that the kernel chose */
        return false;
    }
    client_fd = accept4(door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    close(door);
    return client_fd >= 0;
}

static bool open_files(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    int always = eventfd(1, EFD_CLOEXEC);
    file_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    loop_set = epoll_create1(EPOLL_CLOEXEC);
    return file_fd >= 0 && loop_set >= 0 && always >= 0 && epoll_ctl(loop_set, EPOLL_CTL_ADD, always, &event) == 0 &&
           socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair_fds) == 0 && open_client();
}

/* ---- a recorder in this process ---- */

static char folder[64], spool[64];

static struct sbx_recording_header *start(void)
{
    snprintf(folder, sizeof folder, "%s/stallbox-bench-%d", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
             (int)getpid());
    snprintf(spool, sizeof spool, "/tmp/stallbox-spool-%d", (int)getpid());
    const struct stallbox_options options = {
        .sizeof_options = sizeof options, .recording_path = folder, .spool_path = spool};
    enum stallbox_result result = stallbox_start(&options);
    struct sbx_recording_header *header = result == STALLBOX_OK ? bench_control_open(folder, (uint32_t)getpid()) : NULL;
    if (header == NULL) {
        fprintf(stderr, "bench_points: no recorder: %s\n", stallbox_result_name(result));
    }
    return header;
}

static void stop(void)
{
    char path[80];
    stallbox_stop(5000);
    rmdir(folder);
    snprintf(path, sizeof path, "%s/raw", spool);
    rmdir(path);
    rmdir(spool);
}

/* ---- switched off, and never started: one process each ---- */

enum state {
    NEVER,
    THREADED,
    OFF,
    STATES
};
static const char *const state_names[STATES] = {"never", "threaded", "off"};

static void *sleep_for_ever(void *unused)
{
    for (;;) {
        pause();
    }
    return unused;
}

static int run_child(enum state state)
{
    static struct bench_series passes[CALLS];
    bool is_started = state == OFF;
    pthread_t thread;
    if (state == THREADED && pthread_create(&thread, NULL, sleep_for_ever, NULL) != 0) {
        return 1;
    }
    struct sbx_recording_header *header = is_started ? start() : NULL;
    if (!open_files() || (is_started && header == NULL)) {
        return 1;
    }
    if (is_started) {
        struct sbx_capture_settings off = sbx_control_page_of(header)->in_force;
        off.enabled = 0;
        if (!bench_control_order(header, &off)) {
            return 1;
        }
    }
    const struct timespec settle = {0, 300000000}; /* the rows are built and written meanwhile */
    nanosleep(&settle, NULL);
    for (int pass = 0; pass < OFF_PASSES; pass++) {
        for (int i = 0; i < CALLS; i++) {
            bench_series_add(&passes[i], measure(&calls[i]));
        }
    }
    double medians[CALLS];
    for (int i = 0; i < CALLS; i++) {
        medians[i] = bench_series_at(&passes[i], 0.5);
    }
    if (is_started) {
        stop();
    }
    return write(STDOUT_FILENO, medians, sizeof medians) == (ssize_t)sizeof medians ? 0 : 1;
}

static bool ask_child(enum state state, double medians[CALLS])
{
    int ends[2], status = -1;
    if (pipe(ends) != 0) {
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/proc/self/exe", "bench_points", "--child", state_names[state], (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    bool is_whole =
        pid > 0 && read(ends[0], medians, CALLS * sizeof medians[0]) == (ssize_t)(CALLS * sizeof medians[0]);
    close(ends[0]);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 && is_whole;
}

static bool measure_switched_off(const struct bench_options *options)
{
    static struct bench_series series[STATES][CALLS];
    int rounds = options->rounds < OFF_ROUNDS ? options->rounds : OFF_ROUNDS;
    for (int round = 0; round < rounds; round++) {
        for (int k = 0; k < STATES; k++) {
            enum state state = (enum state)((round + k) % STATES);
            double medians[CALLS];
            if (!ask_child(state, medians)) {
                return false;
            }
            for (int i = 0; i < CALLS; i++) {
                bench_series_add(&series[state][i], medians[i]);
            }
        }
    }
    for (int i = 0; i < CALLS; i++) {
        char metric[128];
        snprintf(metric, sizeof metric, "%s, switched off", calls[i].name);
        struct bench_line line = {"points", metric, "ns", "never started, one thread more",
                                  "ratio not measurable: 1.00"};
        bench_print(options->json, &line, &series[OFF][i], &series[THREADED][i]);
        snprintf(metric, sizeof metric, "%s, switched off, its threads counted", calls[i].name);
        line.peer = "never started, one thread";
        line.reach = NULL;
        bench_print(options->json, &line, &series[OFF][i], &series[NEVER][i]);
    }
    return true;
}

/* ---- hooks in and out, in one process ---- */

static bool measure_hooks(const struct bench_options *options)
{
    static struct bench_series bare[CALLS], idle[CALLS], due[CALLS];
    struct sbx_recording_header *header = start();
    if (header == NULL || !open_files()) {
        return false;
    }
    struct sbx_capture_settings settings = sbx_control_page_of(header)->in_force;
    settings.points = SBX_POINTS_ALL;
    struct state {
        struct bench_series *series;
        uint32_t enabled, interval_us;
    } states[] = {{bare, 0, 1000}, {idle, 1, 1000000}, {due, 1, 1000}};
    for (int round = -1; round < options->rounds; round++) {
        for (int k = 0; k < 3; k++) {
            const struct state *state = &states[round % 2 == 0 ? k : 2 - k];
            settings.enabled = state->enabled;
            settings.interval_us = state->interval_us;
            settings.gap_us = state->interval_us > GAP_US ? state->interval_us : GAP_US;
            settings.max_cpu_permille = 0; /* to measure the bare cost, without the budget's effect */
            if (!bench_control_order(header, &settings) || (round < 0 && state->enabled != 0 && !open_client())) {
                return false;
            }
            for (int i = 0; i < CALLS; i++) {
                double each = measure(&calls[i]);
                if (round >= 0) {
                    bench_series_add(&state->series[i], each);
                }
            }
        }
    }
    stop();
    for (int i = 0; i < CALLS; i++) {
        struct bench_line line = {"points", calls[i].name, "ns", "the bare calls", calls[i].reach};
        bench_print(options->json, &line, &idle[i], &bare[i]);
    }
    for (int i = 0; i < CALLS; i++) {
        char metric[128];
        snprintf(metric, sizeof metric, "%s, sampled each ms", calls[i].name);
        struct bench_line line = {"points", metric, "ns", "the bare calls", NULL};
        bench_print(options->json, &line, &due[i], &bare[i]);
    }
    return true;
}

int main(int count, char **arguments)
{
    struct bench_options options = {.rounds = ROUNDS_DEFAULT};
    if (count == 3 && strcmp(arguments[1], "--child") == 0) {
        for (int state = 0; state < STATES; state++) {
            if (strcmp(arguments[2], state_names[state]) == 0) {
                return run_child((enum state)state);
            }
        }
        return 2;
    }
    if (!bench_read_options(count, arguments, &options)) {
        return 2;
    }
    bench_print_heading(options.json, "a call with its capture point");
    return measure_switched_off(&options) && measure_hooks(&options) ? 0 : 1;
}
