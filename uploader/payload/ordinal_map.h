/* SPDX-License-Identifier: Apache-2.0 */
/* ordinal_map.h - numbers values in order of first appearance, because the values must not leave the machine.
 *
 * For example, a lock's address becomes "the third lock in this payload". The same map interns callstack nodes. */
#ifndef SBX_ORDINAL_MAP_H
#define SBX_ORDINAL_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"

/* A zeroed map is empty and valid. Finish releases its memory and leaves it empty. */
struct sbx_ordinal_map {
    struct sbx_ordinal_slot {
        uint64_t key;
        uint32_t ordinal_plus_1; /* 0: empty slot */
    } * slots;                   /* open addressing; a power of two, at most half full */
    size_t slot_count;
    uint32_t count; /* ordinals given: 0 .. count - 1 */
};

/* Gets the ordinal of `key`. A new key gets the next ordinal (then *is_new is true; is_new may be NULL). Returns 0 or
 * -ENOMEM. */
SBX_MUST_CHECK int sbx_ordinal_map_put(struct sbx_ordinal_map *map, uint64_t key, uint32_t *ordinal_out, bool *is_new);
/* Gets the ordinal of `key`. Returns false if it has none. */
bool sbx_ordinal_map_find(const struct sbx_ordinal_map *map, uint64_t key, uint32_t *ordinal_out);
void sbx_ordinal_map_finish(struct sbx_ordinal_map *map);

#endif
