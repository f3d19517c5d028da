/* SPDX-License-Identifier: Apache-2.0 */
/* place_cache.h - ids and lines of bytecodes of methods that an earlier walk has named.
 *
 * A method is identified by the key that sbx_method_look() computes. So another method at the same address later has
 * other places. All threads and their signal handlers read and write, and none of them waits. An entry is two words:
 * the id, and the key's upper bits with the line, combined with the id by exclusive or. It is valid only if the words
 * match. An entry that two threads wrote at the same time, or that is half-written, does not match. */
#ifndef SBX_PLACE_CACHE_H
#define SBX_PLACE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "order.h"

enum {
    SBX_PLACES = 8192,       /* 128 KiB, touched only as they are used */
    SBX_PLACE_LINE_BITS = 16 /* lines in class files have 16 bits */
};

struct sbx_place_cache {
    struct {
        uint64_t id, key_and_line;
    } entries[SBX_PLACES];
};

/* Returns the key for a method's key and a bytecode index; -1: the method has no bytecodes. */
SBX_SIGNAL_SAFE static inline uint64_t sbx_place_key(uint64_t method_key, int32_t bci)
{
    uint64_t key = (method_key ^ ((uint64_t)(uint32_t)bci + 1)) * UINT64_C(0x9e3779b97f4a7c15);
    return key ^ key >> 29;
}

SBX_SIGNAL_SAFE static inline bool sbx_place_find(const struct sbx_place_cache *cache, uint64_t key, uint64_t *id_out,
                                                  uint32_t *line_out)
{
    uint32_t at = (uint32_t)(key % SBX_PLACES);
    /* relaxed: words that do not match are a miss */
    uint64_t id = sbx_load_relaxed(&cache->entries[at].id);
    uint64_t word = sbx_load_relaxed(&cache->entries[at].key_and_line) ^ id;
    *id_out = id;
    *line_out = (uint32_t)(word & ((1 << SBX_PLACE_LINE_BITS) - 1));
    return id != 0 && word >> SBX_PLACE_LINE_BITS == key >> SBX_PLACE_LINE_BITS;
}

/* Does not store a line that needs more bits, nor an id of 0. */
SBX_SIGNAL_SAFE static inline void sbx_place_put(struct sbx_place_cache *cache, uint64_t key, uint64_t id,
                                                 uint32_t line)
{
    uint32_t at = (uint32_t)(key % SBX_PLACES);
    if (line >> SBX_PLACE_LINE_BITS == 0 && id != 0) {
        uint64_t word = (key >> SBX_PLACE_LINE_BITS << SBX_PLACE_LINE_BITS | line) ^ id;
        sbx_store_relaxed(&cache->entries[at].id, id); /* relaxed: as above */
        sbx_store_relaxed(&cache->entries[at].key_and_line, word);
    }
}

#endif
