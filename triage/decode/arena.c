/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - memory that grows up to a limit and is released all at once. */
#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_BYTES = 64 * 1024,
    ALIGNMENT = 16
};

struct block {
    struct block *next;
    size_t bytes, used; /* bytes that follow the header */
};

struct sbx_arena {
    struct block *blocks; /* newest first; the first block is being filled */
    size_t limit, taken;  /* total bytes of all blocks */
    const char **texts;   /* open addressing; NULL: empty. A power of two of slots, at most half full */
    size_t text_slots, text_count;
};

struct sbx_arena *sbx_arena_create(size_t limit_bytes)
{
    struct sbx_arena *arena = calloc(1, sizeof *arena);
    if (arena != NULL) {
        arena->limit = limit_bytes;
    }
    return arena;
}

void sbx_arena_destroy(struct sbx_arena *arena)
{
    if (arena == NULL) {
        return;
    }
    while (arena->blocks != NULL) {
        struct block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    free(arena->texts);
    free(arena);
}

static struct block *add_block(struct sbx_arena *arena, size_t bytes)
{
    if (bytes > arena->limit - arena->taken) {
        return NULL;
    }
    struct block *block = calloc(1, sizeof *block + ALIGNMENT + bytes);
    if (block == NULL) {
        return NULL;
    }
    block->bytes = bytes;
    arena->taken += bytes;
    return block;
}

static uint8_t *block_start(struct block *block)
{
    return (uint8_t *)block + (sizeof *block + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void *sbx_arena_take(struct sbx_arena *arena, size_t bytes)
{
    if (bytes > arena->limit) {
        return NULL; /* also prevents an overflow of the rounding below */
    }
    size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    rounded = rounded == 0 ? ALIGNMENT : rounded;
    struct block *block = arena->blocks;
    if (block != NULL && block->bytes - block->used >= rounded) {
        void *taken = block_start(block) + block->used;
        block->used += rounded;
        return taken;
    }
    size_t wanted = rounded > BLOCK_BYTES / 4 ? rounded : BLOCK_BYTES;
    block = add_block(arena, wanted);
    if (block == NULL) {
        return NULL;
    }
    block->used = rounded;
    if (wanted == rounded && arena->blocks != NULL) { /* a large piece: continue to fill the block in use */
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    } else {
        block->next = arena->blocks;
        arena->blocks = block;
    }
    return block_start(block);
}

/* ---- texts ---- */

static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    }
    return hash ^ hash >> 32;
}

static const char **slot_of(const char **texts, size_t slots, const char *text)
{
    size_t at = (size_t)hash_of(text) & (slots - 1);
    while (texts[at] != NULL && strcmp(texts[at], text) != 0) {
        at = (at + 1) & (slots - 1);
    }
    return &texts[at];
}

static int grow_texts(struct sbx_arena *arena)
{
    size_t slots = arena->text_slots == 0 ? 256 : arena->text_slots * 2;
    const char **texts = calloc(slots, sizeof *texts);
    if (texts == NULL) {
        return -1;
    }
    for (size_t i = 0; i < arena->text_slots; i++) {
        if (arena->texts[i] != NULL) {
            *slot_of(texts, slots, arena->texts[i]) = arena->texts[i];
        }
    }
    free(arena->texts);
    arena->texts = texts;
    arena->text_slots = slots;
    return 0;
}

const char *sbx_arena_intern(struct sbx_arena *arena, const char *text)
{
    if (arena->text_count * 2 >= arena->text_slots && grow_texts(arena) != 0) {
        return NULL;
    }
    const char **slot = slot_of(arena->texts, arena->text_slots, text);
    if (*slot == NULL) {
        size_t bytes = strlen(text) + 1;
        char *copy = sbx_arena_take(arena, bytes);
        if (copy == NULL) {
            return NULL;
        }
        memcpy(copy, text, bytes);
        *slot = copy;
        arena->text_count++;
    }
    return *slot;
}
