/* SPDX-License-Identifier: Apache-2.0 */
/* stack_replay.c - verifies what is remembered of a thread's last walk, and remembers the next walk.
 *
 * Runs in hooks and handlers: no libc, not even memcpy. */
#include "stack_replay.h"

/* A word of a stack may alias any type. It belongs to no object that a sanitizer knows. */
typedef uint64_t stack_word __attribute__((may_alias));

#define READS_FOREIGN_STACKS __attribute__((no_sanitize("address", "thread")))

READS_FOREIGN_STACKS static inline uint64_t load_slot(uint64_t address)
{
    return *(const stack_word *)(uintptr_t)address;
}

READS_FOREIGN_STACKS static inline bool holds(const struct sbx_replay_check *check)
{
    return load_slot(check->address) == check->value;
}

/* Count the remembered frames, from the root inwards, that still follow from the frame inside of them: the words that
 * decided them have the same values, and lie in the part of the stack that is in use. */
READS_FOREIGN_STACKS static inline uint32_t verify(const struct sbx_replay *replay,
                                                   const struct sbx_stack_window *window)
{
    uint64_t room = replay->stack_high - window->lo; /* no valid check lies further below the stack's end than this */
    uint32_t frames = replay->opaque_at;
    while (frames > 0 && replay->frames[frames - 1].reach > room) {
        frames--;
    }
    if (frames == 0) {
        return 0;
    }
    const struct sbx_replay_check *check = replay->checks;
    const struct sbx_replay_check *end = check + replay->frames[frames - 1].checks;
    const struct sbx_replay_check *fours = check + (replay->frames[frames - 1].checks & ~3u);
    for (; check != fours; check += 4) {
        if (SBX_UNLIKELY(!holds(check))) {
            goto changed;
        }
        if (SBX_UNLIKELY(!holds(check + 1))) {
            check += 1;
            goto changed;
        }
        if (SBX_UNLIKELY(!holds(check + 2))) {
            check += 2;
            goto changed;
        }
        if (SBX_UNLIKELY(!holds(check + 3))) {
            check += 3;
            goto changed;
        }
    }
    while (check < end && holds(check)) {
        check++;
    }
changed:;
    uint32_t held = (uint32_t)(check - replay->checks);
    while (frames > 0 && replay->frames[frames - 1].checks > held) { /* the frames near the leaf change most often */
        frames--;
    }
    return frames;
}

/* Would this walk end the same way again? Not if rows are still being built, because they will be ready later. Not if
 * memory could not be read, because it may be readable next time. And a deep stack has frames that are not kept. */
static bool is_replayable(const struct sbx_walk *walk, const struct sbx_walk_registers *start)
{
    return walk->omitted == 0 && (start->sp & 7) == 0 &&
           (walk->end == SBX_WALK_COMPLETE || walk->end == SBX_WALK_NO_MODULE || walk->end == SBX_WALK_NO_ROW ||
            walk->end == SBX_WALK_UNSUPPORTED);
}

/* The end of what is remembered, which grows from the root inwards. */
struct growth {
    struct sbx_replay_frame *frame; /* the next one to write */
    struct sbx_replay_check *check; /* the next one to write */
    uint32_t node;
    uint32_t reach;
    /* Does the frame outside of the next one, or one further out, depend on the fp that the next one must still
     * have? */
    bool fp_is_awaited;
};

/* Append the frames walked[count - 1], walked[count - 2], ... of the common kind: the words in their slots decide them.
 * Returns how many are left; the last of those is different, or needs a new node. This is half the cost of a capture
 * that is all new. */
static inline uint32_t append_ordinary(const struct sbx_replay *replay, struct growth *growth,
                                       const struct sbx_walk_frame *walked, uint32_t count,
                                       const struct sbx_node_places *places)
{
    struct sbx_node_places nodes = *places;
    __asm__("" : "+r"(nodes.half)); /* one word: else the compiler keeps its two parts, and adds them for each frame */
    const uint32_t high = (uint32_t)replay->stack_high;
    struct sbx_replay_frame *frame = growth->frame;
    struct sbx_replay_check *check = growth->check;
    uint32_t checks = (uint32_t)(check - replay->checks), node = growth->node, reach = growth->reach;
    /* The flag that says that a frame's fp does not count. No flag (0) while a frame further out depends on fp. */
    uint32_t idle = growth->fp_is_awaited ? 0 : SBX_FRAME_FP_IDLE;
    const struct sbx_walk_frame *const innermost = walked;
    for (walked += count; walked != innermost; frame++) {
        walked--;
        const uint32_t flags = walked->flags;
        const uint64_t slot = walked->slot;
        if (SBX_UNLIKELY((flags & ~(uint32_t)(SBX_FRAME_FP_IDLE | SBX_FRAME_IS_EXACT)) != SBX_FRAME_FP_KNOWN)) {
            walked++;
            break;
        }
        if (SBX_HAS_LINK_REGISTER && SBX_UNLIKELY(slot == 0) &&
            walked != innermost) { /* the caller of a leaf: no slot decides it */
            walked++;
            break;
        }
        uint32_t found;
        if (SBX_UNLIKELY(!sbx_node_is_first(&nodes, node, walked->frame_id, &found))) {
            walked++;
            break;
        }
        frame->node = node = found;
        const uint64_t pc = frame->pc = walked->pc, fp = frame->fp = walked->fp;
        uint32_t below = 0, seen = flags & SBX_FRAME_SEEN_FLAGS;
        if (SBX_LIKELY(slot != 0)) { /* not the innermost */
            /* The slot may hold a signed address, which is not equal to pc. */
            *check = (struct sbx_replay_check){slot, SBX_HAS_LINK_REGISTER ? load_slot(slot) : pc};
            check++;
            checks++;
            below = high - (uint32_t)slot;
        }
        if (SBX_UNLIKELY((flags & idle) == 0)) {
            const uint64_t fp_slot = walked->fp_slot;
            seen |= SBX_REPLAY_FP_COUNTS;
            idle = fp_slot == 0 ? 0 : SBX_FRAME_FP_IDLE;
            if (fp_slot != 0) {
                *check = (struct sbx_replay_check){fp_slot, fp};
                check++;
                checks++;
                below = high - (uint32_t)fp_slot > below ? high - (uint32_t)fp_slot : below;
            }
        }
        frame->reach = reach = below > reach ? below : reach;
        frame->sp_flags = ((high - (uint32_t)walked->sp) & ~7u) | seen;
        frame->checks = checks;
    }
    *growth = (struct growth){frame, check, node, reach, idle == 0};
    return (uint32_t)(walked - innermost);
}

static inline void add_check(const struct sbx_replay *replay, struct growth *growth, uint64_t address, uint64_t value)
{
    uint32_t below = (uint32_t)(replay->stack_high - address);
    *growth->check++ = (struct sbx_replay_check){address, value};
    growth->reach = below > growth->reach ? below : growth->reach;
}

/* Append one frame of any kind. False: a table was full. */
SBX_NOINLINE static bool append_frame(struct sbx_replay *replay, struct growth *growth,
                                      const struct sbx_walk_frame *frame, struct sbx_callstack_table *table)
{
    if (SBX_LIKELY((frame->flags & SBX_FRAME_SKIPPED) == 0)) {
        growth->node = frame->frame_id == 0 ? 0 : sbx_node_intern(table, replay->epoch, growth->node, frame->frame_id);
        if (SBX_UNLIKELY(growth->node == 0)) {
            return false;
        }
    }
    if (SBX_LIKELY(frame->slot != 0)) {
        add_check(replay, growth, frame->slot,
                  SBX_HAS_LINK_REGISTER ? load_slot(frame->slot) : frame->pc); /* see append_ordinary() */
    }
    bool fp_counts = growth->fp_is_awaited || (frame->flags & SBX_FRAME_FP_IDLE) == 0;
    growth->fp_is_awaited = fp_counts && frame->fp_slot == 0;
    if (fp_counts && frame->fp_slot != 0) {
        add_check(replay, growth, frame->fp_slot, frame->fp);
    }
    bool is_decided = (frame->slot != 0 && (frame->flags & SBX_FRAME_OPAQUE) == 0) || frame->pc == 0;
    uint32_t depth = (uint32_t)(growth->frame - replay->frames);
    if (!is_decided && replay->opaque_at == UINT32_MAX) {
        replay->opaque_at = depth;
    }
    *growth->frame++ = (struct sbx_replay_frame){
        .pc = frame->pc,
        .fp = frame->fp,
        .sp_flags = ((uint32_t)(replay->stack_high - frame->sp) & ~7u) | (frame->flags & SBX_FRAME_SEEN_FLAGS) |
                    (fp_counts ? SBX_REPLAY_FP_COUNTS : 0),
        .node = growth->node,
        .reach = growth->reach,
        .checks = (uint32_t)(growth->check - replay->checks),
    };
    return true;
}

/* Remember the walked frames on top of the `kept` ones, and intern them on the way. Returns the callstack id. When a
 * table was full, nothing is remembered. */
static inline uint32_t append_frames(struct sbx_replay *replay, uint32_t kept, const struct sbx_walk *walk,
                                     struct sbx_callstack_table *table)
{
    const struct sbx_replay_frame *outer = kept == 0 ? NULL : &replay->frames[kept - 1];
    struct growth growth = {.frame = &replay->frames[kept], .check = replay->checks};
    if (outer != NULL) {
        growth.check += outer->checks;
        growth.node = outer->node;
        growth.reach = outer->reach;
        growth.fp_is_awaited = (outer->sp_flags & SBX_REPLAY_FP_COUNTS) != 0;
    }
    struct sbx_node_places places = sbx_node_places(table, replay->epoch);
    replay->opaque_at = replay->opaque_at < kept ? replay->opaque_at : UINT32_MAX;
    uint32_t count = walk->count;
    while ((count = append_ordinary(replay, &growth, walk->frames, count, &places)) != 0) {
        if (!append_frame(replay, &growth, &walk->frames[--count], table)) {
            replay->depth = 0;
            return SBX_STACK_OVERFLOW;
        }
    }
    replay->depth = (uint32_t)(growth.frame - replay->frames);
    /* No slot decides the innermost frame, unless that frame is a marker. */
    uint32_t decided = replay->depth - (walk->count != 0 && walk->frames[0].slot == 0 && walk->frames[0].pc != 0);
    replay->opaque_at = replay->opaque_at < decided ? replay->opaque_at : decided;
    return growth.node == 0 ? SBX_STACK_NONE : sbx_callstack_id(replay->epoch, growth.node);
}

/* All frames but the leaf are verified. Is the leaf the same too? Then its rule names the slots of its caller that were
 * just verified, and nothing is left to walk. A leaf that other registers decided makes its caller opaque, because a
 * replay does not keep those registers. */
static inline bool leaf_is_same(const struct sbx_replay *replay, const struct sbx_walk_registers *start)
{
    const struct sbx_replay_frame *leaf = &replay->frames[replay->depth - 1];
    uint32_t flags = (start->fp_known ? SBX_FRAME_FP_KNOWN : 0) | (start->pc_is_exact ? SBX_FRAME_IS_EXACT : 0);
    return leaf->pc == start->pc && (leaf->sp_flags & ~7u) == replay->stack_high - start->sp &&
           (leaf->sp_flags & SBX_FRAME_SEEN_FLAGS) == flags && start->context == NULL &&
           ((leaf->sp_flags & SBX_REPLAY_FP_COUNTS) == 0 || leaf->fp == start->fp);
}

uint32_t sbx_replay_stack(struct sbx_replay *replay, const struct sbx_code_map *map, struct sbx_walk_cache *cache,
                          struct sbx_callstack_table *table, const struct sbx_stack_window *window,
                          const struct sbx_walk_registers *start, struct sbx_walk *scratch)
{
    uint32_t epoch = sbx_callstack_epoch(table);
    uint32_t kept = 0;
    if (SBX_LIKELY(replay->depth != 0 && replay->generation == map->generation && replay->epoch == epoch &&
                   replay->stack_high == window->hi)) {
        uint32_t verified = verify(replay, window);
        if (verified == replay->depth - 1 && leaf_is_same(replay, start)) {
            replay->changed_from = replay->depth;
            uint32_t node = replay->frames[verified].node;
            return node == 0 ? SBX_STACK_NONE : sbx_callstack_id(epoch, node);
        }
        struct sbx_known_frames known = {replay, verified < replay->depth ? verified : replay->depth - 1};
        if (sbx_walk_until_known(map, cache, table, epoch, window, start, &known, scratch)) {
            kept = known.at + 1;
            if (kept + scratch->count > SBX_WALK_MAX + (replay->end != SBX_WALK_COMPLETE)) { /* to keep both ends */
                kept = 0;
                sbx_walk_stack(map, cache, table, epoch, window, start, scratch);
            }
        }
    } else {
        replay->generation = map->generation;
        replay->epoch = epoch;
        replay->stack_high = window->hi;
        sbx_walk_stack(map, cache, table, epoch, window, start, scratch);
    }
    replay->changed_from = kept;
    if (kept == 0) {
        replay->end = scratch->end;
        if (SBX_UNLIKELY(!is_replayable(scratch, start))) {
            replay->depth = 0;
            return sbx_walk_intern(scratch, table, epoch);
        }
    }
    return append_frames(replay, kept, scratch, table);
}

/* The innermost frame whose stack pointer lies beyond `slot`. When stack pointers rise outwards and no frame is a
 * marker, no other frame can have its return address in that slot. */
static uint32_t frame_around(const struct sbx_replay *replay, uint64_t slot)
{
    uint32_t beyond = (uint32_t)(replay->stack_high - slot) & ~7u, low = 0, count = replay->depth;
    while (count > 1) {
        uint32_t half = count / 2;
        low = (replay->frames[low + half].sp_flags & ~7u) < beyond ? low + half : low;
        count -= half;
    }
    return low;
}

SBX_SIGNAL_SAFE bool sbx_replay_looks_for_frame(const struct sbx_replay *replay, uint64_t slot, uint64_t pc,
                                                uint32_t *holds_out)
{
    uint32_t depth = replay->depth;
    *holds_out = UINT32_MAX;
    if (depth == 0) {
        return false;
    }
    uint32_t at = 0, end = replay->frames[depth - 1].checks;
    if (SBX_LIKELY(replay->end == SBX_WALK_COMPLETE && replay->opaque_at + 1 >= depth)) {
        uint32_t frame = frame_around(replay, slot);
        at = frame == 0 ? 0 : replay->frames[frame - 1].checks;
        end = replay->frames[frame].checks;
        *holds_out = frame + 2; /* the next frame inwards does not contain the slot, and that stays so */
    }
    for (; at < end; at++) {
        if (replay->checks[at].address == slot && sbx_plain_address(replay->checks[at].value) == pc) {
            return true;
        }
    }
    return false;
}

SBX_SIGNAL_SAFE bool sbx_replay_has_frame(const struct sbx_replay *replay, uint64_t slot, uint64_t pc)
{
    uint32_t holds;
    return sbx_replay_looks_for_frame(replay, slot, pc, &holds);
}
