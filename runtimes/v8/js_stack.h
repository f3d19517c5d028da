/* SPDX-License-Identifier: Apache-2.0 */
/* js_stack.h - the frames of JavaScript on the calling thread.
 *
 * All code that V8 makes, and all of its own builtins, keep the frame pointer. A frame says what it is in its second word: a context,
 * then the third is the function; or the number of another sort. Native code has no such frames: where it was called from, the
 * isolate notes, and each entry into JavaScript keeps the note of the exit before it. */
#ifndef JS_STACK_H
#define JS_STACK_H

#include "js_heap.h"
#include "js_layout.h"

/* Where a thread's state lies in its isolate. Found once, by what must stand there while JavaScript runs. */
struct js_isolates {
    uint32_t top;   /* bytes from the isolate to the word in which it names itself; 0: not found yet */
    uint32_t tries; /* how often it was looked for */
};

struct js_begin {
    uint64_t pc, sp, fp; /* pc 0: the thread is in a call of its own, and what counts is sp */
};

/* What runs: code outside of these ranges is native. */
struct js_code {
    uint64_t begin, bytes, builtins_begin, builtins_bytes;
};

struct js_frame {
    uint64_t function; /* tagged; 0: this is no function, but the end of a run: native code called JavaScript here */
    uint64_t fp;
    uint64_t pc;   /* where it goes on, or runs; 0: not known */
    bool is_exact; /* it runs at pc; else it called from before it */
};

/* Returns false to end the walk. */
typedef bool (*js_visit)(void *to, const struct js_frame *frame);

enum js_walk_end {
    JS_WALK_WHOLE,
    JS_WALK_BROKEN, /* a frame led nowhere */
    JS_WALK_CUT     /* by the visitor */
};

/* Where the state of the calling thread lies in `isolate`, which is its current one. 0: it runs no JavaScript, or that is no isolate. `sp` is
 * below all of its frames. */
uint64_t js_isolate_top(struct js_isolates *isolates, const struct js_layout *layout, struct js_pages *pages,
                        uint64_t isolate, uint64_t sp);

/* Walk the calling thread's stack, leaf first. `top` is what js_isolate_top() said just before. */
enum js_walk_end js_stack_walk(const struct js_layout *layout, struct js_pages *pages, uint64_t isolate, uint64_t top,
                               const struct js_begin *begin, const struct js_code *code, js_visit visit, void *to);

#endif
