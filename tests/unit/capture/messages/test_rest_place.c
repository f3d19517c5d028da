/* SPDX-License-Identifier: Apache-2.0 */
/* test_rest_place.c - a main thread that waits for work at a condition or a semaphore, and polls only for replies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "recorded_process.h"
#include "stallbox/stallbox.h"

static int reply_fd = -1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static sem_t item;

/* As Xlib asks its server: a poll that is answered at once, some functions further in than the code that asked. */
__attribute__((noinline)) static void poll_for_reply(void)
{
    struct pollfd watched = {.fd = reply_fd, .events = POLLIN};
    poll(&watched, 1, -1);
    KEEP_FRAME();
}

__attribute__((noinline)) static void wait_for_reply(void)
{
    poll_for_reply();
    KEEP_FRAME();
}

__attribute__((noinline)) static void ask_server(void)
{
    wait_for_reply();
    KEEP_FRAME();
}

static struct timespec in_ms(long ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return until;
}

__attribute__((noinline)) static void await_condition(long ms)
{
    struct timespec until = in_ms(ms);
    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&wake, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    KEEP_FRAME();
}

__attribute__((noinline)) static void await_semaphore(long ms)
{
    struct timespec until = in_ms(ms);
    sem_timedwait(&item, &until);
    KEEP_FRAME();
}

__attribute__((noinline)) static void handle_event(long ms)
{
    ask_server();
    if (ms != 0) {
        child_sleep_ms(ms);
    }
    ask_server();
    KEEP_FRAME();
}

static void start(uint32_t anr_ms, uint32_t slow_ms)
{
    child_start_with(anr_ms, slow_ms);
    child_wait_for_rows();
    reply_fd = eventfd(1, EFD_CLOEXEC);
    sem_init(&item, 0, 0);
    for (int i = 0; i < 6; i++) { /* as a toolkit begins: it asks several questions */
        ask_server();
    }
}

__attribute__((noinline)) static void turn(void (*await)(long ms), long rest_ms, long work_ms)
{
    await(rest_ms);
    handle_event(work_ms);
    KEEP_FRAME();
}

static void child_rests_at_a_condition(void)
{
    start(400, 400);
    turn(await_condition, 900, 0); /* also the first wait */
    for (int i = 0; i < 6; i++) {
        turn(await_condition, 30, 0);
    }
    turn(await_condition, 900, 0);
    stallbox_stop(5000);
}

static void child_looks_into_a_queue(void)
{
    start(400, 400);
    for (int i = 0; i < 40; i++) {
        turn(await_semaphore, 25, 0);
    }
    turn(await_semaphore, 900, 0);
    stallbox_stop(5000);
}

static void child_stalls_between_two_rests(void)
{
    start(60000, 400);
    for (int i = 0; i < 10; i++) {
        turn(await_condition, 30, i == 8 ? 600 : 0);
    }
    turn(await_condition, 30, 0);
    stallbox_stop(5000);
}

static void child_hangs_between_two_rests(void)
{
    start(400, 60000);
    for (int i = 0; i < 10; i++) {
        turn(await_condition, 30, i == 8 ? 900 : 0);
    }
    stallbox_stop(5000);
}

/* A loop that polls for its work, and a handler that waits for a worker after each message. */
__attribute__((noinline)) static void handler_that_waits(void)
{
    await_condition(900);
    KEEP_FRAME();
}

static void child_waits_in_its_loop(void)
{
    child_start_with(400, 60000);
    child_wait_for_rows();
    child_run_loop(20, 10, handler_that_waits);
    stallbox_stop(5000);
}

__attribute__((noinline)) static void poll_for_work(void)
{
    struct pollfd none = {.fd = -1};
    poll(&none, 1, 15);
    KEEP_FRAME();
}

/* When the handler waits, only main is left of the loop on the stack. The polls show that the loop waits for work
 * elsewhere. */
static void child_waits_behind_its_loop(void)
{
    child_start_with(400, 60000);
    child_wait_for_rows();
    for (int i = 0; i < 30; i++) {
        volatile int now = i;
        poll_for_work();
        if (now == 20) {
            handler_that_waits();
        }
    }
    stallbox_stop(5000);
}

static void expect_nothing(void (*child)(void))
{
    assert_int_equal(recorded_process_run(child), 0);
    assert_int_equal(count_files(recorded_process_raw(), SBX_RAW_SUFFIX), 0);
}

static void expect_one(void (*child)(void), uint32_t kind)
{
    assert_int_equal(recorded_process_run(child), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, kind);
    sbx_snapshot_destroy(snapshot);
}

static void test_a_wait_for_work_at_a_condition_raises_no_alarm(void **state)
{
    (void)state;
    expect_nothing(child_rests_at_a_condition);
}

static void test_looking_into_a_queue_again_and_again_raises_no_alarm(void **state)
{
    (void)state;
    expect_nothing(child_looks_into_a_queue);
}

static void test_a_slow_message_between_two_such_waits_is_told_whole(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_stalls_between_two_rests), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_SLOW_MESSAGE);
    uint64_t took_ns = snapshot->header.trigger.end_ns - snapshot->header.trigger.begin_ns;
    assert_true(took_ns >= 600000000);
    int polls = 0, sleeps = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        bool is_its = record->message == snapshot->header.trigger.message;
        sleeps += is_its && record->kind == SBX_RECORD_SLEEP && passes_through(snapshot, record, (void *)handle_event);
        polls += is_its && record->kind == SBX_RECORD_COND;
    }
    assert_true(sleeps > 0);
    assert_int_equal(polls, 0); /* the rests are idle time */
    sbx_snapshot_destroy(snapshot);
}

static void test_a_message_that_hangs_between_two_such_waits_fires(void **state)
{
    (void)state;
    expect_one(child_hangs_between_two_rests, SBX_TRIGGER_ANR);
}

static void test_a_handler_of_a_loop_that_waits_for_a_condition_hangs(void **state)
{
    (void)state;
    expect_one(child_waits_in_its_loop, SBX_TRIGGER_ANR);
    assert_int_equal(recorded_process_tear_down(state), 0);
    assert_int_equal(recorded_process_set_up(state), 0);
    expect_one(child_waits_behind_its_loop, SBX_TRIGGER_ANR);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, recorded_process_set_up, recorded_process_tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_a_wait_for_work_at_a_condition_raises_no_alarm),
        CASE(test_looking_into_a_queue_again_and_again_raises_no_alarm),
        CASE(test_a_slow_message_between_two_such_waits_is_told_whole),
        CASE(test_a_message_that_hangs_between_two_such_waits_fires),
        CASE(test_a_handler_of_a_loop_that_waits_for_a_condition_hangs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
