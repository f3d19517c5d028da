/* SPDX-License-Identifier: Apache-2.0 */
/* stall_counts.h - how often this machine has seen each kind of stall, what was decided about the last ones, and how
 * many stalls their payloads stand for. docs/SAMPLING.md has the mathematics.
 *
 * This is a value and its bytes. stall_sampling.h has the file. The table is bounded: if there are more kinds, the one
 * that was not seen for longest is forgotten. When it comes again, it counts as new. This costs a few more payloads,
 * and makes no count wrong. The decisions about the last snapshots are stored with their ids. So a process that repeats
 * the work of one that was killed between decision and packing finds the same decision, and nothing is counted
 * twice. */
#ifndef SBX_STALL_COUNTS_H
#define SBX_STALL_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampling.h"

enum {
    SBX_STALL_KINDS_KEPT = 512,
    SBX_STALL_DECISIONS_KEPT = 128,
};

enum sbx_stall_fate {
    SBX_FATE_UNKNOWN = 0,  /* not decided */
    SBX_FATE_TOLD = 1,     /* becomes a payload */
    SBX_FATE_THINNED = 2,  /* not picked: other payloads stand for it */
    SBX_FATE_WITHHELD = 3, /* picked, but the day's budget is used up: its kind's next payload stands for it, too */
};

struct sbx_stall_kind {
    uint64_t signature; /* 0: the place is free */
    uint64_t seen;      /* how often */
    uint64_t carried;   /* weight of the withheld stalls since the last payload */
    uint64_t order;     /* when it was last seen: larger is later */
};

struct sbx_stall_decision {
    uint8_t id[16];
    uint8_t fate; /* enum sbx_stall_fate */
    struct sbx_sampled sampled;
};

struct sbx_stall_counts {
    struct sbx_stall_kind kinds[SBX_STALL_KINDS_KEPT];
    struct sbx_stall_decision decisions[SBX_STALL_DECISIONS_KEPT]; /* a ring; the newest is before `decided` */
    uint64_t decided;                                              /* total number of decisions */
    uint64_t order;                                                /* of the next stall */
    uint64_t seed;                                                 /* random, made with the table; 0: not yet */
    uint64_t lost;                                                 /* carried weight of kinds that were forgotten */
    uint64_t forgotten;                                            /* number of these kinds */
};

/* Returns what was decided about a snapshot; SBX_FATE_UNKNOWN if this is not known, or no longer known. */
enum sbx_stall_fate sbx_stall_counts_find(const struct sbx_stall_counts *counts, const uint8_t id[16],
                                          struct sbx_sampled *sampled_out);

/* Counts one more stall of this kind. Returns whether it is picked. *one_in_out gets the chance. */
bool sbx_stall_counts_see(struct sbx_stall_counts *counts, uint64_t signature, uint32_t trigger_kind,
                          const struct sbx_sampling_terms *terms, uint32_t *one_in_out);

/* Stores what was decided about this stall. Fills *sampled_out for SBX_FATE_TOLD. */
void sbx_stall_counts_decide(struct sbx_stall_counts *counts, uint64_t signature, const uint8_t id[16],
                             enum sbx_stall_fate fate, uint32_t one_in, struct sbx_sampled *sampled_out);

/* ---- as bytes ---- */

enum {
    SBX_STALL_COUNTS_BYTES_MAX = 64 + SBX_STALL_KINDS_KEPT * 32 + SBX_STALL_DECISIONS_KEPT * 32
};

/* Returns the number of bytes written. */
size_t sbx_stall_counts_print(const struct sbx_stall_counts *counts, uint8_t bytes_out[SBX_STALL_COUNTS_BYTES_MAX]);

/* Returns false, and no counts, if the bytes are damaged. All input is checked. */
bool sbx_stall_counts_parse(const uint8_t *bytes, size_t count, struct sbx_stall_counts *counts_out);

#endif
