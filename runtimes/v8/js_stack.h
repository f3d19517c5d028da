/* SPDX-License-Identifier: Apache-2.0 */
/* js_stack.h - the JavaScript frames on the calling thread.
 *
 * All code that V8 generates, and all of its builtins, keep the frame pointer. The second word of a frame tells what it
 * is. It is either a context, and then the third word is the function, or the number of another frame type. Native code
 * has no such frames. The isolate stores the frame from which native code was called, and each entry into JavaScript
 * keeps the former value. */
#ifndef JS_STACK_H
#define JS_STACK_H

#include "js_heap.h"
#include "js_layout.h"

/* The offset of a thread's state in its isolate. Found once, by the values that must be there while JavaScript runs. */
struct js_isolates {
    uint32_t top;   /* bytes from the isolate to the word with the isolate's own address; 0: not found yet */
    uint32_t tries; /* number of searches */
};

struct js_begin {
    uint64_t pc, sp, fp; /* pc 0: the thread is in a call of its own, and only sp is used */
};

/* The ranges of generated code and builtins. Other code is native. */
struct js_code {
    uint64_t begin, bytes, builtins_begin, builtins_bytes;
};

struct js_frame {
    uint64_t function; /* tagged; 0: no function, but the end of a run: native code called JavaScript here */
    uint64_t fp;
    uint64_t pc;   /* where it continues, or runs; 0: not known */
    bool is_exact; /* it runs at pc; else it is in the call before pc */
};

/* Called for each frame. Returns false to end the walk. */
typedef bool (*js_visit)(void *to, const struct js_frame *frame);

enum js_walk_end {
    JS_WALK_WHOLE,
    JS_WALK_BROKEN, /* a frame did not lead to its caller */
    JS_WALK_CUT     /* ended by the visitor */
};

/* Returns the address of the calling thread's state in `isolate`, which is its current isolate. 0: the thread runs no
 * JavaScript, or `isolate` is none. `sp` is below all frames of the thread. */
uint64_t js_isolate_top(struct js_isolates *isolates, const struct js_layout *layout, struct js_pages *pages,
                        uint64_t isolate, uint64_t sp);

/* Walk the calling thread's stack, leaf first. `top` is what js_isolate_top() returned just before. */
enum js_walk_end js_stack_walk(const struct js_layout *layout, struct js_pages *pages, uint64_t isolate, uint64_t top,
                               const struct js_begin *begin, const struct js_code *code, js_visit visit, void *to);

#endif
