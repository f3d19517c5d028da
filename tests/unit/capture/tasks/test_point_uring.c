/* SPDX-License-Identifier: Apache-2.0 */
/* test_point_uring.c - io_uring through liburing: what is recorded of requests and waits; the program sees no
 * difference.
 *
 * Where the kernel refuses io_uring nothing can be recorded: the tests say so and are skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <liburing.h>

#include "capture_settings.h"
#include "recorded_process.h"

#define OWN_PLACE __attribute__((noinline))

/* The layout that point_uring.c relies on. */
static_assert(offsetof(struct io_uring, sq.sqes) == 56, "requests");
static_assert(offsetof(struct io_uring, sq.sqe_head) == 64, "prepared");
static_assert(offsetof(struct io_uring, cq) == 104, "completions");
static_assert(offsetof(struct io_uring, cq.cqes) == 152, "completions");
static_assert(offsetof(struct io_uring, flags) == 192, "flags");
static_assert(offsetof(struct io_uring_sqe, user_data) == 32 && sizeof(struct io_uring_sqe) == 64, "a request");
static_assert(sizeof(struct io_uring_cqe) == 16 && IORING_CQE_F_MORE == 2, "a completion");
static_assert(IORING_SETUP_SQE128 == 1 << 10 && IORING_SETUP_CQE32 == 1 << 11, "sizes");
static_assert(IORING_OP_TIMEOUT == 11 && IORING_OP_RECV == 27 && IORING_OP_POLL_ADD == 6, "operations");

enum {
    ENTRIES = 64,
    MANY = 5000
};

static struct io_uring ring;
static int ends[2];
static char byte;

static bool is_refused(void)
{
    struct io_uring probe;
    int result = io_uring_queue_init(4, &probe, 0);
    if (result != 0) {
        printf("the kernel refuses io_uring: %s\n", strerror(-result));
        return true;
    }
    io_uring_queue_exit(&probe);
    return false;
}

#define SKIP_IF_REFUSED()   \
    do {                    \
        (void)state;        \
        if (is_refused()) { \
            skip();         \
        }                   \
    } while (0)

static void begin(void)
{
    child_expect(io_uring_queue_init(ENTRIES, &ring, 0) == 0, "a ring");
    child_expect(pipe(ends) == 0, "a pipe");
}

OWN_PLACE static void submit_here(uint64_t user_data)
{
    struct io_uring_sqe *request = io_uring_get_sqe(&ring);
    io_uring_prep_read(request, ends[0], &byte, 1, 0);
    io_uring_sqe_set_data64(request, user_data);
    child_expect(io_uring_submit(&ring) == 1, "it is submitted");
    KEEP_FRAME();
}

OWN_PLACE static void await_here(uint64_t user_data)
{
    struct io_uring_cqe *completion = NULL;
    child_expect(io_uring_wait_cqe(&ring, &completion) == 0 && completion != NULL, "it is waited for");
    child_expect(completion->user_data == user_data && completion->res == 1, "it is the program's");
    io_uring_cqe_seen(&ring, completion);
    KEEP_FRAME();
}

static void *write_later(void *byte_to_write)
{
    child_pause_ms(30);
    child_expect(write(ends[1], byte_to_write, 1) == 1, "it is written");
    return NULL;
}

static const struct sbx_queue_entry *only_queue(const struct sbx_snapshot *snapshot)
{
    assert_int_equal(snapshot->queue_count, 1);
    assert_int_equal(snapshot->queues[0].op, SBX_OP_IO_URING_SUBMIT);
    return &snapshot->queues[0];
}

static int count(const struct sbx_snapshot *snapshot, uint8_t kind, uint8_t op, uint8_t flags)
{
    int found = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        found += record->kind == kind && record->op == op && (record->flags & flags) == flags;
    }
    return found;
}

static void child_reads(void)
{
    pthread_t thread;
    begin();
    for (int i = 0; i < 3; i++) {
        submit_here(40 + i);
        pthread_create(&thread, NULL, write_later, "x");
        await_here(40 + i);
        child_expect(byte == 'x', "it is read");
        pthread_join(thread, NULL);
    }
    struct io_uring_cqe *none;
    child_pause_ms(3); /* time for the request */
    child_expect(io_uring_peek_batch_cqe(&ring, &none, 1) == 0, "no more");
}

static void test_a_wait_is_measured_and_the_request_is_told_with_who_submitted_it(void **state)
{
    SKIP_IF_REFUSED();
    struct sbx_snapshot *snapshot = run_recorded(child_reads);
    int waits = 0, tasks = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        waits += record->kind == SBX_RECORD_FILE && record->op == SBX_OP_IO_URING_WAIT &&
                 stack_passes(snapshot, record->stack, (void *)await_here) &&
                 record->end_ns - record->begin_ns > 5000000;
        tasks += record->kind == SBX_RECORD_TASK && record->op == SBX_OP_IO_URING_SUBMIT &&
                 stack_passes(snapshot, record->stack, (void *)submit_here);
    }
    assert_true(waits >= 3);
    assert_true(tasks >= 1);
    assert_int_equal(only_queue(snapshot)->queued, 3);
    assert_int_equal(only_queue(snapshot)->begun, 3);
    assert_int_equal(count(snapshot, SBX_RECORD_HOP, SBX_OP_IO_URING_SUBMIT, SBX_FLAG_OPEN), 0);
    sbx_snapshot_destroy(snapshot);
}

/* More requests than the ring has places, some with the same user_data, and all completions read by inline code of the
 * header. */
static void child_takes_by_itself(void)
{
    struct io_uring_cqe *completion;
    unsigned head, taken = 0;
    begin();
    for (int i = 0; i < MANY;) {
        for (int k = 0; k < 20; k++, i++) {
            struct io_uring_sqe *request = io_uring_get_sqe(&ring);
            io_uring_prep_nop(request);
            io_uring_sqe_set_data64(request, (uint64_t)(i % 7));
        }
        child_expect(io_uring_submit_and_wait(&ring, 20) == 20, "they are submitted");
        unsigned there = 0;
        io_uring_for_each_cqe(&ring, head, completion)
        {
            child_expect(completion->user_data < 7 && completion->res == 0, "it is the program's");
            there++;
        }
        io_uring_cq_advance(&ring, there);
        taken += there;
    }
    child_expect(taken == MANY, "each is there once");
    child_expect(io_uring_peek_cqe(&ring, &completion) == -EAGAIN, "and no more");
    child_expect(io_uring_peek_batch_cqe(&ring, &completion, 1) == 0, "indeed");
}

static void test_what_the_program_takes_without_a_call_is_counted_all_of_it(void **state)
{
    SKIP_IF_REFUSED();
    struct sbx_snapshot *snapshot = run_recorded(child_takes_by_itself);
    assert_int_equal(only_queue(snapshot)->queued, MANY);
    assert_int_equal(only_queue(snapshot)->begun, MANY);
    assert_int_equal(only_queue(snapshot)->cancelled, 0);
    assert_int_equal(count(snapshot, SBX_RECORD_HOP, SBX_OP_IO_URING_SUBMIT, SBX_FLAG_OPEN), 0);
    sbx_snapshot_destroy(snapshot);
}

static void child_takes_back(void)
{
    struct io_uring_cqe *completion;
    struct __kernel_timespec soon = {0, 5000000};
    begin();
    submit_here(50);
    child_expect(io_uring_wait_cqe_timeout(&ring, &completion, &soon) == -ETIME, "the time is up");
    struct io_uring_sqe *request = io_uring_get_sqe(&ring);
    io_uring_prep_cancel64(request, 50, 0);
    io_uring_sqe_set_data64(request, 51);
    child_expect(io_uring_submit_and_wait(&ring, 2) == 1, "it is submitted");
    int cancelled = 0;
    for (int i = 0; i < 2; i++) {
        child_expect(io_uring_wait_cqe(&ring, &completion) == 0, "both are there");
        cancelled += completion->user_data == 50 && completion->res == -ECANCELED;
        io_uring_cqe_seen(&ring, completion);
    }
    child_expect(cancelled == 1, "one is cancelled");
    submit_here(52);
    io_uring_queue_exit(&ring); /* requests are still under way */
    begin();                    /* another ring in its place */
    submit_here(52);
    child_expect(write(ends[1], "y", 1) == 1, "a byte");
    await_here(52);
    io_uring_queue_exit(&ring);
}

static void test_what_is_taken_back_or_goes_with_its_ring_lies_nowhere(void **state)
{
    SKIP_IF_REFUSED();
    struct sbx_snapshot *snapshot = run_recorded(child_takes_back);
    assert_int_equal(count(snapshot, SBX_RECORD_HOP, SBX_OP_IO_URING_SUBMIT, SBX_FLAG_OPEN), 0);
    sbx_snapshot_destroy(snapshot);
}

static void child_polls_again_and_again(void)
{
    struct io_uring_cqe *completion;
    begin();
    struct io_uring_sqe *request = io_uring_get_sqe(&ring);
    io_uring_prep_poll_multishot(request, ends[0], POLLIN);
    io_uring_sqe_set_data64(request, 60);
    child_expect(io_uring_submit(&ring) == 1, "it is submitted");
    for (int i = 0; i < 4; i++) {
        child_expect(write(ends[1], "z", 1) == 1, "a byte");
        child_expect(io_uring_wait_cqe(&ring, &completion) == 0 && completion->user_data == 60, "it is there");
        bool goes_on = (completion->flags & IORING_CQE_F_MORE) != 0;
        io_uring_cqe_seen(&ring, completion);
        if (!goes_on) {
            break; /* the kernel may end it at any time */
        }
    }
    io_uring_queue_exit(&ring);
}

static void test_a_request_that_completes_again_and_again_goes_with_its_ring(void **state)
{
    SKIP_IF_REFUSED();
    struct sbx_snapshot *snapshot = run_recorded(child_polls_again_and_again);
    assert_int_equal(count(snapshot, SBX_RECORD_HOP, SBX_OP_IO_URING_SUBMIT, SBX_FLAG_OPEN), 0);
    sbx_snapshot_destroy(snapshot);
}

static atomic_int submitted;

static void *submit_many(void *unused)
{
    for (int i = 0; i < MANY;) {
        struct io_uring_sqe *request = io_uring_get_sqe(&ring);
        if (request != NULL) {
            io_uring_prep_nop(request);
            io_uring_sqe_set_data64(request, (uint64_t)i++);
        }
        int result = io_uring_submit(&ring);
        child_expect(result >= 0 || result == -EBUSY || result == -EAGAIN, "it is submitted, or later");
    }
    submitted = 1;
    return unused;
}

static void child_has_two_threads(void)
{
    pthread_t thread;
    struct io_uring_cqe *completion;
    begin();
    pthread_create(&thread, NULL, submit_many, NULL);
    for (int i = 0; i < MANY; i++) {
        child_expect(io_uring_wait_cqe(&ring, &completion) == 0, "one is there");
        io_uring_cqe_seen(&ring, completion);
    }
    pthread_join(thread, NULL);
    child_expect(io_uring_peek_cqe(&ring, &completion) == -EAGAIN, "no more");
    io_uring_queue_exit(&ring);
}

static void test_one_thread_submits_and_another_takes(void **state)
{
    SKIP_IF_REFUSED();
    struct sbx_snapshot *snapshot = run_recorded(child_has_two_threads);
    assert_int_equal(count(snapshot, SBX_RECORD_HOP, SBX_OP_IO_URING_SUBMIT, SBX_FLAG_OPEN), 0);
    sbx_snapshot_destroy(snapshot);
}

static void child_has_the_points_out(void)
{
    child_set_points(SBX_POINTS_ALL & ~SBX_POINT_BIT(SBX_GROUP_URING));
    child_reads();
}

static void test_the_group_is_switched_by_itself(void **state)
{
    SKIP_IF_REFUSED();
    struct sbx_snapshot *snapshot = run_recorded(child_has_the_points_out);
    assert_int_equal(count(snapshot, SBX_RECORD_HOP, SBX_OP_IO_URING_SUBMIT, 0), 0);
    assert_int_equal(count(snapshot, SBX_RECORD_FILE, SBX_OP_IO_URING_WAIT, 0), 0);
    sbx_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wait_is_measured_and_the_request_is_told_with_who_submitted_it),
        cmocka_unit_test(test_what_the_program_takes_without_a_call_is_counted_all_of_it),
        cmocka_unit_test(test_what_is_taken_back_or_goes_with_its_ring_lies_nowhere),
        cmocka_unit_test(test_a_request_that_completes_again_and_again_goes_with_its_ring),
        cmocka_unit_test(test_one_thread_submits_and_another_takes),
        cmocka_unit_test(test_the_group_is_switched_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
