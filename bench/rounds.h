/* SPDX-License-Identifier: Apache-2.0 */
/* rounds.h - values that were measured round by round, and the line that prints them.
 *
 * Every variant runs in every round, one after another, because a shared machine changes its speed over minutes. A
 * ratio is computed inside a round, and the result is its median over the rounds. */
#ifndef SBX_BENCH_ROUNDS_H
#define SBX_BENCH_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    BENCH_ROUNDS_MAX = 1024
};

/* One variant: a value for each round. */
struct bench_series {
    double values[BENCH_ROUNDS_MAX];
    int count;
};

struct bench_line {
    const char *bench, *metric, *unit;
    const char *peer;  /* what it is compared with; NULL: nothing */
    const char *reach; /* the target, e.g. "ratio <= 0.2" or "value < 50"; NULL: no target, printed for information */
};

void bench_series_add(struct bench_series *series, double value);

/* Returns the value at `rank` (0 the smallest, 0.5 the median, 1 the largest); 0: there are no values. */
double bench_series_at(const struct bench_series *series, double rank);

/* Print one line: the median of `ours` and, with a peer, the median, 10th and 90th percentile of ours / peer's,
 * computed round by round. The line is a JSON object ("peer" names the peer, "peer_value" is its median) or a
 * table row. */
void bench_print(bool json, const struct bench_line *line, const struct bench_series *ours,
                 const struct bench_series *peer);

/* Print the heading of the table; nothing with json. */
void bench_print_heading(bool json, const char *title);

/* Returns CLOCK_MONOTONIC in ns. */
double bench_now_ns(void);

/* Parses `--json`, `--rounds N` and `--seconds N`, the only options of a measuring program here. If there is any other
 * argument, prints the usage and returns false. */
struct bench_options {
    bool json;
    int rounds, seconds;
};
bool bench_read_options(int count, char **arguments, struct bench_options *options);

#endif
