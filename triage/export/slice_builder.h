/* SPDX-License-Identifier: Apache-2.0 */
/* slice_builder.h - makes nested slices, as a trace viewer draws them, from samples and measured waits of one thread.
 *
 * A slice is one call, as far as the records tell. The next span (thread_spans.h) continues it if no message boundary
 * lies between and the outer frames are equal up to and including it (call_path.h: the same functions at the same call
 * sites). What is drawn and what is known are kept apart:
 *
 *     earliest_ns        begin_ns          last_seen_ns     end_ns       latest_ns
 *          |...............|====================|--------------|.............|
 *          not seen yet    first evidence       last evidence  drawn to      gone
 *
 *   B1  earliest <= begin <= last_seen <= end <= latest: the true duration lies in
 *       [last_seen - begin, latest - earliest]. A measured wait is exact: both bounds are equal.
 *   B2  slices are in the order in which a viewer opens them: by begin, outer before inner.
 *   B3  a slice lies inside its parent, and slices with the same parent do not overlap. */
#ifndef SBX_SLICE_BUILDER_H
#define SBX_SLICE_BUILDER_H

#include "call_path.h"
#include "thread_spans.h"

struct sbx_slice {
    int64_t begin_ns, end_ns; /* as drawn */
    int64_t earliest_ns, last_seen_ns, latest_ns;
    const char *name;                    /* the function, or what was waited in */
    const struct sbx_location *location; /* NULL for a wait */
    uint32_t frame;                      /* index into stall->frames at the first sight; UINT32_MAX for a wait */
    uint32_t span;                       /* index of the span that showed it first */
    uint32_t parent;                     /* index + 1; 0: outermost */
    uint32_t depth;                      /* outermost: 0 */
    uint32_t seen;                       /* number of spans that show it */
    bool is_wait, exact;
    bool history_begin; /* the history begins inside it, so it may be longer than `latest - earliest` */
};

struct sbx_slices {
    struct sbx_slice *slices; /* in order B2 */
    size_t count, capacity;
    bool cut; /* `max` was reached: later slices are missing */
};

/* Returns 0, or -ENOMEM. At most `max` slices are made. Finish releases; a zeroed value is fine. */
int sbx_slices_init(struct sbx_slices *slices, const struct sbx_thread_spans *spans, const struct sbx_call_paths *paths,
                    size_t max);
void sbx_slices_finish(struct sbx_slices *slices);

/* B1 and B3 hold. For tests and debug builds. */
bool sbx_slices_are_valid(const struct sbx_slices *slices);

#endif
