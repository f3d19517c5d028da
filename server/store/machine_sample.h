/* SPDX-License-Identifier: Apache-2.0 */
/* machine_sample.h - how distinct machines are counted without reading each of them.
 *
 * The sums know a machine, and a process, by a hash of its id. Those whose hash is at most INT64_MAX / 2^L are the sample of level L: one in
 * 2^L, the same ones wherever they are met, and read by one range of a key. So the machines of any span are counted among so many
 * rows as somebody is ready to read, and stand for 2^L times as many. The standard error is at most the count by the root of how many are in the
 * sample; of level 0 there is none. */
#ifndef SBX_MACHINE_SAMPLE_H
#define SBX_MACHINE_SAMPLE_H

#include <stdint.h>

#include "snapshot_id.h"

enum {
    SBX_SAMPLE_LEVELS = 40,
    SBX_SAMPLE_ROWS = 32768, /* that are read for one count: 1.4 % where a machine has three rows in the span */
    SBX_SAMPLE_ISSUES = 16   /* for one issue among a thousand so many times fewer */
};

/* 0, or -EIO and nothing. */
int sbx_machine_hash(const uint8_t id[SBX_ID_BYTES], int64_t *hash_out);

/* The first level at which of `rows` no more than `most` are in the sample. */
static inline int sbx_sample_level(int64_t rows, int64_t most)
{
    int level = 0;
    while (level + 1 < SBX_SAMPLE_LEVELS && rows >> level > most)
        level++;
    return level;
}

/* The last hash of a sample. */
static inline int64_t sbx_sample_last(int level)
{
    return INT64_MAX >> level;
}

/* Machines of a span. */
struct sbx_machines {
    int level;                           /* that they were read at */
    int64_t of_level[SBX_SAMPLE_LEVELS]; /* how many are in the sample of this level and those above it */
};

/* One that was read. */
static inline void sbx_machines_add(struct sbx_machines *machines, int64_t hash)
{
    for (int level = machines->level; level < SBX_SAMPLE_LEVELS && hash <= sbx_sample_last(level); level++)
        machines->of_level[level]++;
}

/* How many are in the sample of a level; below their own, as many as they stand for. */
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
