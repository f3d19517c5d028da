/* SPDX-License-Identifier: Apache-2.0 */
/* span_pieces.c - a thread's time as pieces, each with one stack and one state: the input of all profiles. */
#include "span_pieces.h"

#include <errno.h>
#include <stdlib.h>

/* A stack, and how many of its frames belong to the program and not to the wait in it. */
struct stack {
    struct sbx_path_frame frames[SBX_CALL_PATH_MAX];
    size_t count;
};

static void read_stack(const struct sbx_call_paths *paths, const struct sbx_span *span, struct stack *stack)
{
    stack->count = span->kind == SBX_RECORD_IDLE ? 0 : sbx_call_path_read(paths, span->stack, stack->frames);
    if (sbx_span_is_wait(span)) {
        stack->count = sbx_call_path_without_wait(stack->frames, stack->count, sbx_span_wait_name(span));
    }
}

static const struct sbx_span *next_outer(const struct sbx_thread_spans *spans, size_t *at)
{
    while (*at < spans->count && spans->spans[*at].nested) {
        (*at)++;
    }
    return *at < spans->count ? &spans->spans[(*at)++] : NULL;
}

/* The pieces of `span`, whose stack is `here`. Its `shared` outer frames continue in the next span. */
static int visit_span(const struct sbx_span *span, const struct stack *here, size_t shared, sbx_piece_visitor visitor,
                      void *context)
{
    bool is_wait = sbx_span_is_wait(span);
    struct sbx_piece piece = {
        .begin_ns = span->begin_ns,
        .end_ns = span->end_ns,
        .path = here->frames,
        .path_count = here->count,
        .wait = is_wait ? sbx_span_wait_name(span) : NULL,
        .span = span,
        .state = span->state,
        .cpu_share = span->own_cpu_share,
        .is_evidence = true,
        .looks = span->looks,
        .exact = span->measured,
    };
    int result = visitor(context, &piece);
    piece.is_evidence = piece.exact = false;
    piece.looks = 0;
    piece.state = span->tail;
    piece.cpu_share = span->tail_cpu_share;
    if (span->measured || span->tail == SBX_SPAN_ON_CPU) {
        piece.wait = NULL; /* the wait ended; its caller continues */
    }
    if (result == 0 && span->drawn_end_ns > span->end_ns) {
        piece.begin_ns = span->end_ns;
        piece.end_ns = span->drawn_end_ns;
        result = visitor(context, &piece);
    }
    if (result == 0 && span->until_ns > span->drawn_end_ns && (shared > 0 || span->tail_cpu_share >= 0)) {
        piece.begin_ns = span->drawn_end_ns;
        piece.end_ns = span->until_ns;
        piece.path_count = shared;
        piece.wait = NULL;
        result = visitor(context, &piece);
    }
    return result;
}

int sbx_span_pieces_visit(const struct sbx_thread_spans *spans, const struct sbx_call_paths *paths,
                          sbx_piece_visitor visitor, void *context)
{
    struct stack *stacks = malloc(2 * sizeof *stacks); /* too large for a stack that may be a server thread's */
    if (stacks == NULL) {
        return -ENOMEM;
    }
    struct stack *here = &stacks[0], *there = &stacks[1];
    int result = 0;
    size_t at = 0;
    const struct sbx_span *span = next_outer(spans, &at);
    if (span != NULL) {
        read_stack(paths, span, here);
    }
    while (span != NULL && result == 0) {
        const struct sbx_span *next = next_outer(spans, &at);
        size_t shared = 0;
        if (next != NULL) {
            read_stack(paths, next, there);
            shared = next->cut ? 0 : sbx_call_path_shared(here->frames, here->count, there->frames, there->count);
        }
        result = visit_span(span, here, shared, visitor, context);
        struct stack *swapped = here;
        here = there;
        there = swapped;
        span = next;
    }
    free(stacks);
    return result;
}
