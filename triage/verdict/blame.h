/* SPDX-License-Identifier: Apache-2.0 */
/* blame.h - which function of a stack a person should look at. Pure.
 *
 * "The slow function nearest the leaf that is application code": nobody can fix memcpy. What lies in the application's own
 * modules comes first; where a stall has nothing of it but main, the nearest function of a library that is no base library
 * (known_names.h) has to do. */
#ifndef SBX_BLAME_H
#define SBX_BLAME_H

#include "report.h"

/* Whose frames count. Tried in this order until one gives an answer. */
enum sbx_blame_filter {
    SBX_BLAME_OWN = 0,   /* named, in the application's own modules, inside of the event loop; not an interpreter's */
    SBX_BLAME_NAMED = 1, /* named, not base library */
    SBX_BLAME_CODE = 2,  /* not base library, named or not */
    SBX_BLAME_ANY = 3,   /* every frame with code */
    SBX_BLAME_FILTERS = 4,
};

/* Whether the location, of frame `frame`, counts. */
bool sbx_blame_counts(const struct sbx_report *report, uint32_t frame, const struct sbx_location *location,
                      enum sbx_blame_filter filter);

/* Has what called this function no part in what runs below it? So it is with an event loop, and with an interpreter in a
 * library. */
bool sbx_blame_hides_callers(const struct sbx_report *report, uint32_t frame, const struct sbx_location *location);

/* The location of callstack `stack` to name, NULL when the stack is 0 or nothing but markers. */
const struct sbx_location *sbx_blame_leaf(const struct sbx_report *report, uint32_t stack);

/* The function that queued a task, by the stack of that moment: as above, but a function that only puts work into queues for others (known_names.h) is passed over
 * where another of the application's called it. Where none of the application's is on the stack, but a managed runtime's are: the one that
 * called the runtime's executors and queues, and not a function of the machine below them. */
const struct sbx_location *sbx_blame_submitter(const struct sbx_report *report, uint32_t stack);

/* The same of a task. Of asyncio's work it is known that a function of the program put it there, through functions of the library alone (runtimes/cpython). */
const struct sbx_location *sbx_blame_task_submitter(const struct sbx_report *report, const struct sbx_stall_task *task);

/* Whoever's stack the task has is not known to have queued what ran. */
bool sbx_blame_knows_no_submitter(const struct sbx_report *report, const struct sbx_stall_task *task);

/* The module in which frames without a name lie nearer to the leaf than `location`, the nearest that has one; NULL: there are
 * none but those of base libraries, or another function that has a name lies nearer. */
const char *sbx_blame_unnamed_below(const struct sbx_report *report, uint32_t stack,
                                    const struct sbx_location *location);

/* The function that most of the weight goes through, nearest the leaf; when nothing has most of it, that of the
 * heaviest outermost function. */
struct sbx_blame_path {
    const struct sbx_location *location;   /* at the line that most of it goes through; NULL: no stack has weight */
    const struct sbx_location *callers[2]; /* what called it: nearest first; NULL none */
    uint32_t stack;                        /* the heaviest callstack through it */
    double share;                          /* 0..1 of the weight goes through it */
    double unnamed_share;                  /* 0..1 of that has nothing but frames without a name below it */
    const char *unnamed_module;            /* where those are; NULL none */
};

/* `weights` has callstack_count + 1 entries, by callstack id. Returns 0 or -ENOMEM. */
int sbx_blame_heaviest(const struct sbx_report *report, const double *weights, struct sbx_blame_path *path_out);

/* Whether the callstack was followed to the thread's first frame. */
bool sbx_blame_is_whole(const struct sbx_report *report, uint32_t stack);

/* Whether the leaf of the stack lies in an allocator. */
bool sbx_blame_is_allocator(const struct sbx_report *report, uint32_t stack);

#endif
