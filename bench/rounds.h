/* SPDX-License-Identifier: Apache-2.0 */
/* rounds.h - what was measured round by round, and the one line that tells it.
 *
 * Every variant runs in every round, one after the other, because a shared machine changes its speed over minutes; a
 * ratio is formed inside a round and its median over the rounds is the result. */
#ifndef SBX_BENCH_ROUNDS_H
#define SBX_BENCH_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    BENCH_ROUNDS_MAX = 1024
};

/* One variant: a value a round. */
struct bench_series {
    double values[BENCH_ROUNDS_MAX];
    int count;
};

struct bench_line {
    const char *bench, *metric, *unit;
    const char *peer; /* what it is compared with; NULL: with nothing */
    const char
        *reach; /* what it should reach, e.g. "ratio <= 0.2" or "value < 50"; NULL: no target, told for context */
};

void bench_series_add(struct bench_series *series, double value);

/* The value at `rank` (0 the smallest, 0.5 the median, 1 the largest). 0 when there is none. */
double bench_series_at(const struct bench_series *series, double rank);

/* Print one line: the median of `ours` and, with a peer, the median, tenth and ninetieth percentile of ours / peer's
 * formed round by round. A JSON object (DESIGN.md 3.5; "peer" names it, "peer_value" is its median) or a table row. */
void bench_print(bool json, const struct bench_line *line, const struct bench_series *ours,
                 const struct bench_series *peer);

/* The heading of the table; nothing with json. */
void bench_print_heading(bool json, const char *title);

/* CLOCK_MONOTONIC. */
double bench_now_ns(void);

/* `--json`, `--rounds N` and `--seconds N`, which is all a measuring program here takes. Returns false, having told how
 * it is used, when there is anything else. */
struct bench_options {
    bool json;
    int rounds, seconds;
};
bool bench_read_options(int count, char **arguments, struct bench_options *options);

#endif
