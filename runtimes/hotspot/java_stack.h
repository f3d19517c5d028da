/* SPDX-License-Identifier: Apache-2.0 */
/* java_stack.h - the Java frames of the calling thread, innermost first, including those with native code in between.
 *
 * If the thread runs Java code, the walk begins where the thread was interrupted. If the thread has left Java code, the
 * walk begins where it left (the anchor). At each call stub, the next anchor leads to the earlier Java frames. The
 * border to native code is there. */
#ifndef SBX_JAVA_STACK_H
#define SBX_JAVA_STACK_H

#include "java_frame.h"

struct sbx_java_call {
    uint64_t method;
    int32_t bci;    /* -1: a native method */
    bool is_border; /* called by native code; the next frame called that native code */
    bool is_interpreted;
    uint64_t key;  /* of the method if the walk or the visitor has read it (sbx_method_look()); else 0 */
    bool has_name; /* id and line are right, and stay so as long as the method exists */
    uint32_t line;
    uint64_t id;
};

/* Gets one frame, innermost first. Returns false if it wants no more. If a frame has no name yet, the visitor may give
 * it one, which the next walk finds (vm->sites, vm->places). */
typedef bool (*sbx_java_visit)(void *to, struct sbx_java_call *call);

enum sbx_java_walk_end {
    SBX_WALK_WHOLE,
    SBX_WALK_CUT,          /* the visitor wanted no more */
    SBX_WALK_NO_JAVA,      /* the thread has no Java frame */
    SBX_WALK_NO_CODE,      /* an address that is not in generated code */
    SBX_WALK_FRAME,        /* a frame that is not valid */
    SBX_WALK_STACK,        /* a frame leads out of the stack */
    SBX_WALK_DEOPT,        /* the JVM is replacing frames */
    SBX_WALK_TOO_DEEP,     /* more than FRAMES_MAX frames */
    SBX_WALK_CONTINUATION, /* a virtual thread's: the callers are in the heap, or are being moved */
    SBX_WALK_ENDS
};

/* Where to begin on a thread in Java code. If the calling thread asks in a call of its own, `pc` is 0 and the frame is
 * searched from `sp` upwards. */
struct sbx_java_begin {
    uint64_t pc, sp, fp, bytecode, method;
};

/* Walks the stack of `thread`, which is the calling thread, as far as possible. */
SBX_SIGNAL_SAFE enum sbx_java_walk_end sbx_java_walk(const struct sbx_java_vm *vm, uint64_t thread,
                                                     const struct sbx_java_begin *begin, sbx_java_visit visit,
                                                     void *to);

#endif
