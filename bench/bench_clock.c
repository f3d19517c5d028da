/* SPDX-License-Identifier: Apache-2.0 */
/* bench_clock.c - what it costs to know the time: the thread clock by each source, beside the calls it replaces.
 *
 *   bench_clock [--json] [ROUNDS]      400 rounds by default, about two seconds
 *
 * A round reads each of them a thousand times in a loop, one after the other, so that a slower minute of a shared
 * machine hits all alike. The ratio is formed within a round, against clock_gettime(CLOCK_MONOTONIC); what is printed
 * is the median of the rounds, and the ratio's 10th and 90th percentile. The loop itself is in the figures (some 0.5
 * ns). */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "thread_clock.h"

enum {
    READINGS = 1000,
    MOST_ROUNDS = 100000
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

/* The reading that finds the word gone: two clocks asked, two lines drawn. */
static void read_after_switch(void)
{
    sbx_thread_clock_disarm(&clock_of_this_thread);
    read_thread_clock();
}

static const struct variant {
    const char *metric;
    enum sbx_clock_source source; /* the least it needs */
    void (*read)(void);
} variants[] = {
    {"clock_gettime(MONOTONIC)", SBX_CLOCK_KERNEL, read_monotonic}, /* first: the peer */
    {"clock_gettime(THREAD_CPUTIME_ID)", SBX_CLOCK_KERNEL, read_thread_cpu},
    {"both by clock_gettime", SBX_CLOCK_KERNEL, read_both_calls},
    {"cycle counter", SBX_CLOCK_CYCLES, read_counter},
    {"wall, kernel", SBX_CLOCK_KERNEL, read_wall},
    {"wall, cycles", SBX_CLOCK_CYCLES, read_wall},
    {"wall+cpu, kernel", SBX_CLOCK_KERNEL, read_thread_clock},
    {"wall+cpu, cycles", SBX_CLOCK_CYCLES, read_thread_clock},
    {"wall+cpu, rseq", SBX_CLOCK_RSEQ, read_thread_clock},
    {"wall+cpu, rseq, word lost", SBX_CLOCK_RSEQ, read_after_switch},
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

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

static double percentile(double *sorted, int count, int percent)
{
    return sorted[(count - 1) * percent / 100];
}

int main(int argc, char **argv)
{
    bool json = false;
    int rounds = 400;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            json = true;
        } else if ((rounds = atoi(argv[i])) < 10 || rounds > MOST_ROUNDS) {
            fputs("usage: bench_clock [--json] [ROUNDS]     10 to 100000\n", stderr);
            return 2;
        }
    }

    sbx_clock_start();
    for (int i = 0; i < 20 && sbx_clock_calibrate() != SBX_CLOCK_RSEQ; i++) {
        nanosleep(&(struct timespec){0, 10 * 1000 * 1000}, NULL);
    }
    enum sbx_clock_source best = sbx_clock_source();
    fprintf(stderr, "bench_clock: best source here: %s\n", sbx_clock_source_name(best));

    double *ns[VARIANTS];
    double *ratio[VARIANTS];
    for (int v = 0; v < VARIANTS; v++) {
        ns[v] = calloc((size_t)rounds, sizeof(double));
        ratio[v] = calloc((size_t)rounds, sizeof(double));
        if (ns[v] == NULL || ratio[v] == NULL) {
            return 1;
        }
    }
    for (int round = 0; round < rounds; round++) {
        for (int v = 0; v < VARIANTS; v++) {
            if (variants[v].source <= best) {
                ns[v][round] = measure(&variants[v]);
                ratio[v][round] = ns[v][round] / ns[0][round];
            }
        }
        sbx_clock_limit(SBX_CLOCK_RSEQ);
        sbx_clock_calibrate();
    }

    if (!json) {
        printf("%-34s %9s %8s %8s %8s\n", "read once", "ns", "ratio", "p10", "p90");
    }
    for (int v = 0; v < VARIANTS; v++) {
        if (variants[v].source > best) {
            continue; /* not to be had here: said above, no figure made up */
        }
        qsort(ns[v], (size_t)rounds, sizeof(double), ascending);
        qsort(ratio[v], (size_t)rounds, sizeof(double), ascending);
        double value = percentile(ns[v], rounds, 50);
        double middle = percentile(ratio[v], rounds, 50);
        double low = percentile(ratio[v], rounds, 10);
        double high = percentile(ratio[v], rounds, 90);
        if (json) {
            printf("{\"bench\":\"clock\",\"metric\":\"%s\",\"value\":%.2f,\"unit\":\"ns\",\"peer\":\"%s\","
                   "\"ratio\":%.3f,\"ratio_p10\":%.3f,\"ratio_p90\":%.3f,\"runs\":%d}\n",
                   variants[v].metric, value, variants[0].metric, middle, low, high, rounds);
        } else {
            printf("%-34s %9.2f %8.3f %8.3f %8.3f\n", variants[v].metric, value, middle, low, high);
        }
    }
    return 0;
}
