/* SPDX-License-Identifier: Apache-2.0 */
/* machine_sample.h - counts distinct machines without reading all of them.
 *
 * The sums know a machine, and a process, by a hash of its id. The sample of level L has all machines whose hash is at
 * most INT64_MAX / 2^L. It is one in 2^L of them, always the same ones, and one range of a key reads it. So a count
 * reads a bounded number of rows, and multiplies the machines in the sample by 2^L. The standard error is at most the
 * count divided by the square root of the sample's size. Level 0 is exact. */
#ifndef SBX_MACHINE_SAMPLE_H
#define SBX_MACHINE_SAMPLE_H

#include <stdint.h>

#include "snapshot_id.h"

enum {
    SBX_SAMPLE_LEVELS = 40,
    /* rows read for one count; the standard error is 1.4 % when a machine has three rows in the span */
    SBX_SAMPLE_ROWS = 32768,
    SBX_SAMPLE_ISSUES = 16 /* one issue of a thousand gets this fraction of the rows */
};

/* Returns 0, or -EIO without a hash. */
int sbx_machine_hash(const uint8_t id[SBX_ID_BYTES], int64_t *hash_out);

/* The first level whose sample has at most `most` of `rows`. */
static inline int sbx_sample_level(int64_t rows, int64_t most)
{
    int level = 0;
    while (level + 1 < SBX_SAMPLE_LEVELS && rows >> level > most)
        level++;
    return level;
}

/* The largest hash in a sample. */
static inline int64_t sbx_sample_last(int level)
{
    return INT64_MAX >> level;
}

/* Distinct machines of a span. */
struct sbx_machines {
    int level;                           /* the level at which they were read */
    int64_t of_level[SBX_SAMPLE_LEVELS]; /* machines in the sample of each level, from `level` on */
};

/* Add one machine that was read. */
static inline void sbx_machines_add(struct sbx_machines *machines, int64_t hash)
{
    for (int level = machines->level; level < SBX_SAMPLE_LEVELS && hash <= sbx_sample_last(level); level++)
        machines->of_level[level]++;
}

/* The number of machines in the sample of a level. Below the level that was read it is an estimate. */
static inline int64_t sbx_machines_in(const struct sbx_machines *machines, int level)
{
    return level >= machines->level ? machines->of_level[level]
                                    : machines->of_level[machines->level] << (machines->level - level);
}

static inline int64_t sbx_machines_count(const struct sbx_machines *machines)
{
    return sbx_machines_in(machines, 0);
}

#endif
