/* SPDX-License-Identifier: Apache-2.0 */
/* sampling.h - which stalls are told, and how many each of them stands for; pure. docs/SAMPLING.md has the mathematics.
 *
 * A machine numbers the stalls of each kind and place (uploader/sampling/stall_signature.h) from 1 on. The first `first` are told.
 * The later ones come in blocks of 2, then of 4, of 8 ..., (first + 1) / 2 blocks of each size, times what the policy says
 * for the trigger; of each block exactly one is told, drawn by lot. So each has the chance 1 / size, each payload carries
 * that size as its weight, and the sum of weights is in the mean the number of stalls (Horvitz and Thompson 1952), and
 * exactly that whenever a block is full. */
#ifndef SBX_SAMPLING_H
#define SBX_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "payload_numbers.h"

/* Blocks grow no further for their number alone: a stall that comes for ever is heard of for ever. */
enum {
    SBX_THIN_MOST = 1024
};

struct sbx_sampling_terms {
    uint32_t first;                     /* so many of each place are always told; 1 or more */
    uint32_t one_in[SBX_TRIGGER_KINDS]; /* of the later ones, besides; 0 and 1: as the schedule has it */
};

/* What a payload says of its being picked. */
struct sbx_sampled {
    uint64_t weight; /* how many stalls it stands for */
    uint32_t one_in; /* reciprocal of the chance */
};

/* The stalls of a place among which one is told. */
struct sbx_sampling_block {
    uint64_t begin;  /* number of its first */
    uint32_t one_in; /* how many there are */
};

/* The block of stall number `n` (from 1 on). What a person asked for (SBX_TRIGGER_MANUAL) is always a block of its own. */
struct sbx_sampling_block sbx_sampling_block_of(const struct sbx_sampling_terms *terms, uint32_t trigger_kind,
                                                uint64_t n);

/* Is stall number `n` the one that is drawn in its block? `seed` is the machine's own random number, `place` that of the
 * stall: the same question has the same answer. */
bool sbx_sampling_picks(const struct sbx_sampling_block *block, uint64_t n, uint64_t seed, uint64_t place);

#endif
