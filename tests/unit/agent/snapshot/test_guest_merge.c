/* SPDX-License-Identifier: Apache-2.0 */
/* test_guest_merge.c - a snapshot that is followed by the recording of another process reads as one snapshot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "guest_merge.h"
#include "recording_builder.h"

enum {
    HOST = 3000,
    KEEPER = 4000,
    KEEPERS_HELPER = 4001,
    STRANGER = 5000
};
#define MUTEX UINT64_C(0x7f0000001000)

static const struct sbx_built_frame asks[] = {{0, 0x1100, 0}, {0, 0x1200, 0}},
                                    digs[] = {{2, 0x2100, 1}, {0, 0x1200, 0}};
static struct sbx_recording_builder *host, *keeper;

static int begin(void **state)
{
    (void)state;
    host = sbx_recording_builder_create(SBX_RECORDING_SHAPE_SMALL, NULL);
    keeper = sbx_recording_builder_create(SBX_RECORDING_SHAPE_SMALL, NULL);
    host->header->pid = HOST;
    keeper->header->pid = KEEPER;
    keeper->header->session_id[0] = 99;
    keeper->header->family.role = SBX_ROLE_WORKER;
    struct sbx_recording_builder *both[] = {host, keeper};
    for (int i = 0; i < 2; i++) {
        sbx_recording_add_module(both[i], "/usr/bin/application", 0x550000000000, 0x10000, SBX_MODULE_MAIN);
        sbx_recording_add_module(both[i], "/usr/lib/libc.so.6", 0x7f0000000000, 0x20000, 0);
    }
    sbx_recording_add_module(keeper, "/usr/lib/plugin.so", 0x7e0000000000, 0x20000, 0);
    sbx_recording_add_thread(host, HOST, "application", SBX_THREAD_FLAG_MAIN);
    sbx_recording_add_thread(keeper, KEEPER, "application", SBX_THREAD_FLAG_MAIN);
    sbx_recording_add_thread(keeper, KEEPERS_HELPER, "helper", 0);
    sbx_recording_add_thread(keeper, 4002, "bystander", 0);
    sbx_recording_put(host, &(struct sbx_record){.kind = SBX_RECORD_LOCK,
                                                 .op = SBX_OP_MUTEX_LOCK,
                                                 .stack = sbx_recording_add_stack(host, asks, 2, SBX_WALK_COMPLETE),
                                                 .begin_ns = 100000000,
                                                 .end_ns = 900000000,
                                                 .peer = KEEPER,
                                                 .object = MUTEX});
    for (uint32_t i = 0; i < 3; i++) {
        sbx_recording_put(keeper,
                          &(struct sbx_record){.thread = i,
                                               .kind = SBX_RECORD_SLEEP,
                                               .op = SBX_OP_NANOSLEEP,
                                               .stack = sbx_recording_add_stack(keeper, digs, 2, SBX_WALK_COMPLETE),
                                               .begin_ns = 50000000,
                                               .end_ns = 800000000,
                                               .peer = i == 0 ? KEEPERS_HELPER : 0,
                                               .wait = 7,
                                               .object = i == 0 ? MUTEX : MUTEX + 8});
    }
    host->header->holders[0] = (struct sbx_holder_entry){.thread = 0,
                                                         .pid = KEEPER,
                                                         .tid = KEEPER,
                                                         .kind = SBX_HOLDER_MUTEX,
                                                         .begin_ns = 100000000,
                                                         .seen_ns = 700000000,
                                                         .object = MUTEX};
    const struct sbx_trigger_entry trigger = {
        .kind = SBX_TRIGGER_SLOW_MESSAGE, .begin_ns = 90000000, .end_ns = 910000000, .threshold_ms = 500};
    sbx_recording_set_trigger(host, &trigger);
    keeper->header->state = SBX_STATE_SNAPSHOT;
    return 0;
}

static int finish(void **state)
{
    (void)state;
    sbx_recording_builder_destroy(host);
    sbx_recording_builder_destroy(keeper);
    return 0;
}

/* Read the two recordings as one file. */
static struct sbx_snapshot *read_both(void)
{
    struct sbx_snapshot *snapshot = NULL;
    uint64_t bytes = host->header->file_bytes, guest_bytes = keeper->header->file_bytes;
    host->header->guests[0] = (struct sbx_guest_entry){.at = bytes, .bytes = guest_bytes};
    uint8_t *file = malloc(bytes + guest_bytes);
    assert_non_null(file);
    memcpy(file, host->header, bytes);
    memcpy(file + bytes, keeper->header, guest_bytes);
    assert_int_equal(sbx_snapshot_read(file, bytes + guest_bytes, &snapshot, NULL, 0), 0);
    free(file);
    return snapshot;
}

static const struct sbx_snapshot_thread *thread_of(const struct sbx_snapshot *snapshot, uint32_t tid)
{
    for (uint32_t i = 0; i < snapshot->thread_count; i++) {
        if (snapshot->threads[i].entry.tid == tid) {
            return &snapshot->threads[i];
        }
    }
    return NULL;
}

static void test_the_holder_is_a_thread_of_another_process(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = read_both();
    assert_int_equal(snapshot->process_count, 1);
    assert_int_equal(snapshot->processes[0].pid, KEEPER);
    assert_int_equal(snapshot->processes[0].role, SBX_ROLE_WORKER);
    assert_int_equal(snapshot->processes[0].session_id[0], 99);
    const struct sbx_snapshot_thread *holder = thread_of(snapshot, KEEPER);
    assert_non_null(holder);
    assert_int_equal(holder->process, 1);
    assert_true(holder->leads_process);
    assert_int_equal(holder->entry.flags & SBX_THREAD_FLAG_MAIN, 0);
    assert_int_equal(thread_of(snapshot, HOST)->process, 0);
    sbx_snapshot_destroy(snapshot);
}

static void test_whom_the_holder_waits_for_comes_along_and_nobody_else(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = read_both();
    assert_non_null(thread_of(snapshot, KEEPERS_HELPER));
    assert_false(thread_of(snapshot, KEEPERS_HELPER)->leads_process);
    assert_null(thread_of(snapshot, 4002));
    assert_int_equal(snapshot->record_count, 3);
    for (size_t i = 1; i < snapshot->record_count; i++) {
        assert_true(snapshot->records[i - 1].end_ns <= snapshot->records[i].end_ns);
    }
    sbx_snapshot_destroy(snapshot);
}

/* The keeper's entry, with a stack and a call that has not ended. */
static struct sbx_thread_entry *keeper_in_call(uint64_t call_begin_ns)
{
    struct sbx_thread_entry *entry = &keeper->threads[0];
    entry->last_stack = sbx_recording_add_stack(keeper, digs, 2, SBX_WALK_COMPLETE);
    entry->last_record_ns = 800000000;
    entry->call_kind = SBX_RECORD_SLEEP;
    entry->call_op = SBX_OP_NANOSLEEP;
    entry->call_begin_ns = call_begin_ns;
    return entry;
}

static uint32_t stack_told_of_keeper(void)
{
    struct sbx_snapshot *snapshot = read_both();
    uint32_t stack = thread_of(snapshot, KEEPER)->entry.last_stack;
    sbx_snapshot_destroy(snapshot);
    return stack;
}

static void test_a_stack_from_before_the_holders_call_is_not_told_as_that_of_the_call(void **state)
{
    (void)state;
    (void)keeper_in_call(820000000);
    assert_int_equal(stack_told_of_keeper(), SBX_STACK_NONE);
}

static void test_a_stack_that_was_seen_in_the_holders_call_is_told(void **state)
{
    (void)state;
    struct sbx_thread_entry *entry = keeper_in_call(820000000);
    entry->observed = (struct sbx_repeat){.sequence = 2,
                                          .stack = entry->last_stack,
                                          .kind = SBX_RECORD_BLOCKED,
                                          .begin_ns = 900000000,
                                          .end_ns = 900000000};
    assert_int_not_equal(stack_told_of_keeper(), SBX_STACK_NONE);
    entry->run_generation = entry->generation + 1; /* a look at the former thread of this entry */
    assert_int_equal(stack_told_of_keeper(), SBX_STACK_NONE);
    entry->run_generation = 0;
    entry->observed.sequence = 3; /* a look that was being written */
    assert_int_equal(stack_told_of_keeper(), SBX_STACK_NONE);
}

static void test_the_newest_stack_of_a_holder_that_is_in_no_call_is_told(void **state)
{
    (void)state;
    keeper_in_call(820000000)->call_kind = SBX_RECORD_NONE;
    assert_int_not_equal(stack_told_of_keeper(), SBX_STACK_NONE);
}

static void test_its_stacks_are_in_modules_of_the_snapshot(void **state)
{
    (void)state;
    uint64_t frames[8];
    struct sbx_snapshot *snapshot = read_both();
    const struct sbx_record *sleep = &snapshot->records[0];
    assert_int_equal(sleep->kind, SBX_RECORD_SLEEP);
    assert_int_equal(sbx_snapshot_stack(snapshot, sleep->stack, frames, 8), 2);
    uint32_t module = (uint32_t)(frames[0] >> SBX_FRAME_MODULE_SHIFT);
    assert_int_equal(snapshot->module_count, 3);
    assert_string_equal(snapshot->modules[module].path, "/usr/lib/plugin.so");
    assert_int_equal(frames[0] & SBX_FRAME_OFFSET_MASK, 0x2100);
    assert_true((frames[0] & SBX_FRAME_EXACT) != 0);
    assert_int_equal(frames[1] >> SBX_FRAME_MODULE_SHIFT, 0); /* both run the same executable */
    assert_int_equal(sbx_snapshot_stack(snapshot, thread_of(snapshot, KEEPER)->entry.last_stack, frames, 8), 2);
    sbx_snapshot_destroy(snapshot);
}

static void test_only_what_both_know_has_the_same_object_and_no_wait_id_is_shared(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = read_both();
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        assert_int_equal(record->wait, 0);
        if (snapshot->threads[record->thread].entry.tid == KEEPERS_HELPER) {
            assert_int_not_equal(record->object, MUTEX + 8); /* an address in its private memory */
        } else {
            assert_int_equal(record->object, MUTEX);
        }
    }
    sbx_snapshot_destroy(snapshot);
}

static void test_a_lock_on_a_file_names_the_process_of_the_holder(void **state)
{
    (void)state;
    host->header->holders[0].kind = SBX_HOLDER_FILE_LOCK;
    host->header->holders[0].tid = 0;
    host->header->holders[0].begin_ns = 200000000;
    sbx_recording_put(
        host,
        &(struct sbx_record){.kind = SBX_RECORD_FILE, .op = SBX_OP_FLOCK, .begin_ns = 200000000, .end_ns = 905000000});
    struct sbx_snapshot *snapshot = read_both();
    const struct sbx_record *wait = &snapshot->records[snapshot->record_count - 1];
    assert_int_equal(wait->op, SBX_OP_FLOCK);
    assert_int_equal(wait->peer, KEEPER);
    assert_non_null(thread_of(snapshot, KEEPER));
    sbx_snapshot_destroy(snapshot);
}

static void test_who_let_a_shared_semaphore_go_is_named_for_that_wait_alone(void **state)
{
    (void)state;
    host->header->holders[0].kind = SBX_HOLDER_HANDS;
    host->header->holders[0].begin_ns = 200000000;
    host->header->holders[0].seen_ns = 901000000;
    struct sbx_record wait = {
        .kind = SBX_RECORD_WAIT, .op = SBX_OP_SEM_WAIT, .begin_ns = 200000000, .end_ns = 900000000, .object = MUTEX};
    struct sbx_record later = {.kind = SBX_RECORD_BLOCKED, .begin_ns = 903000000, .end_ns = 903000000};
    struct sbx_record sleep = {.kind = SBX_RECORD_SLEEP, .begin_ns = 200000000, .end_ns = 904000000};
    sbx_recording_put(host, &wait);
    sbx_recording_put(host, &later);
    sbx_recording_put(host, &sleep);
    struct sbx_snapshot *snapshot = read_both();
    uint32_t waits = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        bool is_wait = record->kind == SBX_RECORD_WAIT;
        waits += is_wait;
        if (is_wait) {
            assert_int_equal(record->peer, KEEPER);
        } else if (record->thread == 0 && record->kind != SBX_RECORD_LOCK) {
            assert_int_equal(record->peer, 0);
        }
    }
    assert_int_equal(waits, 1);
    assert_non_null(thread_of(snapshot, KEEPER));
    sbx_snapshot_destroy(snapshot);
}

static void test_a_holder_without_a_recording_is_there_without_a_stack(void **state)
{
    (void)state;
    host->header->holders[1] = host->header->holders[0];
    host->header->holders[1].pid = STRANGER;
    host->header->holders[1].tid = STRANGER + 3;
    struct sbx_snapshot *snapshot = read_both();
    const struct sbx_snapshot_thread *stranger = thread_of(snapshot, STRANGER + 3);
    assert_non_null(stranger);
    assert_int_equal(snapshot->processes[stranger->process - 1].role, SBX_ROLE_NONE);
    assert_int_equal(stranger->entry.last_stack, SBX_STACK_NONE);
    sbx_snapshot_destroy(snapshot);
}

static void test_who_held_something_long_before_is_left_out(void **state)
{
    (void)state;
    host->header->trigger.begin_ns = UINT64_C(9000000000);
    host->header->trigger.end_ns = UINT64_C(9900000000);
    struct sbx_snapshot *snapshot = read_both();
    assert_null(thread_of(snapshot, KEEPER));
    assert_int_equal(snapshot->thread_count, 1);
    sbx_snapshot_destroy(snapshot);
}

static void test_a_snapshot_whose_guest_is_cut_off_reads_as_it_is(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = NULL;
    uint64_t bytes = host->header->file_bytes;
    host->header->guests[0] = (struct sbx_guest_entry){.at = bytes, .bytes = keeper->header->file_bytes};
    host->header->guests[1] = (struct sbx_guest_entry){.at = 0, .bytes = bytes}; /* the host names itself as guest */
    host->header->guests[2] = (struct sbx_guest_entry){.at = UINT64_MAX - 4095, .bytes = 8192};
    assert_int_equal(sbx_snapshot_read(host->header, bytes, &snapshot, NULL, 0), 0);
    assert_int_equal(snapshot->record_count, 1);
    assert_non_null(thread_of(snapshot, KEEPER)); /* it is still known that it held the lock */
    sbx_snapshot_destroy(snapshot);
}

#define WITH_BOTH(test) cmocka_unit_test_setup_teardown(test, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_BOTH(test_the_holder_is_a_thread_of_another_process),
        WITH_BOTH(test_whom_the_holder_waits_for_comes_along_and_nobody_else),
        WITH_BOTH(test_a_stack_from_before_the_holders_call_is_not_told_as_that_of_the_call),
        WITH_BOTH(test_a_stack_that_was_seen_in_the_holders_call_is_told),
        WITH_BOTH(test_the_newest_stack_of_a_holder_that_is_in_no_call_is_told),
        WITH_BOTH(test_its_stacks_are_in_modules_of_the_snapshot),
        WITH_BOTH(test_only_what_both_know_has_the_same_object_and_no_wait_id_is_shared),
        WITH_BOTH(test_a_lock_on_a_file_names_the_process_of_the_holder),
        WITH_BOTH(test_who_let_a_shared_semaphore_go_is_named_for_that_wait_alone),
        WITH_BOTH(test_a_holder_without_a_recording_is_there_without_a_stack),
        WITH_BOTH(test_who_held_something_long_before_is_left_out),
        WITH_BOTH(test_a_snapshot_whose_guest_is_cut_off_reads_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
