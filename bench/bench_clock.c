/* SPDX-License-Identifier: Apache-2.0 */
/* bench_clock.c - the cost of reading the time: the thread clock by each source, compared with the calls that it
 * replaces.
 *
 * usage: bench_clock [--json] [--rounds N]
 * A round reads each of them a thousand times in a loop, one after another, so that a slow minute of a shared machine
 * affects all of them equally. The ratio to clock_gettime(CLOCK_MONOTONIC) is computed within a round. The printed
 * figures are the median of the rounds, and the ratio's 10th and 90th percentile. They include the loop itself (some
 * 0.5 ns). */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "rounds.h"
#include "thread_clock.h"

enum {
    READINGS = 1000,
    ROUNDS_DEFAULT = 400 /* about two seconds */
};

static struct sbx_thread_clock clock_of_this_thread __attribute__((aligned(64)));
static volatile uint64_t sink;

static void read_monotonic(void)
{
    sink = sbx_now_ns();
}

static void read_thread_cpu(void)
{
    sink = sbx_own_cpu_ns();
}

static void read_both_calls(void)
{
    sink = sbx_now_ns() + sbx_own_cpu_ns();
}

static void read_counter(void)
{
    sink = sbx_cycle_counter();
}

static void read_thread_clock(void)
{
    struct sbx_times times = sbx_thread_clock_read(&clock_of_this_thread);
    sink = times.wall_ns + times.cpu_ns;
}

static void read_wall(void)
{
    sink = sbx_thread_clock_wall_ns(&clock_of_this_thread);
}

/* A reading after the word was cleared: it asks both clocks and makes two new lines. */
static void read_after_switch(void)
{
    sbx_thread_clock_disarm(&clock_of_this_thread);
    read_thread_clock();
}

static const struct variant {
    const char *metric;
    enum sbx_clock_source source; /* the minimum that it needs */
    void (*read)(void);
    const char *reach; /* the target: some 10 ns for both, where one call takes 22 to 27 */
} variants[] = {
    {"clock_gettime(MONOTONIC)", SBX_CLOCK_KERNEL, read_monotonic, NULL}, /* first: the peer */
    {"clock_gettime(THREAD_CPUTIME_ID)", SBX_CLOCK_KERNEL, read_thread_cpu, NULL},
    {"both by clock_gettime", SBX_CLOCK_KERNEL, read_both_calls, NULL},
    {"cycle counter", SBX_CLOCK_CYCLES, read_counter, NULL},
    {"wall, kernel", SBX_CLOCK_KERNEL, read_wall, NULL},
    {"wall, cycles", SBX_CLOCK_CYCLES, read_wall, NULL},
    {"wall+cpu, kernel", SBX_CLOCK_KERNEL, read_thread_clock, NULL},
    {"wall+cpu, cycles", SBX_CLOCK_CYCLES, read_thread_clock, NULL},
    {"wall+cpu, rseq", SBX_CLOCK_RSEQ, read_thread_clock, "ratio <= 0.5"},
    {"wall+cpu, rseq, word lost", SBX_CLOCK_RSEQ, read_after_switch, NULL},
};
enum {
    VARIANTS = SBX_COUNT_OF(variants)
};

static double measure(const struct variant *variant)
{
    sbx_clock_limit(variant->source);
    memset(&clock_of_this_thread, 0, sizeof clock_of_this_thread);
    variant->read();
    uint64_t begin = sbx_now_ns();
    for (int i = 0; i < READINGS; i++) {
        variant->read();
    }
    return (double)(sbx_now_ns() - begin) / READINGS;
}

int main(int count, char **arguments)
{
    static struct bench_series ns[VARIANTS];
    struct bench_options options = {.rounds = ROUNDS_DEFAULT};
    if (!bench_read_options(count, arguments, &options)) {
        return 2;
    }
    sbx_clock_start();
    for (int i = 0; i < 20 && sbx_clock_calibrate() != SBX_CLOCK_RSEQ; i++) {
        nanosleep(&(struct timespec){0, 10 * 1000 * 1000}, NULL);
    }
    enum sbx_clock_source best = sbx_clock_source();
    fprintf(stderr, "bench_clock: best source here: %s\n", sbx_clock_source_name(best));
    for (int round = 0; round < options.rounds; round++) {
        for (int v = 0; v < VARIANTS; v++) {
            if (variants[v].source <= best) {
                bench_series_add(&ns[v], measure(&variants[v]));
            }
        }
        sbx_clock_limit(SBX_CLOCK_RSEQ);
        sbx_clock_calibrate();
    }
    bench_print_heading(options.json, "the time, read once");
    for (int v = 0; v < VARIANTS; v++) {
        const struct bench_line line = {"clock", variants[v].metric, "ns", variants[0].metric, variants[v].reach};
        if (variants[v].source <= best) { /* otherwise not available here, as printed above: no figure is made up */
            bench_print(options.json, &line, &ns[v], &ns[0]);
        }
    }
    return 0;
}
