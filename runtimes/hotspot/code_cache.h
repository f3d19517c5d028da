/* SPDX-License-Identifier: Apache-2.0 */
/* code_cache.h - finds the piece of generated code that contains an address: the interpreter, a compiled method, a
 * stub.
 *
 *     CodeCache::_heaps --> CodeHeap: memory  [low ........ high)      committed, never given back
 *                                     segmap  one byte a segment: 0 the first of a block, n: go back n, 0xff free
 *     block: {length, used} CodeBlob ...
 *
 * Memory between low and high stays mapped, so it is read without a guard. Its content may be half-written. */
#ifndef SBX_CODE_CACHE_H
#define SBX_CODE_CACHE_H

#include <string.h>

#include "vm_memory.h"
#include "vm_structs.h"

enum {
    SBX_CODE_HEAPS_MAX = 8
};

struct sbx_code_cache {
    uint64_t low, bytes; /* the whole reserved range that may contain code */
    uint32_t heap_count;
    uint64_t heaps[SBX_CODE_HEAPS_MAX]; /* CodeHeap*: they exist as long as the JVM */
    struct sbx_vm_span interpreter;
    uint64_t call_stub_return; /* where a call from native code into Java returns to: the border of the two */
};

enum sbx_code_kind {
    SBX_CODE_NONE, /* no generated code */
    SBX_CODE_INTERPRETER,
    SBX_CODE_ENTRY,    /* the call stub: native code called Java here */
    SBX_CODE_COMPILED, /* compiled by C1 or C2 */
    SBX_CODE_WRAPPER,  /* compiled code, too, which calls a native method */
    SBX_CODE_STUB,
    SBX_CODE_CONTINUATION /* moves frames of a virtual thread between the stack and the heap */
};

/* A piece of code. */
struct sbx_code {
    enum sbx_code_kind kind;
    uint32_t bytes;        /* size of the blob */
    uint32_t frame_words;  /* size of a frame, with the return address; 0: not known */
    uint64_t blob;         /* CodeBlob*, in memory that stays mapped */
    uint64_t segment;      /* address of the byte in the segment map at which the blob's block begins; that byte is 0 */
    uint64_t code;         /* where its instructions begin */
    uint64_t frame_is_set; /* from here on, a frame has its full size */
};

/* Finds the heaps. Returns false if the JVM has not started yet. */
bool sbx_code_cache_open(struct sbx_code_cache *cache_out, const struct sbx_vm_layout *layout);

SBX_SIGNAL_SAFE static inline bool sbx_code_cache_holds(const struct sbx_code_cache *cache, uint64_t pc)
{
    return pc - cache->low < cache->bytes;
}

SBX_SIGNAL_SAFE static inline bool sbx_code_cache_interprets(const struct sbx_code_cache *cache, uint64_t pc)
{
    return pc - cache->interpreter.low < cache->interpreter.bytes;
}

/* Returns a place that the blob gives. `code`: where its instructions begin. */
SBX_SIGNAL_SAFE static inline uint64_t sbx_blob_place(uint64_t blob, uint64_t code, struct sbx_vm_place place)
{
    uint64_t word = 0;
    uint32_t number = 0;
    uint16_t half = 0;
    const char *at = (const char *)(uintptr_t)(blob + place.at);
    switch (place.told) {
    case SBX_VM_TOLD_ADDRESS:
        memcpy(&word, at, sizeof word);
        return word;
    case SBX_VM_TOLD_FROM_BLOB:
        memcpy(&number, at, sizeof number);
        return blob + number;
    case SBX_VM_TOLD_FROM_CODE:
    default:
        memcpy(&half, at, sizeof half);
        return code + half;
    }
}

/* Returns the code that contains `pc`. SBX_CODE_NONE: there is none, or its header is not valid. */
SBX_SIGNAL_SAFE struct sbx_code sbx_code_find(const struct sbx_code_cache *cache, const struct sbx_vm_layout *layout,
                                              uint64_t pc);

#endif
