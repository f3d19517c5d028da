/* SPDX-License-Identifier: Apache-2.0 */
/* name_cache.h - ids of methods that were met before (lines: place_cache.h).
 *
 * All threads and their signal handlers read and write, and none of them waits. An entry is two words, {key ^ value,
 * value}, and is valid only if they match. An entry that two threads wrote at the same time, or that is half-written,
 * does not match. */
#ifndef SBX_NAME_CACHE_H
#define SBX_NAME_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "order.h"

enum {
    SBX_NAME_CACHE_ENTRIES = 8192 /* 128 KiB, touched only as they are used */
};

struct sbx_name_cache {
    struct {
        uint64_t check, value;
    } entries[SBX_NAME_CACHE_ENTRIES];
};

/* `key` is never 0 and well mixed; `value` is not 0. */
SBX_SIGNAL_SAFE static inline bool sbx_name_cache_find(struct sbx_name_cache *cache, uint64_t key, uint64_t *value_out)
{
    uint32_t at = (uint32_t)(key % SBX_NAME_CACHE_ENTRIES);
    /* relaxed: words that do not match are a miss */
    uint64_t check = sbx_load_relaxed(&cache->entries[at].check);
    uint64_t value = sbx_load_relaxed(&cache->entries[at].value);
    *value_out = value;
    return value != 0 && (check ^ value) == key;
}

SBX_SIGNAL_SAFE static inline void sbx_name_cache_put(struct sbx_name_cache *cache, uint64_t key, uint64_t value)
{
    uint32_t at = (uint32_t)(key % SBX_NAME_CACHE_ENTRIES);
    sbx_store_relaxed(&cache->entries[at].check, key ^ value); /* relaxed: as above */
    sbx_store_relaxed(&cache->entries[at].value, value);
}

#endif
