/* SPDX-License-Identifier: Apache-2.0 */
/* stall_main.c - runs one case in the host that it is linked with, among other threads without a part in it. */
#include "stall.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

volatile uint64_t stall_sink;
int stall_ms = 1500;
static const struct stall *the_stall;
static int message;

struct start {
    void *(*body)(void *);
    void *argument;
    char name[16];
};

static void *named_thread(void *given)
{
    struct start start = *(struct start *)given;
    free(given);
    pthread_setname_np(pthread_self(), start.name);
    return start.body(start.argument);
}

void stall_thread(const char *name, void *(*body)(void *), void *argument, uint64_t *thread_out)
{
    struct start *start = calloc(1, sizeof *start);
    pthread_t thread;
    if (start == NULL) {
        abort();
    }
    start->body = body;
    start->argument = argument;
    snprintf(start->name, sizeof start->name, "%s", name);
    if (pthread_create(&thread, NULL, named_thread, start) != 0) {
        abort();
    }
    if (thread_out == NULL) {
        pthread_detach(thread);
    } else {
        *thread_out = thread;
    }
}

static void end_now(int number)
{
    (void)number;
    _exit(0);
}

void stall_end_after_ms(int ms)
{
    signal(SIGALRM, end_now);
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {ms / 1000, ms % 1000 * 1000}}, NULL);
}

void stall_ask_for_snapshot(void)
{
    int (*snapshot)(const char *) = NULL;
    *(void **)&snapshot = dlsym(RTLD_DEFAULT, "stallbox_snapshot");
    if (snapshot != NULL) {
        snapshot("deadline unmet");
    }
}

const char *stall_folder(void)
{
    const char *folder = getenv("STALL_FOLDER");
    return folder != NULL ? folder : "/var/tmp";
}

/* ---- those who have no part in it ---- */

static pthread_mutex_t quiet_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t quiet_work = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t served_lock = PTHREAD_MUTEX_INITIALIZER;

static STALL_FUNCTION void *idle_for_work(void *unused)
{
    pthread_mutex_lock(&quiet_lock);
    for (;;) {
        pthread_cond_wait(&quiet_work, &quiet_lock);
    }
    return unused;
}

static STALL_FUNCTION void count_statistics(void)
{
    for (int i = 0; i < 20000; i++) {
        stall_sink += (uint64_t)i * 7;
    }
}

static STALL_FUNCTION void *tick_statistics(void *unused)
{
    for (;;) {
        usleep(30000);
        count_statistics();
    }
    return unused;
}

/* A worker of a busy host: it serves requests for a fifth of a processor, with operations that are usual in
 * programs. */
static STALL_FUNCTION void serve_request(int file)
{
    char bytes[512], text[64];
    struct timespec now;
    for (int i = 0; i < 200; i++) {
        char *volatile memory = malloc(64 + (size_t)i);
        stall_sink += memory != NULL ? (uint64_t)(uintptr_t)memory : 0;
        free(memory);
    }
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&served_lock);
        clock_gettime(CLOCK_MONOTONIC, &now);
        pthread_mutex_unlock(&served_lock);
        stall_sink += (uint64_t)now.tv_nsec;
    }
    for (int i = 0; i < 4; i++) {
        stall_sink += (uint64_t)pread(file, bytes, sizeof bytes, i * 512);
    }
    snprintf(text, sizeof text, "%d %ld", file, now.tv_nsec);
    stall_sink += (uint64_t)text[0];
}

static STALL_FUNCTION void *serve_requests(void *unused)
{
    enum {
        WORK_NS = 2000000,
        REST_US = 8000
    };
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    for (;;) {
        for (int64_t begin_ns = stall_cpu_ns(); stall_cpu_ns() - begin_ns < WORK_NS;) {
            serve_request(file);
        }
        usleep(REST_US);
    }
    return unused;
}

/* With STALL_BUSY_MS the host has such a worker, from that long before its first message (bench_budget_truth). */
static void become_busy(void)
{
    const char *busy_ms = getenv("STALL_BUSY_MS");
    long ms = busy_ms != NULL ? strtol(busy_ms, NULL, 10) : 0;
    if (ms > 0) {
        stall_thread("requests", serve_requests, NULL, NULL);
        nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
    }
}

/* ---- turns ---- */

/* With STALL_TURNS, a folder with a file for each processor, as many cases stall at the same time as there are files. A
 * case that waits for its turn continues its loop, because a wait in a message would be a stall. */
static int turn = -1;

static bool has_turn(void)
{
    enum {
        TURNS_MAX = 64
    };
    const char *folder = getenv("STALL_TURNS");
    char path[300];
    for (int i = 0; folder != NULL && turn < 0 && i < TURNS_MAX; i++) {
        snprintf(path, sizeof path, "%s/%d", folder, i);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) {
            break;
        }
        if (flock(file, LOCK_EX | LOCK_NB) == 0) {
            turn = file;
        } else {
            close(file);
        }
    }
    return folder == NULL || turn >= 0;
}

static void end_turn(void)
{
    if (turn >= 0) {
        flock(turn, LOCK_UN); /* a child may have the descriptor too */
    }
}

/* ---- the messages ---- */

static int64_t stalled_ns, stalled_cpu_ns;
static bool is_computed; /* the work was queued by a message, so the message's own time says nothing */

void stall_computed(int64_t wall_ns, int64_t cpu_ns)
{
    stalled_ns = wall_ns;
    stalled_cpu_ns = cpu_ns;
    is_computed = true;
}

/* How much CPU time the stall got. A program that computes on a fully loaded machine is starved as well, and a report
 * that says so is not wrong. */
static void tell_share(void)
{
    char path[300];
    snprintf(path, sizeof path, "%s/share", stall_folder());
    FILE *file = fopen(path, "we");
    if (file != NULL && stalled_ns > 0) {
        fprintf(file, "%.3f\n", (double)stalled_cpu_ns / (double)stalled_ns);
    }
    if (file != NULL) {
        fclose(file);
    }
}

static STALL_FUNCTION void handle_ordinary_message(void)
{
    char text[64];
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "%d", i * message);
        stall_sink += (uint64_t)text[0];
    }
}

static int step(void)
{
    int last = the_stall->messages != 0 ? the_stall->messages : 24;
    if (message == 8 && !has_turn()) {
        return 10;
    }
    message++;
    if (message == 14 && !the_stall->every) { /* it has run what message 10 queued */
        end_turn();
    }
    if (message > last) {
        return -1;
    }
    if (message == 10 || (message > 10 && the_stall->every)) {
        if (the_stall->every) {
            the_stall->message(message);
            STALL_STAY();
        } else {
            int64_t wall_ns = stall_now_ns(), cpu_ns = stall_cpu_ns();
            the_stall->message(message);
            wall_ns = stall_now_ns() - wall_ns;
            if (!is_computed) {
                stalled_ns = wall_ns;
                stalled_cpu_ns = stall_cpu_ns() - cpu_ns;
            }
        }
    } else {
        handle_ordinary_message();
    }
    if (message < 10) {
        return 15;
    }
    return the_stall->every || the_stall->delay_ms != 0 ? the_stall->delay_ms : 15;
}

static const struct stall *find(const char *name)
{
    const struct stall *const tables[] = {
        stalls_cpu,      stalls_lock,    stalls_wait,   stalls_sleep,      stalls_file,       stalls_network,
        stalls_process,  stalls_outside, stalls_memory, stalls_contention, stalls_healthy,    stalls_messages,
        stalls_cxx,      stalls_glib,    stalls_uv,     stalls_tasks,      stalls_glib_tasks, stalls_qt,
        stalls_libevent, stalls_inbox,   stalls_uring};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        for (const struct stall *stall = tables[i]; stall != NULL && stall->name != NULL; stall++) {
            if (strcmp(stall->name, name) == 0) {
                return stall;
            }
        }
    }
    return NULL;
}

int main(int count, char **arguments)
{
    the_stall = count == 2 ? find(arguments[1]) : NULL;
    if (the_stall == NULL) {
        fprintf(stderr, "usage: %s CASE\n", arguments[0]);
        return 2;
    }
    const char *ms = getenv("STALL_MS");
    if (ms != NULL && strtol(ms, NULL, 10) > 0) {
        stall_ms = (int)strtol(ms, NULL, 10);
    }
    stall_thread("quiet-pool", idle_for_work, NULL, NULL);
    stall_thread("statistics", tick_statistics, NULL, NULL);
    become_busy();
    if (the_stall->prepare != NULL) {
        the_stall->prepare();
    }
    host_loop(step);
    tell_share();
    return 0;
}
