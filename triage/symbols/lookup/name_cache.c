/* SPDX-License-Identifier: Apache-2.0 */
/* name_cache.c - a cache of demangled names. */
#include "name_cache.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "demangle.h"

enum {
    BUCKETS = 1 << 12, /* a power of two */
    WAYS = 4           /* names of one hash that are kept together; the next one replaces one of them */
};

struct slot {
    uint64_t hash;
    const char *name, *readable; /* in the arena; NULL: free */
};

struct sbx_name_cache {
    struct sbx_arena *arena;
    size_t limit_bytes;
    struct slot slots[BUCKETS][WAYS];
    char last[SBX_NAME_BYTES_MAX]; /* a name that could not be kept */
};

struct sbx_name_cache *sbx_name_cache_create(size_t limit_bytes)
{
    struct sbx_name_cache *cache = calloc(1, sizeof *cache);
    if (cache != NULL) {
        cache->limit_bytes = limit_bytes;
        cache->arena = sbx_arena_create(limit_bytes); /* NULL: nothing can be kept */
    }
    return cache;
}

void sbx_name_cache_destroy(struct sbx_name_cache *cache)
{
    if (cache != NULL) {
        sbx_arena_destroy(cache->arena);
        free(cache);
    }
}

static uint64_t hash_of(const char *name, size_t bytes)
{
    uint64_t hash = bytes;
    for (; bytes >= 8; bytes -= 8, name += 8) {
        uint64_t word;
        memcpy(&word, name, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    uint64_t rest = 0;
    memcpy(&rest, name, bytes);
    hash = (hash ^ rest) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* A copy in the arena; NULL when it is full. */
static const char *keep(struct sbx_name_cache *cache, const char *text, size_t bytes)
{
    char *kept = sbx_arena_take(cache->arena, bytes + 1);
    if (kept != NULL) {
        memcpy(kept, text, bytes + 1);
    }
    return kept;
}

static void forget_all(struct sbx_name_cache *cache)
{
    sbx_arena_destroy(cache->arena);
    memset(cache->slots, 0, sizeof cache->slots);
    cache->arena = sbx_arena_create(cache->limit_bytes); /* NULL: nothing can be kept */
}

const char *sbx_name_cache_read(struct sbx_name_cache *cache, const char *name)
{
    size_t bytes = strlen(name);
    uint64_t hash = hash_of(name, bytes);
    struct slot *bucket = cache->slots[hash & (BUCKETS - 1)], *slot = &bucket[hash >> 62];
    for (size_t way = 0; way < WAYS; way++) {
        if (bucket[way].name == NULL) {
            slot = &bucket[way];
            break;
        }
        if (bucket[way].hash == hash && strcmp(bucket[way].name, name) == 0) {
            return bucket[way].readable;
        }
    }
    sbx_demangle(name, cache->last, sizeof cache->last);
    size_t readable_bytes = strlen(cache->last);
    for (int tries = 0; tries < 2; tries++) {
        if (cache->arena != NULL) {
            const char *kept = keep(cache, name, bytes), *readable = keep(cache, cache->last, readable_bytes);
            if (kept != NULL && readable != NULL) {
                *slot = (struct slot){hash, kept, readable};
                break;
            }
        }
        forget_all(cache);
    }
    return cache->last;
}
