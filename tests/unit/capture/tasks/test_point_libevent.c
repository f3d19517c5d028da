/* SPDX-License-Identifier: Apache-2.0 */
/* test_point_libevent.c - libevent's timers and activated events: what is recorded of them; the program sees no
 * difference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/event_compat.h>
#include <event2/event_struct.h>
#include <event2/thread.h>

#include "capture_settings.h"
#include "recorded_process.h"
#ifdef HAS_CPP
#include "libevent_throws.h"
#endif

#define OWN_PLACE __attribute__((noinline))

/* The layout that point_libevent.c relies on. */
static_assert(offsetof(struct event, ev_evcallback.evcb_flags) == 16, "flags");
static_assert(offsetof(struct event, ev_evcallback.evcb_cb_union) == 24, "callback");
static_assert(offsetof(struct event, ev_evcallback.evcb_arg) == 32, "argument");
static_assert(offsetof(struct event, ev_fd) == 56, "descriptor");
static_assert(offsetof(struct event, ev_base) == 64, "base");
static_assert(offsetof(struct event, ev_events) == 104, "events");
static_assert(EVLIST_INTERNAL == 0x10 && EVLIST_INIT == 0x80, "flags");
static_assert(EV_TIMEOUT == 1 && EV_READ == 2 && EV_WRITE == 4 && EV_SIGNAL == 8 && EV_PERSIST == 0x10 &&
                  EV_CLOSED == 0x80,
              "events");

static struct event_base *base;
static struct event *event;
static int called, other_called;
static const struct timeval soon = {0, 1000}, never = {600, 0};

/* No task of libevent is left in the table. */
static void expect_no_task(void)
{
    const struct sbx_recording_header *header = child_header();
    const struct sbx_task_entry *tasks = (const void *)((const char *)header + header->tasks.at);
    for (uint32_t i = 0; i < header->tasks.count; i++) {
        child_expect(sbx_task_state_of(tasks[i].word) == SBX_TASK_FREE || tasks[i].group != SBX_GROUP_LIBEVENT,
                     "no task is left behind");
    }
}

static void begin(void)
{
    base = event_base_new();
    child_expect(base != NULL, "a base");
}

static void finish(void)
{
    event_base_free(base);
    expect_no_task();
}

static int count_tasks(const struct sbx_snapshot *snapshot, uint8_t op, void *function)
{
    int count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        count += record->kind == SBX_RECORD_TASK && record->op == op && stack_passes(snapshot, record->stack, function);
    }
    return count;
}

static int count_hops(const struct sbx_snapshot *snapshot, uint8_t op, uint8_t flags)
{
    int count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        count += record->kind == SBX_RECORD_HOP && record->op == op && (record->flags & flags) == flags;
    }
    return count;
}

static void on_event(evutil_socket_t descriptor, short what, void *argument)
{
    called++;
    child_expect(argument == &called && descriptor == -1 && what != 0, "it is called with what the program gave");
    child_pause_ms(3);
}

static void on_other(evutil_socket_t descriptor, short what, void *argument)
{
    (void)descriptor;
    (void)what;
    other_called += argument == &other_called;
    child_pause_ms(3);
}

/* ---- what is recorded ---- */

OWN_PLACE static void add_here(const struct timeval *after)
{
    child_expect(event_add(event, after) == 0, "it is added");
    KEEP_FRAME();
}

OWN_PLACE static void add_once_here(void)
{
    child_expect(event_base_once(base, -1, EV_TIMEOUT, on_event, &called, &soon) == 0, "it is added");
    KEEP_FRAME();
}

OWN_PLACE static void activate_here(void)
{
    event_active(event, EV_READ, 1);
    KEEP_FRAME();
}

static void child_adds_each_sort(void)
{
    begin();
    event = evtimer_new(base, on_event, &called);
    add_here(&soon);
    event_base_dispatch(base);
    child_expect(called == 1, "a timer is called once");
    add_once_here();
    event_base_dispatch(base);
    child_expect(called == 2, "what is added once as well");
    activate_here();
    event_base_dispatch(base);
    child_expect(called == 3, "and what is made active");
    event_free(event);
    child_expect(event_base_once(base, -1, EV_TIMEOUT, on_event, &called, NULL) == 0,
                 "without a time it is called at once");
    event_base_dispatch(base);
    child_expect(called == 4, "and so it is");
    finish();
}

static void test_timers_and_events_made_active_are_told_with_who_queued_them(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_adds_each_sort);
    assert_int_equal(count_tasks(snapshot, SBX_OP_EVENT_ADD, (void *)add_here), 1);
    assert_int_equal(count_tasks(snapshot, SBX_OP_EVENT_ADD, (void *)add_once_here), 1);
    assert_int_equal(count_tasks(snapshot, SBX_OP_EVENT_ACTIVE, (void *)activate_here), 1);
    sbx_snapshot_destroy(snapshot);
}

static void child_lets_a_timer_go_on(void)
{
    begin();
    event = event_new(base, -1, EV_PERSIST, on_event, &called);
    add_here(&soon);
    while (called < 4) {
        event_base_loop(base, EVLOOP_ONCE);
    }
    child_expect(event_del(event) == 0 && event_del(event) == 0, "it is stopped, and stays so");
    expect_no_task();
    event_free(event);
    finish();
}

static void test_a_timer_that_goes_on_is_a_new_task_each_time(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_lets_a_timer_go_on);
    assert_int_equal(count_tasks(snapshot, SBX_OP_EVENT_ADD, (void *)add_here), 4);
    sbx_snapshot_destroy(snapshot);
}

static void child_activates_often(void)
{
    begin();
    event = event_new(base, -1, EV_PERSIST, on_event, &called);
    for (int i = 0; i < 5; i++) {
        activate_here();
    }
    child_pause_ms(12); /* so that it lies there for long */
    event_base_loop(base, EVLOOP_NONBLOCK);
    child_expect(called == 1, "it is called once for all");
    activate_here();
    event_base_loop(base, EVLOOP_NONBLOCK);
    child_expect(called == 2, "and again");
    event_free(event);
    finish();
}

static void test_what_is_made_active_more_than_once_before_the_loop_comes_to_it_is_one_task(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_activates_often);
    assert_int_equal(count_tasks(snapshot, SBX_OP_EVENT_ACTIVE, (void *)activate_here), 2);
    assert_int_equal(count_hops(snapshot, SBX_OP_EVENT_ACTIVE, SBX_FLAG_MERGED), 1);
    sbx_snapshot_destroy(snapshot);
}

static int finalized;

static void on_finalize(struct event *gone, void *argument)
{
    finalized += gone != NULL && argument == &called;
}

static void child_takes_back(void)
{
    struct event own;
    begin();
    event = evtimer_new(base, on_event, &called);
    add_here(&never);
    add_here(&never); /* with another time */
    child_expect(event_pending(event, EV_TIMEOUT, NULL), "it is pending");
    child_pause_ms(12);
    child_expect(event_del(event) == 0, "it is deleted");
    expect_no_task();
    add_here(&never);
    child_expect(event_remove_timer(event) == 0, "its time is removed");
    expect_no_task();
    activate_here();
    child_expect(event_del_noblock(event) == 0, "what is active is deleted");
    expect_no_task();
    add_here(&never);
    event_free(event);
    expect_no_task();
    child_expect(evtimer_assign(&own, base, on_event, &called) == 0 && evtimer_add(&own, &never) == 0,
                 "one in the program's memory");
    child_expect(event_finalize(0, &own, on_finalize) == 0, "it is given up");
    expect_no_task();
    event_base_loop(base, EVLOOP_NONBLOCK);
    child_expect(called == 0 && finalized == 1, "nothing is called but what was asked for");
    event = evtimer_new(base, on_event, &called);
    add_here(&never); /* freed together with the base */
    child_expect(event_base_once(base, -1, EV_TIMEOUT, on_event, &called, &never) == 0, "once");
    event_base_free(base);
}

static void test_what_is_taken_back_is_told_so_and_never_called(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_takes_back);
    assert_true(count_hops(snapshot, SBX_OP_EVENT_ADD, SBX_FLAG_CANCELLED) > 0);
    assert_int_equal(count_tasks(snapshot, SBX_OP_EVENT_ADD, (void *)add_here), 0);
    sbx_snapshot_destroy(snapshot);
}

/* Two timers with the same function and argument. The deletion of one is recorded, and the other one runs. */
static void child_deletes_one_of_two(void)
{
    begin();
    struct event *kept = evtimer_new(base, on_event, &called), *gone = evtimer_new(base, on_event, &called);
    event_add(gone, &soon);
    event = kept;
    add_here(&soon);
    event_del(gone);
    event_base_dispatch(base);
    child_expect(called == 1, "one is called");
    event_free(kept);
    event_free(gone);
    finish();
}

static void test_of_two_timers_that_are_alike_the_one_that_is_left_is_told(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_deletes_one_of_two);
    assert_int_equal(count_tasks(snapshot, SBX_OP_EVENT_ADD, (void *)add_here), 1);
    sbx_snapshot_destroy(snapshot);
}

/* ---- what a program sees ---- */

static void expect_own(const struct event *asked, event_callback_fn callback, void *argument)
{
    struct event_base *its_base;
    evutil_socket_t descriptor;
    short events;
    event_callback_fn its_callback;
    void *its_argument;
    child_expect(event_get_callback(asked) == callback && event_get_callback_arg(asked) == argument,
                 "the callback is the program's");
    event_get_assignment(asked, &its_base, &descriptor, &events, &its_callback, &its_argument);
    child_expect(its_base == base && descriptor == -1 && its_callback == callback && its_argument == argument,
                 "so it is, with the rest");
    event_get_assignment(asked, NULL, NULL, NULL, NULL, NULL);
    child_expect(event_initialized(asked), "it is initialized");
}

static void child_asks_what_it_set(void)
{
    struct event own, copy, *selfish;
    begin();
    event = evtimer_new(base, on_event, &called);
    expect_own(event, on_event, &called);
    selfish = evtimer_new(base, on_other, event_self_cbarg());
    expect_own(selfish, on_other, selfish);
    memset(&own, 0, sizeof own);
    child_expect(!event_initialized(&own), "what is zero is not initialized");
    child_expect(event_assign(&own, base, -1, 0, on_event, &called) == 0, "assigned");
    expect_own(&own, on_event, &called);
    memcpy(&copy, &own, sizeof copy);
    expect_own(&copy, on_event, &called);
    child_expect(event_assign(&own, base, -1, 0, event_get_callback(selfish), &other_called) == 0,
                 "assigned what another has");
    expect_own(&own, on_other, &other_called);
    evtimer_add(&own, &soon);
    expect_own(&own, on_other, &other_called);
    event_base_dispatch(base);
    child_expect(other_called == 1 && called == 0, "called is what was set last");
    child_set_points(SBX_POINTS_ALL & ~SBX_POINT_BIT(SBX_GROUP_LIBEVENT));
    expect_own(event, on_event, &called); /* the function that was assigned while the points were installed */
    child_set_points(SBX_POINTS_ALL);
    expect_own(event, on_event, &called);
    event_free(event);
    event_free(selfish);
    finish();
}

static void test_an_event_has_the_callback_that_the_program_set_also_when_the_group_is_out(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_asks_what_it_set));
}

static void delete_self(evutil_socket_t descriptor, short what, void *argument)
{
    (void)descriptor;
    (void)what;
    called++;
    child_expect(event_del(argument) == 0, "it deletes itself");
}

static void free_self(evutil_socket_t descriptor, short what, void *argument)
{
    (void)descriptor;
    (void)what;
    called++;
    event_free(argument);
}

static void add_again(evutil_socket_t descriptor, short what, void *argument)
{
    (void)descriptor;
    (void)what;
    if (++called < 5) {
        child_expect(event_add(argument, &soon) == 0, "it adds itself");
    }
}

static void child_changes_events_in_their_callbacks(void)
{
    begin();
    for (int persists = 0; persists < 2; persists++) {
        short events = persists ? EV_PERSIST : 0;
        called = 0;
        event = event_new(base, -1, events, delete_self, event_self_cbarg());
        event_add(event, &soon);
        event_base_dispatch(base);
        child_expect(called == 1, "it is called once");
        expect_no_task();
        event_free(event);
        event = event_new(base, -1, events, free_self, event_self_cbarg());
        event_add(event, &soon);
        event_base_dispatch(base);
        child_expect(called == 2, "what frees itself is called once");
        expect_no_task();
    }
    called = 0;
    event = evtimer_new(base, add_again, event_self_cbarg());
    event_add(event, &soon);
    event_base_dispatch(base);
    child_expect(called == 5, "what adds itself is called as often");
    expect_no_task();
    event_free(event);
    finish();
}

static void test_events_are_deleted_freed_and_added_again_in_their_own_callbacks(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_changes_events_in_their_callbacks));
}

static struct event_base *inner;

OWN_PLACE static void run_inner_loop(evutil_socket_t descriptor, short what, void *argument)
{
    (void)descriptor;
    (void)what;
    (void)argument;
    called++;
    child_expect(event_base_once(inner, -1, EV_TIMEOUT, on_other, &other_called, &soon) == 0, "inside");
    child_expect(event_base_loop(inner, 0) == 1, "the inner loop ends");
}

OWN_PLACE static void add_outer_here(void)
{
    child_expect(event_base_once(base, -1, EV_TIMEOUT, run_inner_loop, NULL, &soon) == 0, "outside");
    KEEP_FRAME();
}

static void child_nests_loops(void)
{
    begin();
    inner = event_base_new();
    add_outer_here();
    event_base_dispatch(base);
    child_expect(called == 1 && other_called == 1, "both are called");
    event_base_free(inner);
    finish();
}

static void test_a_loop_inside_of_a_callback_has_its_own_tasks(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_nests_loops);
    assert_int_equal(count_tasks(snapshot, SBX_OP_EVENT_ADD, (void *)add_outer_here), 1);
    assert_int_equal(count_tasks(snapshot, SBX_OP_EVENT_ADD, (void *)run_inner_loop), 1);
    sbx_snapshot_destroy(snapshot);
}

/* More functions than the recorder can intercept. */
#define TEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
/* clang-format off */
#define MANY(X) \
    TEN(X, 1) TEN(X, 2) TEN(X, 3) TEN(X, 4) TEN(X, 5) TEN(X, 6) TEN(X, 7) TEN(X, 8) \
    TEN(X, 9) TEN(X, 10) TEN(X, 11) TEN(X, 12) TEN(X, 13) TEN(X, 14) TEN(X, 15) TEN(X, 16)
/* clang-format on */
static int calls_of[170];
#define CALLBACK(n)                                                                  \
    static void callback_##n(evutil_socket_t descriptor, short what, void *argument) \
    {                                                                                \
        (void)what;                                                                  \
        calls_of[n] += descriptor == -1 && argument == &calls_of[n];                 \
    }
MANY(CALLBACK)

static void child_has_many_functions(void)
{
    static struct event events[170];
#define ADD(n)                                                    \
    evtimer_assign(&events[n], base, callback_##n, &calls_of[n]); \
    expect_own(&events[n], callback_##n, &calls_of[n]);           \
    evtimer_add(&events[n], &soon);
    begin();
    MANY(ADD)
    event_base_dispatch(base);
    for (int i = 10; i < 170; i++) {
        child_expect(calls_of[i] == 1, "each is called once");
    }
    finish();
}

static void test_functions_beyond_those_that_are_followed_are_called_as_ever(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_has_many_functions));
}

/* ---- descriptors, signals, buffers ---- */

static int ends[2];

static void read_byte(evutil_socket_t descriptor, short what, void *argument)
{
    char byte;
    (void)argument;
    child_expect(descriptor == ends[0] && (what & EV_READ) != 0, "of that descriptor");
    called += read(descriptor, &byte, 1) == 1;
    child_pause_ms(3);
}

static void take_signal(evutil_socket_t number, short what, void *argument)
{
    (void)argument;
    other_called += number == SIGUSR1 && (what & EV_SIGNAL) != 0;
}

static void child_waits_for_descriptors_and_signals(void)
{
    begin();
    child_expect(pipe(ends) == 0, "a pipe");
    struct event *reader = event_new(base, ends[0], EV_READ | EV_PERSIST, read_byte, NULL);
    struct event *signals = evsignal_new(base, SIGUSR1, take_signal, NULL);
    event_add(reader, &never);
    event_add(signals, NULL);
    child_expect(write(ends[1], "a", 1) == 1, "a byte");
    raise(SIGUSR1);
    while (called == 0 || other_called == 0) {
        event_base_loop(base, EVLOOP_ONCE);
    }
    expect_no_task();
    child_expect(write(ends[1], "b", 1) == 1, "another");
    event_active(reader, EV_READ, 1); /* by hand, so a thread has queued it */
    while (called < 2) {
        event_base_loop(base, EVLOOP_ONCE);
    }
    child_expect(event_pending(reader, EV_READ, NULL), "it waits on");
    event_free(reader);
    event_free(signals);
    finish();
}

static void test_what_a_descriptor_or_a_signal_makes_active_is_no_task(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_waits_for_descriptors_and_signals);
    assert_int_equal(count_hops(snapshot, SBX_OP_EVENT_ADD, 0), 0);
    assert_int_equal(count_tasks(snapshot, SBX_OP_EVENT_ACTIVE, (void *)child_waits_for_descriptors_and_signals), 1);
    sbx_snapshot_destroy(snapshot);
}

static void take_input(struct bufferevent *buffer, void *argument)
{
    char bytes[8];
    called += argument == &called && bufferevent_read(buffer, bytes, sizeof bytes) == 5;
}

static void child_has_a_pair_of_buffers(void)
{
    struct bufferevent *pair[2];
    begin();
    child_expect(bufferevent_pair_new(base, BEV_OPT_DEFER_CALLBACKS, pair) == 0, "a pair");
    bufferevent_setcb(pair[1], take_input, NULL, NULL, &called);
    bufferevent_set_timeouts(pair[1], &never, NULL);
    bufferevent_enable(pair[1], EV_READ);
    bufferevent_write(pair[0], "hello", 5);
    while (called == 0) {
        event_base_loop(base, EVLOOP_NONBLOCK);
    }
    bufferevent_free(pair[0]);
    bufferevent_free(pair[1]);
    event_base_loop(base, EVLOOP_NONBLOCK);
    finish();
}

static void test_buffers_whose_callbacks_are_deferred_work_as_ever(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_has_a_pair_of_buffers));
}

/* ---- threads, forks, switches ---- */

static atomic_int is_over;

static void *activate(void *unused)
{
    for (int i = 0; i < 2000; i++) {
        event_active(event, EV_WRITE, 1);
        if (i % 50 == 0) {
            event_add(event, &soon);
            event_del(event);
        }
    }
    is_over = 1;
    event_active(event, EV_WRITE, 1);
    return unused;
}

static void count_call(evutil_socket_t descriptor, short what, void *argument)
{
    (void)descriptor;
    (void)what;
    called += argument == &called;
}

static void child_activates_from_another_thread(void)
{
    pthread_t thread;
    child_expect(evthread_use_pthreads() == 0, "threads");
    begin();
    event = event_new(base, -1, EV_PERSIST, count_call, &called);
    pthread_create(&thread, NULL, activate, NULL);
    while (is_over == 0) {
        event_base_loop(base, EVLOOP_NONBLOCK);
    }
    pthread_join(thread, NULL);
    event_base_loop(base, EVLOOP_NONBLOCK);
    child_expect(called > 0, "it is called");
    event_free(event);
    event_base_free(base);
}

static void test_another_thread_makes_events_active_adds_and_deletes_them(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_activates_from_another_thread));
}

static void child_forks(void)
{
    begin();
    event = evtimer_new(base, on_event, &called);
    event_add(event, &soon);
    pid_t child = fork();
    if (child == 0) {
        bool is_right = event_reinit(base) == 0 && event_base_dispatch(base) == 1 && called == 1 &&
                        event_get_callback(event) == on_event;
        _exit(is_right ? 0 : 1);
    }
    int status;
    child_expect(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child's copy is called");
    event_base_dispatch(base);
    child_expect(called == 1, "and the parent's");
    event_free(event);
    finish();
}

static void test_a_forked_child_calls_the_programs_functions(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_forks));
}

static void child_has_the_points_out(void)
{
    child_set_points(SBX_POINTS_ALL & ~SBX_POINT_BIT(SBX_GROUP_LIBEVENT));
    begin();
    event = evtimer_new(base, on_event, &called);
    add_here(&soon);
    event_base_dispatch(base);
    activate_here();
    event_base_dispatch(base);
    child_expect(called == 2, "it is called");
    event_free(event);
    finish();
}

static void test_the_group_is_switched_by_itself(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_has_the_points_out);
    assert_int_equal(count_hops(snapshot, SBX_OP_EVENT_ADD, 0) + count_hops(snapshot, SBX_OP_EVENT_ACTIVE, 0), 0);
    sbx_snapshot_destroy(snapshot);
}

#ifdef HAS_CPP
static void child_throws(void)
{
    begin();
    child_expect(libevent_throws_through_a_timer(base) == 1, "it is caught around the loop");
    event_base_free(base);
    begin(); /* libevent takes that base for one that is still running */
    event = evtimer_new(base, on_event, &called);
    add_here(&soon);
    event_base_dispatch(base);
    child_expect(called == 1, "the next is called");
    event_free(event);
    finish();
}

static void test_an_exception_leaves_a_callback_and_the_loop(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_throws);
    assert_int_equal(count_tasks(snapshot, SBX_OP_EVENT_ADD, (void *)add_here), 1);
    sbx_snapshot_destroy(snapshot);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timers_and_events_made_active_are_told_with_who_queued_them),
        cmocka_unit_test(test_a_timer_that_goes_on_is_a_new_task_each_time),
        cmocka_unit_test(test_what_is_made_active_more_than_once_before_the_loop_comes_to_it_is_one_task),
        cmocka_unit_test(test_what_is_taken_back_is_told_so_and_never_called),
        cmocka_unit_test(test_of_two_timers_that_are_alike_the_one_that_is_left_is_told),
        cmocka_unit_test(test_an_event_has_the_callback_that_the_program_set_also_when_the_group_is_out),
        cmocka_unit_test(test_events_are_deleted_freed_and_added_again_in_their_own_callbacks),
        cmocka_unit_test(test_a_loop_inside_of_a_callback_has_its_own_tasks),
        cmocka_unit_test(test_functions_beyond_those_that_are_followed_are_called_as_ever),
        cmocka_unit_test(test_what_a_descriptor_or_a_signal_makes_active_is_no_task),
        cmocka_unit_test(test_buffers_whose_callbacks_are_deferred_work_as_ever),
        cmocka_unit_test(test_another_thread_makes_events_active_adds_and_deletes_them),
        cmocka_unit_test(test_a_forked_child_calls_the_programs_functions),
        cmocka_unit_test(test_the_group_is_switched_by_itself),
#ifdef HAS_CPP
        cmocka_unit_test(test_an_exception_leaves_a_callback_and_the_loop),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
