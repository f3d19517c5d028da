/* SPDX-License-Identifier: Apache-2.0 */
/* java_stack.h - the Java frames of the calling thread, from the innermost out, those that native code is between too.
 *
 * A thread that runs Java code begins where it was interrupted; one that has left it begins where it left (the anchor). At each
 * call stub the next anchor leads to the frames before: there is the border to native code. */
#ifndef SBX_JAVA_STACK_H
#define SBX_JAVA_STACK_H

#include "java_frame.h"

struct sbx_java_call {
    uint64_t method;
    int32_t bci;    /* -1: a native method */
    bool is_border; /* called by native code; what follows lies behind that */
    bool is_interpreted;
    uint64_t key;  /* of the method, where the walk or the visitor has looked at it (sbx_method_look()); else 0 */
    bool has_name; /* id and line are right, and will be for as long as the method lives */
    uint32_t line;
    uint64_t id;
};

/* One frame, innermost first. False: no more are wanted. Where it has no name yet, the visitor may give it one, which the next
 * walk finds (vm->sites, vm->places). */
typedef bool (*sbx_java_visit)(void *to, struct sbx_java_call *call);

enum sbx_java_walk_end {
    SBX_WALK_WHOLE,
    SBX_WALK_CUT,          /* the visitor wanted no more */
    SBX_WALK_NO_JAVA,      /* there is no Java frame */
    SBX_WALK_NO_CODE,      /* an address that is no generated code's */
    SBX_WALK_FRAME,        /* a frame that makes no sense */
    SBX_WALK_STACK,        /* it leads off the stack */
    SBX_WALK_DEOPT,        /* frames are just being replaced */
    SBX_WALK_TOO_DEEP,     /* more frames than are ever looked at */
    SBX_WALK_CONTINUATION, /* a virtual thread's: the frames that called lie in the heap, or are just being moved */
    SBX_WALK_ENDS
};

/* Where to begin on a thread in Java code. Of the calling thread, in its own call: `pc` 0, and the frame is searched for from `sp` on. */
struct sbx_java_begin {
    uint64_t pc, sp, fp, bytecode, method;
};

/* The stack of `thread`, the calling one, as far as it can be told. */
SBX_SIGNAL_SAFE enum sbx_java_walk_end sbx_java_walk(const struct sbx_java_vm *vm, uint64_t thread,
                                                     const struct sbx_java_begin *begin, sbx_java_visit visit,
                                                     void *to);

#endif
