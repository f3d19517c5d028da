/* SPDX-License-Identifier: Apache-2.0 */
/* js_awaits.h - which asynchronous functions await what a thread runs.
 *
 *     the job that runs (a microtask) -> function or promise
 *         an asynchronous function, which goes on there -> its promise
 *             promise -> the reaction to its end -> the asynchronous function that awaits it -> its promise -> ...
 *
 * As V8 finds them for the "at async f" of an Error's stack: a promise with one reaction leads on, also where a
 * promise that was derived from it stands between, or Promise.all() and its likes. The isolate keeps the job at a place that is found by
 * looking for one: that is done once, while one runs. */
#ifndef JS_AWAITS_H
#define JS_AWAITS_H

#include "js_heap.h"
#include "js_layout.h"

enum {
    JS_AWAITS_STEPS = 128 /* promises that are followed */
};

struct js_awaits {
    const struct js_layout *layout;
    struct js_pages *pages;
    uint64_t promise; /* tagged: the one whose end is awaited next; 0: no more */
    uint32_t left;
};

/* A suspended asynchronous function. */
struct js_awaiting {
    uint64_t function; /* tagged */
    uint32_t offset;   /* of the bytecode at which it is suspended */
};

/* Where isolates keep the job that runs: learned from the first. */
struct js_jobs {
    uint32_t at, tries; /* at: 0, not known yet */
};

/* Begin at the job that runs in `isolate`; `top` is the thread's state in it (js_stack.h). False: none runs, or nothing awaits it. */
bool js_awaits_begin(struct js_awaits *awaits, const struct js_layout *layout, struct js_pages *pages,
                     struct js_jobs *jobs, uint64_t isolate);

/* The next one out; false: there are no more. */
bool js_awaits_next(struct js_awaits *awaits, struct js_awaiting *awaiting_out);

#endif
