/* SPDX-License-Identifier: Apache-2.0 */
/* test_snapshot.c - the one reader: what was recorded comes back, what is damaged costs records, never the reader. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "recording_builder.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void) /* xorshift64: the same sequence in every run */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* ---- a recording with something of everything ---- */

#define ROUND_NS(i) (5000192 + (i) * 1024) /* multiples of SBX_TIME_UNIT_NS */

enum { MAIN = 0, WORKER = 1, OBSERVER = 2, ROUNDS = 200 };

struct fixture {
    struct sbx_recording_builder *builder;
    uint32_t deep, shallow, broken_off; /* callstack ids */
};

static const struct sbx_built_frame deep_frames[] = {{1, 0x4000, 0}, {0, 0x1100, 0}, {0, 0x1200, 0}, {0, 0x1300, 0}};

static int make_recording(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    if (fixture == NULL) {
        return -1;
    }
    struct sbx_recording_builder *builder = sbx_recording_builder_create(SBX_RECORDING_SHAPE_SMALL, NULL);
    fixture->builder = builder;
    sbx_recording_add_module(builder, "/usr/bin/application", 0x550000000000, 0x10000, SBX_MODULE_MAIN);
    sbx_recording_add_module(builder, "/usr/lib/libc.so.6", 0x7f0000000000, 0x20000, 0);
    sbx_recording_add_thread(builder, 4000, "application", 1);
    sbx_recording_add_thread(builder, 4001, "worker", 0);
    sbx_recording_add_thread(builder, 4002, "observer", 0);
    fixture->deep = sbx_recording_add_stack(builder, deep_frames, 4, SBX_WALK_COMPLETE);
    fixture->shallow = sbx_recording_add_stack(builder, deep_frames + 2, 2, SBX_WALK_COMPLETE);
    fixture->broken_off = sbx_recording_add_stack(builder, deep_frames, 1, SBX_WALK_NO_ROW);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        struct sbx_record sample = {.kind = SBX_RECORD_ALLOC,
                                    .op = SBX_OP_MALLOC,
                                    .thread = MAIN,
                                    .stack = fixture->deep,
                                    .begin_ns = ROUND_NS(i),
                                    .end_ns = ROUND_NS(i),
                                    .cpu_ns = SBX_TIME_UNIT_NS * (9 + i),
                                    .alloc_count = i,
                                    .alloc_bytes = i * 64,
                                    .message = 1 + i / 50};
        struct sbx_record wait = {.kind = SBX_RECORD_LOCK, .op = SBX_OP_MUTEX_LOCK, .thread = WORKER,
                                  .stack = fixture->shallow, .begin_ns = ROUND_NS(i) - 768,
                                  .end_ns = ROUND_NS(i) + 256, .object = 0x7ffe00001000, .peer = 4000};
        struct sbx_record seen = {.kind = SBX_RECORD_BLOCKED, .op = SBX_OP_SYSCALL, .thread = WORKER, .amount = 202,
                                  .stack = fixture->broken_off, .begin_ns = ROUND_NS(i) + 512,
                                  .end_ns = ROUND_NS(i) + 512, .flags = SBX_FLAG_AT_TRIGGER};
        sbx_recording_put(builder, &sample);
        sbx_recording_put(builder, &wait);
        sbx_recording_put_observed(builder, OBSERVER, &seen);
    }
    *state = fixture;
    return 0;
}

static int free_recording(void **state)
{
    struct fixture *fixture = *state;
    sbx_recording_builder_destroy(fixture->builder);
    free(fixture);
    return 0;
}

static void test_recording_comes_back_whole_and_sorted(void **state)
{
    struct fixture *fixture = *state;
    fixture->builder->header->drops[SBX_DROP_NESTED] = 3;
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    assert_int_equal(snapshot->module_count, 2);
    assert_string_equal(snapshot->modules[1].path, "/usr/lib/libc.so.6");
    assert_int_equal(snapshot->thread_count, 3);
    assert_string_equal(snapshot->threads[WORKER].entry.name, "worker");
    assert_int_equal(snapshot->threads[WORKER].index, WORKER);
    assert_int_equal(snapshot->settings.anr_ms, 5000);
    assert_int_equal(snapshot->drops[SBX_DROP_NESTED], 3);
    assert_int_equal(snapshot->record_count, 3 * ROUNDS);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        const struct sbx_record *sample = &snapshot->records[3 * i], *wait = sample + 1, *seen = sample + 2;
        assert_int_equal(sample->kind, SBX_RECORD_ALLOC);
        assert_int_equal(sample->thread, MAIN);
        assert_int_equal(sample->end_ns, ROUND_NS(i));
        assert_int_equal(sample->cpu_ns, SBX_TIME_UNIT_NS * (9 + i));
        assert_int_equal(sample->alloc_count, i);
        assert_int_equal(sample->alloc_bytes, i * 64);
        assert_int_equal(sample->message, 1 + i / 50);
        assert_int_equal(sample->stack, fixture->deep);
        assert_int_equal(wait->kind, SBX_RECORD_LOCK);
        assert_int_equal(wait->end_ns - wait->begin_ns, 1024);
        assert_int_equal(wait->object, 0x7ffe00001000);
        assert_int_equal(wait->peer, 4000);
        assert_int_equal(seen->thread, WORKER);
        assert_int_equal(seen->amount, 202);
        assert_int_equal(seen->flags, SBX_FLAG_AT_TRIGGER);
        assert_int_equal(seen->stack, fixture->broken_off);
    }
    sbx_snapshot_destroy(snapshot);
}

static void test_stacks_come_back_leaf_first(void **state)
{
    struct fixture *fixture = *state;
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    uint64_t frames[8] = {0};
    assert_int_equal(sbx_snapshot_stack(snapshot, fixture->deep, frames, 8), 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(frames[i], sbx_frame_word(deep_frames[i].module, deep_frames[i].offset, 0));
    }
    frames[1] = 77;
    assert_int_equal(sbx_snapshot_stack(snapshot, fixture->deep, frames, 1), 4); /* says how many there are */
    assert_int_equal(frames[1], 77);
    assert_int_equal(sbx_snapshot_stack(snapshot, fixture->broken_off, frames, 8), 2);
    assert_int_equal(frames[1], sbx_frame_word(SBX_MODULE_END, SBX_WALK_NO_ROW, 0));
    assert_int_equal(sbx_snapshot_stack(snapshot, SBX_STACK_NONE, frames, 8), 0);
    assert_int_equal(sbx_snapshot_stack(snapshot, SBX_STACK_OVERFLOW, frames, 8), 0);
    assert_int_equal(sbx_snapshot_stack(snapshot, fixture->deep ^ 2u << 24, frames, 8), 0); /* another epoch */
    assert_int_equal(sbx_snapshot_stack(snapshot, 1u << 24 | 0xfffffe, frames, 8), 0);
    sbx_snapshot_destroy(snapshot);
}

/* ---- threads ---- */

static void test_records_of_a_reused_entry_go_to_an_extra_thread(void **state)
{
    struct fixture *fixture = *state;
    sbx_recording_reuse_thread(fixture->builder, WORKER, 5001, "newcomer", 9000000);
    struct sbx_record record = {.kind = SBX_RECORD_SLEEP, .thread = WORKER, .begin_ns = 9000100, .end_ns = 9000200};
    sbx_recording_put(fixture->builder, &record);
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    unsigned own = 0, former = 0, observed = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *at = &snapshot->records[i];
        const struct sbx_snapshot_thread *thread = &snapshot->threads[at->thread];
        if (at->kind == SBX_RECORD_LOCK) { /* written by the former thread itself: its tid is known */
            assert_int_equal(thread->index, UINT32_MAX);
            assert_int_equal(thread->entry.tid, 4001);
            assert_int_equal(thread->entry.state, SBX_THREAD_DEAD);
            assert_string_equal(thread->entry.name, "");
            former++;
        } else if (at->kind == SBX_RECORD_BLOCKED) { /* seen by the observer before the newcomer was born */
            assert_int_equal(thread->index, UINT32_MAX);
            assert_int_equal(thread->entry.tid, 0);
            observed++;
        } else if (at->kind == SBX_RECORD_SLEEP) {
            assert_int_equal(at->thread, WORKER);
            assert_int_equal(thread->entry.tid, 5001);
            own++;
        }
    }
    assert_int_equal(own, 1);
    assert_int_equal(former, ROUNDS);
    assert_int_equal(observed, ROUNDS);
    assert_int_equal(snapshot->thread_count, 5);
    sbx_snapshot_destroy(snapshot);
}

static void test_recording_without_threads_has_a_main_thread_all_the_same(void **state)
{
    struct fixture *fixture = *state;
    fixture->builder->header->thread_count = 0;
    fixture->builder->header->main_thread = 77;
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    assert_int_equal(snapshot->thread_count >= 1, 1);
    assert_true(snapshot->header.main_thread < snapshot->thread_count);
    assert_int_equal(snapshot->threads[snapshot->header.main_thread].entry.tid, 0);
    for (size_t i = 0; i < snapshot->record_count; i++) {
        assert_true(snapshot->records[i].thread < snapshot->thread_count);
    }
    sbx_snapshot_destroy(snapshot);
}

/* ---- callstack ids ---- */

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
    struct fixture *fixture = *state;
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
    /* Its node lies in the current epoch's half and has not been overwritten yet: the tag tells that it is old. */
    assert_int_equal(sbx_snapshot_stack(snapshot, sbx_callstack_id(3, fixture->deep & 0xffffff), frames, 4), 0);
    assert_int_equal(snapshot->threads[WORKER].entry.last_stack, 0);
    sbx_snapshot_destroy(snapshot);
}

/* The index of a frame may be used by another epoch by now; then its tag is another's. */
static void test_node_whose_frame_is_of_another_epoch_leads_nowhere(void **state)
{
    struct fixture *fixture = *state;
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

/* The epoch's byte in an id comes round: a record 256 epochs old names some stack of today. */
static void test_id_from_before_its_epoch_began_is_not_believed(void **state)
{
    struct fixture *fixture = *state;
    fixture->builder->header->epoch_begun_ns[1] =
        UINT64_C(3600) * 1000000000; /* the records are from the first 10 ms */
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    assert_int_equal(count_with_stack(snapshot, fixture->deep), 0);
    assert_int_equal(snapshot->drops[SBX_DROP_STALE_STACK], 3 * ROUNDS);
    sbx_snapshot_destroy(snapshot);
}

static void test_overflow_id_is_kept_and_not_counted_as_stale(void **state)
{
    struct fixture *fixture = *state;
    struct sbx_record record = {.kind = SBX_RECORD_SLEEP, .thread = MAIN, .end_ns = 2, .stack = SBX_STACK_OVERFLOW};
    sbx_recording_put(fixture->builder, &record);
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    assert_int_equal(count_with_stack(snapshot, SBX_STACK_OVERFLOW), 1);
    assert_int_equal(snapshot->drops[SBX_DROP_STALE_STACK], 0);
    sbx_snapshot_destroy(snapshot);
}

static void test_circles_and_wild_parents_lead_nowhere(void **state)
{
    struct fixture *fixture = *state;
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
    half[free_slots[3]] = tag | (uint64_t)free_slots[3] << 24 | frame; /* itself */
    half[free_slots[4]] = tag | (uint64_t)0xffffff << 24 | frame;      /* outside */
    half[free_slots[5]] = tag | 0xffffff;                              /* no such frame */
    half[free_slots[6]] = tag | (uint64_t)free_slots[7] << 24 | frame; /* parent is empty */
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
    struct fixture *fixture = *state;
    struct sbx_built_frame stranger = {9, 0x10, 0};
    uint32_t stack = sbx_recording_add_stack(fixture->builder, &stranger, 1, SBX_WALK_COMPLETE);
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    uint64_t frame;
    assert_int_equal(sbx_snapshot_stack(snapshot, stack, &frame, 1), 1);
    assert_int_equal(frame, sbx_frame_word(SBX_MODULE_NONE, 0, 0));
    sbx_snapshot_destroy(snapshot);
}

/* ---- damage ---- */

static void test_strings_end_within_their_fields(void **state)
{
    struct fixture *fixture = *state;
    struct sbx_recording_header *header = fixture->builder->header;
    memset(header->spool_path, 'x', sizeof header->spool_path);
    memset(header->executable_path, 'x', sizeof header->executable_path);
    memset(fixture->builder->modules[0].path, 'x', SBX_PATH_MAX);
    memset(fixture->builder->threads[0].name, 'x', 16);
    fixture->builder->modules[0].build_id_bytes = 4000;
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    assert_int_equal(strlen(snapshot->header.spool_path), SBX_PATH_MAX - 1);
    assert_int_equal(strlen(snapshot->header.executable_path), SBX_PATH_MAX - 1);
    assert_int_equal(strlen(snapshot->modules[0].path), SBX_PATH_MAX - 1);
    assert_int_equal(strlen(snapshot->threads[0].entry.name), 15);
    assert_int_equal(snapshot->modules[0].build_id_bytes, SBX_BUILD_ID_MAX);
    sbx_snapshot_destroy(snapshot);
}

static void test_damaged_chunk_keeps_the_records_before_the_damage(void **state)
{
    struct fixture *fixture = *state;
    struct sbx_chunk *chunk = &fixture->builder->chunks[0];
    uint32_t middle = chunk->committed / 2;
    memset(chunk->bytes + middle, 0, 64); /* longer than any of them: one begins with a zero, which none does */
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    assert_int_equal(snapshot->drops[SBX_DROP_BAD_RECORD], 1);
    assert_in_range(snapshot->record_count, 2 * ROUNDS + ROUNDS / 4, 3 * ROUNDS - ROUNDS / 4);
    sbx_snapshot_destroy(snapshot);
}

static void test_chunks_that_are_not_readable_are_left_out(void **state)
{
    struct fixture *fixture = *state;
    struct sbx_chunk *chunk = &fixture->builder->chunks[0];
    const uint64_t good = chunk->state;
    const struct {
        uint64_t state;
        uint32_t committed;
        unsigned bad_records;
    } cases[] = {
        {sbx_chunk_word(sbx_chunk_turn_of(good), SBX_CHUNK_FREE), chunk->committed, 0},
        {sbx_chunk_word(sbx_chunk_turn_of(good), SBX_CHUNK_OPENING), chunk->committed, 0},
        {SBX_CHUNK_CLOSED, chunk->committed, 0},                        /* turn 0 */
        {good, sizeof chunk->bytes + 1, 1},
        {good, UINT32_MAX, 1},
    };
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    size_t all = snapshot->record_count;
    sbx_snapshot_destroy(snapshot);
    for (size_t i = 0; i < SBX_COUNT_OF(cases); i++) {
        chunk->state = cases[i].state;
        chunk->committed = cases[i].committed;
        snapshot = sbx_recording_read_back(fixture->builder);
        assert_true(snapshot->record_count < all && snapshot->record_count > 0);
        assert_int_equal(snapshot->drops[SBX_DROP_BAD_RECORD], cases[i].bad_records);
        sbx_snapshot_destroy(snapshot);
    }
}

static void test_wrong_version_and_wrong_bytes_are_told_apart(void **state)
{
    struct fixture *fixture = *state;
    struct sbx_recording_header *header = fixture->builder->header;
    struct sbx_snapshot *snapshot = NULL;
    char why[128];
    header->version++;
    assert_int_equal(sbx_snapshot_read(header, header->file_bytes, &snapshot, why, sizeof why), -EPROTO);
    assert_non_null(strstr(why, "version"));
    header->version--;
    header->layout_hash++;
    assert_int_equal(sbx_snapshot_read(header, header->file_bytes, &snapshot, NULL, 0), -EPROTO);
    header->layout_hash--;
    header->magic[7] = '\r';
    assert_int_equal(sbx_snapshot_read(header, header->file_bytes, &snapshot, why, sizeof why), -EINVAL);
    assert_string_equal(why, "is not a recording");
    assert_null(snapshot);
}

static void test_sections_outside_the_file_are_refused(void **state)
{
    struct fixture *fixture = *state;
    struct sbx_recording_header *header = fixture->builder->header;
    struct sbx_section *sections[] = {&header->modules, &header->threads, &header->frames, &header->nodes,
                                      &header->chunks};
    struct sbx_snapshot *snapshot;
    for (size_t i = 0; i < SBX_COUNT_OF(sections); i++) {
        const struct sbx_section good = *sections[i];
        const struct sbx_section bad[] = {
            {UINT64_MAX - 7, good.count, good.entry_bytes},       /* at + size overflows */
            {header->file_bytes, good.count, good.entry_bytes},
            {header->file_bytes - 8, good.count, good.entry_bytes},
            {0, good.count, good.entry_bytes},                    /* inside the header */
            {SBX_CONTROL_AT, good.count, good.entry_bytes},
            {good.at + 1, good.count, good.entry_bytes},
            {good.at, UINT32_MAX, good.entry_bytes},
            {good.at, good.count, good.entry_bytes + 8},
            {good.at, good.count, 0},
            {good.at, UINT32_MAX, UINT32_MAX},
        };
        for (size_t j = 0; j < SBX_COUNT_OF(bad); j++) {
            *sections[i] = bad[j];
            assert_int_equal(sbx_snapshot_read(header, header->file_bytes, &snapshot, NULL, 0), -EINVAL);
        }
        *sections[i] = good;
    }
    header->nodes.count--; /* two halves cannot have an odd number of slots */
    assert_int_equal(sbx_snapshot_read(header, header->file_bytes, &snapshot, NULL, 0), -EINVAL);
}

/* Whatever is read from mutated bytes must hold what snapshot.h promises. */
static void check_promises(const struct sbx_snapshot *snapshot)
{
    uint64_t frames[16];
    assert_true(snapshot->thread_count >= 1 && snapshot->header.main_thread < snapshot->thread_count);
    assert_true(snapshot->header.trigger.thread < snapshot->thread_count);
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        assert_true(record->thread < snapshot->thread_count);
        assert_true(record->kind > SBX_RECORD_NONE && record->kind < SBX_RECORD_KINDS);
        assert_true(record->begin_ns <= record->end_ns);
        assert_true(i == 0 || snapshot->records[i - 1].end_ns <= record->end_ns);
        size_t count = sbx_snapshot_stack(snapshot, record->stack, frames, 16);
        assert_true((count > 0) == (record->stack != 0 && record->stack != SBX_STACK_OVERFLOW));
        for (size_t j = 0; j < count && j < 16; j++) {
            uint32_t module = (uint32_t)(frames[j] >> SBX_FRAME_MODULE_SHIFT);
            assert_true(module < snapshot->module_count || module >= SBX_MODULE_NONE);
        }
    }
}

static void test_mutated_recordings_never_break_the_reader(void **state)
{
    struct fixture *fixture = *state;
    const struct sbx_recording_header *header = fixture->builder->header;
    size_t bytes = header->file_bytes;
    uint8_t *mutant = malloc(bytes); /* exact size: a sanitizer sees a byte read too many */
    assert_non_null(mutant);
    unsigned readable = 0;
    for (int round = 0; round < 1500; round++) {
        memcpy(mutant, header, bytes);
        for (uint64_t left = 1 + next_random() % 24; left > 0; left--) {
            /* mostly where something is: the header's fields, the tables' first pages, the ring */
            uint64_t where = next_random() % 4;
            uint64_t at = where == 0 ? next_random() % 512
                          : where == 1 ? header->chunks.at + next_random() % (4 * SBX_CHUNK_BYTES)
                          : where == 2 ? header->threads.at + next_random() % 512
                                       : next_random() % bytes;
            if (round % 3 != 0 && at < 256) {
                at += 256; /* leave most section tables alone, else little gets past them */
            }
            mutant[at] = (uint8_t)(next_random() % 3 == 0 ? 0xff : next_random());
        }
        struct sbx_snapshot *snapshot;
        if (sbx_snapshot_read(mutant, bytes, &snapshot, NULL, 0) == 0) {
            readable++;
            check_promises(snapshot);
            sbx_snapshot_destroy(snapshot);
        }
    }
    free(mutant);
    assert_in_range(readable, 500, 1490); /* both ways were taken */
}

static void test_truncated_recordings_are_refused_at_every_length(void **state)
{
    struct fixture *fixture = *state;
    const struct sbx_recording_header *header = fixture->builder->header;
    struct sbx_snapshot *snapshot;
    for (size_t bytes = 0; bytes < header->file_bytes; bytes += bytes < 9000 ? 61 : 4093) {
        uint8_t *exact = malloc(bytes == 0 ? 1 : bytes);
        assert_non_null(exact);
        memcpy(exact, header, bytes);
        assert_int_equal(sbx_snapshot_read(exact, bytes, &snapshot, NULL, 0), -EINVAL);
        free(exact);
    }
}

static void test_recording_at_an_odd_address_is_read_alike(void **state)
{
    struct fixture *fixture = *state;
    const struct sbx_recording_header *header = fixture->builder->header;
    uint8_t *odd = malloc(header->file_bytes + 1);
    assert_non_null(odd);
    memcpy(odd + 1, header, header->file_bytes);
    struct sbx_snapshot *snapshot;
    assert_int_equal(sbx_snapshot_read(odd + 1, header->file_bytes, &snapshot, NULL, 0), 0);
    assert_int_equal(snapshot->record_count, 3 * ROUNDS);
    sbx_snapshot_destroy(snapshot);
    free(odd);
}

/* ---- files ---- */

static void test_files_are_read_or_refused_with_the_reason(void **state)
{
    struct fixture *fixture = *state;
    char folder[] = "/tmp/stallbox-test-snapshot-XXXXXX", path[64], why[160];
    struct sbx_snapshot *snapshot;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/one.raw", folder);

    assert_int_equal(sbx_snapshot_read_file(path, &snapshot, why, sizeof why), -ENOENT);
    assert_string_equal(why, "cannot be opened: No such file or directory");
    assert_int_equal(sbx_snapshot_read_file(folder, &snapshot, why, sizeof why), -EINVAL);
    assert_string_equal(why, "is not a regular file");

    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("not a recording", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(sbx_snapshot_read_file(path, &snapshot, why, sizeof why), -EINVAL);
    assert_string_equal(why, "is too short for a recording");

    sbx_recording_save(fixture->builder, path); /* live: read by way of a copy */
    assert_int_equal(sbx_snapshot_read_file(path, &snapshot, why, sizeof why), 0);
    assert_int_equal(snapshot->record_count, 3 * ROUNDS);
    sbx_snapshot_destroy(snapshot);

    struct sbx_trigger_entry trigger = {.kind = SBX_TRIGGER_ANR, .thread = MAIN, .begin_ns = 1, .end_ns = 5300000};
    sbx_recording_set_trigger(fixture->builder, &trigger);
    sbx_recording_save(fixture->builder, path);
    assert_int_equal(sbx_snapshot_read_file(path, &snapshot, why, sizeof why), 0);
    assert_int_equal(snapshot->record_count, 3 * ROUNDS);
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_ANR);
    sbx_snapshot_destroy(snapshot);

    assert_int_equal(truncate(path, 100000), 0);
    assert_int_equal(sbx_snapshot_read_file(path, &snapshot, why, sizeof why), -EINVAL);
    assert_string_equal(why, "is a truncated recording");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
#define WITH_RECORDING(test) cmocka_unit_test_setup_teardown(test, make_recording, free_recording)
    const struct CMUnitTest tests[] = {
        WITH_RECORDING(test_recording_comes_back_whole_and_sorted),
        WITH_RECORDING(test_stacks_come_back_leaf_first),
        WITH_RECORDING(test_records_of_a_reused_entry_go_to_an_extra_thread),
        WITH_RECORDING(test_recording_without_threads_has_a_main_thread_all_the_same),
        WITH_RECORDING(test_stacks_of_the_last_epoch_are_kept_and_older_ones_counted),
        WITH_RECORDING(test_node_whose_frame_is_of_another_epoch_leads_nowhere),
        WITH_RECORDING(test_id_from_before_its_epoch_began_is_not_believed),
        WITH_RECORDING(test_overflow_id_is_kept_and_not_counted_as_stale),
        WITH_RECORDING(test_circles_and_wild_parents_lead_nowhere),
        cmocka_unit_test(test_chain_deeper_than_any_stack_leads_nowhere),
        WITH_RECORDING(test_frames_of_unknown_modules_become_code_outside_every_module),
        WITH_RECORDING(test_strings_end_within_their_fields),
        WITH_RECORDING(test_damaged_chunk_keeps_the_records_before_the_damage),
        WITH_RECORDING(test_chunks_that_are_not_readable_are_left_out),
        WITH_RECORDING(test_wrong_version_and_wrong_bytes_are_told_apart),
        WITH_RECORDING(test_sections_outside_the_file_are_refused),
        WITH_RECORDING(test_mutated_recordings_never_break_the_reader),
        WITH_RECORDING(test_truncated_recordings_are_refused_at_every_length),
        WITH_RECORDING(test_recording_at_an_odd_address_is_read_alike),
        WITH_RECORDING(test_files_are_read_or_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
