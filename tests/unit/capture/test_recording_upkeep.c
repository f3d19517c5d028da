/* SPDX-License-Identifier: Apache-2.0 */
/* test_recording_upkeep.c - more threads than chunks still leave a chunk for a busy thread, and sleepers keep their
 * last stack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attached_recording.h"
#include "capture_record.h"
#include "recording_upkeep.h"
#include "the_capture.h"
#include "thread_block.h"
#include "thread_end.h"
#include "thread_registry.h"

enum {
    SLEEPERS = SBX_THREADS_MAX + 40 /* more than there are entries */
};

static int attach(void **state)
{
    (void)state;
    return attached_recording_begin_with_module(&sbx_thread_end);
}

static void write_record(struct sbx_thread *thread, uint64_t when_ns, uint64_t amount)
{
    struct sbx_record record = {.kind = SBX_RECORD_FILE,
                                .op = SBX_OP_READ,
                                .begin_ns = when_ns,
                                .end_ns = when_ns,
                                .stack = attached_recording_intern(thread->tid),
                                .object = (uint64_t)thread->tid * 3 + amount,
                                .amount = amount};
    thread->inside = 1;
    sbx_order_with_handler();
    sbx_capture_put(thread, &record);
    sbx_order_with_handler();
    thread->inside = 0;
}

/* ---- sleepers ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t all_asleep, wake; /* not one for both: each thread that falls asleep would wake all before it */
    uint32_t asleep, recorded;
    bool awake;
    uint64_t slept_since_ns;
    struct sbx_thread *stuck; /* one of them seems to be in the middle of a record */
} sleepers = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .all_asleep = PTHREAD_COND_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static void *sleep_between_two_records(void *unused)
{
    (void)unused;
    struct sbx_thread *thread = sbx_thread_register_self();
    if (thread != NULL) {
        write_record(thread, sleepers.slept_since_ns, 1);
    }
    pthread_mutex_lock(&sleepers.lock);
    if (thread != NULL && sleepers.stuck == NULL) {
        sleepers.stuck = thread;
        thread->inside = 1;
    }
    sleepers.recorded += thread != NULL;
    if (++sleepers.asleep == SLEEPERS) {
        pthread_cond_signal(&sleepers.all_asleep);
    }
    while (!sleepers.awake) {
        pthread_cond_wait(&sleepers.wake, &sleepers.lock);
    }
    pthread_mutex_unlock(&sleepers.lock);
    if (thread != NULL) {
        write_record(thread, sbx_now_ns(), 2);
    }
    return NULL;
}

static uint32_t count_chunks(enum sbx_chunk_state state)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < SBX_CHUNKS_DEFAULT; i++) {
        count += sbx_chunk_state_of(sbx_load_acquire(&attached_recording->chunks[i].state)) == state;
    }
    return count;
}

static void test_silent_threads_make_room_for_a_busy_one(void **state)
{
    (void)state;
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0) {
        print_message("membarrier(2) is refused here: no chunk is ever taken back\n");
        skip();
    }
    const uint64_t *dropped = &attached_recording->header->drops[SBX_DROP_NO_CHUNK];
    static pthread_t threads[SLEEPERS];
    struct sbx_thread *busy = sbx_thread_register_self();
    assert_non_null(busy);
    sleepers.slept_since_ns = sbx_now_ns() - UINT64_C(10000000000);
    pthread_attr_t small;
    assert_int_equal(pthread_attr_init(&small), 0);
    assert_int_equal(pthread_attr_setstacksize(&small, 128 * 1024), 0); /* aarch64 takes no smaller ones */
    for (uint32_t i = 0; i < SLEEPERS; i++) {
        assert_int_equal(pthread_create(&threads[i], &small, sleep_between_two_records, NULL), 0);
    }
    pthread_mutex_lock(&sleepers.lock);
    while (sleepers.asleep < SLEEPERS) {
        pthread_cond_wait(&sleepers.all_asleep, &sleepers.lock);
    }
    pthread_mutex_unlock(&sleepers.lock);
    assert_int_equal(sleepers.recorded, SBX_THREADS_MAX - 1); /* a thread without an entry cannot hold a chunk either */
    uint64_t written = 0;
    write_record(busy, sbx_now_ns(), ++written);
    while (*dropped == 0) { /* its one chunk fills up, and then it gets no other */
        assert_true(written < 10000);
        write_record(busy, sbx_now_ns(), ++written);
    }
    assert_int_equal(count_chunks(SBX_CHUNK_OPEN) + count_chunks(SBX_CHUNK_CLOSED), SBX_CHUNKS_DEFAULT);

    const struct sbx_chunk *stuck = sleepers.stuck->writer.chunk;
    uint32_t freed = 0;
    for (uint64_t tick = 0; tick < 10; tick++) {
        freed += sbx_upkeep_chunks(sbx_now_ns() + tick * UINT64_C(2000000000));
    }
    assert_int_equal(freed, SBX_CHUNKS_DEFAULT - 2);
    assert_int_equal(count_chunks(SBX_CHUNK_CLOSED),
                     SBX_CHUNKS_DEFAULT - 1); /* the busy thread closed its own before it got none */
    assert_int_equal(sbx_chunk_state_of(stuck->state), SBX_CHUNK_REVOKED);
    uint64_t dropped_before = *dropped;
    uint64_t laps_end = attached_recording->header->ring_ticket + 3 * SBX_CHUNKS_DEFAULT;
    while (attached_recording->header->ring_ticket < laps_end && *dropped == dropped_before) {
        write_record(busy, sbx_now_ns(), ++written);
    }
    assert_int_equal(*dropped, dropped_before);
    assert_int_equal(stuck->thread, sleepers.stuck->index); /* still its own */

    sleepers.stuck->inside = 0;
    pthread_mutex_lock(&sleepers.lock);
    sleepers.awake = true;
    pthread_cond_broadcast(&sleepers.wake);
    pthread_mutex_unlock(&sleepers.lock);
    for (uint32_t i = 0; i < SLEEPERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(*dropped, dropped_before); /* each thread that came back found another chunk */
    struct sbx_snapshot *snapshot = sbx_recording_read_back(attached_recording);
    uint32_t second = 0;
    assert_int_equal(snapshot->drops[SBX_DROP_BAD_RECORD], 0);
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        uint32_t tid = snapshot->threads[record->thread].entry.tid;
        assert_int_equal(record->object, (uint64_t)tid * 3 + record->amount);
        assert_true(attached_recording_is_stack_of(snapshot, record->stack, tid));
        second += tid != busy->tid && record->amount == 2;
    }
    /* One lap, except the two chunks that are not available at first: their places are used twice. */
    assert_in_range(second, SBX_THREADS_MAX - 4, SBX_THREADS_MAX - 1);
    sbx_snapshot_destroy(snapshot);
}

/* ---- stacks ---- */

static void turn_epoch(void)
{
    struct sbx_callstack_table *table = &sbx_the_capture.table;
    uint32_t epoch = sbx_callstack_epoch(table);
    table->node_used[epoch & 1] = table->node_mask + 1;
    sbx_upkeep_callstacks();
    assert_int_equal(sbx_callstack_epoch(table), epoch + 1);
}

static void test_sleeper_keeps_its_last_stack_for_any_number_of_epochs(void **state)
{
    (void)state;
    uint32_t sleeper = sbx_recording_add_thread(attached_recording, 77, "sleeper", 0);
    uint32_t stranger = sbx_recording_add_thread(attached_recording, 78, "stranger", 0);
    struct sbx_record record = {
        .kind = SBX_RECORD_FILE, .thread = sleeper, .begin_ns = 5, .end_ns = 6, .stack = attached_recording_intern(5)};
    sbx_recording_put(attached_recording, &record);
    attached_recording->threads[stranger].last_stack = sbx_callstack_id(99, 5); /* of an epoch that cannot be read */
    attached_recording->header->heartbeat_ns = UINT64_C(3600) * 1000000000;
    for (uint32_t epoch = 1; epoch < 300; epoch++) {
        turn_epoch();
        sbx_upkeep_callstacks();
    }
    struct sbx_snapshot *snapshot = sbx_recording_read_back(attached_recording);
    assert_true(attached_recording_is_stack_of(snapshot, snapshot->threads[sleeper].entry.last_stack, 5));
    assert_int_equal(snapshot->threads[stranger].entry.last_stack, SBX_STACK_NONE);
    sbx_snapshot_destroy(snapshot);
}

static void test_stack_stored_by_a_capture_that_was_under_way_is_carried_a_tick_later(void **state)
{
    (void)state;
    uint32_t thread = sbx_recording_add_thread(attached_recording, 77, "late", 0);
    uint32_t stack = attached_recording_intern(9);
    turn_epoch();
    attached_recording->threads[thread].last_stack = stack; /* stored now, but interned before the turn */
    sbx_upkeep_callstacks();
    uint32_t carried = attached_recording->threads[thread].last_stack;
    assert_int_equal(carried >> 24, attached_recording->header->epoch);
    assert_int_equal(carried, attached_recording_intern(9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_silent_threads_make_room_for_a_busy_one, attach, attached_recording_end),
        cmocka_unit_test_setup_teardown(test_sleeper_keeps_its_last_stack_for_any_number_of_epochs, attach,
                                        attached_recording_end),
        cmocka_unit_test_setup_teardown(test_stack_stored_by_a_capture_that_was_under_way_is_carried_a_tick_later,
                                        attach, attached_recording_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
