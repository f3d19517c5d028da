/* SPDX-License-Identifier: Apache-2.0 */
/* span_pieces.h - a thread's time as pieces, each with one stack and one state: what profiles add up.
 *
 * A span (thread_spans.h) gives up to three pieces: its evidence, its tail, which has the same stack, and the rest up
 * to the next span, of which only the calls that both share are known. A wait is one frame more than the stack it was
 * made from. Flame graph, folded stacks, pprof and timeline add up these, so that they agree with each other. */
#ifndef SBX_SPAN_PIECES_H
#define SBX_SPAN_PIECES_H

#include "call_path.h"
#include "thread_spans.h"

struct sbx_piece {
    int64_t begin_ns, end_ns;          /* may be equal: a sample to which no time can be given */
    const struct sbx_path_frame *path; /* outermost first; borrowed until the visit of this piece returns */
    size_t path_count;                 /* 0: no stack is known, or idle */
    const char *wait;                  /* innermost: what it waited in; NULL when it did not wait */
    const struct sbx_span *span;       /* where it is from */
    enum sbx_span_state state;
    double cpu_share; /* part of it spent running; -1: only `state` tells */
    bool is_evidence; /* the first of the three */
    uint64_t looks;   /* of the evidence: how often it was observed; else 0 */
    bool exact;       /* measured at both ends */
};

/* Called for every piece in time order. A result other than 0 ends the visit and is its result. */
typedef int (*sbx_piece_visitor)(void *context, const struct sbx_piece *piece);

/* Returns 0, -ENOMEM or what the visitor returned. */
int sbx_span_pieces_visit(const struct sbx_thread_spans *spans, const struct sbx_call_paths *paths,
                          sbx_piece_visitor visitor, void *context);

#endif
