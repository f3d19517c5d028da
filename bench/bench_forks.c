/* SPDX-License-Identifier: Apache-2.0 */
/* bench_forks.c - what it costs a recorded program to fork.
 *
 * usage: bench_forks [--rounds N]
 * One child after the other, in turns by a bare process and by a recorded one that forks in the same way:
 *
 *   ends      the child ends at once: until it has been waited for
 *   exec      the child calls exec of /bin/true, without the library
 *   lives     the child polls, and so is recorded: CPU time of the child until its fifth poll, and until it has been waited for
 *
 * Printed are median and p99 of each, and the ratio of each recorded one to the bare one of the same turn.
 * Why it matters: servers fork for
 * each connection, and shells for each line. */
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stallbox/stallbox.h"

enum {
    ROUNDS_DEFAULT = 2000,
    LIVES_EVERY = 20, /* rounds: no more than twenty children a second are recorded */
    WAYS = 3,
    POLLS = 5
};
static const char *const names[WAYS] = {"ends", "exec", "lives"};

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void be_child(int way)
{
    char *const none[] = {NULL};
    if (way == 1) {
        execle("/bin/true", "true", (char *)NULL, none);
        _exit(127);
    }
    for (int i = 0; way == 2 && i < POLLS; i++) {
        (void)poll(NULL, 0, 1);
    }
    _exit(0);
}

/* One child: wall time until it has been waited for, and CPU time of it. */
static void fork_once(int way, double *wall_us_out, double *cpu_us_out)
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
    *wall_us_out = now_us() - begin;
    *cpu_us_out = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
                  (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* A process that forks when it is told to, by a byte for the way, and answers with two numbers. */
struct forker {
    pid_t pid;
    int orders, answers;
};

static void serve(int orders, int answers)
{
    char way;
    while (read(orders, &way, 1) == 1 && way < WAYS) {
        double result[2];
        fork_once(way, &result[0], &result[1]);
        if (write(answers, result, sizeof result) != (ssize_t)sizeof result) {
            break;
        }
    }
}

static struct forker begin(bool is_recorded, const char *folder)
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
        if (is_recorded && stallbox_start(&options) != STALLBOX_OK) {
            fputs("bench_forks: the recorder did not start\n", stderr);
            _exit(1);
        }
        serve(orders[0], answers[1]);
        exit(0);
    }
    close(orders[0]);
    close(answers[1]);
    forker.orders = orders[1];
    forker.answers = answers[0];
    return forker;
}

static void order(const struct forker *forker, int way, double result[2])
{
    char byte = (char)way;
    if (write(forker->orders, &byte, 1) != 1 ||
        read(forker->answers, result, 2 * sizeof *result) != 2 * (ssize_t)sizeof *result) {
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

int main(int argc, char **argv)
{
    size_t rounds = ROUNDS_DEFAULT;
    char folder[] = "/tmp/bench-forks-XXXXXX", command[160];
    for (int i = 1; i + 1 < argc; i++) {
        rounds = strcmp(argv[i], "--rounds") == 0 ? strtoul(argv[i + 1], NULL, 10) : rounds;
    }
    if (rounds < LIVES_EVERY || mkdtemp(folder) == NULL) {
        return 1;
    }
    struct forker forkers[2] = {begin(false, folder), begin(true, folder)};
    struct timespec pause = {0, 200000000};
    nanosleep(&pause, NULL); /* rows and hooks are there */
    double *all = calloc(6 * rounds, sizeof *all);
    double *values[2] = {all, all + rounds}, *cpu[2] = {all + 2 * rounds, all + 3 * rounds};
    double *ratios = all + 4 * rounds, *cpu_ratios = all + 5 * rounds;
    printf("               bare                recorded           recorded : bare\n"
           "               median     p99    median     p99    median (p10 to p90), us\n");
    for (int way = 0; all != NULL && way < WAYS; way++) {
        size_t count = way == 2 ? rounds / LIVES_EVERY : rounds;
        for (size_t i = 0; i < count; i++) {
            for (unsigned turn = 0; turn < 2; turn++) {
                unsigned who = (i + turn) % 2;
                double result[2];
                order(&forkers[who], way, result);
                values[who][i] = result[0];
                cpu[who][i] = result[1];
            }
            ratios[i] = values[1][i] / values[0][i];
            cpu_ratios[i] = cpu[0][i] > 0 ? cpu[1][i] / cpu[0][i] : 0;
            if (way == 2) {
                pause.tv_nsec = 60000000;
                nanosleep(&pause, NULL);
            }
        }
        print_row(names[way], "wall", values, ratios, count);
        print_row(names[way], "CPU", cpu, cpu_ratios, count);
    }
    for (unsigned who = 0; who < 2; who++) {
        char end = WAYS;
        if (write(forkers[who].orders, &end, 1) != 1) {
            return 1;
        }
        waitpid(forkers[who].pid, NULL, 0);
    }
    free(all);
    snprintf(command, sizeof command, "rm -rf %s /dev/shm/%s", folder, strrchr(folder, '/') + 1);
    return system(command) != 0;
}
