/* SPDX-License-Identifier: Apache-2.0 */
/* callstack_reader.c - the callstack table of a snapshot: cleaned once, then followed.
 *
 * A callstack id carries 8 bits of its epoch, a node 16, a frame 8. An id is valid when its byte is that of the current
 * or of the previous epoch, and the nodes that it leads through and their frames carry that epoch's tags. The byte
 * repeats after 256 epochs, so a very old id, for example of a thread that has slept since, could name a wrong stack.
 * Such an id is detected by its time: it is older than the epoch that it seems to belong to. */
#include "callstack_reader.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* A thread reads the clock before it interns its stack, and the epoch may change in between. So an id that is older
 * than its epoch by less than this value is accepted. The value is longer than a thread is usually kept from running,
 * and far shorter than 256 epochs: each epoch needs new nodes for 3/4 of a half, and the watch thread checks only every
 * few milliseconds. */
#define EPOCH_SLACK_NS UINT64_C(1000000000)

/* The state of a node while the table is cleaned: its depth, or one of these. */
enum {
    UNKNOWN = 0,
    BAD = UINT16_MAX,
    ON_THE_WAY = UINT16_MAX - 1
};

static uint32_t parent_of(uint64_t node)
{
    return (uint32_t)(node >> SBX_NODE_PARENT_SHIFT) & SBX_NODE_FRAME_MASK;
}

/* Does a frame word belong to `epoch`? */
static bool frame_is_of(uint64_t frame, uint32_t epoch)
{
    return frame != 0 && (frame & SBX_FRAME_TAG_MASK) >> SBX_FRAME_TAG_SHIFT == (epoch & 0xff);
}

/* Can a node, looked at alone, belong to `epoch`? */
static bool node_is_sound(const struct sbx_snapshot *snapshot, uint64_t node, uint32_t epoch, uint32_t half_count)
{
    uint32_t frame = (uint32_t)node & SBX_NODE_FRAME_MASK, frames_half = snapshot->frame_count / 2;
    uint32_t frames_from = (epoch & 1) * frames_half; /* frames of its epoch are here; index 0 of a half is unused */
    return epoch != 0 && node >> SBX_NODE_TAG_SHIFT == (epoch & 0xffff) && frame > frames_from &&
           frame - frames_from < frames_half && frame_is_of(snapshot->frames[frame], epoch) &&
           parent_of(node) < half_count;
}

/* Finds the depth of every node of one half, and clears the nodes that have none. Each chain is followed up to the
 * first node of known depth, and then once more to store the depths: every node is visited a constant number of times,
 * whatever the bytes are. */
static void clean_half(const struct sbx_snapshot *snapshot, uint64_t *nodes, uint16_t *depths, uint32_t half_count,
                       uint32_t epoch)
{
    for (uint32_t i = 0; i < half_count; i++) {
        depths[i] = i != 0 && node_is_sound(snapshot, nodes[i], epoch, half_count) ? UNKNOWN : BAD;
    }
    for (uint32_t start = 1; start < half_count; start++) {
        uint32_t steps = 0, at = start;
        while (at != 0 && depths[at] == UNKNOWN) {
            depths[at] = ON_THE_WAY;
            at = parent_of(nodes[at]);
            steps++;
        }
        /* A node that is met twice in one chain is part of a cycle. */
        uint32_t base = at == 0 ? 0 : depths[at] >= ON_THE_WAY ? BAD : depths[at];
        for (at = start; steps > 0; steps--) {
            uint32_t depth = base + steps;
            depths[at] = base == BAD || depth > SBX_STACK_DEPTH_MAX ? BAD : (uint16_t)depth;
            at = parent_of(nodes[at]);
        }
    }
    for (uint32_t i = 0; i < half_count; i++) {
        if (depths[i] == BAD) {
            nodes[i] = 0;
        }
    }
}

/* Removes the tags. Frames of a past epoch, which no node refers to any more, are cleared. */
static void clean_frames(struct sbx_snapshot *snapshot)
{
    uint32_t current = snapshot->header.epoch;
    for (uint32_t i = 0; i < snapshot->frame_count; i++) {
        uint64_t *frame = &snapshot->frames[i];
        uint32_t half = i >= snapshot->frame_count / 2;
        if (!frame_is_of(*frame, (current & 1) == half ? current : current - 1)) {
            *frame = 0;
            continue;
        }
        uint32_t module = (uint32_t)(*frame >> SBX_FRAME_MODULE_SHIFT);
        *frame &= ~SBX_FRAME_TAG_MASK;
        if (sbx_is_logical(*frame)) {
            bool is_known = module - SBX_MODULE_LOGICAL < snapshot->header.provider_count &&
                            sbx_logical_function(*frame) < snapshot->id_count;
            *frame = is_known ? *frame : sbx_frame_word(SBX_MODULE_NONE, 0, 0);
            continue;
        }
        if (module >= snapshot->module_count && module != SBX_MODULE_END && module != SBX_MODULE_NONE &&
            module != SBX_MODULE_CUT) {
            *frame = sbx_frame_word(SBX_MODULE_NONE, 0, 0);
        }
    }
}

int sbx_callstacks_clean(struct sbx_snapshot *snapshot)
{
    uint32_t half_count = snapshot->node_count / 2;
    if (half_count == 0) {
        clean_frames(snapshot);
        return 0;
    }
    uint16_t *depths = malloc(half_count * sizeof *depths);
    if (depths == NULL) {
        return -ENOMEM;
    }
    for (uint32_t back = 0; back < 2; back++) {
        uint32_t epoch = snapshot->header.epoch - back;
        clean_half(snapshot, snapshot->nodes + (size_t)(epoch & 1) * half_count, depths, half_count, epoch);
    }
    free(depths);
    clean_frames(snapshot);
    return 0;
}

uint32_t sbx_callstack_find(const struct sbx_snapshot *snapshot, uint32_t stack)
{
    uint32_t half_count = snapshot->node_count / 2;
    uint32_t node = stack & SBX_NODE_FRAME_MASK, epoch_byte = stack >> 24;
    uint32_t current = snapshot->header.epoch;
    if (node == 0 || node >= half_count || (epoch_byte != (current & 0xff) && epoch_byte != ((current - 1) & 0xff))) {
        return 0;
    }
    uint32_t place = (epoch_byte & 1) * half_count + node;
    return snapshot->nodes[place] != 0 ? place : 0;
}

uint32_t sbx_callstack_check(const struct sbx_snapshot *snapshot, uint32_t stack, uint64_t when_ns)
{
    if (stack == SBX_STACK_OVERFLOW) {
        return stack;
    }
    uint64_t begun_ns = snapshot->header.epoch_begun_ns[stack >> 24 & 1];
    bool too_old = begun_ns > EPOCH_SLACK_NS && when_ns < begun_ns - EPOCH_SLACK_NS;
    return !too_old && sbx_callstack_find(snapshot, stack) != 0 ? stack : SBX_STACK_NONE;
}
