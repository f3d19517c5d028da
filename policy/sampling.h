/* SPDX-License-Identifier: Apache-2.0 */
/* sampling.h - which stalls are reported, and how many stalls each report stands for; pure. docs/SAMPLING.md has the
 * mathematics.
 *
 * A machine numbers the stalls of each kind and place (uploader/sampling/stall_signature.h) from 1 on. The first
 * `first` stalls are reported. The later ones are divided into blocks of 2, then of 4, of 8 ..., with (first + 1) / 2
 * blocks of each size; all sizes are multiplied by the policy's value for the trigger. Of each block exactly one stall
 * is reported, chosen at random. So each stall has the chance 1 / size, and each payload carries this size as its
 * weight. The expected sum of weights is the number of stalls (Horvitz and Thompson 1952), and the sum is exact
 * whenever a block is full. */
#ifndef SBX_SAMPLING_H
#define SBX_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "payload_numbers.h"

/* Blocks do not grow beyond this by number alone, so a stall that keeps occurring is reported for ever. */
enum {
    SBX_THIN_MOST = 1024
};

struct sbx_sampling_terms {
    uint32_t first;                     /* so many stalls of each place are always reported; 1 or more */
    uint32_t one_in[SBX_TRIGGER_KINDS]; /* further factor for the later ones; 0 and 1: only the schedule */
};

/* The sampling information of a payload. */
struct sbx_sampled {
    uint64_t weight; /* how many stalls it stands for */
    uint32_t one_in; /* reciprocal of the chance to be reported */
};

/* The stalls of a place of which one is reported. */
struct sbx_sampling_block {
    uint64_t begin;  /* number of the first one */
    uint32_t one_in; /* number of stalls in the block */
};

/* The block of stall number `n` (from 1 on). A snapshot requested by hand (SBX_TRIGGER_MANUAL) is always a block of its
 * own. */
struct sbx_sampling_block sbx_sampling_block_of(const struct sbx_sampling_terms *terms, uint32_t trigger_kind,
                                                uint64_t n);

/* Is stall number `n` the one chosen in its block? `seed` is the machine's own random number, `place` identifies the
 * place of the stall. The same arguments always have the same result. */
bool sbx_sampling_picks(const struct sbx_sampling_block *block, uint64_t n, uint64_t seed, uint64_t place);

#endif
