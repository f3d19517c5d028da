/* SPDX-License-Identifier: Apache-2.0 */
/* test_point_uv_handle.c - libuv's timers and async handles: what is recorded of them; the program sees no
 * difference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

#include "capture_settings.h"
#include "recorded_process.h"
#ifdef HAS_CPP
#include "uv_throws.h"
#endif

#define OWN_PLACE __attribute__((noinline))

enum {
    MANY = 3000 /* more than are followed at a time */
};

static uv_loop_t loop;
static uv_timer_t timer;
static uv_async_t async;
static int fired, other_fired, closed;
static atomic_int sent;

static void on_close(uv_handle_t *handle)
{
    closed += handle->loop == &loop;
}

/* No task of libuv is left in the table. */
static void expect_no_task(void)
{
    const struct sbx_recording_header *header = child_header();
    const struct sbx_task_entry *tasks = (const void *)((const char *)header + header->tasks.at);
    for (uint32_t i = 0; i < header->tasks.count; i++) {
        child_expect(sbx_task_state_of(tasks[i].word) == SBX_TASK_FREE || tasks[i].group != SBX_GROUP_UV,
                     "no task is left behind");
    }
}

static void finish_loop(void)
{
    uv_run(&loop, UV_RUN_DEFAULT);
    child_expect(uv_loop_close(&loop) == 0, "nothing is left in the loop");
    expect_no_task();
}

static const struct sbx_record *find_task(const struct sbx_snapshot *snapshot, uint8_t op, void *function)
{
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->kind == SBX_RECORD_TASK && record->op == op && passes_through(snapshot, record, function)) {
            return record;
        }
    }
    return NULL;
}

/* ---- timers ---- */

static void on_other(uv_timer_t *self)
{
    other_fired++;
    child_expect(self->data == &loop, "the handle is the program's");
}

static void on_timer(uv_timer_t *self)
{
    fired++;
    child_expect(self->data == &loop && self->loop == &loop, "the handle is the program's");
    child_pause_ms(3);
    if (fired == 1) { /* the handle's timer is started again */
        child_expect(uv_timer_start(self, self->timer_cb, 1, 1) == 0, "it is started again");
    } else if (fired == 4) {
        child_expect(uv_timer_stop(self) == 0, "it is stopped");
        child_expect(uv_timer_start(self, on_other, 1, 0) == 0, "it is started with another function");
    }
}

OWN_PLACE static void start_here(void)
{
    timer.data = &loop;
    child_expect(uv_timer_init(&loop, &timer) == 0, "a timer");
    child_expect(uv_timer_start(&timer, on_timer, 1, 0) == 0, "it is started");
    KEEP_FRAME();
}

static void child_starts_timers(void)
{
    static uv_timer_t stopped;
    child_expect(uv_loop_init(&loop) == 0, "a loop");
    start_here();
    child_expect(uv_timer_start(&timer, NULL, 1, 0) == UV_EINVAL, "without a function it is refused");
    stopped.data = &loop;
    uv_timer_init(&loop, &stopped);
    uv_timer_start(&stopped, on_other, 60000, 0);
    uv_timer_start(&stopped, on_other, 50000, 60000);
    child_expect(uv_timer_stop(&stopped) == 0 && uv_timer_stop(&stopped) == 0, "it is stopped, and stays so");
    uv_run(&loop, UV_RUN_DEFAULT);
    child_expect(fired == 4 && other_fired == 1, "each fires as often as it should");
    uv_close((uv_handle_t *)&timer, on_close);
    child_expect(uv_timer_start(&timer, on_timer, 1, 0) == UV_EINVAL, "what is closed is not started");
    uv_close((uv_handle_t *)&stopped, on_close);
    finish_loop();
    child_expect(closed == 2, "both are closed");
}

static void test_a_timer_is_told_with_who_started_it(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_starts_timers);
    assert_non_null(find_task(snapshot, SBX_OP_UV_TIMER_START, (void *)start_here));
    sbx_snapshot_destroy(snapshot);
}

static void close_self(uv_timer_t *self)
{
    fired++;
    uv_close((uv_handle_t *)self, on_close);
}

static void child_has_more_timers_than_are_followed(void)
{
    uv_timer_t *timers = calloc(MANY, sizeof *timers);
    child_expect(uv_loop_init(&loop) == 0, "a loop");
    for (int round = 1; round <= 2; round++) { /* with handles at the same addresses again */
        for (int i = 0; i < MANY; i++) {
            child_expect(uv_timer_init(&loop, &timers[i]) == 0 && uv_timer_start(&timers[i], close_self, 1, 5) == 0,
                         "it is started");
        }
        uv_run(&loop, UV_RUN_DEFAULT);
        child_expect(fired == round * MANY && closed == round * MANY, "each fires once, and closes itself");
    }
    finish_loop();
    free(timers);
}

static void test_timers_beyond_those_that_are_followed_and_closed_in_their_callbacks_fire_as_ever(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_has_more_timers_than_are_followed));
}

static void child_has_the_points_out_and_in(void)
{
    child_expect(uv_loop_init(&loop) == 0, "a loop");
    timer.data = &loop;
    uv_timer_init(&loop, &timer);
    uv_timer_start(&timer, on_other, 1, 1);
    child_set_points(SBX_POINTS_ALL & ~SBX_POINT_BIT(SBX_GROUP_UV));
    while (other_fired < 3) {
        uv_run(&loop, UV_RUN_ONCE);
    }
    uv_close((uv_handle_t *)&timer, on_close); /* not seen by a hook, so its entry stays */
    uv_run(&loop, UV_RUN_DEFAULT);
    child_set_points(SBX_POINTS_ALL);
    memset(&timer, 0, sizeof timer);
    timer.data = &loop;
    uv_timer_init(&loop, &timer);
    uv_timer_start(&timer, close_self, 1, 0);
    finish_loop();
    child_expect(fired == 1 && closed == 2, "the new one at the old place does its own");
}

static void test_timers_go_on_while_the_group_is_out(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_has_the_points_out_and_in));
}

/* ---- async handles ---- */

static void on_async(uv_async_t *self)
{
    fired++;
    child_expect(self == &async, "the handle is the program's");
    child_pause_ms(3);
    uv_close((uv_handle_t *)self, on_close);
}

OWN_PLACE static void send_here(void)
{
    errno = EXDEV;
    child_expect(uv_async_send(&async) == 0, "it is sent");
    child_expect(errno == EXDEV, "errno is kept");
    atomic_fetch_add(&sent, 1);
    KEEP_FRAME();
}

static void *send_thrice(void *unused)
{
    for (int i = 0; i < 3; i++) {
        send_here();
    }
    return unused;
}

static void child_sends(void)
{
    pthread_t thread;
    child_expect(uv_loop_init(&loop) == 0, "a loop");
    child_expect(uv_async_init(&loop, &async, on_async) == 0, "an async handle");
    child_expect(pthread_create(&thread, NULL, send_thrice, NULL) == 0, "a thread starts");
    pthread_join(thread, NULL);
    finish_loop();
    child_expect(fired == 1 && closed == 1, "three that were sent are one call");
}

static void test_what_is_sent_to_a_loop_is_told_with_who_sent_it_and_merged(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_sends);
    const struct sbx_record *task = find_task(snapshot, SBX_OP_UV_ASYNC_SEND, (void *)send_here);
    assert_non_null(task);
    unsigned hops = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->kind == SBX_RECORD_HOP && record->op == SBX_OP_UV_ASYNC_SEND) {
            hops++;
            assert_int_equal(record->wait, task->wait);
            assert_int_not_equal(record->peer, snapshot->header.pid);
            assert_true((record->flags & SBX_FLAG_MERGED) != 0);
        }
    }
    assert_int_equal(hops, 1);
    sbx_snapshot_destroy(snapshot);
}

static void send_in_handler(int number)
{
    (void)number;
    uv_async_send(&async);
}

static void on_storm(uv_async_t *self)
{
    fired++;
    child_expect(self == &async, "the handle is the program's");
}

static void *storm(void *unused)
{
    for (int i = 0; i < 20000; i++) {
        uv_async_send(&async);
    }
    atomic_fetch_add(&sent, 1);
    return unused;
}

static void child_sends_in_handlers(void)
{
    pthread_t threads[2];
    child_expect(signal(SIGUSR1, send_in_handler) != SIG_ERR, "a handler is set");
    child_expect(uv_loop_init(&loop) == 0, "a loop");
    child_expect(uv_async_init(&loop, &async, on_storm) == 0, "an async handle");
    for (int i = 0; i < 2; i++) {
        child_expect(pthread_create(&threads[i], NULL, storm, NULL) == 0, "a thread starts");
    }
    for (unsigned turn = 0; atomic_load(&sent) < 2; turn++) {
        pthread_kill(threads[turn % 2], SIGUSR1); /* the thread may be anywhere, also in the recorder's code */
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    int before = fired;
    uv_async_send(&async);
    while (fired == before) {
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    uv_close((uv_handle_t *)&async, on_close);
    finish_loop();
    child_expect(closed == 1, "it is closed");
}

static void test_sends_in_signal_handlers_and_from_many_threads_come_and_leave_no_task(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_sends_in_handlers));
}

#ifdef HAS_CPP
static void child_throws(void)
{
    child_expect(uv_loop_init(&loop) == 0, "a loop");
    child_expect(uv_throws_through_a_timer(&loop) == 1, "an exception passes the callback");
    uv_run(&loop, UV_RUN_DEFAULT);
    child_expect(uv_loop_close(&loop) == 0, "nothing is left in the loop");
}

static void test_exceptions_pass_through_callbacks(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_throws));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_timer_is_told_with_who_started_it),
        cmocka_unit_test(test_timers_beyond_those_that_are_followed_and_closed_in_their_callbacks_fire_as_ever),
        cmocka_unit_test(test_timers_go_on_while_the_group_is_out),
        cmocka_unit_test(test_what_is_sent_to_a_loop_is_told_with_who_sent_it_and_merged),
        cmocka_unit_test(test_sends_in_signal_handlers_and_from_many_threads_come_and_leave_no_task),
#ifdef HAS_CPP
        cmocka_unit_test(test_exceptions_pass_through_callbacks),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
