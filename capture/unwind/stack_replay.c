/* SPDX-License-Identifier: Apache-2.0 */
/* stack_replay.c - verifies what is remembered of a thread's last walk, and remembers the next.
 *
 * Runs in hooks and handlers: no libc, not even memcpy. */
#include "stack_replay.h"

/* Words of a stack alias anything, and belong to no object a sanitizer knows. */
typedef uint64_t stack_word __attribute__((may_alias));

#define READS_FOREIGN_STACKS __attribute__((no_sanitize("address", "thread")))

READS_FOREIGN_STACKS static inline uint64_t load_slot(uint64_t address)
{
    return *(const stack_word *)(uintptr_t)address;
}

/* How many of the remembered frames, from the root in, still follow from the one inside of them: the words that decided
 * about them hold what they held, and lie in the part of the stack that is in use. */
READS_FOREIGN_STACKS static inline uint32_t verify(const struct sbx_replay *replay,
                                                   const struct sbx_stack_window *window)
{
    uint64_t room = replay->stack_high - window->lo; /* checks lie no further below the stack's end than this */
    uint32_t frames = replay->opaque_at;
    while (frames > 0 && replay->frames[frames - 1].reach > room) {
        frames--;
    }
    if (frames == 0) {
        return 0;
    }
    const struct sbx_replay_check *check = replay->checks;
    const struct sbx_replay_check *end = check + replay->frames[frames - 1].checks;
    for (; end - check >= 4; check += 4) { /* by fours: the processor does the loads side by side */
        uint64_t changed =
            (load_slot(check[0].address) ^ check[0].value) | (load_slot(check[1].address) ^ check[1].value) |
            (load_slot(check[2].address) ^ check[2].value) | (load_slot(check[3].address) ^ check[3].value);
        if (changed != 0) {
            break;
        }
    }
    while (check < end && load_slot(check->address) == check->value) {
        check++;
    }
    uint32_t held = (uint32_t)(check - replay->checks);
    while (frames > 0 && replay->frames[frames - 1].checks > held) { /* those near the leaf change */
        frames--;
    }
    return frames;
}

/* Is this a walk that would end the same way again? Rows that are still being built come; memory that could not be read
 * may be readable next time; a deep stack has frames we do not know. */
static bool is_replayable(const struct sbx_walk *walk, const struct sbx_walk_registers *start)
{
    return walk->omitted == 0 && (start->sp & 7) == 0 &&
           (walk->end == SBX_WALK_COMPLETE || walk->end == SBX_WALK_NO_MODULE || walk->end == SBX_WALK_NO_ROW ||
            walk->end == SBX_WALK_UNSUPPORTED);
}

static inline uint32_t add_check(struct sbx_replay *replay, uint32_t checks, uint64_t address, uint64_t value,
                                 uint32_t *reach)
{
    uint32_t below = (uint32_t)(replay->stack_high - address);
    replay->checks[checks] = (struct sbx_replay_check){address, value};
    *reach = below > *reach ? below : *reach;
    return checks + 1;
}

/* Remember the walked frames on top of the `kept` ones that stay, and intern them on the way. Returns the callstack id;
 * when a table was full nothing is remembered. */
static inline uint32_t append_frames(struct sbx_replay *replay, uint32_t kept, const struct sbx_walk *walk,
                                     struct sbx_callstack_table *table)
{
    uint64_t high = replay->stack_high;
    uint32_t epoch = replay->epoch;
    uint32_t node = kept == 0 ? 0 : replay->frames[kept - 1].node;
    uint32_t reach = kept == 0 ? 0 : replay->frames[kept - 1].reach;
    uint32_t checks = kept == 0 ? 0 : replay->frames[kept - 1].checks;
    uint32_t depth = kept;
    /* Whether the frame outside of the next one, or one further out, hangs on an fp that the next one must still have. */
    bool fp_is_awaited = kept != 0 && (replay->frames[kept - 1].sp_flags & SBX_REPLAY_FP_COUNTS) != 0;
    replay->opaque_at = replay->opaque_at < kept ? replay->opaque_at : UINT32_MAX;
    for (uint32_t i = walk->count; i > 0; i--, depth++) {
        const struct sbx_walk_frame *frame = &walk->frames[i - 1];
        if (SBX_LIKELY((frame->flags & SBX_FRAME_SKIPPED) == 0)) {
            node = frame->frame_id == 0 ? 0 : sbx_node_intern(table, epoch, node, frame->frame_id);
            if (SBX_UNLIKELY(node == 0)) {
                replay->depth = 0;
                return SBX_STACK_OVERFLOW;
            }
        }
        if (SBX_LIKELY(frame->slot != 0)) {
            /* What the slot holds may be signed, and then is not the pc itself. */
            uint64_t held = SBX_HAS_LINK_REGISTER ? load_slot(frame->slot) : frame->pc;
            checks = add_check(replay, checks, frame->slot, held, &reach);
        }
        bool fp_counts = fp_is_awaited || (frame->flags & SBX_FRAME_FP_IDLE) == 0;
        fp_is_awaited = fp_counts && frame->fp_slot == 0;
        if (fp_counts && frame->fp_slot != 0) {
            checks = add_check(replay, checks, frame->fp_slot, frame->fp, &reach);
        }
        bool is_decided = (frame->slot != 0 && (frame->flags & SBX_FRAME_OPAQUE) == 0) || frame->pc == 0;
        if (!is_decided && replay->opaque_at == UINT32_MAX) {
            replay->opaque_at = depth;
        }
        replay->frames[depth] = (struct sbx_replay_frame){
            .pc = frame->pc,
            .fp = frame->fp,
            .sp_flags = ((uint32_t)(high - frame->sp) & ~7u) | (frame->flags & SBX_FRAME_SEEN_FLAGS) |
                        (fp_counts ? SBX_REPLAY_FP_COUNTS : 0),
            .node = node,
            .reach = reach,
            .checks = checks,
        };
    }
    replay->depth = depth;
    replay->opaque_at = replay->opaque_at < depth ? replay->opaque_at : depth;
    return node == 0 ? SBX_STACK_NONE : sbx_callstack_id(epoch, node);
}

/* All but the leaf is verified. Is the leaf what it was, too? Then its rule names the slots of its caller that were just
 * verified, and nothing is left to walk. A leaf decided by registers that a replay does not keep makes its caller opaque. */
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
            if (kept + scratch->count > SBX_WALK_MAX + (replay->end != SBX_WALK_COMPLETE)) { /* deep: both ends */
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

SBX_SIGNAL_SAFE bool sbx_replay_has_frame(const struct sbx_replay *replay, uint64_t slot, uint64_t pc)
{
    uint32_t count = replay->depth == 0 ? 0 : replay->frames[replay->depth - 1].checks;
    for (uint32_t i = 0; i < count; i++) {
        if (replay->checks[i].address == slot && sbx_plain_address(replay->checks[i].value) == pc) {
            return true;
        }
    }
    return false;
}
