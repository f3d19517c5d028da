/* SPDX-License-Identifier: Apache-2.0 */
/* ordinal_map.c - open addressing with linear probing; entries are never removed. */
#include "ordinal_map.h"

#include <errno.h>
#include <stdlib.h>

enum {
    FIRST_SLOTS = 64
};

/* The final mixing step of splitmix64. Keys are addresses and packed pairs, whose low bits alone would collide. */
static uint64_t mix(uint64_t key)
{
    key = (key ^ (key >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ (key >> 27)) * UINT64_C(0x94d049bb133111eb);
    return key ^ (key >> 31);
}

/* Returns the slot of `key`, or the empty slot for it. The table is never full. */
static struct sbx_ordinal_slot *probe(struct sbx_ordinal_slot *slots, size_t slot_count, uint64_t key)
{
    size_t at = (size_t)mix(key) & (slot_count - 1);
    while (slots[at].ordinal_plus_1 != 0 && slots[at].key != key) {
        at = (at + 1) & (slot_count - 1);
    }
    return &slots[at];
}

static int grow(struct sbx_ordinal_map *map)
{
    size_t slot_count = map->slot_count == 0 ? FIRST_SLOTS : 2 * map->slot_count;
    struct sbx_ordinal_slot *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < map->slot_count; i++) {
        if (map->slots[i].ordinal_plus_1 != 0) {
            *probe(slots, slot_count, map->slots[i].key) = map->slots[i];
        }
    }
    free(map->slots);
    map->slots = slots;
    map->slot_count = slot_count;
    return 0;
}

int sbx_ordinal_map_put(struct sbx_ordinal_map *map, uint64_t key, uint32_t *ordinal_out, bool *is_new)
{
    if (2 * ((size_t)map->count + 1) > map->slot_count) {
        int result = grow(map);
        if (result != 0) {
            return result;
        }
    }
    struct sbx_ordinal_slot *slot = probe(map->slots, map->slot_count, key);
    bool fresh = slot->ordinal_plus_1 == 0;
    if (fresh) {
        slot->key = key;
        slot->ordinal_plus_1 = ++map->count;
    }
    if (is_new != NULL) {
        *is_new = fresh;
    }
    *ordinal_out = slot->ordinal_plus_1 - 1;
    return 0;
}

bool sbx_ordinal_map_find(const struct sbx_ordinal_map *map, uint64_t key, uint32_t *ordinal_out)
{
    if (map->slot_count == 0) {
        return false;
    }
    const struct sbx_ordinal_slot *slot = probe(map->slots, map->slot_count, key);
    if (slot->ordinal_plus_1 == 0) {
        return false;
    }
    *ordinal_out = slot->ordinal_plus_1 - 1;
    return true;
}

void sbx_ordinal_map_finish(struct sbx_ordinal_map *map)
{
    free(map->slots);
    *map = (struct sbx_ordinal_map){.slots = NULL};
}
