/* SPDX-License-Identifier: Apache-2.0 */
/* test_message_loop.c - what is a message of the main thread, and what is a poll inside of a message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "recorded_process.h"
#include "stallbox/stallbox.h"

__attribute__((noinline)) static void handler_that_sleeps(void)
{
    child_sleep_ms(400);
    KEEP_FRAME();
}

static void child_sleeps_in_a_message(void)
{
    child_start_with(60000, 300);
    child_run_loop(20, 10, handler_that_sleeps);
    stallbox_stop(5000);
}

static void child_never_loops(void)
{
    child_start_with(500, 500);
    struct pollfd none = {.fd = -1};
    poll(&none, 1, 1);
    child_sleep_ms(1500);
    stallbox_stop(5000);
}

/* A handler that polls by itself, as a modal dialog does. */
__attribute__((noinline)) static void handler_that_polls(void)
{
    struct pollfd none = {.fd = -1};
    for (int i = 0; i < 4; i++) {
        poll(&none, 1, 300);
    }
    KEEP_FRAME();
}

static void child_polls_in_a_message(void)
{
    child_start_with(60000, 300);
    child_wait_for_rows();
    child_run_loop(20, 10, handler_that_polls);
    stallbox_stop(5000);
}

/* A dialog: a handler runs the loop's own function, and answers for longer than a message may take. */
__attribute__((noinline)) static void handler_with_a_dialog(void)
{
    child_run_loop(80, -1, NULL);
    KEEP_FRAME();
}

__attribute__((noinline)) static void handler_with_a_dialog_that_sleeps(void)
{
    child_run_loop(80, 40, handler_that_sleeps);
    KEEP_FRAME();
}

static void child_answers_in_a_dialog(void)
{
    child_start_with(300, 300);
    child_wait_for_rows();
    child_run_loop(20, 10, handler_with_a_dialog);
    stallbox_stop(5000);
}

static void child_sleeps_in_a_dialog(void)
{
    child_start_with(60000, 300);
    child_wait_for_rows();
    child_run_loop(20, 10, handler_with_a_dialog_that_sleeps);
    stallbox_stop(5000);
}

static int wake_fd = -1;

__attribute__((noinline)) static void wait_for_work(void)
{
    struct pollfd watched = {.fd = wake_fd, .events = POLLIN};
    poll(&watched, 1, 10);
    KEEP_FRAME();
}

__attribute__((noinline)) static void dispatch(void (*handle)(void))
{
    void *volatile memory = malloc(100); /* a sample is due here; it shows that wait_for_work() has returned */
    free(memory);
    if (handle != NULL) {
        handle();
    }
    KEEP_FRAME();
}

/* As GLib does: the function that polls returns before any event is handled. */
__attribute__((noinline)) static void iterate(void (*handle)(void))
{
    wait_for_work();
    dispatch(handle);
    KEEP_FRAME();
}

static void child_polls_in_a_message_as_glib_does(void)
{
    child_start_with(60000, 300);
    child_wait_for_rows();
    wake_fd = eventfd(0, EFD_CLOEXEC);
    for (int i = 0; i < 60; i++) {
        volatile int turn = i; /* see child_run_loop() */
        iterate(turn == 50 ? handler_that_polls : NULL);
    }
    stallbox_stop(5000);
}

__attribute__((noinline)) static void handler_that_polls_once(void)
{
    struct pollfd none = {.fd = -1};
    poll(&none, 1, 1000);
    KEEP_FRAME();
}

__attribute__((noinline)) static void iterate_without_a_point(void (*handle)(void))
{
    wait_for_work();
    if (handle != NULL) {
        handle();
    }
    KEEP_FRAME();
}

/* Nothing is recorded in its messages, so nothing proves that the polling function has returned before. */
static void child_polls_in_a_message_no_sample_was_taken_in(void)
{
    child_start_with(60000, 300);
    child_wait_for_rows();
    wake_fd = eventfd(0, EFD_CLOEXEC);
    for (int i = 0; i < 30; i++) {
        volatile int turn = i; /* see child_run_loop() */
        iterate_without_a_point(turn == 10 ? handler_that_polls_once : NULL);
    }
    stallbox_stop(5000);
}

__attribute__((noinline)) static void wait_for_reply(int ms)
{
    struct pollfd none = {.fd = -1};
    poll(&none, 1, ms);
    KEEP_FRAME();
}

/* A handler waits for a reply in every message, and once for a long time. Between the two polling places and main there
 * is no frame on the stack that could show which of them is the loop's. */
static void child_waits_for_a_reply_in_every_message(void)
{
    child_start_with(60000, 300);
    child_wait_for_rows();
    wake_fd = eventfd(0, EFD_CLOEXEC);
    for (int i = 0; i < 60; i++) {
        volatile int turn = i; /* see child_run_loop() */
        wait_for_work();
        wait_for_reply(turn == 50 ? 450 : 1);
    }
    stallbox_stop(5000);
}

__attribute__((noinline)) static void connect_to_something(void)
{
    struct pollfd none = {.fd = -1};
    for (int i = 0; i < 5; i++) {
        poll(&none, 1, 5);
    }
    KEEP_FRAME();
}

__attribute__((noinline)) static void deeper(int depth, void (*body)(void))
{
    volatile char ballast[256];
    ballast[0] = (char)depth;
    if (depth > 0) {
        deeper(depth - 1, body);
    } else {
        body();
    }
    ballast[1] = ballast[0];
}

static void loop_for_a_while(void)
{
    child_run_loop(150, -1, NULL);
}

/* First a loop at start-up, then the real one, further in. The recorder must not wait for the first one. */
static void child_changes_its_loop(void)
{
    child_start_with(600, 60000);
    child_wait_for_rows();
    connect_to_something();
    deeper(5, loop_for_a_while);
    stallbox_stop(5000);
}

static void tear_down_slowly(void)
{
    child_sleep_ms(1200);
}

__attribute__((noinline)) static void wait_and_look_at_the_time(void)
{
    struct pollfd watched = {.fd = wake_fd, .events = POLLIN};
    struct timespec now;
    poll(&watched, 1, 5);
    clock_gettime(CLOCK_MONOTONIC, &now); /* a sample is due here */
    void *volatile memory = malloc(100);
    free(memory);
    KEEP_FRAME();
}

/* As libuv does: samples find the polling function on the stack, but at its end, and the handlers are not called from
 * it. */
static void child_stalls_behind_a_poller_that_was_sampled(void)
{
    child_start_with(400, 60000);
    child_wait_for_rows();
    wake_fd = eventfd(0, EFD_CLOEXEC);
    for (int i = 0; i < 60; i++) {
        volatile int turn = i; /* see child_run_loop() */
        wait_and_look_at_the_time();
        if (turn == 50) {
            tear_down_slowly();
        }
    }
    stallbox_stop(5000);
}

__attribute__((noinline)) static void loop_with_handlers(int passes, int stall_at, void (*stall)(void))
{
    for (int i = 0; i < passes; i++) {
        volatile int turn = i; /* see child_run_loop() */
        struct pollfd none = {.fd = -1};
        poll(&none, 1, 5);
        for (int k = 0; k < 3; k++) {
            struct timespec pause = {.tv_nsec = 1000000};
            nanosleep(&pause, NULL); /* samples well inside the message find this frame */
        }
        dispatch(turn == stall_at ? stall : NULL);
    }
    KEEP_FRAME();
}

/* The loop's function returns for good, and the code after it takes longer than any message may. */
static void child_ends_its_loop(void)
{
    child_start_with(400, 60000);
    child_wait_for_rows();
    loop_with_handlers(40, -1, NULL);
    tear_down_slowly();
    stallbox_stop(5000);
}

static void child_stalls_in_its_loop(void)
{
    child_start_with(400, 60000);
    child_wait_for_rows();
    loop_with_handlers(40, 30, tear_down_slowly);
    stallbox_stop(5000);
}

/* The polling function has always returned before. So the place of the stall does not show that the loop has ended. */
static void child_stalls_where_the_poller_returns(void)
{
    child_start_with(400, 60000);
    child_wait_for_rows();
    wake_fd = eventfd(0, EFD_CLOEXEC);
    for (int i = 0; i < 40; i++) {
        volatile int turn = i; /* see child_run_loop() */
        iterate(turn == 30 ? tear_down_slowly : NULL);
    }
    stallbox_stop(5000);
}

static void test_what_follows_a_loop_that_ended_raises_no_alarm(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_ends_its_loop), 0);
    assert_int_equal(count_files(recorded_process_raw(), SBX_RAW_SUFFIX), 0);
}

static void expect_one_anr(void (*child)(void))
{
    assert_int_equal(recorded_process_run(child), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_ANR);
    sbx_snapshot_destroy(snapshot);
}

static void test_a_message_that_hangs_below_the_loop_fires(void **state)
{
    (void)state;
    expect_one_anr(child_stalls_in_its_loop);
}

static void test_a_message_that_hangs_behind_the_polling_function_fires(void **state)
{
    (void)state;
    expect_one_anr(child_stalls_where_the_poller_returns);
}

static void test_a_message_that_hangs_behind_a_sampled_polling_function_fires(void **state)
{
    (void)state;
    expect_one_anr(child_stalls_behind_a_poller_that_was_sampled);
}

static void test_a_slow_message_is_kept_with_the_sleep_that_made_it_slow(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_sleeps_in_a_message), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_SLOW_MESSAGE);
    assert_true(snapshot->header.trigger.end_ns - snapshot->header.trigger.begin_ns >= 400000000);
    int sleeps = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->kind == SBX_RECORD_SLEEP && record->end_ns - record->begin_ns >= 390000000) {
            sleeps++;
            assert_int_equal(record->op, SBX_OP_NANOSLEEP);
            assert_int_equal(record->message, snapshot->header.trigger.message);
            assert_true(passes_through(snapshot, record, (void *)handler_that_sleeps));
        }
    }
    assert_int_equal(sleeps, 1);
    sbx_snapshot_destroy(snapshot);
}

static void expect_one_message_of_four_polls(void (*child)(void))
{
    assert_int_equal(recorded_process_run(child), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_SLOW_MESSAGE);
    assert_true(snapshot->header.trigger.end_ns - snapshot->header.trigger.begin_ns >= 1200000000);
    int waits = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        waits += snapshot->records[i].kind == SBX_RECORD_POLL &&
                 passes_through(snapshot, &snapshot->records[i], (void *)handler_that_polls);
    }
    assert_int_equal(waits, 4);
    sbx_snapshot_destroy(snapshot);
}

static void test_a_handler_that_polls_is_part_of_its_message(void **state)
{
    (void)state;
    expect_one_message_of_four_polls(child_polls_in_a_message);
}

static void test_a_modal_poll_is_found_where_the_polling_function_returns(void **state)
{
    (void)state;
    expect_one_message_of_four_polls(child_polls_in_a_message_as_glib_does);
}

static void test_a_modal_poll_is_found_where_no_sample_was_taken_before(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_polls_in_a_message_no_sample_was_taken_in), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_SLOW_MESSAGE);
    assert_true(snapshot->header.trigger.end_ns - snapshot->header.trigger.begin_ns >= 1000000000);
    sbx_snapshot_destroy(snapshot);
}

/* As `watch` does: it polls only to check, and sleeps. */
static void child_sleeps_in_each_turn(void)
{
    child_start_with(400, 300);
    child_wait_for_rows();
    wake_fd = eventfd(0, EFD_CLOEXEC);
    for (int i = 0; i < 4; i++) {
        volatile int turn = i; /* see child_run_loop() */
        struct pollfd watched = {.fd = wake_fd, .events = POLLIN};
        poll(&watched, 1, 0);
        poll(&watched, 1, 0);
        child_sleep_ms(turn == 2 ? 700 : 350);
    }
    stallbox_stop(5000);
}

/* As xargs and shells do. */
static void child_waits_for_children_after_it_polled(void)
{
    child_start_with(400, 300);
    child_wait_for_rows();
    struct pollfd none = {.fd = -1};
    for (int i = 0; i < 6; i++) {
        volatile int turn = i; /* see child_run_loop() */
        poll(&none, 1, turn - turn);
    }
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            child_pause_ms(800);
            _exit(0);
        }
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    stallbox_stop(5000);
}

/* Shared with the children: whether a child has ended. */
static atomic_int *child_is_over;

/* Called when the wait is recorded. It keeps the thread there for longer than a message may take, as a busy machine
 * would. */
static size_t walk_slowly_behind_a_wait(void *context, size_t first, uint64_t *functions, uint32_t *lines, size_t max)
{
    (void)context, (void)first, (void)functions, (void)lines, (void)max;
    if (*child_is_over != 0) {
        child_pause_ms(300);
    }
    return 0;
}

static void child_is_kept_behind_its_first_wait(void)
{
    const struct stallbox_provider_options options = {.sizeof_options = sizeof options,
                                                      .name = "test",
                                                      .walk = walk_slowly_behind_a_wait,
                                                      .flags = STALLBOX_PROVIDER_SIGNAL_SAFE};
    struct stallbox_provider *provider;
    struct pollfd none = {.fd = -1};
    child_is_over = mmap(NULL, sizeof *child_is_over, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    child_expect(child_is_over != MAP_FAILED, "memory");
    child_expect(stallbox_provider_register(&options, &provider) == STALLBOX_OK, "a runtime is registered");
    child_start_with(400, 60000);
    child_wait_for_rows();
    void *former = stallbox_provider_enter(provider, child_is_over);
    for (int i = 0; i < 6; i++) {
        volatile int turn = i; /* see child_run_loop() */
        poll(&none, 1, turn - turn);
    }
    pid_t pid = fork();
    if (pid == 0) {
        child_pause_ms(800);
        *child_is_over = 1;
        _exit(0);
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    stallbox_provider_leave(provider, former);
    stallbox_stop(5000);
}

static void test_a_pause_counts_before_its_call_is_seen_to_be_over(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_is_kept_behind_its_first_wait), 0);
    assert_int_equal(count_files(recorded_process_raw(), SBX_RAW_SUFFIX), 0);
}

static void test_what_sleeps_in_each_of_its_turns_raises_no_alarm(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_sleeps_in_each_turn), 0);
    assert_int_equal(count_files(recorded_process_raw(), SBX_RAW_SUFFIX), 0);
}

static void test_what_waits_for_children_as_its_work_raises_no_alarm(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_waits_for_children_after_it_polled), 0);
    assert_int_equal(count_files(recorded_process_raw(), SBX_RAW_SUFFIX), 0);
}

/* A handler of a loop that polls other descriptors waits at a terminal by read(). */
static int terminal = -1, keyboard = -1;

__attribute__((noinline)) static void handler_that_awaits_a_key(void)
{
    char key;
    child_expect(read(terminal, &key, 1) == 1, "a key comes");
    KEEP_FRAME();
}

__attribute__((noinline)) static void handler_that_polls_for_a_key(void)
{
    struct pollfd watched = {.fd = terminal, .events = POLLIN};
    poll(&watched, 1, 900);
    KEEP_FRAME();
}

static void *press_a_key(void *unused)
{
    child_pause_ms(1400);
    child_expect(write(keyboard, "x\n", 2) == 2, "a key is pressed");
    return unused;
}

static void child_awaits_keys(void)
{
    pthread_t thread;
    char name[64];
    child_start_with(400, 400);
    child_wait_for_rows();
    keyboard = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    child_expect(keyboard >= 0 && grantpt(keyboard) == 0 && unlockpt(keyboard) == 0 &&
                     ptsname_r(keyboard, name, sizeof name) == 0,
                 "there is a terminal");
    terminal = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    child_expect(terminal >= 0, "it opens");
    child_run_loop(60, 40, handler_that_polls_for_a_key);
    child_expect(pthread_create(&thread, NULL, press_a_key, NULL) == 0, "a thread");
    child_run_loop(60, 40, handler_that_awaits_a_key);
    pthread_join(thread, NULL);
    stallbox_stop(5000);
}

static void test_a_handler_that_awaits_a_key_raises_no_alarm(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_awaits_keys), 0);
    assert_int_equal(count_files(recorded_process_raw(), SBX_RAW_SUFFIX), 0);
}

static void test_a_loop_that_turns_in_a_handler_raises_no_alarm(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_answers_in_a_dialog), 0);
    assert_int_equal(count_files(recorded_process_raw(), SBX_RAW_SUFFIX), 0);
}

static void test_a_slow_message_of_a_loop_inside_a_handler_is_its_own(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_sleeps_in_a_dialog), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_SLOW_MESSAGE);
    int sleeps = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        sleeps += record->kind == SBX_RECORD_SLEEP && record->message == snapshot->header.trigger.message &&
                  passes_through(snapshot, record, (void *)handler_that_sleeps);
        /* Polls of the dialog are idle time and belong to no message. */
        assert_false(record->kind == SBX_RECORD_POLL && record->end_ns - record->begin_ns >= 5000000);
    }
    assert_int_equal(sleeps, 1);
    sbx_snapshot_destroy(snapshot);
}

static void test_a_reply_awaited_in_every_message_is_never_the_loop(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_waits_for_a_reply_in_every_message), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_SLOW_MESSAGE);
    int waits = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        waits += record->kind == SBX_RECORD_POLL && record->message == snapshot->header.trigger.message &&
                 passes_through(snapshot, record, (void *)wait_for_reply);
    }
    assert_int_equal(waits, 1);
    sbx_snapshot_destroy(snapshot);
}

static void test_a_program_that_changes_its_loop_raises_no_alarm(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_changes_its_loop), 0);
    assert_int_equal(count_files(recorded_process_raw(), SBX_RAW_SUFFIX), 0);
}

static void test_a_program_that_never_loops_is_never_judged(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_never_loops), 0);
    assert_int_equal(count_files(recorded_process_raw(), SBX_RAW_SUFFIX), 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, recorded_process_set_up, recorded_process_tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_a_slow_message_is_kept_with_the_sleep_that_made_it_slow),
        CASE(test_a_handler_that_polls_is_part_of_its_message),
        CASE(test_a_modal_poll_is_found_where_the_polling_function_returns),
        CASE(test_a_modal_poll_is_found_where_no_sample_was_taken_before),
        CASE(test_what_sleeps_in_each_of_its_turns_raises_no_alarm),
        CASE(test_what_waits_for_children_as_its_work_raises_no_alarm),
        CASE(test_a_pause_counts_before_its_call_is_seen_to_be_over),
        CASE(test_a_handler_that_awaits_a_key_raises_no_alarm),
        CASE(test_a_loop_that_turns_in_a_handler_raises_no_alarm),
        CASE(test_a_slow_message_of_a_loop_inside_a_handler_is_its_own),
        CASE(test_a_reply_awaited_in_every_message_is_never_the_loop),
        CASE(test_a_program_that_changes_its_loop_raises_no_alarm),
        CASE(test_what_follows_a_loop_that_ended_raises_no_alarm),
        CASE(test_a_message_that_hangs_below_the_loop_fires),
        CASE(test_a_message_that_hangs_behind_the_polling_function_fires),
        CASE(test_a_message_that_hangs_behind_a_sampled_polling_function_fires),
        CASE(test_a_program_that_never_loops_is_never_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
