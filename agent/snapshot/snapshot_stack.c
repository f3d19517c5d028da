/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_stack.c - the frames of a callstack of a snapshot. It is separate from snapshot.c because the reader of
 * guests needs it as well. */
#include <stdbool.h>
#include <string.h>

#include "callstack_reader.h"
#include "guest_merge.h"
#include "logical_splice.h"
#include "snapshot.h"

/* The frame words from node `place` outwards. */
static size_t native_stack(const struct sbx_snapshot *snapshot, uint32_t place, uint32_t half_at, uint64_t *frames_out,
                           size_t max)
{
    size_t count = 0;
    while (place != 0) { /* ends: sbx_callstacks_clean() left only nodes that lead to an outermost frame */
        uint64_t node = snapshot->nodes[place];
        if (count < max) {
            frames_out[count] = snapshot->frames[node & SBX_NODE_FRAME_MASK];
        }
        count++;
        uint32_t parent = (uint32_t)(node >> SBX_NODE_PARENT_SHIFT) & SBX_NODE_FRAME_MASK;
        place = parent == 0 ? 0 : half_at + parent;
    }
    return count;
}

/* The same for a stack with logical frames, each put in its place. */
static size_t logical_stack(const struct sbx_snapshot *snapshot, uint32_t place, uint32_t half_at, uint64_t *frames_out,
                            size_t max)
{
    uint64_t words[SBX_STACK_DEPTH_MAX], room[SBX_STACK_DEPTH_MAX];
    size_t count = native_stack(snapshot, place, half_at, words, SBX_STACK_DEPTH_MAX); /* no more: callstack_reader.h */
    count = sbx_logical_splice(snapshot, words, count, room);
    for (size_t i = 0; i < count && i < max; i++) {
        frames_out[i] = words[i];
    }
    return count;
}

size_t sbx_snapshot_stack(const struct sbx_snapshot *snapshot, uint32_t stack, uint64_t *frames_out, size_t max)
{
    uint32_t half_count = snapshot->node_count / 2;
    if (stack - SBX_GUEST_STACK_FIRST < snapshot->guest_stack_count) {
        const struct sbx_snapshot_guest_stack *guest = &snapshot->guest_stacks[stack - SBX_GUEST_STACK_FIRST];
        size_t count = guest->count < max ? guest->count : max;
        memcpy(frames_out, snapshot->guest_words + guest->at, count * sizeof *frames_out);
        return guest->count;
    }
    uint32_t place = sbx_callstack_find(snapshot, stack);
    uint32_t half_at = place < half_count ? 0 : half_count;
    if (place != 0 && sbx_is_logical(snapshot->frames[snapshot->nodes[place] & SBX_NODE_FRAME_MASK])) {
        return logical_stack(snapshot, place, half_at, frames_out, max);
    }
    return native_stack(snapshot, place, half_at, frames_out, max);
}
