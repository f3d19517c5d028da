/* SPDX-License-Identifier: Apache-2.0 */
/* java_frame.h - one frame of generated code: who runs in it, and where its caller goes on.
 *
 *                     how the caller is found
 *     interpreted     rbp: [0] caller's rbp, [1] its pc, [-1] its sp
 *     compiled        sp + the frame's size, told by the blob; not set up or taken down already: by the instructions
 *     call stub       rbp. Native code called Java here
 *     other stubs     the blob's frame size, else rbp or the top of the stack
 *
 * Of a virtual thread that runs, frames lie on its carrier's stack, and those that called them may still lie in the heap. The last one on the stack
 * then returns to a stub that fetches the next: there it ends. Where all are on the stack, the carrier's own frames follow.
 *
 * The order of the file follows HotSpot's frame_x86: x86-64 alone. */
#ifndef SBX_JAVA_FRAME_H
#define SBX_JAVA_FRAME_H

#include "call_sites.h"
#include "code_cache.h"
#include "compiled_scopes.h"
#include "method.h"
#include "place_cache.h"

/* The machine as walks see it. Written once. */
struct sbx_java_vm {
    struct sbx_vm_layout layout;
    struct sbx_code_cache code;
    struct sbx_call_sites *sites;   /* what earlier walks found; NULL: each frame is described anew */
    struct sbx_place_cache *places; /* and of bytecodes that are interpreted; NULL: as above */
};

/* The stack that is walked: [low, high), each word at its address + delta. */
struct sbx_java_stack {
    uint64_t low, high;
    int64_t delta;
    struct sbx_vm_pages *pages; /* what the walk knows of other memory; NULL: nothing */
};

struct sbx_java_frame {
    uint64_t pc, sp, fp;
    bool is_exact;        /* pc was interrupted, or is a leaf's: not the return address of a call */
    bool has_fp;          /* fp is known; else what needs it ends the walk */
    bool may_call_native; /* a native function may have been called from pc straight, which is described nowhere */
    bool has_registers;
    uint64_t bytecode, method; /* of an interrupted thread: r13, rbx. With has_registers alone */
};

enum sbx_java_step {
    SBX_JAVA_INTERPRETED,  /* `method`, `bci` below */
    SBX_JAVA_COMPILED,     /* `scopes` */
    SBX_JAVA_NATIVE,       /* a native method of class `method` */
    SBX_JAVA_STUB,         /* no method of its own */
    SBX_JAVA_ENTRY,        /* native code called Java here: the caller is native */
    SBX_JAVA_NO_CODE,      /* the rest: the walk ends here */
    SBX_JAVA_CONTINUATION, /* frames of a virtual thread are being moved, or what called lies in the heap */
    SBX_JAVA_BAD_STACK,
    SBX_JAVA_BAD_FRAME
};

struct sbx_java_found {
    uint64_t method;
    uint64_t key; /* of the method, where it was looked at (sbx_method_look()); else 0 */
    int32_t bci;  /* -1: none */
    struct sbx_scopes scopes;
    struct sbx_call_site site; /* compile_id 0: this is no place that can be kept */
};

/* What runs in *frame, which becomes its caller's. The caller's sp is always above. From SBX_JAVA_NO_CODE on *frame keeps what it was. */
SBX_SIGNAL_SAFE enum sbx_java_step sbx_java_frame_step(const struct sbx_java_vm *vm, const struct sbx_java_stack *stack,
                                                       struct sbx_java_frame *frame, struct sbx_java_found *found_out);

/* An interpreted frame whose place an earlier walk has named, and which is no leaf. */
struct sbx_java_passed {
    uint64_t method, id;
    int32_t bci;
    uint32_t line;
};

/* What runs in *frame, which becomes its caller's. False: it is no such frame, and *frame keeps what it was. */
SBX_SIGNAL_SAFE bool sbx_java_frame_pass(const struct sbx_java_vm *vm, const struct sbx_java_stack *stack,
                                         struct sbx_java_frame *frame, struct sbx_java_passed *passed_out);

/* Leave a frame of `words`, whose place is known: *frame becomes its caller's. False: it cannot, and *frame keeps what it was. */
SBX_SIGNAL_SAFE bool sbx_java_frame_leave(const struct sbx_java_stack *stack, struct sbx_java_frame *frame,
                                          uint32_t words);

SBX_SIGNAL_SAFE static inline bool sbx_java_stack_word(const struct sbx_java_stack *stack, uint64_t address,
                                                       uint64_t *word_out)
{
    if ((address & 7) != 0 || address < stack->low || address >= stack->high || stack->high - address < 8) {
        return false;
    }
    *word_out = *(const uint64_t *)(uintptr_t)(address + (uint64_t)stack->delta);
    return true;
}

#endif
