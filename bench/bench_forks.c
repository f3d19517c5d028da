/* SPDX-License-Identifier: Apache-2.0 */
/* bench_forks.c - the cost of a fork for a recorded program, and the cost of its children.
 *
 * usage: bench_forks [--rounds N] [--memory] [--beside threads|clones] [--starts N]
 * Children are made one after another, in turns by a bare process and by a recorded one that forks in the same way:
 *
 *   ends      the child ends at once: time until it was waited for
 *   exec      the child calls exec of /bin/true, without the library
 *   lives     the child polls, so it is recorded: CPU time of the child until its fifth poll, and time until it was
 *             waited for. `first`: from before the fork to its first instruction; `poll`: to the return of its first
 *             poll, which does not wait; `waited`: to the return of its fifth. The four polls after the first wait a
 *             millisecond each, and the recorder begins in the first of them
 *
 * `faults`: pages that the child touched first, or wrote. The number is the same on a busy machine.
 *
 * After these come the objects that a fork of each process copies: mappings, pages and page tables (fork_copies.h).
 *
 * --memory: 8, 64 and 256 simultaneous children that do nothing, of a bare process and of a recorded one
 * (fork_memory.h).
 *
 * --beside: replaces the recorded process by one without a recorder that has two sleeping threads. They are the C
 * library's, or made by a raw clone() that the C library does not know. This shows which part of the cost comes from
 * having several threads.
 *
 * --starts N: how many starts the budget lends to the recorded family. 0: `lives` is a child whose start is put off,
 * and which ends before it is recorded. Without the option, the number is not limited, so that each child is recorded.
 *
 * It prints the median and p99 of each, and the ratio of each recorded child to the bare one of the same turn; for
 * points in time also by how much it comes later than that one.
 * Why it matters: servers fork for each connection, and shells for each line. */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fork_copies.h"
#include "fork_memory.h"
#include "stallbox/stallbox.h"

enum {
    ROUNDS_DEFAULT = 2000,
    LIVES_EVERY = 20, /* rounds: no more than twenty children a second are recorded */
    WAYS = 3,
    POLLS = 5,
    STAMPS = 3,
    NUMBERS = 6 /* numbers with which a forker answers: enum number */
};
enum number {
    WALL,
    CPU,
    FAULTS,
    FIRST,
    POLL,
    WAITED
};
static const char *const number_names[NUMBERS] = {"wall", "CPU", "faults", "first", "poll", "waited"};
static double *stamps; /* of the child: its first instruction, the return of its first poll, and of its last */
static const char *const names[WAYS] = {"ends", "exec", "lives"};

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void be_child(int way)
{
    stamps[0] = now_us();
    char *const none[] = {NULL};
    if (way == 1) {
        execle("/bin/true", "true", (char *)NULL, none);
        _exit(127);
    }
    for (int i = 0; way == 2 && i < POLLS; i++) {
        (void)poll(NULL, 0, i > 0);
        stamps[i == 0 ? 1 : 2] = now_us();
    }
    _exit(0);
}

/* Forks one child, and measures its numbers. */
static void fork_once(int way, double us_out[NUMBERS])
{
    struct rusage usage;
    int status = -1;
    double begin = now_us();
    pid_t pid = fork();
    if (pid == 0) {
        be_child(way);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0) {
        fputs("bench_forks: a child did not end as it should\n", stderr);
        exit(1);
    }
    us_out[WALL] = now_us() - begin;
    us_out[CPU] = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
                  (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    us_out[FAULTS] = (double)usage.ru_minflt;
    us_out[FIRST] = stamps[0] - begin;
    us_out[POLL] = stamps[1] - begin;
    us_out[WAITED] = stamps[2] - begin;
}

/* A process that forks when it gets a byte, which gives the way, and that answers with its numbers. */
struct forker {
    pid_t pid;
    int orders, answers;
};

static void serve(int orders, int answers)
{
    char way;
    while (read(orders, &way, 1) == 1 && way < WAYS) {
        double result[NUMBERS];
        fork_once(way, result);
        if (write(answers, result, sizeof result) != (ssize_t)sizeof result) {
            break;
        }
    }
}

enum beside {
    NOTHING,
    RECORDER,
    THREADS,
    CLONES
};

static int sleep_on(void *word)
{
    for (;;) {
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
    return 0;
}

static void *sleep_as_thread(void *word)
{
    (void)sleep_on(word);
    return NULL;
}

/* Adds two sleeping threads. Those of the second kind have no thread-local storage of their own, so they call no C
 * library function that may need it. */
static bool add_sleepers(enum beside sort)
{
    static uint32_t word;
    enum {
        STACK_BYTES = 64 * 1024
    };
    bool failed = false;
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        if (sort == THREADS) {
            failed |= pthread_create(&thread, NULL, sleep_as_thread, &word) != 0;
            continue;
        }
        char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        failed |= stack == MAP_FAILED ||
                  clone(sleep_on, stack + STACK_BYTES,
                        CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, &word) < 0;
    }
    return !failed;
}

static struct forker begin(enum beside beside, const char *folder)
{
    int orders[2], answers[2];
    struct forker forker = {.pid = -1};
    if (pipe(orders) == 0 && pipe(answers) == 0) {
        forker.pid = fork();
    }
    if (forker.pid == 0) {
        char spool[128], recordings[128];
        close(orders[1]);
        close(answers[0]);
        snprintf(spool, sizeof spool, "%s/spool", folder);
        snprintf(recordings, sizeof recordings, "/dev/shm/%s", strrchr(folder, '/') + 1);
        struct stallbox_options options = {
            .sizeof_options = sizeof options, .spool_path = spool, .recording_path = recordings};
        if (beside >= THREADS && !add_sleepers(beside)) {
            fputs("bench_forks: no threads\n", stderr);
            _exit(1);
        }
        if (beside == RECORDER && stallbox_start(&options) != STALLBOX_OK) {
            fputs("bench_forks: the recorder did not start\n", stderr);
            _exit(1);
        }
        serve(orders[0], answers[1]);
        if (beside >= THREADS) {
            _exit(0); /* with exit(), the C library would end only one thread of three */
        }
        exit(0);
    }
    close(orders[0]);
    close(answers[1]);
    forker.orders = orders[1];
    forker.answers = answers[0];
    return forker;
}

static void order(const struct forker *forker, int way, double result[NUMBERS])
{
    char byte = (char)way;
    if (write(forker->orders, &byte, 1) != 1 ||
        read(forker->answers, result, NUMBERS * sizeof *result) != NUMBERS * (ssize_t)sizeof *result) {
        fputs("bench_forks: a forker has ended\n", stderr);
        exit(1);
    }
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double at(double *values, size_t count, double part)
{
    qsort(values, count, sizeof *values, compare);
    return values[(size_t)((double)(count - 1) * part)];
}

static void print_row(const char *name, const char *what, double *values[2], double *ratios, size_t count)
{
    double bare = at(values[0], count, 0.5), bare_99 = at(values[0], count, 0.99);
    double ours = at(values[1], count, 0.5), ours_99 = at(values[1], count, 0.99);
    double p10 = at(ratios, count, 0.1), p90 = at(ratios, count, 0.9), p50 = at(ratios, count, 0.5);
    printf("%-6s %-8s %8.0f %8.0f %8.0f %8.0f %8.2f (%.2f to %.2f)\n", name, what, bare, bare_99, ours, ours_99, p50,
           p10, p90);
}

/* By how much the child of the recorded process is later than the bare one of the same turn. */
static void print_delay(const char *name, const char *what, double *values[2], double *differences, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        differences[i] = values[1][i] - values[0][i];
    }
    double p10 = at(differences, count, 0.1), p90 = at(differences, count, 0.9), p50 = at(differences, count, 0.5);
    printf("%-6s %-8s %44.0f (%.0f to %.0f) later\n", name, what, p50, p10, p90);
}

static void measure_costs(const struct forker forkers[2], size_t rounds)
{
    double *all = calloc((3 * NUMBERS + 1) * rounds, sizeof *all), *differences = all + 3 * NUMBERS * rounds;
    double *values[NUMBERS][2], *ratios[NUMBERS];
    for (int number = 0; number < NUMBERS; number++) {
        values[number][0] = all + (size_t)(3 * number) * rounds;
        values[number][1] = values[number][0] + rounds;
        ratios[number] = values[number][1] + rounds;
    }
    printf("               bare                the other          the other : bare\n"
           "               median     p99    median     p99    median (p10 to p90), us\n");
    for (int way = 0; all != NULL && way < WAYS; way++) {
        size_t count = way == 2 ? rounds / LIVES_EVERY : rounds;
        for (size_t i = 0; i < count; i++) {
            for (unsigned turn = 0; turn < 2; turn++) {
                unsigned who = (i + turn) % 2;
                double result[NUMBERS];
                order(&forkers[who], way, result);
                for (int number = 0; number < NUMBERS; number++) {
                    values[number][who][i] = result[number];
                }
            }
            for (int number = 0; number < NUMBERS; number++) {
                double bare = values[number][0][i];
                ratios[number][i] = bare > 0 ? values[number][1][i] / bare : 0;
            }
            if (way == 2) {
                nanosleep(&(struct timespec){.tv_nsec = 60000000}, NULL);
            }
        }
        for (int number = 0; number < (way == 2 ? NUMBERS : POLL); number++) {
            if (number >= FIRST) {
                print_delay(names[way], number_names[number], values[number], differences, count);
            }
            print_row(names[way], number_names[number], values[number], ratios[number], count);
        }
    }
    free(all);
}

static void print_copies(const struct forker forkers[2])
{
    struct fork_copies bare, other;
    if (fork_copies_count(forkers[0].pid, &bare) && fork_copies_count(forkers[1].pid, &other)) {
        printf("copied: %u and %u mappings, %u and %u pages, %u and %u page tables\n", bare.mappings, other.mappings,
               bare.pages, other.pages, bare.tables, other.tables);
    }
}

static void end(const struct forker *forker)
{
    char byte = WAYS;
    if (write(forker->orders, &byte, 1) != 1) {
        fputs("bench_forks: a forker has ended\n", stderr);
    }
    waitpid(forker->pid, NULL, 0);
}

int main(int argc, char **argv)
{
    size_t rounds = ROUNDS_DEFAULT;
    const char *starts = "1000000";
    bool wants_memory = false;
    enum beside beside = RECORDER;
    char folder[] = "/tmp/bench-forks-XXXXXX", recordings[64], command[160];
    for (int i = 1; i < argc; i++) {
        rounds = strcmp(argv[i], "--rounds") == 0 && i + 1 < argc ? strtoul(argv[i + 1], NULL, 10) : rounds;
        starts = strcmp(argv[i], "--starts") == 0 && i + 1 < argc ? argv[i + 1] : starts;
        wants_memory |= strcmp(argv[i], "--memory") == 0;
        if (strcmp(argv[i], "--beside") == 0 && i + 1 < argc) {
            beside = strcmp(argv[i + 1], "clones") == 0 ? CLONES : THREADS;
        }
    }
    setenv("STALLBOX_FAMILY_STARTS", starts, 1);
    stamps = mmap(NULL, STAMPS * sizeof *stamps, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (rounds < LIVES_EVERY || stamps == MAP_FAILED || mkdtemp(folder) == NULL) {
        return 1;
    }
    snprintf(recordings, sizeof recordings, "/dev/shm/%s", strrchr(folder, '/') + 1);
    if (wants_memory) {
        fork_memory_measure(folder, recordings);
    } else {
        struct forker forkers[2] = {begin(NOTHING, folder), begin(beside, folder)};
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL); /* rows and hooks are ready */
        measure_costs(forkers, rounds);
        print_copies(forkers);
        end(&forkers[0]);
        end(&forkers[1]);
    }
    snprintf(command, sizeof command, "rm -rf %s %s", folder, recordings);
    return system(command) != 0;
}
