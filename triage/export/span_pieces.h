/* SPDX-License-Identifier: Apache-2.0 */
/* span_pieces.h - a thread's time as pieces, each with one stack and one state: the input of all profiles.
 *
 * A span (thread_spans.h) gives up to three pieces: its evidence; its tail, which has the same stack; and the rest up
 * to the next span, for which only the calls are known that both spans share. A wait is one frame more than the stack
 * of its caller. Flame graph, folded stacks, pprof and timeline all add up these pieces, so they agree with each
 * other. */
#ifndef SBX_SPAN_PIECES_H
#define SBX_SPAN_PIECES_H

#include "call_path.h"
#include "thread_spans.h"

struct sbx_piece {
    int64_t begin_ns, end_ns;          /* may be equal: a sample that has no time */
    const struct sbx_path_frame *path; /* outermost first; borrowed until the visit of this piece returns */
    size_t path_count;                 /* 0: no stack is known, or the thread is idle */
    const char *wait;                  /* innermost frame: what the thread waited in; NULL if it did not wait */
    const struct sbx_span *span;       /* the span that the piece belongs to */
    enum sbx_span_state state;
    double cpu_share; /* the part of it spent running; -1: only `state` tells */
    bool is_evidence; /* the first of the three pieces */
    uint64_t looks;   /* of the evidence: number of observations; else 0 */
    bool exact;       /* measured at both ends */
};

/* Called for every piece in time order. A result other than 0 ends the visit and is its result. */
typedef int (*sbx_piece_visitor)(void *context, const struct sbx_piece *piece);

/* Returns 0, -ENOMEM or what the visitor returned. */
int sbx_span_pieces_visit(const struct sbx_thread_spans *spans, const struct sbx_call_paths *paths,
                          sbx_piece_visitor visitor, void *context);

#endif
