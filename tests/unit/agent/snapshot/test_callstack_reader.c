/* SPDX-License-Identifier: Apache-2.0 */
/* test_callstack_reader.c - a callstack id leads to the frames that it named when it was recorded, or to no frames at
 * all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "whole_recording.h"

static void test_stacks_come_back_leaf_first(void **state)
{
    struct whole_recording *fixture = *state;
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    uint64_t frames[8] = {0};
    assert_int_equal(sbx_snapshot_stack(snapshot, fixture->deep, frames, 8), 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(frames[i], sbx_frame_word(deep_frames[i].module, deep_frames[i].offset, 0));
    }
    frames[1] = 77;
    assert_int_equal(sbx_snapshot_stack(snapshot, fixture->deep, frames, 1), 4); /* returns how many there are */
    assert_int_equal(frames[1], 77);
    assert_int_equal(sbx_snapshot_stack(snapshot, fixture->broken_off, frames, 8), 2);
    assert_int_equal(frames[1], sbx_frame_word(SBX_MODULE_END, SBX_WALK_NO_ROW, 0));
    assert_int_equal(sbx_snapshot_stack(snapshot, SBX_STACK_NONE, frames, 8), 0);
    assert_int_equal(sbx_snapshot_stack(snapshot, SBX_STACK_OVERFLOW, frames, 8), 0);
    assert_int_equal(sbx_snapshot_stack(snapshot, fixture->deep ^ 2u << 24, frames, 8), 0); /* another epoch */
    assert_int_equal(sbx_snapshot_stack(snapshot, 1u << 24 | 0xfffffe, frames, 8), 0);
    sbx_snapshot_destroy(snapshot);
}

static void turn_epoch(struct sbx_recording_builder *builder)
{
    uint32_t epoch = builder->header->epoch;
    builder->table.node_used[epoch & 1] = builder->table.node_mask + 1;
    assert_int_equal(sbx_callstack_table_turn_if_full(&builder->table), 1);
}

static unsigned count_with_stack(const struct sbx_snapshot *snapshot, uint32_t stack)
{
    unsigned count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        count += snapshot->records[i].stack == stack;
    }
    return count;
}

static void test_stacks_of_the_last_epoch_are_kept_and_older_ones_counted(void **state)
{
    struct whole_recording *fixture = *state;
    turn_epoch(fixture->builder);
    uint32_t newer = sbx_recording_add_stack(fixture->builder, deep_frames, 4, SBX_WALK_COMPLETE);
    struct sbx_record record = {.kind = SBX_RECORD_SLEEP, .thread = MAIN, .begin_ns = 1, .end_ns = 2, .stack = newer};
    sbx_recording_put(fixture->builder, &record);
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    uint64_t frames[4];
    assert_int_equal(count_with_stack(snapshot, fixture->deep), ROUNDS);
    assert_int_equal(sbx_snapshot_stack(snapshot, fixture->deep, frames, 4), 4);
    assert_int_equal(sbx_snapshot_stack(snapshot, newer, frames, 4), 4);
    assert_int_equal(snapshot->drops[SBX_DROP_STALE_STACK], 0);
    sbx_snapshot_destroy(snapshot);

    turn_epoch(fixture->builder);
    snapshot = sbx_recording_read_back(fixture->builder);
    assert_int_equal(count_with_stack(snapshot, fixture->deep), 0);
    assert_int_equal(count_with_stack(snapshot, newer), 1);
    assert_int_equal(snapshot->drops[SBX_DROP_STALE_STACK], 3 * ROUNDS);
    assert_int_equal(sbx_snapshot_stack(snapshot, fixture->deep, frames, 4), 0);
    /* Its node lies in the half of the current epoch and has not been overwritten yet. Only the tag shows that it is
     * old. */
    assert_int_equal(sbx_snapshot_stack(snapshot, sbx_callstack_id(3, fixture->deep & 0xffffff), frames, 4), 0);
    assert_int_equal(snapshot->threads[WORKER].entry.last_stack, 0);
    sbx_snapshot_destroy(snapshot);
}

/* Another epoch may use the index of a frame by now. The frame's tag is then that of the other epoch. */
static void test_node_whose_frame_is_of_another_epoch_leads_nowhere(void **state)
{
    struct whole_recording *fixture = *state;
    struct sbx_recording_builder *builder = fixture->builder;
    const uint64_t *half = builder->table.nodes + builder->table.node_mask + 1; /* of epoch 1 */
    uint64_t *frame = &builder->table.frames[half[fixture->deep & 0xffffff] & SBX_NODE_FRAME_MASK];
    const uint64_t good = *frame;
    uint64_t frames[4];
    const uint64_t tags[] = {3, 0xff, 0, 1};
    for (size_t i = 0; i < SBX_COUNT_OF(tags); i++) {
        *frame = (good & ~SBX_FRAME_TAG_MASK) | tags[i] << SBX_FRAME_TAG_SHIFT;
        struct sbx_snapshot *snapshot = sbx_recording_read_back(builder);
        bool is_own = tags[i] == 1;
        assert_int_equal(sbx_snapshot_stack(snapshot, fixture->deep, frames, 4), is_own ? 4 : 0);
        assert_int_equal(snapshot->drops[SBX_DROP_STALE_STACK] != 0, !is_own);
        sbx_snapshot_destroy(snapshot);
    }
}

/* The epoch's byte in an id wraps round: the id of a record 256 epochs ago names some stack of today. */
static void test_id_from_before_its_epoch_began_is_not_believed(void **state)
{
    struct whole_recording *fixture = *state;
    fixture->builder->header->epoch_begun_ns[1] =
        UINT64_C(3600) * 1000000000; /* the records are from the first 10 ms */
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    assert_int_equal(count_with_stack(snapshot, fixture->deep), 0);
    assert_int_equal(snapshot->drops[SBX_DROP_STALE_STACK], 3 * ROUNDS);
    sbx_snapshot_destroy(snapshot);
}

static void test_overflow_id_is_kept_and_not_counted_as_stale(void **state)
{
    struct whole_recording *fixture = *state;
    struct sbx_record record = {.kind = SBX_RECORD_SLEEP, .thread = MAIN, .end_ns = 2, .stack = SBX_STACK_OVERFLOW};
    sbx_recording_put(fixture->builder, &record);
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    assert_int_equal(count_with_stack(snapshot, SBX_STACK_OVERFLOW), 1);
    assert_int_equal(snapshot->drops[SBX_DROP_STALE_STACK], 0);
    sbx_snapshot_destroy(snapshot);
}

static void test_circles_and_wild_parents_lead_nowhere(void **state)
{
    struct whole_recording *fixture = *state;
    uint64_t *half = fixture->builder->table.nodes + fixture->builder->table.node_mask + 1; /* of epoch 1 */
    const uint64_t tag = UINT64_C(1) << SBX_NODE_TAG_SHIFT;
    uint32_t frame = 0;
    while (fixture->builder->table.frames[frame] == 0) {
        frame++;
    }
    uint32_t free_slots[8], found = 0;
    for (uint32_t i = 1; i < fixture->builder->table.node_mask && found < 8; i++) {
        if (half[i] == 0) {
            free_slots[found++] = i;
        }
    }
    assert_int_equal(found, 8);
    half[free_slots[0]] = tag | (uint64_t)free_slots[1] << 24 | frame; /* 0 -> 1 -> 2 -> 1 */
    half[free_slots[1]] = tag | (uint64_t)free_slots[2] << 24 | frame;
    half[free_slots[2]] = tag | (uint64_t)free_slots[1] << 24 | frame;
    half[free_slots[3]] = tag | (uint64_t)free_slots[3] << 24 | frame; /* its own parent */
    half[free_slots[4]] = tag | (uint64_t)0xffffff << 24 | frame;      /* outside of the table */
    half[free_slots[5]] = tag | 0xffffff;                              /* no such frame */
    half[free_slots[6]] = tag | (uint64_t)free_slots[7] << 24 | frame; /* the parent is empty */
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    uint64_t frames[8];
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(sbx_snapshot_stack(snapshot, sbx_callstack_id(1, free_slots[i]), frames, 8), 0);
    }
    assert_int_equal(sbx_snapshot_stack(snapshot, fixture->deep, frames, 8), 4); /* the good ones are still good */
    sbx_snapshot_destroy(snapshot);
}

static void test_chain_deeper_than_any_stack_leads_nowhere(void **state)
{
    (void)state;
    struct sbx_recording_shape shape = SBX_RECORDING_SHAPE_SMALL;
    shape.nodes_per_half = 4096;
    struct sbx_recording_builder *builder = sbx_recording_builder_create(shape, NULL);
    uint64_t *half = builder->table.nodes + shape.nodes_per_half;
    uint32_t frame = sbx_frame_intern(&builder->table, 1, sbx_frame_word(SBX_MODULE_NONE, 0, 0));
    for (uint64_t i = 1; i < 2000; i++) { /* node i calls node i - 1 */
        half[i] = UINT64_C(1) << SBX_NODE_TAG_SHIFT | (i - 1) << SBX_NODE_PARENT_SHIFT | frame;
    }
    struct sbx_snapshot *snapshot = sbx_recording_read_back(builder);
    assert_int_equal(sbx_snapshot_stack(snapshot, sbx_callstack_id(1, 1024), NULL, 0), 1024);
    assert_int_equal(sbx_snapshot_stack(snapshot, sbx_callstack_id(1, 1025), NULL, 0), 0);
    sbx_snapshot_destroy(snapshot);
    sbx_recording_builder_destroy(builder);
}

static void test_frames_of_unknown_modules_become_code_outside_every_module(void **state)
{
    struct whole_recording *fixture = *state;
    struct sbx_built_frame stranger = {9, 0x10, 0};
    uint32_t stack = sbx_recording_add_stack(fixture->builder, &stranger, 1, SBX_WALK_COMPLETE);
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    uint64_t frame;
    assert_int_equal(sbx_snapshot_stack(snapshot, stack, &frame, 1), 1);
    assert_int_equal(frame, sbx_frame_word(SBX_MODULE_NONE, 0, 0));
    sbx_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_RECORDING(test_stacks_come_back_leaf_first),
        WITH_RECORDING(test_stacks_of_the_last_epoch_are_kept_and_older_ones_counted),
        WITH_RECORDING(test_node_whose_frame_is_of_another_epoch_leads_nowhere),
        WITH_RECORDING(test_id_from_before_its_epoch_began_is_not_believed),
        WITH_RECORDING(test_overflow_id_is_kept_and_not_counted_as_stale),
        WITH_RECORDING(test_circles_and_wild_parents_lead_nowhere),
        cmocka_unit_test(test_chain_deeper_than_any_stack_leads_nowhere),
        WITH_RECORDING(test_frames_of_unknown_modules_become_code_outside_every_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
