/* SPDX-License-Identifier: Apache-2.0 */
/* test_chunk_reader.c - records come back under the thread that made them, whatever the chunks contain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "whole_recording.h"

/* The observer asks the kernel for the CPU time of the thread. The thread itself calculates its CPU time from a line,
 * and the line was ahead of the kernel's value while the hypervisor had taken the processor. */
static void test_cpu_time_of_a_thread_does_not_go_back_by_what_its_line_was_ahead(void **state)
{
    struct whole_recording *fixture = *state;
    const uint64_t cpu_ns[] = {40 * SBX_CLOCK_REBASE_NS, 40 * SBX_CLOCK_REBASE_NS - 14080, 0,
                               40 * SBX_CLOCK_REBASE_NS + 1280, 30 * SBX_CLOCK_REBASE_NS};
    const uint64_t told_ns[] = {cpu_ns[0], cpu_ns[0], 0, cpu_ns[3], cpu_ns[4]};
    for (uint64_t i = 0; i < SBX_COUNT_OF(cpu_ns); i++) {
        struct sbx_record wait = {.kind = SBX_RECORD_SLEEP,
                                  .thread = WORKER,
                                  .begin_ns = ROUND_NS(ROUNDS + i),
                                  .end_ns = ROUND_NS(ROUNDS + i),
                                  .cpu_ns = cpu_ns[i]};
        struct sbx_record other = {.kind = SBX_RECORD_SLEEP,
                                   .thread = MAIN,
                                   .begin_ns = wait.end_ns,
                                   .end_ns = wait.end_ns,
                                   .cpu_ns = cpu_ns[0] + SBX_CLOCK_REBASE_NS / 2};
        sbx_recording_put(fixture->builder, &other); /* a record of another thread changes nothing */
        sbx_recording_put(fixture->builder, &wait);
    }
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    uint64_t seen = 0;
    for (size_t i = 3 * ROUNDS; i < snapshot->record_count; i++) {
        if (snapshot->records[i].thread == WORKER) {
            assert_int_equal(snapshot->records[i].cpu_ns, told_ns[seen++]); /* last value: no clock is that far off */
        }
    }
    assert_int_equal(seen, SBX_COUNT_OF(cpu_ns));
    sbx_snapshot_destroy(snapshot);
}

/* Symptom: the payload was refused with "record 12 has a negative counter". The thread was a backend that allocated,
 * and its counters were recorded both by an observer and by the thread itself. */
static void test_allocations_of_a_thread_do_not_go_back_by_what_its_samples_leave_out(void **state)
{
    struct whole_recording *fixture = *state;
    const uint64_t bytes[] = {90000000, 90000000 - 1630, 0, 90000064, 10000000};
    const uint64_t told[] = {90000000, 90000000, 0, 90000064, 10000000};
    for (uint64_t i = 0; i < SBX_COUNT_OF(bytes); i++) {
        struct sbx_record wait = {.kind = SBX_RECORD_SLEEP,
                                  .thread = WORKER,
                                  .begin_ns = ROUND_NS(ROUNDS + i),
                                  .end_ns = ROUND_NS(ROUNDS + i),
                                  .alloc_count = bytes[i] / 100,
                                  .alloc_bytes = bytes[i]};
        sbx_recording_put(fixture->builder, &wait);
    }
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    uint64_t seen = 0;
    for (size_t i = 3 * ROUNDS; i < snapshot->record_count; i++) {
        if (snapshot->records[i].thread == WORKER) {
            assert_int_equal(snapshot->records[i].alloc_bytes,
                             told[seen]); /* last value: never is that much left out */
            assert_int_equal(snapshot->records[i].alloc_count, told[seen++] / 100);
        }
    }
    assert_int_equal(seen, SBX_COUNT_OF(bytes));
    sbx_snapshot_destroy(snapshot);
}

static void test_records_of_a_reused_entry_go_to_an_extra_thread(void **state)
{
    struct whole_recording *fixture = *state;
    sbx_recording_reuse_thread(fixture->builder, WORKER, 5001, "newcomer", 9000000);
    struct sbx_record record = {.kind = SBX_RECORD_SLEEP, .thread = WORKER, .begin_ns = 9000100, .end_ns = 9000200};
    sbx_recording_put(fixture->builder, &record);
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    unsigned own = 0, former = 0, observed = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *at = &snapshot->records[i];
        const struct sbx_snapshot_thread *thread = &snapshot->threads[at->thread];
        if (at->kind == SBX_RECORD_LOCK) { /* written by the former thread itself: the record has its tid */
            assert_int_equal(thread->index, UINT32_MAX);
            assert_int_equal(thread->entry.tid, 4001);
            assert_int_equal(thread->entry.state, SBX_THREAD_DEAD);
            assert_string_equal(thread->entry.name, "");
            former++;
        } else if (at->kind == SBX_RECORD_BLOCKED) { /* seen by the observer before the new thread began */
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

/* The thread gave its seat back while it waited. Another thread had taken that seat, so the first one took another
 * seat. Its generation and number stayed its own. */
static void test_a_thread_that_sat_on_several_entries_is_one(void **state)
{
    struct whole_recording *fixture = *state;
    struct sbx_thread_entry *entries = fixture->builder->threads;
    uint32_t life = entries[WORKER].generation, second, third;
    struct sbx_record record = {.kind = SBX_RECORD_SLEEP, .begin_ns = 9000100, .end_ns = 9000200};
    sbx_recording_reuse_thread(fixture->builder, WORKER, 5001, "newcomer", 9000000);
    second = record.thread = sbx_recording_add_thread(fixture->builder, 4001, "worker", 0);
    entries[second].generation = life;
    entries[second].born_ns = 9000050;
    entries[second].state = SBX_THREAD_DEAD; /* given back as well, and free */
    sbx_recording_put(fixture->builder, &record);
    third = record.thread = sbx_recording_add_thread(fixture->builder, 4001, "worker", 0);
    entries[third].generation = life;
    entries[third].born_ns = 9000300;
    record.begin_ns = record.end_ns = 9000400;
    sbx_recording_put(fixture->builder, &record);
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    unsigned locks = 0, sleeps = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *at = &snapshot->records[i];
        locks += at->kind == SBX_RECORD_LOCK;
        sleeps += at->kind == SBX_RECORD_SLEEP;
        if (at->kind == SBX_RECORD_LOCK || at->kind == SBX_RECORD_SLEEP) {
            assert_int_equal(at->thread, third);
            assert_string_equal(snapshot->threads[at->thread].entry.name, "worker");
        }
    }
    assert_int_equal(locks, ROUNDS);
    assert_int_equal(sleeps, 2);
    sbx_snapshot_destroy(snapshot);
}

/* All its former seats now belong to other threads. Only its number identifies it, and it must still come back as one
 * thread. */
static void test_a_thread_without_an_entry_is_one_extra_thread(void **state)
{
    struct whole_recording *fixture = *state;
    struct sbx_thread_entry *entries = fixture->builder->threads;
    struct sbx_record record = {.kind = SBX_RECORD_SLEEP, .begin_ns = 9000100, .end_ns = 9000200};
    uint32_t second = record.thread = sbx_recording_add_thread(fixture->builder, 4001, "worker", 0);
    entries[second].generation = entries[WORKER].generation;
    sbx_recording_put(fixture->builder, &record);
    sbx_recording_reuse_thread(fixture->builder, WORKER, 5001, "newcomer", 9000300);
    sbx_recording_reuse_thread(fixture->builder, second, 5002, "newcomer", 9000300);
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    uint32_t extra = UINT32_MAX;
    unsigned seen = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *at = &snapshot->records[i];
        if (at->kind == SBX_RECORD_LOCK || at->kind == SBX_RECORD_SLEEP) {
            extra = seen++ == 0 ? at->thread : extra;
            assert_int_equal(at->thread, extra);
            assert_int_equal(snapshot->threads[extra].entry.tid, 4001);
        }
    }
    assert_int_equal(seen, ROUNDS + 1);
    sbx_snapshot_destroy(snapshot);
}

static void test_recording_without_threads_has_a_main_thread_all_the_same(void **state)
{
    struct whole_recording *fixture = *state;
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

static void test_damaged_chunk_keeps_the_records_before_the_damage(void **state)
{
    struct whole_recording *fixture = *state;
    struct sbx_chunk *chunk = &fixture->builder->chunks[0];
    uint32_t middle = chunk->committed / 2;
    memset(chunk->bytes + middle, 0, 64); /* longer than any record; no record begins with a zero */
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    assert_int_equal(snapshot->drops[SBX_DROP_BAD_RECORD], 1);
    assert_in_range(snapshot->record_count, 2 * ROUNDS + ROUNDS / 4, 3 * ROUNDS - ROUNDS / 4);
    sbx_snapshot_destroy(snapshot);
}

static void test_chunks_that_are_not_readable_are_left_out(void **state)
{
    struct whole_recording *fixture = *state;
    struct sbx_chunk *chunk = &fixture->builder->chunks[0];
    const uint64_t good = chunk->state;
    const struct {
        uint64_t state;
        uint32_t committed;
        unsigned bad_records;
    } cases[] = {
        {sbx_chunk_word(sbx_chunk_turn_of(good), SBX_CHUNK_FREE), chunk->committed, 0},
        {sbx_chunk_word(sbx_chunk_turn_of(good), SBX_CHUNK_OPENING), chunk->committed, 0},
        {SBX_CHUNK_CLOSED, chunk->committed, 0}, /* turn 0 */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_RECORDING(test_cpu_time_of_a_thread_does_not_go_back_by_what_its_line_was_ahead),
        WITH_RECORDING(test_allocations_of_a_thread_do_not_go_back_by_what_its_samples_leave_out),
        WITH_RECORDING(test_records_of_a_reused_entry_go_to_an_extra_thread),
        WITH_RECORDING(test_a_thread_that_sat_on_several_entries_is_one),
        WITH_RECORDING(test_a_thread_without_an_entry_is_one_extra_thread),
        WITH_RECORDING(test_recording_without_threads_has_a_main_thread_all_the_same),
        WITH_RECORDING(test_damaged_chunk_keeps_the_records_before_the_damage),
        WITH_RECORDING(test_chunks_that_are_not_readable_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
