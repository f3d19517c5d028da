/* SPDX-License-Identifier: Apache-2.0 */
/* logical_stack.c - appends the stacks of embedded runtimes to the native stack at each capture.
 *
 * This is in handler/ because a capture in a signal handler uses it too. Nothing here allocates, locks or waits. For
 * `walk` and `want` the provider promises the same (stallbox.h). */
#include "logical_stack.h"

#include "id_table.h"
#include "providers.h"
#include "the_capture.h"
#include "thread_block.h"

/* In struct sbx_logical_walk.tags, in the bits above the line. */
enum sbx_logical_tag {
    TAG_PROVIDER_SHIFT = 24, /* bits 24..27: index of the provider */
    TAG_ROOT = 1 << 28,      /* the outermost frame of its provider, in a sample made at a safepoint */
    TAG_CUT = 1 << 29,       /* not a frame: some frames are left out here */
    TAG_BORDER = 1 << 30,    /* the outermost frame of a native entry */
};

/* Makes a tag from a line number as the provider gives it. */
static uint32_t tag_of(uint32_t provider, uint32_t told)
{
    uint32_t line = told & ~SBX_LINE_BORDER, border = (told & SBX_LINE_BORDER) != 0 ? TAG_BORDER : 0;
    return (line < UINT32_C(1) << SBX_LOGICAL_LINE_BITS ? line : 0) | border | provider << TAG_PROVIDER_SHIFT;
}

SBX_SIGNAL_SAFE void sbx_logical_tag(struct sbx_logical_walk *walk, uint32_t from, uint32_t provider)
{
    for (uint32_t i = from; i < walk->count; i++) {
        walk->tags[i] = tag_of(provider, walk->tags[i]);
    }
}

/* ---- asking ---- */

/* May a signal handler, of the agent or of the program, have interrupted the runtime? The walk shows it: the
 * interrupted frame has an exact pc and is not the frame where the walk began. A walk that did not reach the root
 * cannot show it, and neither can one whose middle is left out. */
static bool may_be_interrupted(const struct sbx_thread *thread, const struct sbx_walk_registers *start)
{
    const struct sbx_replay *replay = &thread->replay;
    if (start->context != NULL || replay->depth == 0 || replay->end != SBX_WALK_COMPLETE) {
        return true;
    }
    for (uint32_t i = replay->opaque_at; i + 1 < replay->depth; i++) { /* an interrupted frame is opaque */
        if ((replay->frames[i].sp_flags & SBX_FRAME_IS_EXACT) != 0) {
            return true;
        }
    }
    return false;
}

static size_t ask_from(const struct sbx_provider *provider, void *context, const struct sbx_interrupted *interrupted,
                       size_t first, uint64_t *functions, uint32_t *lines, size_t max)
{
    return provider->walk_at != NULL ? provider->walk_at(context, interrupted, first, functions, lines, max)
                                     : provider->walk(context, first, functions, lines, max);
}

/* Append the frames of one provider to those in `walk`: all of them, or both ends. */
static void ask(const struct sbx_provider *provider, void *context, const struct sbx_interrupted *interrupted,
                bool is_safepoint, bool *not_now, struct sbx_logical_walk *walk)
{
    uint32_t room = SBX_LOGICAL_MAX + provider->index - walk->count; /* each provider before may have added a mark */
    uint32_t tag = provider->index << TAG_PROVIDER_SHIFT;
    if (walk->count >= SBX_LOGICAL_MAX + provider->index || room < 2 * SBX_LOGICAL_ROOT) {
        sbx_count_drop(SBX_DROP_CUT);
        return;
    }
    uint64_t *functions = walk->functions + walk->count;
    uint32_t *tags = walk->tags + walk->count;
    size_t depth = ask_from(provider, context, interrupted, 0, functions, tags, room);
    if (SBX_UNLIKELY(depth == SBX_PROVIDER_NOT_NOW)) {
        *not_now = true;
        return;
    }
    uint32_t count = depth < room ? (uint32_t)depth : room;
    uint32_t mark = UINT32_MAX;
    if (SBX_UNLIKELY(depth > room)) { /* put a mark at the end of the room, and behind it the outermost frames */
        mark = room - SBX_LOGICAL_ROOT;
        ask_from(provider, context, interrupted, depth - SBX_LOGICAL_ROOT, functions + mark + 1, tags + mark + 1,
                 SBX_LOGICAL_ROOT);
        count = room + 1;
        sbx_count_drop(SBX_DROP_CUT);
    }
    for (uint32_t i = 0; i < count; i++) {
        tags[i] = tag_of(provider->index, tags[i]);
    }
    if (mark != UINT32_MAX) {
        functions[mark] = 0;
        tags[mark] = tag | TAG_CUT;
    }
    if (is_safepoint && count > 0) {
        tags[count - 1] |= TAG_ROOT;
    }
    walk->count += count;
}

/* Memory that the runtime's heap gave the thread since the last question is counted like memory from malloc(). */
static void count_heap(struct sbx_thread *thread, const struct sbx_provider *provider, void *context)
{
    enum {
        BEHIND_MOST = 1 << 26 /* while the runtime adds up, a number may be too large by this much */
    };
    struct sbx_heap_told *told = &thread->logical.heaps[provider->index];
    uint64_t bytes = provider->allocated(context);
    if (bytes == 0) {
        return;
    }
    if (told->context != context || bytes + BEHIND_MOST < told->bytes) { /* another thread has the context now */
        *told = (struct sbx_heap_told){context, bytes};
    } else if (bytes > told->bytes) {
        thread->entry->alloc_bytes += bytes - told->bytes;
        told->bytes = bytes;
    }
}

/* ---- interning ---- */

static bool is_same(const struct sbx_logical_walk *a, const struct sbx_logical_walk *b)
{
    uint64_t differs = a->count ^ b->count;
    for (uint32_t i = 0; i < a->count && differs == 0; i++) {
        differs = (a->functions[i] ^ b->functions[i]) | (a->tags[i] ^ b->tags[i]);
    }
    return differs == 0;
}

static uint64_t word_of(uint64_t function, uint32_t tag)
{
    if ((tag & TAG_CUT) != 0) {
        return sbx_frame_word(SBX_MODULE_CUT, 0, 0);
    }
    struct sbx_recording_header *header = sbx_the_capture.header;
    uint64_t *ids = (uint64_t *)(void *)((uint8_t *)header + header->ids.at);
    uint32_t index = sbx_id_intern(ids, header->ids.count, function);
    if (SBX_UNLIKELY(index == 0)) {
        sbx_count_drop(SBX_DROP_LOGICAL_OVERFLOW);
    }
    return sbx_logical_word(tag >> TAG_PROVIDER_SHIFT & 15, index, tag & ((UINT32_C(1) << SBX_LOGICAL_LINE_BITS) - 1),
                            (tag & TAG_ROOT) != 0) |
           ((tag & TAG_BORDER) != 0 ? SBX_FRAME_BORDER : 0);
}

SBX_SIGNAL_SAFE uint32_t sbx_logical_intern(const struct sbx_logical_walk *walk, uint32_t epoch, uint32_t native)
{
    struct sbx_callstack_table *table = &sbx_the_capture.table;
    uint32_t node = native & SBX_NODE_FRAME_MASK;
    for (uint32_t i = walk->count; i > 0; i--) {
        uint32_t frame = sbx_frame_intern(table, epoch, word_of(walk->functions[i - 1], walk->tags[i - 1]));
        node = frame == 0 ? 0 : sbx_node_intern(table, epoch, node, frame);
        if (node == 0) {
            return SBX_STACK_OVERFLOW;
        }
    }
    return sbx_callstack_id(epoch, node);
}

SBX_SIGNAL_SAFE uint32_t sbx_logical_append(struct sbx_thread *thread, const struct sbx_walk_registers *start,
                                            uint32_t native)
{
    struct sbx_logical *logical = &thread->logical;
    if (native == SBX_STACK_NONE || native == SBX_STACK_OVERFLOW || !sbx_provider_is_entered()) {
        return native;
    }
    sbx_store_relaxed(&logical->noted_ns, 0); /* relaxed: the fence keeps it before what follows */
    /* order: release logical.noted_ns - no reader takes what is written now for the note */
    sbx_fence_release();
    struct sbx_logical_walk *walk = &logical->walks[logical->turn ^ 1];
    bool only_safe = may_be_interrupted(thread, start);
    const struct sbx_interrupted interrupted = {start->pc, start->sp, start->fp, start->context};
    uint32_t count = sbx_load_acquire(&sbx_the_capture.provider_count); /* order: acquire providers */
    walk->count = 0;
    logical->not_now = false;
    for (uint32_t i = 0; i < count; i++) {
        void *context = sbx_provider_context(i);
        if (context == NULL) {
            continue;
        }
        if (only_safe && !sbx_the_providers[i].is_signal_safe) {
            sbx_count_drop(SBX_DROP_LOGICAL_SKIPPED);
            continue;
        }
        if (sbx_the_providers[i].allocated != NULL) {
            count_heap(thread, &sbx_the_providers[i], context);
        }
        ask(&sbx_the_providers[i], context, start->context != NULL ? &interrupted : NULL, logical->drops_native,
            &logical->not_now, walk);
    }
    if (walk->count == 0) {
        return native;
    }
    /* The native stack was interned in the epoch that its id contains. The table may be in a later epoch now. */
    uint32_t now = sbx_callstack_epoch(&sbx_the_capture.table);
    uint32_t epoch = now - ((now - (native >> 24)) & 0xff);
    if (logical->native == native && logical->epoch == epoch && is_same(&logical->walks[logical->turn], walk)) {
        return logical->stack;
    }
    uint32_t stack = sbx_logical_intern(walk, epoch, native);
    logical->turn ^= 1;
    logical->native = stack != SBX_STACK_OVERFLOW ? native : 0;
    logical->epoch = epoch;
    logical->stack = stack;
    return stack;
}

/* ---- safepoints ---- */

SBX_SIGNAL_SAFE bool sbx_logical_defer(struct sbx_thread *thread, uint8_t kind, uint8_t op, uint8_t flags)
{
    bool has_asked = false;
    if (sbx_load_relaxed(&thread->logical.wanted) != 0) { /* relaxed: this thread's own */
        return false;
    }
    uint32_t count = sbx_load_acquire(&sbx_the_capture.provider_count); /* order: acquire providers */
    for (uint32_t i = 0; i < count; i++) {
        const struct sbx_provider *provider = &sbx_the_providers[i];
        void *context = sbx_provider_context(i);
        if (context == NULL || provider->is_signal_safe || !provider->has_safepoints) {
            continue;
        }
        has_asked = true;
        if (provider->want != NULL) {
            provider->want(context);
        }
    }
    if (!has_asked) {
        return false;
    }
    /* relaxed: this thread's own. No kind is 0 */
    sbx_store_relaxed(&thread->logical.wanted, (uint32_t)op << 16 | (uint32_t)kind << 8 | flags);
    return (flags & SBX_FLAG_AT_TRIGGER) == 0; /* a snapshot does not wait: sample now, and again at the safepoint */
}
