/* SPDX-License-Identifier: Apache-2.0 */
/* sampling.c - blocks, and the random choice in a block. */
#include "sampling.h"

struct sbx_sampling_block sbx_sampling_block_of(const struct sbx_sampling_terms *terms, uint32_t trigger_kind,
                                                uint64_t n)
{
    uint64_t first = terms->first != 0 ? terms->first : 1, blocks = (first + 1) / 2;
    uint64_t rate =
        trigger_kind < SBX_TRIGGER_KINDS && terms->one_in[trigger_kind] > 1 ? terms->one_in[trigger_kind] : 1;
    if (n <= first || trigger_kind == SBX_TRIGGER_MANUAL) {
        return (struct sbx_sampling_block){.begin = n, .one_in = 1};
    }
    rate = rate <= SBX_WEIGHT_MAX / SBX_THIN_MOST ? rate : SBX_WEIGHT_MAX / SBX_THIN_MOST;
    uint64_t begin = first + 1, size = 2 * rate;
    while (size < SBX_THIN_MOST * rate && n - begin >= blocks * size) {
        begin += blocks * size;
        size *= 2;
    }
    return (struct sbx_sampling_block){.begin = n - (n - begin) % size, .one_in = (uint32_t)size};
}

/* The finalizer of MurmurHash3, 64 bits (Appleby): each bit of the result depends on each of the input. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

bool sbx_sampling_picks(const struct sbx_sampling_block *block, uint64_t n, uint64_t seed, uint64_t place)
{
    uint64_t lot = mix(mix(mix(seed ^ UINT64_C(0x9e3779b97f4a7c15)) ^ place) ^ mix(block->begin ^ block->one_in));
    return n - block->begin == lot % block->one_in; /* the choice is uniform to one part in 2^44 */
}
