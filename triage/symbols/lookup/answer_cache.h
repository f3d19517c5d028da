/* SPDX-License-Identifier: Apache-2.0 */
/* answer_cache.h - the last answers of a symbol file, names as people read them, by address.
 *
 * Stalls of one release ask for the same return addresses again and again. An answer that was given is a lookup in one
 * table; finding it anew is a search in a chunk and a lookup for each name of the chain. */
#ifndef SBX_ANSWER_CACHE_H
#define SBX_ANSWER_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_symbol_frame {
    const char *function; /* demangled; "" when nothing names it */
    const char *file;     /* NULL unknown */
    uint32_t line;        /* 0 unknown */
    bool inlined;         /* into the next frame */
};

struct sbx_answer {
    const struct sbx_symbol_frame *frames; /* leaf first */
    uint32_t count;                        /* 0: nothing names it */
    uint8_t source;                        /* enum sbx_symbol_source */
};

struct sbx_answer_cache;

/* `limit_bytes` of answers and their texts can be kept. NULL without memory. */
struct sbx_answer_cache *sbx_answer_cache_create(size_t limit_bytes);
void sbx_answer_cache_destroy(struct sbx_answer_cache *cache);

/* What was added for `address`: borrowed until all is forgotten; NULL when there is nothing. */
const struct sbx_answer *sbx_answer_cache_find(const struct sbx_answer_cache *cache, uint64_t address);

/* A copy of `text`, equal ones once: borrowed until all is forgotten; NULL when it is full. */
const char *sbx_answer_cache_keep(struct sbx_answer_cache *cache, const char *text);
/* Keep a copy of the frames for `address`, whose texts are kept already. Borrowed until the next is added; NULL when it is
 * full. */
const struct sbx_answer *sbx_answer_cache_add(struct sbx_answer_cache *cache, uint64_t address,
                                              const struct sbx_answer *answer);
void sbx_answer_cache_forget(struct sbx_answer_cache *cache);

#endif
