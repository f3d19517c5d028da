/* SPDX-License-Identifier: Apache-2.0 */
/* vm_memory.h - reads the JVM's memory, which may be half-written or freed.
 *
 * A walk reads structures of a JVM that goes on running. A class may be unloaded, or a compiled method freed, while its
 * frame is read. So each word is loaded through one function, which says whether the word could be read. This function
 * is set here before the first walk: in production a load that survives a fault, in tests a simulated memory. */
#ifndef SBX_VM_MEMORY_H
#define SBX_VM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"

/* Loads the eight bytes at `address`, a multiple of eight. Returns false if they cannot be read. Signal safe, keeps
 * errno. */
typedef bool (*sbx_vm_load_word)(uint64_t address, uint64_t *word_out);
extern sbx_vm_load_word sbx_vm_guarded_load;

/* The same for `count` words at once, at most a page. NULL: words are loaded one by one. */
typedef bool (*sbx_vm_load_words)(uint64_t address, uint64_t *words_out, uint32_t count);
extern sbx_vm_load_words sbx_vm_guarded_load_many;

/* Memory that stays mapped during the whole walk, so plain loads are used. */
struct sbx_vm_span {
    uint64_t low, bytes;
};

SBX_SIGNAL_SAFE static inline bool sbx_vm_span_holds(struct sbx_vm_span span, uint64_t address)
{
    return address - span.low < span.bytes && span.bytes - (address - span.low) >= sizeof(uint64_t);
}

SBX_SIGNAL_SAFE static inline bool sbx_vm_word(uint64_t address, uint64_t *word_out)
{
    return (address & 7) == 0 && address >= 4096 && sbx_vm_guarded_load(address, word_out);
}

SBX_SIGNAL_SAFE static inline bool sbx_vm_words(uint64_t address, uint64_t *words_out, uint32_t count)
{
    if (SBX_LIKELY(sbx_vm_guarded_load_many != NULL)) {
        return (address & 7) == 0 && address >= 4096 && sbx_vm_guarded_load_many(address, words_out, count);
    }
    bool is_there = true;
    for (uint32_t i = 0; i < count && is_there; i++) {
        is_there = sbx_vm_word(address + (uint64_t)i * 8, &words_out[i]);
    }
    return is_there;
}

/* Pages that a walk found readable. Each page is tested once. Begins zeroed, and ends with the walk. */
enum {
    SBX_VM_PAGES = 16 /* power of two */
};
struct sbx_vm_pages {
    uint64_t known[SBX_VM_PAGES];
};

/* Has the walk tested that these bytes are readable? Then they are read with plain loads. `pages`: NULL, or the pages
 * known. */
SBX_SIGNAL_SAFE static inline bool sbx_vm_is_known(const struct sbx_vm_pages *pages, uint64_t address, uint32_t bytes)
{
    uint64_t page = address >> 12;
    return pages != NULL && (address & 7) == 0 && page != 0 && page == (address + bytes - 1) >> 12 &&
           pages->known[(page ^ page >> 4) % SBX_VM_PAGES] == page;
}

/* Called after a word at `address` was loaded through the guard. */
SBX_SIGNAL_SAFE static inline void sbx_vm_know(struct sbx_vm_pages *pages, uint64_t address)
{
    uint64_t page = address >> 12;
    if (pages != NULL) {
        pages->known[(page ^ page >> 4) % SBX_VM_PAGES] = page;
    }
}

/* Reads a number of 1, 2 or 4 bytes, which is within one aligned word because of the compiler's field layout. */
SBX_SIGNAL_SAFE static inline bool sbx_vm_number(uint64_t address, uint32_t bytes, uint32_t *number_out)
{
    uint64_t word = 0;
    uint32_t skip = address & 7;
    if (skip + bytes > 8 || !sbx_vm_word(address & ~UINT64_C(7), &word)) {
        return false;
    }
    *number_out = (uint32_t)(word >> (skip * 8)) & (uint32_t)((UINT64_C(1) << (bytes * 8)) - 1);
    return true;
}

/* Consecutive bytes, of a string or a table. They end where the memory or `left` ends. */
struct sbx_vm_bytes {
    uint64_t at; /* of the next byte */
    uint32_t left;
    uint64_t word; /* the aligned word with the byte before `at`; used if `at` is no multiple of eight */
};

/* Returns the next byte; -1 at the end. */
SBX_SIGNAL_SAFE static inline int sbx_vm_next_byte(struct sbx_vm_bytes *bytes)
{
    if (bytes->left == 0) {
        return -1;
    }
    uint32_t skip = bytes->at & 7;
    if ((skip == 0 || bytes->word == 0) && !sbx_vm_word(bytes->at & ~UINT64_C(7), &bytes->word)) {
        bytes->left = 0;
        return -1;
    }
    bytes->at++;
    bytes->left--;
    return (int)(bytes->word >> (skip * 8)) & 0xff;
}

#endif
