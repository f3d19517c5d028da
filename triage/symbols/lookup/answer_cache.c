/* SPDX-License-Identifier: Apache-2.0 */
/* answer_cache.c - the last answers of a symbol file, by address. */
#include "answer_cache.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"

enum {
    SLOTS_FIRST = 1 << 9, /* a power of two; at most half of the slots are used */
    SLOTS_MAX = 1 << 17
};

/* A slot has everything but the frames, so that a lookup reads only the slot and the frames. */
struct slot {
    uint64_t address;
    struct sbx_answer answer;
    bool is_used;
};

struct sbx_answer_cache {
    struct sbx_arena *arena; /* NULL: there is no memory for one */
    struct slot *slots;
    size_t room, count, limit_bytes;
};

struct sbx_answer_cache *sbx_answer_cache_create(size_t limit_bytes)
{
    struct sbx_answer_cache *cache = calloc(1, sizeof *cache);
    if (cache != NULL) {
        cache->limit_bytes = limit_bytes;
        cache->arena = sbx_arena_create(limit_bytes);
    }
    return cache;
}

void sbx_answer_cache_destroy(struct sbx_answer_cache *cache)
{
    if (cache != NULL) {
        sbx_arena_destroy(cache->arena);
        free(cache->slots);
        free(cache);
    }
}

/* The slot of `address`, or the free slot for it. */
static struct slot *slot_of(struct slot *slots, size_t room, uint64_t address)
{
    size_t at = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (room - 1);
    while (slots[at].is_used && slots[at].address != address) {
        at = (at + 1) & (room - 1);
    }
    return &slots[at];
}

const struct sbx_answer *sbx_answer_cache_find(const struct sbx_answer_cache *cache, uint64_t address)
{
    if (cache->room == 0) {
        return NULL;
    }
    const struct slot *slot = slot_of(cache->slots, cache->room, address);
    return slot->is_used ? &slot->answer : NULL;
}

void sbx_answer_cache_forget(struct sbx_answer_cache *cache)
{
    sbx_arena_destroy(cache->arena);
    free(cache->slots);
    cache->slots = NULL;
    cache->room = cache->count = 0;
    cache->arena = sbx_arena_create(cache->limit_bytes);
}

/* Make room for one more answer. */
static bool grow(struct sbx_answer_cache *cache)
{
    if (2 * (cache->count + 1) <= cache->room) {
        return true;
    }
    size_t room = cache->room == 0 ? SLOTS_FIRST : cache->room * 2;
    struct slot *slots = room > SLOTS_MAX ? NULL : calloc(room, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < cache->room; i++) {
        if (cache->slots[i].is_used) {
            *slot_of(slots, room, cache->slots[i].address) = cache->slots[i];
        }
    }
    free(cache->slots);
    cache->slots = slots;
    cache->room = room;
    return true;
}

const char *sbx_answer_cache_keep(struct sbx_answer_cache *cache, const char *text)
{
    return cache->arena == NULL ? NULL : sbx_arena_intern(cache->arena, text);
}

const struct sbx_answer *sbx_answer_cache_add(struct sbx_answer_cache *cache, uint64_t address,
                                              const struct sbx_answer *answer)
{
    size_t bytes = answer->count * sizeof *answer->frames;
    struct sbx_symbol_frame *frames =
        cache->arena != NULL && grow(cache) ? sbx_arena_take(cache->arena, bytes + 1) : NULL;
    if (frames == NULL) {
        return NULL;
    }
    if (bytes > 0) {
        memcpy(frames, answer->frames, bytes);
    }
    struct slot *slot = slot_of(cache->slots, cache->room, address);
    cache->count += !slot->is_used;
    *slot = (struct slot){address, {frames, answer->count, answer->source}, true};
    return &slot->answer;
}
