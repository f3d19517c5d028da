/* SPDX-License-Identifier: Apache-2.0 */
/* test_recording_close.c - the memory of a recording is released while the program goes on, and used again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attached_recording.h"
#include "capture_record.h"
#include "recording_upkeep.h"
#include "the_capture.h"
#include "thread_block.h"
#include "thread_end.h"
#include "thread_registry.h"

static int begin(void **state)
{
    if (attached_recording_begin_with_module(&sbx_thread_end) != 0) {
        return -1;
    }
    *state = sbx_thread_register_self();
    return *state != NULL ? 0 : -1;
}

static void write_stack(struct sbx_thread *thread, uint64_t when_ns, uint64_t amount, uint32_t stack)
{
    struct sbx_record record = {.kind = SBX_RECORD_FILE,
                                .op = SBX_OP_READ,
                                .begin_ns = when_ns,
                                .end_ns = when_ns,
                                .stack = stack,
                                .object = (uint64_t)thread->tid * 3 + amount,
                                .amount = amount};
    thread->inside = 1;
    sbx_order_with_handler();
    sbx_capture_put(thread, &record);
    sbx_order_with_handler();
    thread->inside = 0;
}

static bool has_barrier(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

static void write_record(struct sbx_thread *thread, uint64_t when_ns, uint64_t amount)
{
    write_stack(thread, when_ns, amount, attached_recording_intern(thread->tid));
}

/* Do what the file system does with pages that are released. */
static void make_zero(const struct sbx_section *section)
{
    memset((uint8_t *)attached_recording->header + section->at, 0, (size_t)section->count * section->entry_bytes);
}

static void test_memory_that_a_thread_is_at_is_not_given_back(void **state)
{
    struct sbx_thread *thread = *state;
    write_record(thread, 1000000, 1);
    thread->inside = 1;
    assert_false(sbx_upkeep_close());
    thread->inside = 0;
    assert_true(sbx_ring_is_open(&sbx_the_capture.ring));
    write_record(thread, 2000000, 2);
    struct sbx_snapshot *snapshot = sbx_recording_read_back(attached_recording);
    assert_int_equal(snapshot->record_count, 2);
    sbx_snapshot_destroy(snapshot);
}

static void test_after_its_memory_was_given_back_a_recording_begins_anew(void **state)
{
    struct sbx_thread *thread = *state;
    struct sbx_recording_header *header = attached_recording->header;
    if (!has_barrier()) {
        print_message("membarrier(2) is refused here: no memory is ever given back\n");
        skip();
    }
    uint32_t before = attached_recording_intern(41);
    write_record(thread, 1000000, 1);
    assert_non_null(thread->writer.chunk);
    assert_true(sbx_upkeep_close());
    assert_false(sbx_ring_is_open(&sbx_the_capture.ring));
    write_stack(thread, 2000000, 2, SBX_STACK_NONE); /* leads nowhere and changes nothing */
    assert_null(thread->writer.chunk);
    make_zero(&header->frames);
    make_zero(&header->nodes);
    make_zero(&header->chunks);
    sbx_ring_open_whole(&sbx_the_capture.ring, header);
    sbx_upkeep_callstacks();
    assert_int_equal(attached_recording->threads[thread->index].last_stack, SBX_STACK_NONE);
    assert_int_not_equal(attached_recording_intern(41), before); /* a number that a thread still has leads nowhere */
    write_record(thread, 3000000, 3);
    struct sbx_snapshot *snapshot = sbx_recording_read_back(attached_recording);
    assert_int_equal(snapshot->record_count, 1); /* and none from the test before */
    assert_int_equal(snapshot->records[0].amount, 3);
    assert_true(attached_recording_is_stack_of(snapshot, snapshot->records[0].stack, thread->tid));
    assert_false(attached_recording_is_stack_of(snapshot, before, 41));
    sbx_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_that_a_thread_is_at_is_not_given_back),
        cmocka_unit_test(test_after_its_memory_was_given_back_a_recording_begins_anew),
    };
    return cmocka_run_group_tests(tests, begin, attached_recording_end);
}
