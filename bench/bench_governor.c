/* SPDX-License-Identifier: Apache-2.0 */
/* bench_governor.c - does the recorder keep its CPU budget in a difficult host? One host allocates and frees all the
 * time, the other reads single bytes all the time. The interval is 0.1 ms, which is ten times shorter than any policy
 * may request.
 *
 * usage: bench_governor [--json] [--rounds N] [--seconds N]
 * Each round runs the host three times, one after another: bare, recorded without a budget, recorded with a budget of
 * 0.5 %. The first ten seconds, in which the governor settles, are reported separately. Then, after 15 s, N seconds
 * (default 5) are measured. The recorder's own cost figure is printed beside what the host itself measures: how much
 * work it does in the CPU time of a fixed computation. It alternates work and computation, because the machine's speed
 * changes from one second to the next. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "control_order.h"
#include "rounds.h"
#include "stallbox/stallbox.h"

enum {
    ROUNDS_DEFAULT = 3,
    SECONDS_DEFAULT = 5,
    START_S = 10,
    SETTLE_S = 5, /* after START_S */
    INTERVAL_US = 100,
    GAP_US = 1000,
    BUDGET_PERMILLE = 5,
    BATCH = 20000,      /* units of work between two reads of the clock */
    STEPS_A_UNIT = 500, /* of the fixed computation: about a microsecond */
    UNITS_SHARE = 20,   /* the fixed computation runs this much less often than the work */
};

enum variant {
    BARE,
    FREE_OF_BUDGET,
    GOVERNED,
    VARIANTS
};
static const char *const variant_names[VARIANTS] = {"bare", "off", "governed"};

/* What a host reports after its measured seconds. */
struct outcome {
    double work;           /* in the time of one unit of the fixed computation, about a microsecond */
    double told_permille;  /* as the recorder reports it, for the measured seconds */
    double start_permille; /* for the first ten seconds */
    double interval_us, gap_us, groups_shed, changes;
};

static double thread_cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Only arithmetic, in which each step needs the result of the one before. The recorder can affect it only through its
 * signals. */
static uint64_t compute_a_batch(void)
{
    static volatile uint64_t kept;
    uint64_t x = kept;
    for (int i = 0; i < BATCH * STEPS_A_UNIT / UNITS_SHARE; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
    }
    return kept = x;
}

/* ---- hosts ---- */

static void allocate_a_batch(void)
{
    static void *memory[64];
    static uint64_t random = 1;
    for (int i = 0; i < BATCH; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        void **place = &memory[random >> 58];
        free(*place);
        *place = malloc((random >> 40) % 500 + 1);
    }
}

static void read_a_batch(void)
{
    static int file;
    char byte;
    if (file == 0) {
        file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    }
    for (int i = 0; i < BATCH; i++) {
        if (pread(file, &byte, 1, i) != 1) {
            abort();
        }
    }
}

static const struct host {
    const char *name, *what, *unit;
    void (*work)(void);
} hosts[] = {
    {"alloc", "malloc + free", "pairs a unit", allocate_a_batch},
    {"read", "pread of one byte", "reads a unit", read_a_batch},
};
enum {
    HOSTS = sizeof hosts / sizeof hosts[0]
};

static uint64_t cost_of(const struct sbx_overhead *overhead)
{
    return overhead->watch_ns + overhead->captures_ns + overhead->calls_ns;
}

static double permille_of(const struct sbx_overhead *from, const struct sbx_overhead *to)
{
    return 1e3 * (double)(cost_of(to) - cost_of(from)) / (double)(to->application_ns - from->application_ns);
}

/* One more thread changes some costs, whatever code starts it (locks that glibc now takes, references of descriptors
 * that the kernel now counts). This is not the recorder's cost, so the bare host has one more thread, too. */
static void *sleep_for_ever(void *unused)
{
    for (;;) {
        pause();
    }
    return unused;
}

/* Returns how much work is done in the time of one unit of the fixed computation. */
static double work_for(const struct host *host, double seconds)
{
    double end_ns = bench_now_ns() + seconds * 1e9, work_s = 0, fixed_s = 0;
    while (bench_now_ns() < end_ns) {
        double begin_s = thread_cpu_s();
        compute_a_batch();
        double between_s = thread_cpu_s();
        host->work();
        work_s += thread_cpu_s() - between_s;
        fixed_s += between_s - begin_s;
    }
    return fixed_s * UNITS_SHARE / work_s;
}

static int be_host(const struct host *host, enum variant variant, int seconds)
{
    char folder[64], spool[64];
    struct sbx_recording_header *header = NULL;
    struct outcome outcome = {0};
    snprintf(folder, sizeof folder, "%s/stallbox-bench-%d", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
             (int)getpid());
    snprintf(spool, sizeof spool, "/tmp/stallbox-spool-%d", (int)getpid());
    pthread_t sleeper;
    if (variant == BARE && pthread_create(&sleeper, NULL, sleep_for_ever, NULL) != 0) {
        return 1;
    }
    if (variant != BARE) {
        const struct stallbox_options options = {
            .sizeof_options = sizeof options, .recording_path = folder, .spool_path = spool};
        enum stallbox_result result = stallbox_start(&options);
        header = result == STALLBOX_OK ? bench_control_open(folder, (uint32_t)getpid()) : NULL;
        if (header == NULL) {
            fprintf(stderr, "bench_governor: no recorder: %s\n", stallbox_result_name(result));
            return 1;
        }
        struct sbx_capture_settings settings = sbx_control_page_of(header)->in_force;
        settings.interval_us = INTERVAL_US;
        settings.gap_us = GAP_US;
        settings.max_cpu_permille = variant == GOVERNED ? BUDGET_PERMILLE : 0;
        if (!bench_control_order(header, &settings)) {
            return 1;
        }
    }
    struct sbx_overhead begin = header != NULL ? header->overhead : (struct sbx_overhead){0};
    work_for(host, START_S);
    if (header != NULL) {
        outcome.start_permille = permille_of(&begin, &header->overhead);
    }
    work_for(host, SETTLE_S);
    struct sbx_overhead before = header != NULL ? header->overhead : (struct sbx_overhead){0};
    outcome.work = work_for(host, seconds);
    if (header != NULL) {
        for (int s = 0; s < 10 && header->overhead.application_ns == before.application_ns; s++) {
            work_for(host, 1); /* its windows are seconds in which it was awake */
        }
        struct sbx_overhead after = header->overhead;
        outcome.told_permille = permille_of(&before, &after);
        outcome.interval_us = after.interval_us;
        outcome.gap_us = after.gap_us;
        outcome.groups_shed = __builtin_popcount(after.shed);
        outcome.changes = after.changes;
        stallbox_stop(5000);
        rmdir(folder);
    }
    return write(STDOUT_FILENO, &outcome, sizeof outcome) == (ssize_t)sizeof outcome ? 0 : 1;
}

/* ---- rounds ---- */

static bool run_host(const struct host *host, enum variant variant, int seconds, struct outcome *outcome_out)
{
    char seconds_text[16];
    int ends[2], status = -1;
    if (pipe(ends) != 0) {
        return false;
    }
    snprintf(seconds_text, sizeof seconds_text, "%d", seconds);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/proc/self/exe", "bench_governor", "--child", host->name, variant_names[variant], seconds_text,
              (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    bool is_done = read(ends[0], outcome_out, sizeof *outcome_out) == (ssize_t)sizeof *outcome_out;
    close(ends[0]);
    return waitpid(pid, &status, 0) == pid && status == 0 && is_done;
}

static void tell(const struct bench_options *options, const struct host *host, const char *what, const char *unit,
                 const char *peer, const char *reach, const struct bench_series *ours,
                 const struct bench_series *theirs)
{
    char metric[128];
    snprintf(metric, sizeof metric, "%s: %s", host->what, what);
    const struct bench_line line = {"governor", metric, unit, peer, reach};
    bench_print(options->json, &line, ours, theirs);
}

static bool measure(const struct bench_options *options, const struct host *host)
{
    struct bench_series work[VARIANTS] = {{.count = 0}}, told[VARIANTS] = {{.count = 0}};
    struct bench_series start[VARIANTS] = {{.count = 0}};
    struct bench_series interval = {.count = 0}, gap = {.count = 0}, shed = {.count = 0}, changes = {.count = 0};
    for (int round = 0; round < options->rounds; round++) {
        for (int i = 0; i < VARIANTS; i++) {
            enum variant variant = (enum variant)((round + i) % VARIANTS);
            struct outcome outcome;
            if (!run_host(host, variant, options->seconds, &outcome)) {
                return false;
            }
            bench_series_add(&work[variant], outcome.work);
            bench_series_add(&told[variant], outcome.told_permille);
            bench_series_add(&start[variant], outcome.start_permille);
            if (variant == GOVERNED) {
                bench_series_add(&interval, outcome.interval_us);
                bench_series_add(&gap, outcome.gap_us);
                bench_series_add(&shed, outcome.groups_shed);
                bench_series_add(&changes, outcome.changes);
            }
        }
    }
    tell(options, host, "cost as told in the first 10 s, budget 5 permille", "permille", "without a budget",
         "value <= 5", &start[GOVERNED], &start[FREE_OF_BUDGET]);
    tell(options, host, "cost as told, budget 5 permille", "permille", "without a budget", "value <= 5",
         &told[GOVERNED], &told[FREE_OF_BUDGET]);
    tell(options, host, "work in the time of a fixed computation, without a budget", host->unit,
         "bare, one thread more", NULL, &work[FREE_OF_BUDGET], &work[BARE]);
    tell(options, host, "work in the time of a fixed computation, budget 5 permille", host->unit,
         "bare, one thread more", "ratio >= 0.99", &work[GOVERNED], &work[BARE]);
    tell(options, host, "interval it came to", "us", NULL, NULL, &interval, NULL);
    tell(options, host, "gap it came to", "us", NULL, NULL, &gap, NULL);
    tell(options, host, "groups of points shed", "groups", NULL, NULL, &shed, NULL);
    tell(options, host, "changes until then", "changes", NULL, NULL, &changes, NULL);
    return true;
}

static int be_child(char **arguments)
{
    for (int i = 0; i < HOSTS; i++) {
        for (int variant = 0; variant < VARIANTS; variant++) {
            if (strcmp(hosts[i].name, arguments[0]) == 0 && strcmp(variant_names[variant], arguments[1]) == 0) {
                return be_host(&hosts[i], (enum variant)variant, atoi(arguments[2]));
            }
        }
    }
    return 2;
}

int main(int count, char **arguments)
{
    struct bench_options options = {.rounds = ROUNDS_DEFAULT, .seconds = SECONDS_DEFAULT};
    if (count == 5 && strcmp(arguments[1], "--child") == 0) {
        return be_child(arguments + 2);
    }
    if (!bench_read_options(count, arguments, &options)) {
        return 2;
    }
    bench_print_heading(options.json, "the CPU budget in hosts that exceed it, sampled each 0.1 ms");
    for (int i = 0; i < HOSTS; i++) {
        if (!measure(&options, &hosts[i])) {
            fprintf(stderr, "bench_governor: the host '%s' failed\n", hosts[i].name);
            return 1;
        }
    }
    return 0;
}
