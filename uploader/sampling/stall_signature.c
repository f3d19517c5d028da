/* SPDX-License-Identifier: Apache-2.0 */
/* stall_signature.c - computes stacks with their time from samples, and one path from the stacks. */
#include "stall_signature.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    STACKS_MAX = 256, /* distinct stacks of a stall; if there are more, they are rare, or no path is heavy */
    FRAMES_MAX = 192, /* of a stack, from the leaf */
    PATH_FRAMES = 8,  /* at the inner end of the path, which are used */
};

struct weighed_stack {
    uint32_t id;
    uint64_t ns;
    uint32_t count; /* frames */
    bool is_on_path;
    uint64_t frames[FRAMES_MAX]; /* leaf first */
};

struct weighing {
    struct weighed_stack *stacks; /* STACKS_MAX */
    size_t count;
};

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(1099511628211);
    }
    return hash;
}

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(number >> 8 * i);
    }
    return hash_bytes(hash, bytes, sizeof bytes);
}

static uint32_t module_of(uint64_t frame)
{
    return (uint32_t)(frame >> SBX_FRAME_MODULE_SHIFT);
}

/* Makes a frame word that is the same wherever one function calls another one: without epoch, without the mark of an
 * interrupted instruction, and for a runtime's function without the line. */
static uint64_t steady(uint64_t frame)
{
    uint64_t module = frame >> SBX_FRAME_MODULE_SHIFT << SBX_FRAME_MODULE_SHIFT, offset = frame & SBX_FRAME_OFFSET_MASK;
    if (sbx_is_logical(frame)) {
        return module | (offset >> SBX_LOGICAL_LINE_BITS);
    }
    return (frame & SBX_FRAME_EXACT) != 0 ? module : module | offset;
}

/* Adds a number that is the same for the same place of one build, at every start and on every machine. */
static uint64_t hash_frame(uint64_t hash, const struct sbx_snapshot *snapshot, uint64_t frame)
{
    uint32_t module = module_of(frame);
    uint64_t offset = frame & SBX_FRAME_OFFSET_MASK;
    if (sbx_is_logical(frame)) {
        const struct sbx_provider_entry *provider = &snapshot->header.providers[module - SBX_MODULE_LOGICAL];
        hash = hash_bytes(hash, provider->name, strnlen(provider->name, sizeof provider->name));
        return hash_number(hash, offset < snapshot->id_count ? snapshot->ids[offset] : 0);
    }
    if (module < snapshot->module_count) {
        const struct sbx_module_entry *entry = &snapshot->modules[module];
        uint32_t bytes = entry->build_id_bytes <= SBX_BUILD_ID_MAX ? entry->build_id_bytes : 0;
        hash = bytes != 0 ? hash_bytes(hash, entry->build_id, bytes)
                          : hash_bytes(hash, entry->path, strnlen(entry->path, sizeof entry->path));
        return hash_number(hash, offset);
    }
    return hash_number(hash_number(hash, module), offset); /* generated code, or the reason why the walk ended */
}

/* Add time to a stack. */
static void weigh(struct weighing *weighing, const struct sbx_snapshot *snapshot, uint32_t id, uint64_t ns)
{
    for (size_t i = 0; i < weighing->count; i++) {
        if (weighing->stacks[i].id == id) {
            weighing->stacks[i].ns += ns;
            return;
        }
    }
    if (weighing->count == STACKS_MAX) {
        return;
    }
    struct weighed_stack *stack = &weighing->stacks[weighing->count];
    size_t count = sbx_snapshot_stack(snapshot, id, stack->frames, FRAMES_MAX);
    if (count == 0) {
        return;
    }
    stack->id = id;
    stack->ns = ns;
    stack->count = (uint32_t)(count < FRAMES_MAX ? count : FRAMES_MAX);
    for (uint32_t i = 0; i < stack->count; i++) {
        stack->frames[i] = steady(stack->frames[i]);
    }
    weighing->count++;
}

/* Weighs the stacks of the judged thread. Each gets the time from the previous record to its own. A wait has its own
 * time, and a sample stands for the time before it. The last stack always counts, at least with a nanosecond, because a
 * crash has no duration. */
static void weigh_all(struct weighing *weighing, const struct sbx_snapshot *snapshot)
{
    const struct sbx_trigger_entry *trigger = &snapshot->header.trigger;
    uint64_t covered_ns = trigger->begin_ns;
    uint32_t last = SBX_STACK_NONE;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->thread != trigger->thread || record->stack == SBX_STACK_NONE ||
            record->stack == SBX_STACK_OVERFLOW) {
            continue;
        }
        last = record->stack;
        uint64_t end_ns = record->end_ns < trigger->end_ns ? record->end_ns : trigger->end_ns;
        if (end_ns > covered_ns) {
            weigh(weighing, snapshot, record->stack, end_ns - covered_ns);
            covered_ns = end_ns;
        }
    }
    if (last != SBX_STACK_NONE) {
        /* If the stall still went on, the last stack stands for the rest. */
        weigh(weighing, snapshot, last, (trigger->end_ns > covered_ns ? trigger->end_ns - covered_ns : 0) + 1);
    }
}

/* Finds the frame at `depth` from the root with the most time among the stacks on the path. Returns whether it has more
 * than half of `total_ns`. Stacks are stored leaf first, so the outermost frame is the last. */
static bool heaviest(const struct weighing *weighing, uint32_t depth, uint64_t total_ns, uint64_t *frame_out)
{
    uint64_t best_ns = 0;
    for (size_t i = 0; i < weighing->count; i++) {
        const struct weighed_stack *stack = &weighing->stacks[i];
        if (!stack->is_on_path || stack->count <= depth) {
            continue;
        }
        uint64_t frame = stack->frames[stack->count - 1 - depth], ns = 0;
        for (size_t k = 0; k < weighing->count; k++) {
            const struct weighed_stack *other = &weighing->stacks[k];
            if (other->is_on_path && other->count > depth && other->frames[other->count - 1 - depth] == frame) {
                ns += other->ns;
            }
        }
        if (ns > best_ns) {
            best_ns = ns;
            *frame_out = frame;
        }
    }
    return best_ns > total_ns / 2;
}

/* Finds the heavy path, outermost first. Returns its number of frames. */
static uint32_t find_path(struct weighing *weighing, uint64_t path[FRAMES_MAX])
{
    uint64_t total_ns = 0;
    uint32_t depth = 0;
    for (size_t i = 0; i < weighing->count; i++) {
        weighing->stacks[i].is_on_path = true;
        total_ns += weighing->stacks[i].ns;
    }
    while (depth < FRAMES_MAX && heaviest(weighing, depth, total_ns, &path[depth])) {
        for (size_t i = 0; i < weighing->count; i++) {
            struct weighed_stack *stack = &weighing->stacks[i];
            stack->is_on_path =
                stack->is_on_path && stack->count > depth && stack->frames[stack->count - 1 - depth] == path[depth];
        }
        depth++;
    }
    return depth;
}

uint64_t sbx_stall_signature(const struct sbx_snapshot *snapshot)
{
    uint64_t hash = UINT64_C(14695981039346656037), path[FRAMES_MAX];
    struct weighing weighing = {.stacks = calloc(STACKS_MAX, sizeof *weighing.stacks)};
    hash = hash_number(hash, snapshot->header.trigger.kind);
    if (weighing.stacks != NULL) { /* without memory, all stalls of a kind count as one */
        weigh_all(&weighing, snapshot);
        uint32_t depth = find_path(&weighing, path);
        for (uint32_t i = depth > PATH_FRAMES ? depth - PATH_FRAMES : 0; i < depth; i++) {
            hash = hash_frame(hash, snapshot, path[i]);
        }
    }
    free(weighing.stacks);
    return hash != 0 ? hash : 1;
}
