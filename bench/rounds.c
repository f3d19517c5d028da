/* SPDX-License-Identifier: Apache-2.0 */
/* rounds.c - medians, and how they are printed. */
#include "rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void bench_series_add(struct bench_series *series, double value)
{
    if (series->count < BENCH_ROUNDS_MAX) {
        series->values[series->count++] = value;
    }
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double bench_series_at(const struct bench_series *series, double rank)
{
    double sorted[BENCH_ROUNDS_MAX];
    if (series->count == 0) {
        return 0;
    }
    memcpy(sorted, series->values, (size_t)series->count * sizeof sorted[0]);
    qsort(sorted, (size_t)series->count, sizeof sorted[0], compare);
    return sorted[(int)(rank * (series->count - 1) + 0.5)];
}

void bench_print_heading(bool json, const char *title)
{
    if (!json) {
        printf("%s\n%-46s %12s %-8s %12s   %s\n", title, "", "ours", "", "peer", "ratio (p10..p90)");
    }
}

void bench_print(bool json, const struct bench_line *line, const struct bench_series *ours,
                 const struct bench_series *peer)
{
    static struct bench_series ratios;
    ratios.count = 0;
    for (int i = 0; peer != NULL && i < ours->count && i < peer->count; i++) {
        bench_series_add(&ratios, peer->values[i] != 0 ? ours->values[i] / peer->values[i] : 0);
    }
    double value = bench_series_at(ours, 0.5), peer_value = peer != NULL ? bench_series_at(peer, 0.5) : 0;
    double ratio = bench_series_at(&ratios, 0.5), low = bench_series_at(&ratios, 0.1),
           high = bench_series_at(&ratios, 0.9);
    if (json) {
        printf("{\"bench\":\"%s\",\"metric\":\"%s\",\"value\":%.6g,\"unit\":\"%s\"", line->bench, line->metric, value,
               line->unit);
        if (peer != NULL) {
            printf(",\"peer\":\"%s\",\"peer_value\":%.6g,\"ratio\":%.4f,\"ratio_p10\":%.4f,\"ratio_p90\":%.4f",
                   line->peer, peer_value, ratio, low, high);
        } else {
            printf(",\"peer\":null,\"ratio\":null,\"ratio_p10\":null,\"ratio_p90\":null,\"value_p10\":%.6g,\"value_"
                   "p90\":%.6g",
                   bench_series_at(ours, 0.1), bench_series_at(ours, 0.9));
        }
        if (line->reach != NULL) {
            printf(",\"reach\":\"%s\"", line->reach);
        }
        printf(",\"runs\":%d}\n", ours->count);
    } else if (peer != NULL) {
        printf("%-46s %12.5g %-8s %12.5g   %.3f (%.3f..%.3f)  %s\n", line->metric, value, line->unit, peer_value, ratio,
               low, high, line->reach != NULL ? line->reach : "");
    } else {
        printf("%-46s %12.5g %-8s %12s   (%.5g..%.5g)  %s\n", line->metric, value, line->unit, "",
               bench_series_at(ours, 0.1), bench_series_at(ours, 0.9), line->reach != NULL ? line->reach : "");
    }
    fflush(stdout);
}

double bench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

bool bench_read_options(int count, char **arguments, struct bench_options *options)
{
    for (int i = 1; i < count; i++) {
        int *number = strcmp(arguments[i], "--rounds") == 0    ? &options->rounds
                      : strcmp(arguments[i], "--seconds") == 0 ? &options->seconds
                                                               : NULL;
        if (strcmp(arguments[i], "--json") == 0) {
            options->json = true;
        } else if (number != NULL && i + 1 < count && atoi(arguments[i + 1]) > 0 &&
                   atoi(arguments[i + 1]) <= BENCH_ROUNDS_MAX) {
            *number = atoi(arguments[++i]);
        } else {
            fprintf(stderr, "usage: %s [--json] [--rounds N] [--seconds N]\n", arguments[0]);
            return false;
        }
    }
    return true;
}
