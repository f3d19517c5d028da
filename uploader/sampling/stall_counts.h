/* SPDX-License-Identifier: Apache-2.0 */
/* stall_counts.h - how often this machine has seen each kind of stall, what was decided of the last ones, and what their
 * payloads stand for. docs/SAMPLING.md has the mathematics.
 *
 * A value and its bytes; the file is stall_counts_file.h's. Bounded: of more kinds than fit, the one not seen for longest
 * is forgotten, and is new when it comes again, which costs a few more payloads and makes no count wrong. The decisions
 * of the last snapshots are remembered with their ids: whoever was killed between deciding and packing finds the same
 * decision again, and nothing is counted twice. */
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
    SBX_FATE_THINNED = 2,  /* not picked: others stand for it */
    SBX_FATE_WITHHELD = 3, /* picked, but the day's budget is used up: the next payload of its kind stands for it too */
};

struct sbx_stall_kind {
    uint64_t signature; /* 0: the place is free */
    uint64_t seen;      /* how often */
    uint64_t carried;   /* weight of what was withheld since the last payload */
    uint64_t order;     /* of the last sight: larger is later */
};

struct sbx_stall_decision {
    uint8_t id[16];
    uint8_t fate; /* enum sbx_stall_fate */
    struct sbx_sampled sampled;
};

struct sbx_stall_counts {
    struct sbx_stall_kind kinds[SBX_STALL_KINDS_KEPT];
    struct sbx_stall_decision decisions[SBX_STALL_DECISIONS_KEPT]; /* a ring, the newest before `decided` */
    uint64_t decided;                                              /* ever */
    uint64_t order;                                                /* next */
    uint64_t seed;                                                 /* random, made with the table; 0: not yet */
    uint64_t lost;                                                 /* carried weight of kinds that were forgotten */
    uint64_t forgotten;                                            /* kinds that were */
};

/* What was decided of a snapshot; FATE_UNKNOWN when that is not known (any more). */
enum sbx_stall_fate sbx_stall_counts_find(const struct sbx_stall_counts *counts, const uint8_t id[16],
                                          struct sbx_sampled *sampled_out);

/* One more of that kind. Returns whether it is picked, and with what chance in *one_in_out. */
bool sbx_stall_counts_see(struct sbx_stall_counts *counts, uint64_t signature, uint32_t trigger_kind,
                          const struct sbx_sampling_terms *terms, uint32_t *one_in_out);

/* And this became of it. Fills *sampled_out for FATE_TOLD. */
void sbx_stall_counts_decide(struct sbx_stall_counts *counts, uint64_t signature, const uint8_t id[16],
                             enum sbx_stall_fate fate, uint32_t one_in, struct sbx_sampled *sampled_out);

/* ---- as bytes ---- */

enum {
    SBX_STALL_COUNTS_BYTES_MAX = 64 + SBX_STALL_KINDS_KEPT * 32 + SBX_STALL_DECISIONS_KEPT * 32
};

/* Returns how many were written. */
size_t sbx_stall_counts_print(const struct sbx_stall_counts *counts, uint8_t bytes_out[SBX_STALL_COUNTS_BYTES_MAX]);

/* Returns false, and no counts, when the bytes are not whole. Believes nothing. */
bool sbx_stall_counts_parse(const uint8_t *bytes, size_t count, struct sbx_stall_counts *counts_out);

#endif
