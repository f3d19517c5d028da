/* SPDX-License-Identifier: Apache-2.0 */
/* test_redacted.c - what is left of a snapshot after redaction, and the values of its numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "name_tables.h"
#include "record_codec.h"
#include "redacted.h"
#include "scene.h"

struct fixture {
    struct sbx_recording_builder *builder;
    struct sbx_snapshot *snapshot;
    struct sbx_redacted *redacted;
};

static struct fixture open_scene(struct sbx_recording_builder *builder, uint32_t detail_level, size_t records_max)
{
    struct fixture it = {.builder = builder, .snapshot = sbx_recording_read_back(builder)};
    struct sbx_redaction redaction = sbx_scene_redaction(detail_level);
    assert_int_equal(sbx_redacted_create(it.snapshot, &redaction, records_max, &it.redacted), 0);
    return it;
}

static void close_scene(struct fixture *it)
{
    sbx_redacted_destroy(it->redacted);
    sbx_snapshot_destroy(it->snapshot);
    sbx_recording_builder_destroy(it->builder);
}

/* The module rows and offsets of a callstack as text, leaf first, so that a test can write what it expects. */
static void describe(const struct sbx_redacted *redacted, uint32_t stack, char *text, size_t bytes)
{
    text[0] = '\0';
    while (stack != 0) {
        const struct sbx_redacted_callstack *row = &redacted->callstacks[stack - 1];
        const struct sbx_redacted_frame *frame = &redacted->frames[row->frame];
        size_t used = strlen(text);
        snprintf(text + used, bytes - used, "%u+%llx ", frame->module, (unsigned long long)frame->offset);
        assert_true(row->parent < stack);
        stack = row->parent;
    }
}

static void test_main_thread_is_ordinal_zero_and_names_are_indexes(void **state)
{
    (void)state;
    struct fixture it = open_scene(sbx_scene_create(), 1, SIZE_MAX);
    const struct sbx_redacted *redacted = it.redacted;
    assert_int_equal(redacted->thread_count, 3);
    assert_int_equal(redacted->threads[0].name, 1);
    assert_int_equal(redacted->threads[0].flags, 1 | 2);
    assert_string_equal(sbx_thread_name_pattern(redacted->threads[1].name), "bio_close_file");
    assert_int_equal(redacted->threads[2].name, 0);
    assert_int_equal(redacted->redactions.thread_names_hidden, 1);
    assert_int_equal(redacted->trigger.thread, 0);
    close_scene(&it);
}

static void test_hidden_modules_become_one_without_identity(void **state)
{
    (void)state;
    struct fixture it = open_scene(sbx_scene_create(), 1, SIZE_MAX);
    const struct sbx_redacted *redacted = it.redacted;
    assert_int_equal(redacted->module_count, 3); /* app, libc, other; libz is on no stack */
    assert_int_equal(redacted->modules[0].kind, SBX_KEEP_APP);
    assert_int_equal(redacted->modules[0].build_id_bytes, 20);
    assert_memory_equal(redacted->modules[0].build_id, it.snapshot->modules[SBX_SCENE_APP].build_id, 20);
    assert_int_equal(redacted->app_module, 1);
    assert_int_equal(redacted->modules[1].kind, SBX_KEEP_SYSTEM);
    assert_string_equal(sbx_system_module_name(redacted->modules[1].name), "libc.so.6");
    assert_int_equal(redacted->modules[2].kind, SBX_HIDE);
    assert_int_equal(redacted->modules[2].build_id_bytes, 0);
    assert_int_equal(redacted->modules[2].name, 0);
    assert_int_equal(redacted->redactions.modules_hidden, 1);
    assert_int_equal(redacted->redactions.frames_hidden, 3); /* 0x9999, 0xaaaa and 0x2000 */
    for (uint32_t i = 0; i < redacted->frame_count; i++) {
        assert_true(redacted->frames[i].module != 2 || redacted->frames[i].offset == 0);
    }
    close_scene(&it);
}

static void test_stacks_keep_their_frames_in_order(void **state)
{
    (void)state;
    struct fixture it = open_scene(sbx_scene_create(), 1, SIZE_MAX);
    char text[256];
    const struct sbx_redacted_record *asleep = NULL;
    for (size_t i = 0; i < it.redacted->record_count; i++) {
        if (it.redacted->records[i].kind == SBX_RECORD_SLEEP) {
            asleep = &it.redacted->records[i];
        }
    }
    assert_non_null(asleep);
    describe(it.redacted, asleep->stack, text, sizeof text);
    assert_string_equal(text, "1+cafe0 0+41234 2+0 2+0 0+40000 1+27249 ");
    close_scene(&it);
}

static void test_frames_are_sorted_so_that_deltas_are_small(void **state)
{
    (void)state;
    struct fixture it = open_scene(sbx_scene_create(), 1, SIZE_MAX);
    for (uint32_t i = 1; i < it.redacted->frame_count; i++) {
        const struct sbx_redacted_frame *before = &it.redacted->frames[i - 1], *frame = &it.redacted->frames[i];
        assert_true(before->module < frame->module ||
                    (before->module == frame->module && before->offset < frame->offset));
    }
    close_scene(&it);
}

static void test_only_the_history_up_to_the_trigger_is_kept(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    const uint64_t end = SBX_SCENE_TRIGGER_NS;
    const struct {
        uint64_t begin_ns, end_ns;
        int kept;
    } edges[] = {
        {end - UINT64_C(10000001000), end - UINT64_C(10000001000), 0}, /* a microsecond too old */
        {end - UINT64_C(9999999000), end - UINT64_C(9999999000), 1},
        {end - UINT64_C(99000000000), end - UINT64_C(1000), 1}, /* began long before, and ends inside */
        {end, end + 5000000, 1},                                /* the wait in which the trigger fired */
        {end + 1000, end + 5000000, 0},                         /* began after it */
    };
    int expected = 104; /* the records of the scene, without the one of 20 s before */
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        struct sbx_record record = {.begin_ns = edges[i].begin_ns,
                                    .end_ns = edges[i].end_ns,
                                    .thread = SBX_SCENE_PRIVATE,
                                    .kind = SBX_RECORD_POLL,
                                    .op = SBX_OP_POLL};
        assert_int_equal(sbx_recording_put(builder, &record), 1);
        expected += edges[i].kept;
    }
    struct fixture it = open_scene(builder, 1, SIZE_MAX);
    assert_int_equal(it.redacted->record_count, expected);
    assert_int_equal(it.redacted->redactions.records_cut, 3);
    assert_int_equal(it.redacted->trigger.history_us, 10000000); /* not 99 s: the rules allow ten */
    close_scene(&it);
}

static void test_what_a_dying_process_did_last_is_kept(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    struct sbx_record late = {.begin_ns = SBX_SCENE_TRIGGER_NS + 1000,
                              .end_ns = SBX_SCENE_TRIGGER_NS + 5000000,
                              .thread = SBX_SCENE_MAIN,
                              .kind = SBX_RECORD_FILE,
                              .op = SBX_OP_WRITE};
    assert_int_equal(sbx_recording_put(builder, &late), 1);
    builder->header->trigger.kind = SBX_TRIGGER_KILLED;
    builder->threads[SBX_SCENE_MAIN].call_kind = SBX_RECORD_SLEEP; /* entered after the thread's last record */
    builder->threads[SBX_SCENE_MAIN].call_op = SBX_OP_NANOSLEEP;
    builder->threads[SBX_SCENE_MAIN].call_begin_ns = SBX_SCENE_TRIGGER_NS + 7000000;
    struct fixture it = open_scene(builder, 1, SIZE_MAX);
    assert_int_equal(it.redacted->record_count, 105);
    assert_int_equal(it.redacted->threads[0].call_op, SBX_OP_NANOSLEEP);
    assert_int_equal(it.redacted->threads[0].call_us, 0);
    close_scene(&it);
}

static void test_a_call_begun_after_the_trigger_is_not_the_one_at_the_trigger(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    builder->threads[SBX_SCENE_MAIN].call_kind = SBX_RECORD_IDLE;
    builder->threads[SBX_SCENE_MAIN].call_op = SBX_OP_EPOLL_WAIT;
    builder->threads[SBX_SCENE_MAIN].call_begin_ns = SBX_SCENE_TRIGGER_NS + 1;
    struct fixture it = open_scene(builder, 1, SIZE_MAX);
    assert_int_equal(it.redacted->threads[0].call_kind, 0);
    assert_int_equal(it.redacted->threads[0].call_op, 0);
    assert_int_equal(it.redacted->threads[1].call_kind, SBX_RECORD_LOCK);
    assert_int_equal(it.redacted->threads[1].call_us, 50000);
    assert_int_equal(it.redacted->threads[1].call_peer, 1); /* main, ordinal 0 */
    close_scene(&it);
}

static void test_numbers_are_relative_to_something_inside(void **state)
{
    (void)state;
    struct fixture it = open_scene(sbx_scene_create(), 1, SIZE_MAX);
    const struct sbx_redacted_record *first = &it.redacted->records[0], *second = &it.redacted->records[1];
    assert_int_equal(first->thread, 0);
    assert_int_equal(first->end_us, -3000000);
    assert_int_equal(first->cpu_us, 0);
    assert_int_equal(first->alloc_count, 0);
    assert_int_equal(first->alloc_bytes, 0);
    assert_int_equal(first->message, 1);             /* the oldest */
    assert_in_range(second->cpu_us, 9000 - 4, 9000); /* as exact as the recording stores samples */
    assert_int_equal(second->alloc_count, 1);
    assert_int_equal(second->alloc_bytes, 100 / SBX_ALLOC_UNIT * SBX_ALLOC_UNIT);
    assert_int_equal(it.redacted->records[100].message, 2);
    assert_int_equal(it.redacted->trigger.message, 2);
    assert_int_equal(it.redacted->trigger.duration_us, 2000000);
    assert_int_equal(it.redacted->uptime_bucket, 2); /* 1,000 s */
    assert_int_equal(it.redacted->created_day, 1700001000 / 86400);
    close_scene(&it);
}

static void test_a_row_that_did_not_read_the_counters_keeps_the_last(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    struct sbx_record unread = {.begin_ns = SBX_SCENE_TRIGGER_NS - 500000,
                                .end_ns = SBX_SCENE_TRIGGER_NS - 500000,
                                .thread = SBX_SCENE_MAIN,
                                .kind = SBX_RECORD_BLOCKED,
                                .op = SBX_OP_SYSCALL,
                                .amount = 202};
    assert_int_equal(sbx_recording_put_observed(builder, SBX_SCENE_WORKER, &unread), 1);
    struct fixture it = open_scene(builder, 1, SIZE_MAX);
    const struct sbx_redacted_record *row = &it.redacted->records[100];
    assert_int_equal(row->kind, SBX_RECORD_BLOCKED);
    assert_false(row->has_cpu);
    assert_int_equal(row->alloc_count, it.redacted->records[99].alloc_count);
    assert_int_equal(row->alloc_bytes, it.redacted->records[99].alloc_bytes);
    assert_int_equal(row->amount, 202);
    close_scene(&it);
}

static void put_kernel_count(struct sbx_recording_builder *builder, uint64_t before_ns, uint8_t what, uint64_t value)
{
    struct sbx_record record = {.begin_ns = SBX_SCENE_TRIGGER_NS - before_ns,
                                .end_ns = SBX_SCENE_TRIGGER_NS - before_ns,
                                .thread = SBX_SCENE_MAIN,
                                .kind = SBX_RECORD_KERNEL,
                                .op = what,
                                .amount = value};
    assert_int_equal(sbx_recording_put_observed(builder, SBX_SCENE_WORKER, &record), 1);
}

/* The time for which a machine has stood still since its start could identify it among others. */
static void test_of_the_kernels_totals_their_growth_alone_leaves(void **state)
{
    (void)state;
    static const uint64_t expected[] = {0, 250, 0, 4096};
    struct sbx_recording_builder *builder = sbx_scene_create();
    put_kernel_count(builder, 400000, SBX_KERNEL_MEMORY_SOME, 987654321);
    put_kernel_count(builder, 300000, SBX_KERNEL_MEMORY_SOME, 987654571);
    put_kernel_count(builder, 200000, SBX_KERNEL_RUN_DELAY, 123456789);
    put_kernel_count(builder, 100000, SBX_KERNEL_SWAPPED_KIB, 4096); /* a size, not a total */
    struct fixture it = open_scene(builder, 1, SIZE_MAX);
    size_t found = 0;
    for (size_t i = 0; i < it.redacted->record_count; i++) {
        if (it.redacted->records[i].kind == SBX_RECORD_KERNEL) {
            assert_true(found < 4);
            assert_int_equal(it.redacted->records[i].amount, expected[found++]);
        }
    }
    assert_int_equal(found, 4);
    close_scene(&it);
}

static void test_level_one_tells_the_holder_but_not_the_lock(void **state)
{
    (void)state;
    struct fixture it = open_scene(sbx_scene_create(), 1, SIZE_MAX);
    for (size_t i = 0; i < it.redacted->record_count; i++) {
        const struct sbx_redacted_record *row = &it.redacted->records[i];
        assert_int_equal(row->object, 0);
        assert_int_equal(row->flags >> 8, row->kind == SBX_RECORD_FILE ? SBX_FD_REGULAR : 0);
        if (row->kind == SBX_RECORD_LOCK) {
            assert_int_equal(row->peer, 1);
        }
    }
    assert_int_equal(it.redacted->threads[1].call_object, 0);
    assert_int_equal(it.redacted->redactions.objects_renumbered, 0);
    close_scene(&it);
}

static void test_level_two_tells_which_records_share_a_lock(void **state)
{
    (void)state;
    struct fixture it = open_scene(sbx_scene_create(), 2, SIZE_MAX);
    uint32_t lock = 0, file = 0;
    for (size_t i = 0; i < it.redacted->record_count; i++) {
        const struct sbx_redacted_record *row = &it.redacted->records[i];
        lock = row->kind == SBX_RECORD_LOCK ? row->object : lock;
        if (row->kind == SBX_RECORD_FILE) {
            file = row->object;
            assert_int_equal(row->flags >> 8, SBX_FD_REGULAR);
        }
    }
    assert_true(lock >= 1 && lock <= 2 && file >= 1 && file <= 2 && lock != file);
    assert_int_equal(it.redacted->threads[1].call_object, lock);
    assert_int_equal(it.redacted->redactions.objects_renumbered, 2);
    close_scene(&it);
}

static void test_level_zero_lets_nothing_leave(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    struct sbx_snapshot *snapshot = sbx_recording_read_back(builder);
    struct sbx_redaction redaction = sbx_scene_redaction(0);
    struct sbx_redacted *redacted;
    assert_int_equal(sbx_redacted_create(snapshot, &redaction, SIZE_MAX, &redacted), -EPERM);
    sbx_snapshot_destroy(snapshot);
    sbx_recording_builder_destroy(builder);
}

static void test_the_oldest_go_first_but_never_those_at_the_trigger(void **state)
{
    (void)state;
    struct fixture it = open_scene(sbx_scene_create(), 1, 3);
    assert_int_equal(it.redacted->record_count, 4); /* the three newest, and the one at the trigger */
    assert_int_equal(it.redacted->redactions.records_cut, 101);
    bool at_trigger = false, asleep = false;
    for (size_t i = 0; i < it.redacted->record_count; i++) {
        at_trigger |= (it.redacted->records[i].flags & SBX_FLAG_AT_TRIGGER) != 0;
        asleep |= it.redacted->records[i].kind == SBX_RECORD_SLEEP;
        assert_true(it.redacted->records[i].end_us >= -1000000);
    }
    assert_true(at_trigger && asleep);
    close_scene(&it);
}

static void test_waits_of_days_say_an_hour(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    struct sbx_record endless = {.begin_ns = 1,
                                 .end_ns = SBX_SCENE_TRIGGER_NS - 7,
                                 .thread = SBX_SCENE_WORKER,
                                 .kind = SBX_RECORD_COND,
                                 .op = SBX_OP_COND_WAIT,
                                 .amount = UINT64_MAX};
    assert_int_equal(sbx_recording_put(builder, &endless), 1);
    builder->threads[SBX_SCENE_WORKER].call_begin_ns = 5;
    struct fixture it = open_scene(builder, 1, SIZE_MAX);
    bool found = false;
    for (size_t i = 0; i < it.redacted->record_count; i++) {
        const struct sbx_redacted_record *row = &it.redacted->records[i];
        if (row->kind == SBX_RECORD_COND) {
            found = true;
            assert_true(row->duration_us <= SBX_LONGEST_US && row->duration_us > SBX_LONGEST_US - 10);
            assert_int_equal(row->amount, SBX_NUMBER_MAX);
        }
    }
    assert_true(found);
    assert_int_equal(it.redacted->threads[1].call_us, SBX_LONGEST_US);
    close_scene(&it);
}

static void test_a_stack_lost_to_a_full_table_is_said_to_be_lost(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    struct sbx_record lost = {.begin_ns = SBX_SCENE_TRIGGER_NS - 9,
                              .end_ns = SBX_SCENE_TRIGGER_NS - 9,
                              .thread = SBX_SCENE_WORKER,
                              .kind = SBX_RECORD_ASYNC,
                              .stack = SBX_STACK_OVERFLOW};
    assert_int_equal(sbx_recording_put(builder, &lost), 1);
    struct fixture it = open_scene(builder, 1, SIZE_MAX);
    bool found = false;
    for (size_t i = 0; i < it.redacted->record_count; i++) {
        if (it.redacted->records[i].kind == SBX_RECORD_ASYNC) {
            found = true;
            assert_int_equal(it.redacted->records[i].stack, it.redacted->callstack_count + 1);
        }
    }
    assert_true(found);
    assert_int_equal(it.redacted->threads[1].last_stack, 0);
    close_scene(&it);
}

static void test_generated_code_and_ended_walks_have_rows_beyond_the_modules(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    const struct sbx_built_frame frames[] = {{SBX_MODULE_NONE, 0, 1}, {SBX_SCENE_APP, 0x5000, 0}};
    struct sbx_record record = {.begin_ns = SBX_SCENE_TRIGGER_NS - 9,
                                .end_ns = SBX_SCENE_TRIGGER_NS - 9,
                                .thread = SBX_SCENE_WORKER,
                                .kind = SBX_RECORD_ASYNC,
                                .stack = sbx_recording_add_stack(builder, frames, 2, SBX_WALK_NO_ROW)};
    assert_int_equal(sbx_recording_put(builder, &record), 1);
    struct fixture it = open_scene(builder, 1, SIZE_MAX);
    char text[128];
    for (size_t i = 0; i < it.redacted->record_count; i++) {
        if (it.redacted->records[i].kind == SBX_RECORD_ASYNC) {
            describe(it.redacted, it.redacted->records[i].stack, text, sizeof text);
        }
    }
    assert_string_equal(text, "4+0 0+5000 3+2 "); /* three modules: 4 is generated code, 3 the end with reason NO_ROW */
    close_scene(&it);
}

static void test_a_stack_deeper_than_the_scratch_comes_whole(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    struct sbx_built_frame frames[400];
    for (uint32_t i = 0; i < 400; i++) {
        frames[i] = (struct sbx_built_frame){SBX_SCENE_APP, 0x6000 + i % 100, 0};
    }
    struct sbx_record record = {.begin_ns = SBX_SCENE_TRIGGER_NS - 9,
                                .end_ns = SBX_SCENE_TRIGGER_NS - 9,
                                .thread = SBX_SCENE_WORKER,
                                .kind = SBX_RECORD_ASYNC,
                                .stack = sbx_recording_add_stack(builder, frames, 400, SBX_WALK_COMPLETE)};
    assert_int_equal(sbx_recording_put(builder, &record), 1);
    struct fixture it = open_scene(builder, 1, SIZE_MAX);
    unsigned depth = 0;
    for (size_t i = 0; i < it.redacted->record_count; i++) {
        if (it.redacted->records[i].kind == SBX_RECORD_ASYNC) {
            for (uint32_t stack = it.redacted->records[i].stack; stack != 0;
                 stack = it.redacted->callstacks[stack - 1].parent) {
                depth++;
            }
        }
    }
    assert_int_equal(depth, 400);
    close_scene(&it);
}

/* The message of a hop belongs to the thread that queued the task, and is relative to that thread's oldest message. */
static void test_a_hop_tells_the_message_of_who_queued_it(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    uint32_t main_tid = builder->threads[SBX_SCENE_MAIN].tid;
    struct sbx_record hop = {.kind = SBX_RECORD_HOP,
                             .op = SBX_OP_TASK,
                             .begin_ns = SBX_SCENE_TRIGGER_NS - 3000000,
                             .end_ns = SBX_SCENE_TRIGGER_NS - 2000000,
                             .thread = SBX_SCENE_WORKER,
                             .peer = main_tid,
                             .message = 1000042,
                             .object = SBX_SCENE_LOCK,
                             .amount = 7,
                             .wait = 77};
    struct sbx_record ran = {.kind = SBX_RECORD_TASK,
                             .op = SBX_OP_TASK,
                             .flags = SBX_FLAG_OPEN,
                             .begin_ns = hop.end_ns,
                             .end_ns = SBX_SCENE_TRIGGER_NS,
                             .thread = SBX_SCENE_WORKER,
                             .object = SBX_SCENE_LOCK,
                             .wait = 77};
    assert_int_not_equal(sbx_recording_put(builder, &hop), 0);
    assert_int_not_equal(sbx_recording_put(builder, &ran), 0);
    struct fixture it = open_scene(builder, 2, SIZE_MAX);
    const struct sbx_redacted_record *told_hop = NULL, *told_ran = NULL;
    for (size_t i = 0; i < it.redacted->record_count; i++) {
        const struct sbx_redacted_record *row = &it.redacted->records[i];
        told_hop = row->kind == SBX_RECORD_HOP ? row : told_hop;
        told_ran = row->kind == SBX_RECORD_TASK ? row : told_ran;
    }
    assert_non_null(told_hop);
    assert_non_null(told_ran);
    assert_int_equal(told_hop->message, it.redacted->trigger.message); /* queued in the message that is reported */
    assert_int_equal(told_hop->peer, 1);                               /* thread 0 */
    assert_int_equal(told_hop->amount, 7);
    assert_int_equal(told_hop->wait, told_ran->wait);
    assert_int_equal(told_ran->flags, SBX_FLAG_OPEN);
    close_scene(&it);
}

/* A hop is recorded when its task ends, with the counters of the thread that ran the task. Symptom: they were taken for
 * the first counters of the thread that queued it. The counters of that thread then became negative, and no reader
 * accepted the payload. */
static void test_a_hop_has_no_counters(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    struct sbx_record hop = {.kind = SBX_RECORD_HOP,
                             .op = SBX_OP_TASK,
                             .begin_ns = SBX_SCENE_TRIGGER_NS - UINT64_C(4000000000),
                             .end_ns = SBX_SCENE_TRIGGER_NS - UINT64_C(3900000000),
                             .thread = SBX_SCENE_WORKER,
                             .peer = builder->threads[SBX_SCENE_MAIN].tid,
                             .cpu_ns = UINT64_C(1) << 50,
                             .alloc_count = 1 << 30,
                             .alloc_bytes = UINT64_C(1) << 40,
                             .wait = 77};
    assert_int_not_equal(sbx_recording_put(builder, &hop), 0);
    struct fixture it = open_scene(builder, 2, SIZE_MAX);
    unsigned hops = 0, counters = 0;
    for (size_t i = 0; i < it.redacted->record_count; i++) {
        const struct sbx_redacted_record *row = &it.redacted->records[i];
        hops += row->kind == SBX_RECORD_HOP && !row->has_cpu;
        counters += row->alloc_count > 0;
        assert_true(row->alloc_count >= 0 && row->alloc_bytes >= 0 && row->cpu_us >= 0);
    }
    assert_int_equal(hops, 1);
    assert_true(counters > 0); /* of other records */
    close_scene(&it);
}

/* Which thread started a thread is reported as if it were as old as the history. An older record would come after it in
 * time, and readers would refuse the payload. */
static void test_records_of_an_earlier_trigger_are_as_old_as_they_are(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    struct sbx_record start = {.kind = SBX_RECORD_HOP,
                               .op = SBX_OP_PTHREAD_CREATE,
                               .begin_ns = SBX_SCENE_TRIGGER_NS - UINT64_C(90000000000),
                               .end_ns = SBX_SCENE_TRIGGER_NS - UINT64_C(90000000000),
                               .thread = SBX_SCENE_WORKER,
                               .wait = 78};
    struct sbx_record earlier = {.kind = SBX_RECORD_SLEEP,
                                 .flags = SBX_FLAG_AT_TRIGGER,
                                 .begin_ns = SBX_SCENE_TRIGGER_NS - UINT64_C(80000000000),
                                 .end_ns = SBX_SCENE_TRIGGER_NS - UINT64_C(80000000000),
                                 .thread = SBX_SCENE_WORKER};
    assert_int_not_equal(sbx_recording_put(builder, &start), 0);
    assert_int_not_equal(sbx_recording_put(builder, &earlier), 0);
    struct fixture it = open_scene(builder, 2, SIZE_MAX);
    size_t hops = 0;
    for (size_t i = 0; i < it.redacted->record_count; i++) {
        const struct sbx_redacted_record *row = &it.redacted->records[i];
        hops += row->kind == SBX_RECORD_HOP;
        assert_true(row->end_us > INT64_C(-80000000));
        assert_true(i == 0 || row->thread != row[-1].thread || row->end_us >= row[-1].end_us);
    }
    assert_int_equal(hops, 1);
    close_scene(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_hop_tells_the_message_of_who_queued_it),
        cmocka_unit_test(test_a_hop_has_no_counters),
        cmocka_unit_test(test_main_thread_is_ordinal_zero_and_names_are_indexes),
        cmocka_unit_test(test_hidden_modules_become_one_without_identity),
        cmocka_unit_test(test_stacks_keep_their_frames_in_order),
        cmocka_unit_test(test_frames_are_sorted_so_that_deltas_are_small),
        cmocka_unit_test(test_only_the_history_up_to_the_trigger_is_kept),
        cmocka_unit_test(test_what_a_dying_process_did_last_is_kept),
        cmocka_unit_test(test_a_call_begun_after_the_trigger_is_not_the_one_at_the_trigger),
        cmocka_unit_test(test_numbers_are_relative_to_something_inside),
        cmocka_unit_test(test_a_row_that_did_not_read_the_counters_keeps_the_last),
        cmocka_unit_test(test_of_the_kernels_totals_their_growth_alone_leaves),
        cmocka_unit_test(test_level_one_tells_the_holder_but_not_the_lock),
        cmocka_unit_test(test_level_two_tells_which_records_share_a_lock),
        cmocka_unit_test(test_level_zero_lets_nothing_leave),
        cmocka_unit_test(test_the_oldest_go_first_but_never_those_at_the_trigger),
        cmocka_unit_test(test_records_of_an_earlier_trigger_are_as_old_as_they_are),
        cmocka_unit_test(test_waits_of_days_say_an_hour),
        cmocka_unit_test(test_a_stack_lost_to_a_full_table_is_said_to_be_lost),
        cmocka_unit_test(test_generated_code_and_ended_walks_have_rows_beyond_the_modules),
        cmocka_unit_test(test_a_stack_deeper_than_the_scratch_comes_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
