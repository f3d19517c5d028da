/* SPDX-License-Identifier: Apache-2.0 */
/* answer_cache.h - the last answers of a symbol file, by address, with readable names.
 *
 * Stalls of one release ask for the same return addresses again and again. A cached answer takes one lookup in one
 * table. Without the cache, it takes a search in a chunk and a lookup for each name of the chain. */
#ifndef SBX_ANSWER_CACHE_H
#define SBX_ANSWER_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_symbol_frame {
    const char *function; /* demangled; "": no name is known */
    const char *file;     /* NULL unknown */
    uint32_t line;        /* 0 unknown */
    bool inlined;         /* this frame is inlined into the next one */
};

struct sbx_answer {
    const struct sbx_symbol_frame *frames; /* leaf first */
    uint32_t count;                        /* 0: no name is known */
    uint8_t source;                        /* enum sbx_symbol_source */
};

struct sbx_answer_cache;

/* Keeps at most `limit_bytes` of answers and their texts. NULL if memory runs out. */
struct sbx_answer_cache *sbx_answer_cache_create(size_t limit_bytes);
void sbx_answer_cache_destroy(struct sbx_answer_cache *cache);

/* The answer for `address`; NULL: none. Borrowed until the cache is emptied. */
const struct sbx_answer *sbx_answer_cache_find(const struct sbx_answer_cache *cache, uint64_t address);

/* A copy of `text`; equal texts share one. Borrowed until the cache is emptied. NULL if it is full. */
const char *sbx_answer_cache_keep(struct sbx_answer_cache *cache, const char *text);
/* Keep a copy of the frames for `address`; their texts must be in the cache already. Borrowed until the next answer is
 * added. NULL if it is full. */
const struct sbx_answer *sbx_answer_cache_add(struct sbx_answer_cache *cache, uint64_t address,
                                              const struct sbx_answer *answer);
void sbx_answer_cache_forget(struct sbx_answer_cache *cache);

#endif
