/* SPDX-License-Identifier: Apache-2.0 */
/* stress_clock.c - the thread clock under preemption, migration, signals, sleeps and blocking calls, compared with the
 * kernel's clocks.
 *
 *   stress_clock [SECONDS [kernel|cycles|rseq]]      2 by default; with the best source most of the time
 *
 * Three threads a processor do random operations and read their clock after each, between two readings of
 * CLOCK_THREAD_CPUTIME_ID and two of CLOCK_MONOTONIC. The error of a reading is how far it lies outside of the two
 * readings around it. getrusage shows whether the thread was switched out between two readings. If it was, and the
 * second reading still used the line of the first, a switch was missed.
 *
 * Prints the errors by the operation before the reading. Fails on errors that neither load nor a hypervisor explains:
 *  - a reading that is less than the thread's last one;
 *  - a missed switch;
 *  - a sleep of which half or more was charged as CPU time;
 *  - CPU time off by more than two lives of a line. A line keeps time that was stolen from the processor for one life
 *    at most, because the counter that it is read by has then moved by a whole life;
 *  - wall time off by a millisecond: a line of 10 ms would have to be wrong by 10 %.
 * Smaller errors are printed for the reader to judge. Time that a hypervisor steals is in the counter but not in the
 * kernel's clock; the first line shows how much there was. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "thread_clock.h"

enum {
    MS = 1000 * 1000,
    THREADS_A_CPU = 3,
    MOST_THREADS = 64,
    SLEEP_NS = 2 * MS,
    CPU_LIMIT_NS = 2 * SBX_CLOCK_REBASE_NS,
    WALL_LIMIT_NS = MS,
    CALIBRATE_EVERY_NS = 20 * MS,
    SIGNAL_EVERY_NS = 300 * 1000,
    STEPS = 16, /* buckets for each power of two: a percentile is at most 4 % off */
    BUCKETS = 40 * STEPS
};

enum action {
    NOTHING,
    SPIN,
    SLEEP,
    YIELD,
    BLOCKING_READ,
    HOP,
    ACTIONS
};
static const char *const action_names[ACTIONS] = {
    [NOTHING] = "nothing", [SPIN] = "spin 0-0.3 ms",      [SLEEP] = "sleep 2 ms",
    [YIELD] = "yield",     [BLOCKING_READ] = "pipe read", [HOP] = "change CPU"};

struct errors {
    uint64_t bucket[BUCKETS];
    uint64_t count, most, within_300, within_1000;
};

struct tally {
    struct errors cpu, wall;
    uint64_t fast, switched, missed;
};

struct worker {
    pthread_t thread;
    struct sbx_thread_clock clock __attribute__((aligned(64)));
    uint32_t inside; /* not 0: the handler must not read CPU time, as in sample_handler.c */
    uint64_t last_wall_ns, last_cpu_ns;
    uint64_t random;
    uint64_t handled;
    int wake[2]; /* the next worker writes to it */
    struct tally tally[ACTIONS];
};

static struct worker workers[MOST_THREADS];
static int worker_count;
static cpu_set_t all_cpus;
static uint32_t stop;
static __thread struct worker *self;

static _Noreturn void __attribute__((format(printf, 1, 2))) broken(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("stress_clock: ", stderr);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    _exit(1);
}

static void count_error(struct errors *errors, uint64_t error)
{
    unsigned bucket = (unsigned)error;
    if (error >= STEPS) {
        unsigned power = 63 - (unsigned)__builtin_clzll(error);
        bucket = (power - 3) * STEPS + (unsigned)(error >> (power - 4) & (STEPS - 1));
    }
    errors->bucket[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
    errors->count++;
    errors->most = error > errors->most ? error : errors->most;
    errors->within_300 += error <= 300;
    errors->within_1000 += error <= 1000;
}

static void add_errors(struct errors *sum, const struct errors *more)
{
    for (int i = 0; i < BUCKETS; i++) {
        sum->bucket[i] += more->bucket[i];
    }
    sum->count += more->count;
    sum->most = more->most > sum->most ? more->most : sum->most;
    sum->within_300 += more->within_300;
    sum->within_1000 += more->within_1000;
}

/* The upper bound of the bucket that contains the percentile. */
static double error_us(const struct errors *errors, double share)
{
    uint64_t seen = 0;
    for (unsigned i = 0; i < BUCKETS; i++) {
        seen += errors->bucket[i];
        if (errors->count != 0 && (double)seen >= share * (double)errors->count) {
            uint64_t edge = i < STEPS ? i : (uint64_t)(STEPS + i % STEPS + 1) << (i / STEPS - 1);
            return (double)(edge < errors->most ? edge : errors->most) / 1000;
        }
    }
    return 0;
}

static uint64_t outside(uint64_t value, uint64_t low, uint64_t high)
{
    return value < low ? low - value : value > high ? value - high : 0;
}

static uint64_t switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
}

static uint64_t next_random(struct worker *worker)
{
    worker->random ^= worker->random << 13;
    worker->random ^= worker->random >> 7;
    worker->random ^= worker->random << 17;
    return worker->random;
}

static void on_signal(int signal)
{
    (void)signal;
    struct worker *worker = self;
    if (worker == NULL) {
        return;
    }
    uint64_t wall_ns = sbx_thread_clock_wall_ns(&worker->clock);
    if (worker->inside == 0) {
        struct sbx_times times = sbx_thread_clock_read(&worker->clock);
        if (times.wall_ns < wall_ns) {
            broken("wall time went back by %llu ns in a handler", (unsigned long long)(wall_ns - times.wall_ns));
        }
    }
    worker->handled++;
}

static void act(struct worker *worker, enum action action)
{
    char byte;
    switch (action) {
    case SPIN:
        for (uint64_t turns = next_random(worker) % 1000000; turns > 0; turns--) {
            __asm__ volatile("");
        }
        break;
    case SLEEP: {
        struct timespec rest = {0, SLEEP_NS};
        while (nanosleep(&rest, &rest) != 0) {
        }
        break;
    }
    case YIELD:
        sched_yield();
        break;
    case BLOCKING_READ: /* its neighbour writes after each sleep; a signal may end it as well */
        if (read(worker->wake[0], &byte, 1) < 0) {
            break;
        }
        break;
    case HOP: {
        cpu_set_t one;
        CPU_ZERO(&one);
        int wanted = (int)(next_random(worker) % (uint64_t)CPU_COUNT(&all_cpus));
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            if (CPU_ISSET(cpu, &all_cpus) && wanted-- == 0) {
                CPU_SET(cpu, &one);
            }
        }
        sched_setaffinity(0, sizeof one, &one);
        break;
    }
    default:
        break;
    }
}

struct reading {
    uint64_t wall_low, wall_high, cpu_low, cpu_high;
    uint64_t wall_ns; /* from sbx_thread_clock_wall_ns(), between the two of CLOCK_MONOTONIC */
    struct sbx_times times;
    uint32_t sequence; /* of the line that it used or left */
    bool has_line;     /* it used or left a line of CPU time */
};

static struct reading take_reading(struct worker *worker)
{
    struct reading reading;
    reading.cpu_low = sbx_own_cpu_ns();
    sbx_store_relaxed(&worker->inside, 1);
    sbx_order_with_handler();
    reading.times = sbx_thread_clock_read(&worker->clock);
    reading.sequence = sbx_load_relaxed(&worker->clock.sequence);
    reading.has_line = worker->clock.cpu_base != 0; /* a handler may draw one later, after a change of source */
    sbx_order_with_handler();
    sbx_store_relaxed(&worker->inside, 0);
    reading.cpu_high = sbx_own_cpu_ns();
    /* Measured separately, because the system calls around the other reading take longer than the errors to be
     * found. */
    reading.wall_low = sbx_now_ns();
    reading.wall_ns = sbx_thread_clock_wall_ns(&worker->clock);
    reading.wall_high = sbx_now_ns();
    if (reading.times.wall_ns < worker->last_wall_ns || reading.wall_ns < reading.times.wall_ns ||
        reading.times.cpu_ns < worker->last_cpu_ns) {
        broken("went back: wall %lld ns, CPU %lld ns", (long long)(reading.times.wall_ns - worker->last_wall_ns),
               (long long)(reading.times.cpu_ns - worker->last_cpu_ns));
    }
    worker->last_wall_ns = reading.wall_ns;
    worker->last_cpu_ns = reading.times.cpu_ns;
    return reading;
}

static void *work(void *argument)
{
    struct worker *worker = self = argument;
    struct worker *next = &workers[(worker - workers + 1) % worker_count];
    bool busy = (worker - workers) % THREADS_A_CPU == 0; /* one a processor never rests and preempts the others */
    struct reading last = take_reading(worker);
    while (sbx_load_relaxed(&stop) == 0) {
        enum action action = (enum action)(next_random(worker) % (busy ? SLEEP : ACTIONS));
        uint64_t switches_before = switches();
        act(worker, action);
        uint64_t switched = switches() - switches_before;
        struct reading now = take_reading(worker);

        struct tally *tally = &worker->tally[action];
        uint64_t cpu_error = outside(now.times.cpu_ns, now.cpu_low, now.cpu_high);
        uint64_t wall_error = outside(now.wall_ns, now.wall_low, now.wall_high);
        count_error(&tally->cpu, cpu_error);
        count_error(&tally->wall, wall_error);
        bool same_line = now.has_line && now.sequence == last.sequence;
        tally->fast += same_line;
        tally->switched += switched != 0;
        tally->missed += switched != 0 && same_line;
        uint64_t charged = now.times.cpu_ns - last.times.cpu_ns;
        uint64_t used = now.cpu_high - last.cpu_low;
        if (action == SLEEP && charged > used + SLEEP_NS / 2) {
            broken("a sleep of %d ns was charged %llu ns of CPU time, the kernel says %llu", SLEEP_NS,
                   (unsigned long long)charged, (unsigned long long)used);
        }
        if (cpu_error > CPU_LIMIT_NS || wall_error > WALL_LIMIT_NS) {
            broken("after '%s': CPU time is %llu ns off, wall time %llu ns", action_names[action],
                   (unsigned long long)cpu_error, (unsigned long long)wall_error);
        }
        if (action == SLEEP && write(next->wake[1], "", 1) < 0) {
            /* the pipe is full: it has enough to read */
        }
        last = now;
    }
    self = NULL;
    return NULL;
}

static double stolen_s(void)
{
    unsigned long long f[8] = {0};
    FILE *file = fopen("/proc/stat", "r");
    if (file == NULL) {
        return 0;
    }
    int n = fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &f[0], &f[1], &f[2], &f[3], &f[4], &f[5], &f[6],
                   &f[7]);
    fclose(file);
    return n == 8 ? (double)f[7] / (double)sysconf(_SC_CLK_TCK) : 0;
}

static void print_line(const char *name, const struct tally *tally)
{
    const struct errors *cpu = &tally->cpu;
    double count = cpu->count != 0 ? (double)cpu->count : 1;
    printf("%-14s %9llu %5.1f%% | %7.2f %8.2f %8.2f %9.2f %6.2f%% %6.2f%% | %6.2f %7.2f %8.2f | %9llu %6llu\n", name,
           (unsigned long long)cpu->count, 100 * (double)tally->fast / count, error_us(cpu, 0.5), error_us(cpu, 0.99),
           error_us(cpu, 0.999), (double)cpu->most / 1000, 100 * (double)cpu->within_300 / count,
           100 * (double)cpu->within_1000 / count, error_us(&tally->wall, 0.99), error_us(&tally->wall, 0.999),
           (double)tally->wall.most / 1000, (unsigned long long)tally->switched, (unsigned long long)tally->missed);
}

static bool parse(int argc, char **argv, int *seconds)
{
    *seconds = argc > 1 ? atoi(argv[1]) : 2;
    if (*seconds < 1 || argc > 3) {
        return false;
    }
    for (enum sbx_clock_source source = SBX_CLOCK_KERNEL; argc == 3; source++) {
        if (source > SBX_CLOCK_RSEQ) {
            return false;
        }
        if (strcmp(argv[2], sbx_clock_source_name(source)) == 0) {
            sbx_clock_limit(source);
            break;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    int seconds;
    if (!parse(argc, argv, &seconds)) {
        fputs("usage: stress_clock [SECONDS [kernel|cycles|rseq]]\n", stderr);
        return 2;
    }
    sched_getaffinity(0, sizeof all_cpus, &all_cpus);
    worker_count = CPU_COUNT(&all_cpus) * THREADS_A_CPU;
    worker_count = worker_count < MOST_THREADS ? worker_count : MOST_THREADS;
    struct sigaction action = {.sa_handler = on_signal}; /* without SA_RESTART, so reads end early too */
    sigaction(SIGUSR1, &action, NULL);
    double stolen_before = stolen_s();
    sbx_clock_start();

    for (int i = 0; i < worker_count; i++) {
        workers[i].random = 0x9e3779b97f4a7c15u * (uint64_t)(i + 1);
        if (pipe2(workers[i].wake, O_CLOEXEC) != 0 || fcntl(workers[i].wake[1], F_SETFL, O_NONBLOCK) != 0) {
            broken("no pipe");
        }
    }
    for (int i = 0; i < worker_count; i++) {
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            broken("no thread");
        }
    }
    uint64_t end = sbx_now_ns() + (uint64_t)seconds * 1000 * MS;
    uint64_t next_calibration = 0;
    uint64_t periods = 0;
    for (uint64_t turn = 0, now; (now = sbx_now_ns()) < end; turn++) {
        if (now >= next_calibration) {
            sbx_clock_calibrate();
            if (argc < 3) { /* the source changes under the readers, as in a demotion: a tenth of the time each */
                sbx_clock_limit(periods % 10 < SBX_CLOCK_RSEQ ? (enum sbx_clock_source)(periods % 10) : SBX_CLOCK_RSEQ);
                periods++;
            }
            next_calibration = now + CALIBRATE_EVERY_NS;
        }
        pthread_kill(workers[turn % (uint64_t)worker_count].thread, SIGUSR1);
        nanosleep(&(struct timespec){0, SIGNAL_EVERY_NS}, NULL);
    }
    sbx_store_relaxed(&stop, 1);
    uint64_t handled = 0;
    static struct tally sums[ACTIONS + 1];
    for (int i = 0; i < worker_count; i++) {
        while (pthread_tryjoin_np(workers[i].thread, NULL) !=
               0) { /* it may wait for a byte that nobody writes any more */
            if (write(workers[i].wake[1], "", 1) < 0) {
                /* the pipe is full, which wakes it as well */
            }
            nanosleep(&(struct timespec){0, MS}, NULL);
        }
        handled += workers[i].handled;
        for (int a = 0; a < ACTIONS; a++) {
            const struct tally *tally = &workers[i].tally[a];
            for (struct tally *sum = &sums[a]; sum <= &sums[ACTIONS]; sum += ACTIONS - a) {
                add_errors(&sum->cpu, &tally->cpu);
                add_errors(&sum->wall, &tally->wall);
                sum->fast += tally->fast;
                sum->switched += tally->switched;
                sum->missed += tally->missed;
            }
        }
    }

    if (argc < 3) {
        sbx_clock_limit(SBX_CLOCK_RSEQ);
    }
    printf("stress_clock: source %s, %d threads, %d s, %llu signals handled, %.2f s stolen, %llu foreign words\n",
           sbx_clock_source_name(sbx_clock_source()), worker_count, seconds, (unsigned long long)handled,
           stolen_s() - stolen_before, (unsigned long long)sbx_clock_foreign_words());
    printf("%-14s %9s %6s | %7s %8s %8s %9s %7s %7s | %6s %7s %8s | %9s %6s\n", "after", "readings", "fast", "CPU p50",
           "p99", "p99.9", "max us", "<=0.3us", "<=1us", "w. p99", "p99.9", "max us", "switched", "missed");
    for (int a = 0; a < ACTIONS; a++) {
        print_line(action_names[a], &sums[a]);
    }
    print_line("all", &sums[ACTIONS]);
    if (sums[ACTIONS].missed != 0) {
        broken("%llu switches were missed", (unsigned long long)sums[ACTIONS].missed);
    }
    if (sums[ACTIONS].cpu.count == 0 || handled == 0) {
        broken("nothing was read or no signal came: nothing was tested");
    }
    return 0;
}
