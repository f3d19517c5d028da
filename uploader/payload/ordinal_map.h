/* SPDX-License-Identifier: Apache-2.0 */
/* ordinal_map.h - numbers in order of first appearance, for values that must not leave.
 *
 * A lock's address becomes "the third lock seen in this payload". The same map interns callstack nodes. */
#ifndef SBX_ORDINAL_MAP_H
#define SBX_ORDINAL_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"

/* Zero-initialised is empty and valid. Finish releases it and leaves it empty. */
struct sbx_ordinal_map {
    struct sbx_ordinal_slot {
        uint64_t key;
        uint32_t ordinal_plus_1; /* 0: empty slot */
    } * slots;                   /* open addressing; a power of two, at most half full */
    size_t slot_count;
    uint32_t count; /* ordinals given: 0 .. count - 1 */
};

/* The ordinal of `key`, giving it the next one when it is new (then *is_new is true; it may be NULL). 0 or -ENOMEM. */
SBX_MUST_CHECK int sbx_ordinal_map_put(struct sbx_ordinal_map *map, uint64_t key, uint32_t *ordinal_out, bool *is_new);
/* The ordinal of `key`; false when it has none. */
bool sbx_ordinal_map_find(const struct sbx_ordinal_map *map, uint64_t key, uint32_t *ordinal_out);
void sbx_ordinal_map_finish(struct sbx_ordinal_map *map);

#endif
