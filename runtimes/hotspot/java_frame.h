/* SPDX-License-Identifier: Apache-2.0 */
/* java_frame.h - one frame of generated code: the method that runs in it, and where its caller continues.
 *
 *                     how the caller is found
 *     interpreted     rbp: [0] caller's rbp, [1] its pc, [-1] its sp
 *     compiled        sp + frame size from the blob; in prologue or epilogue, from the instructions
 *     call stub       rbp. Native code called Java here
 *     other stubs     the blob's frame size, else rbp or the top of the stack
 *
 * The innermost frames of a running virtual thread are on the stack of its carrier. The frames that called them may
 * still be in the heap. Then the last frame on the stack returns to a stub that fetches the next one, and the walk ends
 * there. If all frames are on the stack, the carrier's own frames follow.
 *
 * The code follows HotSpot's frame_x86, for x86-64 only. */
#ifndef SBX_JAVA_FRAME_H
#define SBX_JAVA_FRAME_H

#include "call_sites.h"
#include "code_cache.h"
#include "compiled_scopes.h"
#include "method.h"
#include "place_cache.h"

/* The JVM as walks see it. Written once. */
struct sbx_java_vm {
    struct sbx_vm_layout layout;
    struct sbx_code_cache code;
    struct sbx_call_sites *sites;   /* what earlier walks found; NULL: each frame is described again */
    struct sbx_place_cache *places; /* the same for interpreted bytecodes; NULL: none are kept */
};

/* The stack to walk: [low, high). The word at an address is read at address + delta. */
struct sbx_java_stack {
    uint64_t low, high;
    int64_t delta;
    struct sbx_vm_pages *pages; /* other memory that the walk has tested; NULL: none is known */
};

struct sbx_java_frame {
    uint64_t pc, sp, fp;
    bool is_exact;        /* pc was interrupted, or is in a leaf; it is no return address */
    bool has_fp;          /* fp is known; else the walk ends at a frame that needs it */
    bool may_call_native; /* code at pc may have called a native function directly; no table describes such calls */
    bool has_registers;
    uint64_t bytecode, method; /* of an interrupted thread: r13, rbx; valid with has_registers only */
};

enum sbx_java_step {
    SBX_JAVA_INTERPRETED,  /* sets `method` and `bci` below */
    SBX_JAVA_COMPILED,     /* sets `scopes` */
    SBX_JAVA_NATIVE,       /* a native method of class `method` */
    SBX_JAVA_STUB,         /* no method of its own */
    SBX_JAVA_ENTRY,        /* native code called Java here: the caller is native */
    SBX_JAVA_NO_CODE,      /* from here on the walk ends */
    SBX_JAVA_CONTINUATION, /* a virtual thread's frames are being moved, or its callers are in the heap */
    SBX_JAVA_BAD_STACK,
    SBX_JAVA_BAD_FRAME
};

struct sbx_java_found {
    uint64_t method;
    uint64_t key; /* of the method if it was read (sbx_method_look()); else 0 */
    int32_t bci;  /* -1: none */
    struct sbx_scopes scopes;
    struct sbx_call_site site; /* compile_id 0: the place cannot be stored */
};

/* Describes what runs in *frame, and makes *frame its caller. The caller's sp is always higher. From SBX_JAVA_NO_CODE
 * on, *frame is unchanged. */
SBX_SIGNAL_SAFE enum sbx_java_step sbx_java_frame_step(const struct sbx_java_vm *vm, const struct sbx_java_stack *stack,
                                                       struct sbx_java_frame *frame, struct sbx_java_found *found_out);

/* An interpreted frame at a place that an earlier walk has named. It is no leaf. */
struct sbx_java_passed {
    uint64_t method, id;
    int32_t bci;
    uint32_t line;
};

/* Describes such a frame, and makes *frame its caller. Returns false if it is no such frame; then *frame is
 * unchanged. */
SBX_SIGNAL_SAFE bool sbx_java_frame_pass(const struct sbx_java_vm *vm, const struct sbx_java_stack *stack,
                                         struct sbx_java_frame *frame, struct sbx_java_passed *passed_out);

/* Leaves a frame of `words` whose place is known: *frame becomes its caller. Returns false if this is impossible; then
 * *frame is unchanged. */
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
