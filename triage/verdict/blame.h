/* SPDX-License-Identifier: Apache-2.0 */
/* blame.h - which function of a stack a person should look at. Pure.
 *
 * The answer is the slow function nearest the leaf that is application code, because nobody can fix memcpy. Functions
 * in the application's own modules come first. If a stall has none of them except main, the nearest function of a
 * library counts that is no base library (known_names.h). */
#ifndef SBX_BLAME_H
#define SBX_BLAME_H

#include "report.h"

/* Which frames count. The filters are tried in this order until one gives an answer. */
enum sbx_blame_filter {
    SBX_BLAME_OWN = 0,   /* named, in the application's own modules, inside of the event loop; not an interpreter's */
    SBX_BLAME_NAMED = 1, /* named, not base library */
    SBX_BLAME_CODE = 2,  /* not base library, named or not */
    SBX_BLAME_ANY = 3,   /* every frame with code */
    SBX_BLAME_FILTERS = 4,
};

/* Whether this location, which belongs to frame `frame`, counts. */
bool sbx_blame_counts(const struct sbx_report *report, uint32_t frame, const struct sbx_location *location,
                      enum sbx_blame_filter filter);

/* Do the callers of this function have no part in what runs below it? This is true for an event loop, and for an
 * interpreter in a library. */
bool sbx_blame_hides_callers(const struct sbx_report *report, uint32_t frame, const struct sbx_location *location);

/* The location to name for callstack `stack`. NULL if the stack is 0 or has only markers. */
const struct sbx_location *sbx_blame_leaf(const struct sbx_report *report, uint32_t stack);

/* The function that queued a task, by the stack of that moment. Chosen as above, with two differences. A function that
 * only puts work into queues for others (known_names.h) is passed over if another function of the application called
 * it. If the stack has functions of a managed runtime and none of the application, the answer is the function that
 * called the runtime's executors and queues, not a function of the virtual machine below them. */
const struct sbx_location *sbx_blame_submitter(const struct sbx_report *report, uint32_t stack);

/* The same for a task. For asyncio it is known that a function of the program queued the work, and that only functions
 * of the library lie between (runtimes/cpython). */
const struct sbx_location *sbx_blame_task_submitter(const struct sbx_report *report, const struct sbx_stall_task *task);

/* Is it unknown whether the function on the task's stack queued what ran? */
bool sbx_blame_knows_no_submitter(const struct sbx_report *report, const struct sbx_stall_task *task);

/* The module of the frames without a name that lie nearer to the leaf than `location`; of several, the nearest one that
 * has a module. NULL: there are no such frames outside of base libraries, or another named function lies nearer. */
const char *sbx_blame_unnamed_below(const struct sbx_report *report, uint32_t stack,
                                    const struct sbx_location *location);

/* The function nearest the leaf that most of the weight goes through. If no function has most of it, the same below the
 * heaviest outermost function. */
struct sbx_blame_path {
    const struct sbx_location *location;   /* with the line that most of the weight goes through; NULL: no stack has
                                            * weight */
    const struct sbx_location *callers[2]; /* its callers, nearest first; NULL none */
    uint32_t stack;                        /* the heaviest callstack through it */
    double share;                          /* 0..1 of the weight that goes through it */
    double unnamed_share;                  /* 0..1 of that weight that has only frames without a name below it */
    const char *unnamed_module;            /* the module of those frames; NULL none */
};

/* `weights` has callstack_count + 1 entries, indexed by callstack id. Returns 0 or -ENOMEM. */
int sbx_blame_heaviest(const struct sbx_report *report, const double *weights, struct sbx_blame_path *path_out);

/* Whether the callstack was followed to the thread's first frame. */
bool sbx_blame_is_whole(const struct sbx_report *report, uint32_t stack);

/* Whether the leaf of the stack lies in an allocator. */
bool sbx_blame_is_allocator(const struct sbx_report *report, uint32_t stack);

#endif
