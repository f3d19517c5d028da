/* SPDX-License-Identifier: Apache-2.0 */
/* frame_word.h - how a recording stores a frame, a node of a callstack, and a callstack.
 *
 * Frame word:   bits 0..38 offset (address minus load bias of the module), bit 39 exact, bits 40..47 epoch tag, bits 48..63
 *               module index. `exact` means the address is an interrupted program counter; otherwise it is a return
 *               address and the call lies one byte before it. 0 is an empty slot, and so is one whose tag is older than
 *               the epoch of its half. A frame id is the slot's index in the whole section (24 bits, never 0).
 * Node word:    bits 0..23 frame id, bits 24..47 parent node index (0: the frame is the outermost), bits 48..63 epoch tag.
 *               A slot whose tag is older than the epoch of its half is empty. Its frame lies in the same epoch's half.
 * Callstack id: bits 0..23 node index of the leaf, bits 24..31 low byte of the epoch. Half of an epoch: epoch & 1.
 *               0 is "no stack"; SBX_STACK_OVERFLOW says the table was full: the stack is lost, and counted.
 *
 * A logical frame, of the stack of an embedded runtime (docs/PROVIDERS.md), has the module SBX_MODULE_LOGICAL + the
 * index of its provider, and as offset: bits 0..19 line (0: not known), bits 20..37 index of its function in the
 * functions' section (0: not known, there was no room), bit 38 border: the frame is the outermost one that one native
 * entry into the runtime runs. Its `exact` bit means that the frames nearer the leaf are the provider's own, from its
 * request for this sample. Logical frames stand at the leaf end of the stack, in order. The reader moves them to the
 * place of the interpreter's own frames.
 *
 * Generated code, outside every module, is SBX_MODULE_NONE with the offset 0, or 1 + the index of the provider that knows
 * the code.
 *
 * A stack that could not be followed to its end has as its outermost frame a word with module SBX_MODULE_END and the
 * reason (enum sbx_walk_end) as offset; SBX_WALK_COMPLETE is never stored. */
#ifndef SBX_FRAME_WORD_H
#define SBX_FRAME_WORD_H

#include <stdint.h>

enum {
    SBX_PROVIDERS_MAX = 4,
    SBX_LOGICAL_LINE_BITS = 20,
    SBX_MODULE_END = 0xffff,     /* module index of the marker frame "the walk ended here" */
    SBX_MODULE_NONE = 0xfffe,    /* code outside every module: generated code */
    SBX_MODULE_LOGICAL = 0xfff0, /* and the next SBX_PROVIDERS_MAX - 1: a frame of a provider's logical stack */
    SBX_MODULE_CUT = 0xfffd,     /* marker "frames are left out here": a deep stack keeps both ends; offset 0 */
};

#define SBX_STACK_NONE     0u
#define SBX_STACK_OVERFLOW 0x00ffffffu

/* 512 GiB: no module is so large. */
#define SBX_FRAME_OFFSET_MASK  ((UINT64_C(1) << 39) - 1)
#define SBX_FRAME_EXACT        (UINT64_C(1) << 39)
#define SBX_FRAME_BORDER       (UINT64_C(1) << 38) /* for logical frames only */
#define SBX_FRAME_TAG_SHIFT    40
#define SBX_FRAME_TAG_MASK     (UINT64_C(0xff) << SBX_FRAME_TAG_SHIFT)
#define SBX_FRAME_MODULE_SHIFT 48
#define SBX_NODE_FRAME_MASK    0xffffffu
#define SBX_NODE_PARENT_SHIFT  24
#define SBX_NODE_TAG_SHIFT     48

/* A frame without its epoch's tag: the input of sbx_frame_intern(), and what a reader gets. An offset without room (a
 * program linked at an address beyond 512 GiB) makes it code outside every module, not a wrong place. */
static inline uint64_t sbx_frame_word(uint32_t module, uint64_t offset, int exact)
{
    if (offset > SBX_FRAME_OFFSET_MASK) {
        return (uint64_t)SBX_MODULE_NONE << SBX_FRAME_MODULE_SHIFT;
    }
    return ((uint64_t)module << SBX_FRAME_MODULE_SHIFT) | (exact ? SBX_FRAME_EXACT : 0) | offset;
}

/* The word of a logical frame; `function` is an index in the functions' section. A line without room becomes "not
 * known". */
static inline uint64_t sbx_logical_word(uint32_t provider, uint32_t function, uint32_t line, int is_root)
{
    uint64_t fits = line < (UINT32_C(1) << SBX_LOGICAL_LINE_BITS) ? line : 0;
    return sbx_frame_word(SBX_MODULE_LOGICAL + provider, (uint64_t)function << SBX_LOGICAL_LINE_BITS | fits, is_root);
}

/* The word of generated code of a known provider. */
static inline uint64_t sbx_generated_word(uint32_t provider)
{
    return sbx_frame_word(SBX_MODULE_NONE, 1 + provider, 0);
}

/* Is this frame word one of a provider, known here or not? */
static inline int sbx_is_logical(uint64_t frame_word)
{
    return frame_word >> SBX_FRAME_MODULE_SHIFT >= SBX_MODULE_LOGICAL &&
           frame_word >> SBX_FRAME_MODULE_SHIFT < SBX_MODULE_LOGICAL + SBX_PROVIDERS_MAX;
}

static inline uint32_t sbx_logical_function(uint64_t frame_word)
{
    return (uint32_t)((frame_word & SBX_FRAME_OFFSET_MASK & ~SBX_FRAME_BORDER) >> SBX_LOGICAL_LINE_BITS);
}

#endif
