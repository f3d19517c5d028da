/* SPDX-License-Identifier: Apache-2.0 */
/* js_awaits.h - which asynchronous functions await what a thread runs.
 *
 *     the job that runs (a microtask) -> function or promise
 *         an asynchronous function that continues in the job -> its promise
 *             promise -> the reaction to it -> the asynchronous function that awaits it -> its promise -> ...
 *
 * The chain is found as V8 finds it for the "at async f" lines of an Error's stack. A promise with one reaction leads
 * to the next promise, also through derived promises, and through Promise.all() and similar functions. The isolate
 * stores the running job at an offset that is not exported. It is found by a search while a job runs, and is then
 * kept. */
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
    uint64_t promise; /* tagged: the next promise to follow; 0: no more */
    uint32_t left;
};

/* A suspended asynchronous function. */
struct js_awaiting {
    uint64_t function; /* tagged */
    uint32_t offset;   /* of the bytecode at which it is suspended */
};

/* The offset of the running job in isolates, learned from the first one. */
struct js_jobs {
    uint32_t at, tries; /* at: 0, not known yet */
};

/* Begin at the job that runs in `isolate`. Returns false if no job runs, or if nothing awaits it. */
bool js_awaits_begin(struct js_awaits *awaits, const struct js_layout *layout, struct js_pages *pages,
                     struct js_jobs *jobs, uint64_t isolate);

/* Gets the next function outwards. Returns false if there are no more. */
bool js_awaits_next(struct js_awaits *awaits, struct js_awaiting *awaiting_out);

#endif
