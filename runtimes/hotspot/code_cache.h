/* SPDX-License-Identifier: Apache-2.0 */
/* code_cache.h - which piece of generated code holds an address: the interpreter, a compiled method, a stub.
 *
 *     CodeCache::_heaps --> CodeHeap: memory  [low ........ high)      committed, never given back
 *                                     segmap  one byte a segment: 0 the first of a block, n: go back n, 0xff free
 *     block: {length, used} CodeBlob ...
 *
 * Memory between low and high stays mapped, so it is read without a guard; what is in it may be half made. */
#ifndef SBX_CODE_CACHE_H
#define SBX_CODE_CACHE_H

#include <string.h>

#include "vm_memory.h"
#include "vm_structs.h"

enum {
    SBX_CODE_HEAPS_MAX = 8
};

struct sbx_code_cache {
    uint64_t low, bytes; /* all that may hold code, reserved */
    uint32_t heap_count;
    uint64_t heaps[SBX_CODE_HEAPS_MAX]; /* CodeHeap*: they live as long as the machine */
    struct sbx_vm_span interpreter;
    uint64_t call_stub_return; /* where a call from native code into Java returns to: the border */
};

enum sbx_code_kind {
    SBX_CODE_NONE, /* no generated code */
    SBX_CODE_INTERPRETER,
    SBX_CODE_ENTRY,    /* the call stub: here native code called Java */
    SBX_CODE_COMPILED, /* by C1 or C2 */
    SBX_CODE_WRAPPER,  /* compiled as well: it calls a native method */
    SBX_CODE_STUB,
    SBX_CODE_CONTINUATION /* moves frames of a virtual thread between the stack and the heap */
};

/* A piece of code. */
struct sbx_code {
    enum sbx_code_kind kind;
    uint32_t bytes;        /* of the blob */
    uint32_t frame_words;  /* of a frame, with the return address; 0: told by nothing */
    uint64_t blob;         /* CodeBlob*, in memory that stays mapped */
    uint64_t segment;      /* where the map of segments says that its block begins there: a byte that is 0 */
    uint64_t code;         /* its instructions begin here */
    uint64_t frame_is_set; /* from here on a frame of it has its full size */
};

/* Find the heaps. False: the machine is not up yet. */
bool sbx_code_cache_open(struct sbx_code_cache *cache_out, const struct sbx_vm_layout *layout);

SBX_SIGNAL_SAFE static inline bool sbx_code_cache_holds(const struct sbx_code_cache *cache, uint64_t pc)
{
    return pc - cache->low < cache->bytes;
}

SBX_SIGNAL_SAFE static inline bool sbx_code_cache_interprets(const struct sbx_code_cache *cache, uint64_t pc)
{
    return pc - cache->interpreter.low < cache->interpreter.bytes;
}

/* A place that the blob tells. `code`: where its instructions begin. */
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

/* What holds `pc`. SBX_CODE_NONE when nothing does, or what does makes no sense. */
SBX_SIGNAL_SAFE struct sbx_code sbx_code_find(const struct sbx_code_cache *cache, const struct sbx_vm_layout *layout,
                                              uint64_t pc);

#endif
