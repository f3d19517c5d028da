/* SPDX-License-Identifier: Apache-2.0 */
/* slice_builder.c - makes nested slices, as a trace viewer draws them, from samples and measured waits of one
 * thread. */
#include "slice_builder.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define NONE UINT32_MAX

/* The open slices during the walk over the spans. */
struct builder {
    struct sbx_slices *out;
    size_t max;
    const struct sbx_span *before; /* the span whose stack is open; NULL: nothing is open */
    struct sbx_path_frame path[SBX_CALL_PATH_MAX], next[SBX_CALL_PATH_MAX];
    size_t path_count;
    uint32_t open[SBX_CALL_PATH_MAX]; /* by depth: index of the open slice */
    uint32_t open_wait;               /* the open slice of a wait that was seen and not measured; NONE */
};

/* Append a slice and give its index in *index_out (NONE: no more slices may be made). Returns 0 or -ENOMEM. */
static int add_slice(struct builder *builder, struct sbx_slice slice, uint32_t *index_out)
{
    struct sbx_slices *out = builder->out;
    *index_out = NONE;
    if (out->count == builder->max) {
        out->cut = true;
        return 0;
    }
    if (out->count == out->capacity) {
        size_t capacity = out->capacity == 0 ? 256 : out->capacity * 2;
        struct sbx_slice *grown = realloc(out->slices, capacity * sizeof *grown);
        if (grown == NULL) {
            return -ENOMEM;
        }
        out->slices = grown;
        out->capacity = capacity;
    }
    *index_out = (uint32_t)out->count;
    out->slices[out->count++] = slice;
    return 0;
}

static void close_slice(struct builder *builder, uint32_t index)
{
    if (index != NONE) {
        struct sbx_slice *slice = &builder->out->slices[index];
        slice->last_seen_ns = builder->before->end_ns;
        slice->end_ns = builder->before->drawn_end_ns;
        slice->latest_ns = builder->before->until_ns;
    }
}

static void close_wait(struct builder *builder)
{
    close_slice(builder, builder->open_wait);
    builder->open_wait = NONE;
}

/* Close every open frame except the outer `keep`. */
static void close_frames(struct builder *builder, size_t keep)
{
    while (builder->path_count > keep) {
        close_slice(builder, builder->open[--builder->path_count]);
    }
    if (keep == 0) {
        builder->before = NULL;
    }
}

/* The slice of a call when `span` shows it for the first time. */
static struct sbx_slice first_seen(const struct sbx_span *span, uint32_t index, uint32_t parent, uint32_t depth)
{
    return (struct sbx_slice){
        .begin_ns = span->begin_ns,
        .end_ns = span->end_ns,
        .earliest_ns = span->earliest_ns,
        .last_seen_ns = span->end_ns,
        .latest_ns = span->end_ns,
        .frame = NONE,
        .span = index,
        .parent = parent == NONE ? 0 : parent + 1,
        .depth = depth,
        .seen = 1,
        .history_begin = span->history_begin,
    };
}

static uint32_t innermost_frame(const struct builder *builder)
{
    return builder->path_count == 0 ? NONE : builder->open[builder->path_count - 1];
}

static int open_frames(struct builder *builder, const struct sbx_span *span, uint32_t index, size_t count)
{
    while (builder->path_count < count) {
        size_t depth = builder->path_count;
        uint32_t parent = innermost_frame(builder);
        if (depth > 0 && parent == NONE) {
            return 0; /* no slice for its caller, so it would have no parent */
        }
        struct sbx_slice slice = first_seen(span, index, parent, (uint32_t)depth);
        slice.location = builder->next[depth].location;
        slice.name = slice.location->function;
        slice.frame = builder->next[depth].frame;
        int result = add_slice(builder, slice, &builder->open[depth]);
        if (result != 0) {
            return result;
        }
        builder->path_count++;
    }
    return 0;
}

/* The leaf of a wait below the open frames, with the measured waits inside it. */
static int add_wait(struct builder *builder, const struct sbx_span *span, uint32_t index, uint32_t parent,
                    uint32_t *index_out)
{
    uint32_t depth = parent == NONE ? 0 : builder->out->slices[parent].depth + 1;
    struct sbx_slice slice = first_seen(span, index, parent, depth);
    slice.name = sbx_span_wait_name(span);
    slice.is_wait = true;
    if (span->measured) {
        slice.exact = !span->unfinished;
        slice.history_begin = false;
        slice.earliest_ns = span->begin_ns;
    }
    return add_slice(builder, slice, index_out);
}

/* If a thread is seen blocked twice in the same call, it is still in it. */
static bool is_same_wait(const struct sbx_span *a, const struct sbx_span *b)
{
    return !a->measured && !b->measured && sbx_span_is_wait(b) && a->op == b->op && a->object == b->object &&
           (a->op != SBX_OP_SYSCALL || a->amount == b->amount);
}

static int add_span(struct builder *builder, const struct sbx_call_paths *paths, const struct sbx_span *span,
                    uint32_t index)
{
    bool is_wait = sbx_span_is_wait(span);
    size_t count = span->kind == SBX_RECORD_IDLE ? 0 : sbx_call_path_read(paths, span->stack, builder->next);
    if (is_wait) {
        count = sbx_call_path_without_wait(builder->next, count, sbx_span_wait_name(span));
    }
    size_t shared = 0;
    if (builder->before != NULL) {
        shared = span->cut ? 0 : sbx_call_path_shared(builder->path, builder->path_count, builder->next, count);
        bool still_waits = builder->open_wait != NONE && is_wait && !span->cut && shared == count &&
                           shared == builder->path_count && is_same_wait(builder->before, span);
        if (still_waits) {
            builder->out->slices[builder->open_wait].seen++;
        } else {
            close_wait(builder);
        }
        close_frames(builder, shared);
    }
    for (size_t depth = 0; depth < shared; depth++) {
        builder->out->slices[builder->open[depth]].seen++;
    }
    int result = open_frames(builder, span, index, count);
    for (size_t depth = 0; depth < builder->path_count; depth++) {
        builder->path[depth] = builder->next[depth]; /* the innermost shared one, too: it may be at another site */
    }
    uint32_t wait = builder->open_wait;
    if (result == 0 && is_wait && wait == NONE) {
        result = add_wait(builder, span, index, innermost_frame(builder), &wait);
        builder->open_wait = span->measured ? NONE : wait; /* a measured wait is closed: its end is exact */
    }
    builder->before = builder->path_count > 0 || builder->open_wait != NONE ? span : NULL;
    return result;
}

int sbx_slices_init(struct sbx_slices *slices, const struct sbx_thread_spans *spans, const struct sbx_call_paths *paths,
                    size_t max)
{
    *slices = (struct sbx_slices){0};
    struct builder *builder = malloc(sizeof *builder); /* too large for a stack that may be a server thread's */
    if (builder == NULL) {
        return -ENOMEM;
    }
    builder->out = slices;
    builder->max = max < NONE ? max : NONE - 1;
    builder->before = NULL;
    builder->path_count = 0;
    builder->open_wait = NONE;
    int result = 0;
    uint32_t enclosing = NONE; /* the measured wait that contains the nested spans */
    for (size_t i = 0; i < spans->count && result == 0 && !slices->cut; i++) {
        const struct sbx_span *span = &spans->spans[i];
        if (span->nested) {
            uint32_t ignored;
            result = enclosing == NONE ? 0 : add_wait(builder, span, (uint32_t)i, enclosing, &ignored);
            continue;
        }
        size_t count_before = slices->count;
        result = add_span(builder, paths, span, (uint32_t)i);
        bool made_wait = slices->count > count_before && slices->slices[slices->count - 1].is_wait;
        enclosing = made_wait && span->measured ? (uint32_t)slices->count - 1 : NONE;
    }
    if (builder->before != NULL) {
        close_wait(builder);
        close_frames(builder, 0);
    }
    free(builder);
    if (result != 0) {
        sbx_slices_finish(slices);
        return result;
    }
    assert(sbx_slices_are_valid(slices));
    return 0;
}

void sbx_slices_finish(struct sbx_slices *slices)
{
    free(slices->slices);
    *slices = (struct sbx_slices){0};
}

bool sbx_slices_are_valid(const struct sbx_slices *slices)
{
    uint32_t open[SBX_CALL_PATH_MAX + 3]; /* by depth: the last slice there; waits may be two levels deeper */
    for (size_t i = 0; i < slices->count; i++) {
        const struct sbx_slice *slice = &slices->slices[i];
        if (slice->earliest_ns > slice->begin_ns || slice->begin_ns > slice->last_seen_ns ||
            slice->last_seen_ns > slice->end_ns || slice->end_ns > slice->latest_ns) {
            return false; /* B1 */
        }
        if (slice->depth >= sizeof open / sizeof open[0] || (slice->depth == 0) != (slice->parent == 0)) {
            return false;
        }
        if (i > 0 && slice->begin_ns < slices->slices[i - 1].begin_ns) {
            return false; /* B2 */
        }
        if (slice->depth > 0) {
            const struct sbx_slice *parent = &slices->slices[slice->parent - 1];
            if (slice->parent > i || open[slice->depth - 1] != slice->parent - 1 ||
                slice->begin_ns < parent->begin_ns || slice->end_ns > parent->end_ns) {
                return false; /* B3 */
            }
        }
        bool has_sibling = i > 0 && slices->slices[i - 1].depth >= slice->depth;
        if (has_sibling && slices->slices[open[slice->depth]].end_ns > slice->begin_ns) {
            return false; /* B3 */
        }
        open[slice->depth] = (uint32_t)i;
    }
    return true;
}
