/* SPDX-License-Identifier: Apache-2.0 */
/* test_self_pipe.c - loops that are woken by an eventfd, a pipe or a pair of sockets: which thread wrote, and which
 * message handled it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef HAS_GLIB
#include <glib.h>
#endif
#ifdef HAS_UV
#include <uv.h>
#endif

#include "capture_settings.h"
#include "recorded_process.h"

#define OWN_PLACE __attribute__((noinline))

enum {
    TURNS = 6,
    FLOOD = 1000
};

/* ---- what a snapshot tells ---- */

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

static const struct sbx_record *hop_of(const struct sbx_snapshot *snapshot, const struct sbx_record *task)
{
    for (size_t i = 0; i < snapshot->record_count && task != NULL; i++) {
        if (snapshot->records[i].kind == SBX_RECORD_HOP && snapshot->records[i].wait == task->wait) {
            return &snapshot->records[i];
        }
    }
    return NULL;
}

/* The task that was queued in `function` and run by the main thread; its hop comes from another thread. */
static const struct sbx_record *expect_task(const struct sbx_snapshot *snapshot, uint8_t op, void *function)
{
    const struct sbx_record *task = find_task(snapshot, op, function), *hop = hop_of(snapshot, task);
    assert_non_null(task);
    assert_non_null(hop);
    assert_int_equal(hop->op, op);
    assert_int_not_equal(hop->peer, tid_of_record(snapshot, task));
    assert_true(hop->begin_ns <= hop->end_ns && hop->end_ns == task->begin_ns);
    return task;
}

/* The table of tasks holds no write that has not been read. */
static void expect_none_left(void)
{
    const struct sbx_recording_header *header = child_header();
    const struct sbx_task_entry *tasks = (const void *)((const char *)header + header->tasks.at);
    for (uint32_t i = 0; i < header->tasks.count; i++) {
        child_expect(sbx_task_state_of(tasks[i].word) == SBX_TASK_FREE || tasks[i].group != SBX_GROUP_SELF_PIPE,
                     "no task is left behind");
    }
}

static unsigned count_left(void)
{
    const struct sbx_recording_header *header = child_header();
    const struct sbx_task_entry *tasks = (const void *)((const char *)header + header->tasks.at);
    unsigned count = 0;
    for (uint32_t i = 0; i < header->tasks.count; i++) {
        count += sbx_task_state_of(tasks[i].word) != SBX_TASK_FREE && tasks[i].group == SBX_GROUP_SELF_PIPE;
    }
    return count;
}

/* ---- what a child does ---- */

static int reader = -1, writer = -1, set = -1;

static void *call(void *function)
{
    ((void (*)(void))function)();
    return NULL;
}

/* Call the function on another thread, which has ended when this returns. */
static void on_another_thread(void (*function)(void))
{
    pthread_t thread;
    child_expect(pthread_create(&thread, NULL, call, (void *)function) == 0, "a thread starts");
    pthread_join(thread, NULL);
}

static void write_one(void)
{
    const uint64_t one = 1;
    child_expect(write(writer, &one, sizeof one) == (ssize_t)sizeof one, "it is written");
}

OWN_PLACE static void write_early(void)
{
    write_one();
    KEEP_FRAME();
}

OWN_PLACE static void write_here(void)
{
    errno = EXDEV;
    write_one();
    child_expect(errno == EXDEV, "errno is kept");
    KEEP_FRAME();
}

OWN_PLACE static void write_elsewhere(void)
{
    write_one();
    KEEP_FRAME();
}

static void make_eventfd(void)
{
    reader = writer = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    set = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = UINT64_C(0x1234567890abcdef)}};
    child_expect(reader >= 0 && set >= 0 && epoll_ctl(set, EPOLL_CTL_ADD, reader, &event) == 0, "a loop's descriptors");
}

static void make_pipe(void)
{
    int ends[2];
    child_expect(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0, "a pipe");
    reader = ends[0];
    writer = ends[1];
}

static void empty(void)
{
    uint64_t bytes[64];
    errno = EXDEV;
    child_expect(read(reader, bytes, sizeof bytes) >= 8 && errno == EXDEV, "there is something to read");
}

/* The waits of the loops, each at one place. */
OWN_PLACE static int wait_in_set(int timeout_ms)
{
    struct epoll_event events[4];
    int ready = epoll_wait(set, events, 4, timeout_ms);
    child_expect(ready != 1 || events[0].data.u64 == UINT64_C(0x1234567890abcdef), "the event is the program's");
    return ready;
}

OWN_PLACE static int wait_polled(int timeout_ms)
{
    struct pollfd polled = {.fd = reader, .events = POLLIN};
    int ready = poll(&polled, 1, timeout_ms);
    child_expect(ready != 1 || polled.revents == POLLIN, "it can be read");
    return ready;
}

OWN_PLACE static int wait_selected(const int ends[2], bool waits)
{
    fd_set in;
    FD_ZERO(&in);
    FD_SET(ends[0], &in);
    FD_SET(ends[1], &in);
    int ready =
        select((ends[0] > ends[1] ? ends[0] : ends[1]) + 1, &in, NULL, NULL, waits ? NULL : &(struct timeval){0});
    child_expect(ready != 1 || FD_ISSET(reader, &in), "by the other end");
    return ready;
}

/* ---- an epoll loop with an eventfd ---- */

/* One turn of the loop, which `fill` wakes from another thread. Inlined, because a loop polls at one place of its
 * stack. */
static inline __attribute__((always_inline)) void turn_woken_by(void (*fill)(void))
{
    on_another_thread(fill);
    child_expect(wait_in_set(-1) == 1, "the loop is woken");
    empty();
}

OWN_PLACE static void loop_over_eventfd(void)
{
    make_eventfd();
    for (int turn = 0; turn < TURNS; turn++) {
        turn_woken_by(turn == 0 ? write_early : turn == 4 ? write_here : write_elsewhere);
        child_pause_ms(3);
    }
    child_expect(wait_in_set(0) == 0, "all was read");
    expect_none_left();
}

static void test_a_message_of_an_epoll_loop_names_the_thread_that_wrote_to_its_eventfd(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(loop_over_eventfd);
    const struct sbx_record *task = expect_task(snapshot, SBX_OP_WRITE, (void *)write_here);
    assert_true(task->end_ns - task->begin_ns >= 3000000);
    assert_int_equal(hop_of(snapshot, task)->amount, 0);
    expect_task(snapshot, SBX_OP_WRITE, (void *)write_early); /* also the first time */
    sbx_snapshot_destroy(snapshot);
}

/* ---- poll() and a pipe; what comes while the loop is busy ---- */

OWN_PLACE static void write_flood(void)
{
    for (int i = 0; i < FLOOD; i++) {
        write_one();
    }
    KEEP_FRAME();
}

OWN_PLACE static void loop_over_pipe(void)
{
    make_pipe();
    for (int turn = 0; turn < TURNS; turn++) {
        on_another_thread(turn == 0 ? write_early : turn == 4 ? write_flood : write_elsewhere);
        child_expect(wait_polled(-1) == 1, "the loop is woken");
        uint64_t bytes[FLOOD + 1];
        ssize_t count = read(reader, bytes, sizeof bytes);
        child_expect(count == (turn == 4 ? FLOOD : 1) * (ssize_t)sizeof bytes[0], "all of it comes");
        child_pause_ms(3);
    }
    child_expect(wait_polled(0) == 0, "all was read");
    expect_none_left();
}

static void test_many_writes_before_a_loop_comes_to_them_are_one_task_that_tells_how_many(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(loop_over_pipe);
    const struct sbx_record *task = expect_task(snapshot, SBX_OP_WRITE, (void *)write_flood);
    const struct sbx_record *hop = hop_of(snapshot, task);
    assert_int_equal(hop->flags & SBX_FLAG_MERGED, SBX_FLAG_MERGED);
    assert_int_equal(hop->amount, FLOOD - 1);
    assert_int_equal(hop->object, 0);
    sbx_snapshot_destroy(snapshot);
}

/* ---- select() and a pair of sockets ---- */

OWN_PLACE static void send_here(void)
{
    child_expect(send(writer, "x", 1, 0) == 1, "it is sent");
    KEEP_FRAME();
}

OWN_PLACE static void loop_over_sockets(void)
{
    int ends[2];
    child_expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0, "a pair of sockets");
    for (int turn = 0; turn < TURNS; turn++) {
        reader = ends[turn < 3]; /* each end can wake the other */
        writer = ends[turn >= 3];
        on_another_thread(send_here);
        child_expect(wait_selected(ends, true) == 1, "the loop is woken");
        char bytes[8];
        child_expect(recv(reader, bytes, sizeof bytes, 0) == 1, "it is read");
        child_pause_ms(3);
    }
    child_expect(wait_selected(ends, false) == 0, "all was read");
    expect_none_left();
}

static void test_either_end_of_a_pair_of_sockets_wakes_a_loop_of_select(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(loop_over_sockets);
    expect_task(snapshot, SBX_OP_SEND, (void *)send_here);
    unsigned count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        count += snapshot->records[i].kind == SBX_RECORD_TASK && snapshot->records[i].op == SBX_OP_SEND;
    }
    assert_int_equal(count, TURNS - 2); /* except the first of each direction */
    sbx_snapshot_destroy(snapshot);
}

/* ---- what a message is not about ---- */

OWN_PLACE static void loop_over_two(void)
{
    int ends[2];
    make_eventfd();
    child_expect(pipe(ends) == 0, "a pipe");
    struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = UINT64_C(0x1234567890abcdef) + 1}};
    child_expect(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event) == 0, "it is in the set");
    for (int turn = 0; turn < TURNS; turn++) {
        on_another_thread(turn == 4 ? write_here : write_elsewhere);
        child_expect(turn != 4 || write(ends[1], "x", 1) == 1, "both are ready");
        child_expect(wait_in_set(-1) == (turn == 4 ? 2 : 1), "the loop is woken");
        empty();
        char byte;
        child_expect(turn != 4 || read(ends[0], &byte, 1) == 1, "both are read");
        child_pause_ms(3);
    }
    child_expect(wait_in_set(0) == 0, "all was read");
    expect_none_left();
}

static void test_a_message_for_which_more_than_one_descriptor_was_ready_is_said_to_be_about_none(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(loop_over_two);
    const struct sbx_record *task = find_task(snapshot, SBX_OP_WRITE, (void *)write_here);
    assert_true(task == NULL || task->end_ns - task->begin_ns < 3000000); /* it may be recorded as a short task */
    assert_non_null(find_task(snapshot, SBX_OP_WRITE, (void *)write_elsewhere));
    sbx_snapshot_destroy(snapshot);
}

OWN_PLACE static void loop_that_reads_late(void)
{
    make_eventfd();
    for (int turn = 0; turn < TURNS; turn++) {
        on_another_thread(write_elsewhere);
        child_expect(wait_in_set(-1) == 1, "the loop is woken");
        if (turn == 3) {
            on_another_thread(write_here); /* read together with the other; no later message is about it */
        }
        empty();
        child_pause_ms(3);
    }
    child_expect(wait_in_set(0) == 0, "all was read");
    expect_none_left();
}

static void test_what_is_read_with_an_earlier_write_wakes_no_later_message(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(loop_that_reads_late);
    assert_null(find_task(snapshot, SBX_OP_WRITE, (void *)write_here));
    assert_non_null(find_task(snapshot, SBX_OP_WRITE, (void *)write_elsewhere));
    sbx_snapshot_destroy(snapshot);
}

OWN_PLACE static void loop_that_reads_in_part(void)
{
    make_pipe();
    for (int turn = 0; turn < TURNS; turn++) {
        uint64_t one;
        if (turn != 4) {
            on_another_thread(write_elsewhere);
        }
        child_expect(wait_polled(-1) == 1, "the loop is woken");
        if (turn == 3) {
            on_another_thread(write_here);
        }
        child_expect(read(reader, &one, sizeof one) == (ssize_t)sizeof one, "one is read");
        child_pause_ms(3);
    }
    child_expect(wait_polled(0) == 0, "all was read");
}

static void test_what_a_read_of_a_pipe_leaves_there_wakes_the_next_message(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(loop_that_reads_in_part);
    expect_task(snapshot, SBX_OP_WRITE, (void *)write_here);
    sbx_snapshot_destroy(snapshot);
}

/* A wait inside of a message is a part of it. */
OWN_PLACE static void wait_for_answer(void)
{
    int ends[2];
    child_expect(pipe(ends) == 0, "a pipe");
    struct pollfd polled = {.fd = ends[0], .events = POLLIN};
    child_expect(poll(&polled, 1, 3) == 0, "no answer comes");
    close(ends[0]);
    close(ends[1]);
    KEEP_FRAME();
}

OWN_PLACE static void loop_whose_handler_polls(void)
{
    make_eventfd();
    for (int turn = 0; turn < 4 * TURNS; turn++) {
        turn_woken_by(turn == 4 * TURNS - 2 ? write_here : write_elsewhere);
        if (turn == 4 * TURNS - 2) {
            wait_for_answer();
            child_pause_ms(3);
            wait_for_answer();
        }
    }
    child_expect(wait_in_set(0) == 0, "all was read");
    expect_none_left();
}

static void test_a_poll_call_of_a_handler_does_not_end_what_the_message_is_about(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(loop_whose_handler_polls);
    const struct sbx_record *task = expect_task(snapshot, SBX_OP_WRITE, (void *)write_here);
    assert_true(task->end_ns - task->begin_ns >= 9000000);
    sbx_snapshot_destroy(snapshot);
}

/* ---- which descriptors are followed ---- */

static void write_to_descriptors_nobody_polls(void)
{
    uint64_t one = 1;
    make_eventfd();
    for (int turn = 0; turn < TURNS; turn++) { /* so that a loop is known */
        turn_woken_by(write_elsewhere);
    }
    child_expect(wait_in_set(0) == 0, "all was read");
    int other = eventfd(0, EFD_CLOEXEC);
    for (int i = 0; i < 100; i++) {
        child_expect(write(other, &one, sizeof one) == (ssize_t)sizeof one, "it is written");
    }
    child_expect(count_left() == 0, "nobody polls it: it is not followed");
}

static void test_writes_to_what_nobody_polls_are_no_tasks(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(write_to_descriptors_nobody_polls));
}

static void close_and_use_again(void)
{
    make_eventfd();
    for (int turn = 0; turn < TURNS; turn++) {
        turn_woken_by(write_elsewhere);
    }
    child_expect(wait_in_set(0) == 0, "all was read");
    write_one();
    child_expect(count_left() == 1, "it lies there");
    close(reader);
    child_expect(count_left() == 0, "it goes with the descriptor");
    int other = open("/dev/null", O_WRONLY | O_CLOEXEC);
    child_expect(other == writer, "another has its number");
    write_one();
    child_expect(count_left() == 0, "which is none");
    make_eventfd();
    for (int turn = 0; turn < TURNS; turn++) {
        write_one();
        child_expect(wait_in_set(-1) == 1, "the loop is woken");
        empty();
    }
    child_expect(wait_in_set(0) == 0, "all was read");
    write_one();
    child_expect(count_left() == 1, "it lies there");
    child_expect(dup2(other, reader) == reader, "another is put in its place");
    child_expect(count_left() == 0, "and it is gone");
    for (int i = 0; i < 300; i++) { /* more than there are places */
        int ends[2];
        child_expect(pipe(ends) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0, "a pipe");
    }
    make_pipe();
    for (int turn = 0; turn < 2; turn++) {
        write_one();
        child_expect(wait_polled(-1) == 1, "the loop is woken");
        empty();
    }
    child_expect(wait_polled(0) == 0, "all was read");
    write_one();
    child_expect(count_left() == 1, "places are given back");
#ifdef __GLIBC__ /* musl has no close_range() */
    child_expect(close_range((unsigned)reader, (unsigned)writer, 0) == 0 && count_left() == 0, "a range is closed");
#else
    child_expect(close(reader) == 0 && count_left() == 0, "it goes with the descriptor");
#endif
}

static void test_a_descriptor_is_followed_until_it_is_closed(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(close_and_use_again));
}

static void have_the_points_out_and_in(void)
{
    make_eventfd();
    for (int turn = 0; turn < 3 * TURNS; turn++) {
        if (turn % TURNS == 0) {
            child_set_points(turn == TURNS ? SBX_POINTS_ALL & ~SBX_POINT_BIT(SBX_GROUP_SELF_PIPE) : SBX_POINTS_ALL);
        }
        turn_woken_by(write_here);
        child_pause_ms(3);
    }
    child_expect(wait_in_set(0) == 0, "all was read");
    expect_none_left();
}

static void test_a_loop_goes_on_while_the_group_is_out(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(have_the_points_out_and_in);
    expect_task(snapshot, SBX_OP_WRITE, (void *)write_here);
    sbx_snapshot_destroy(snapshot);
}

/* ---- other threads, handlers, children ---- */

static atomic_int worked;

OWN_PLACE static void *work_for_ever(void *unused)
{
    for (int turn = 0; turn < TURNS; turn++) {
        child_expect(wait_polled(-1) == 1, "the worker is woken");
        eventfd_t count;
        child_expect(eventfd_read(reader, &count) == 0, "it is read");
        child_pause_ms(3);
        atomic_fetch_add(&worked, 1);
    }
    (void)wait_polled(0);
    return unused;
}

OWN_PLACE static void order_here(void)
{
    child_expect(eventfd_write(writer, 1) == 0, "it is written");
    KEEP_FRAME();
}

static void have_a_worker(void)
{
    pthread_t worker;
    reader = writer = eventfd(0, EFD_CLOEXEC);
    child_expect(pthread_create(&worker, NULL, work_for_ever, NULL) == 0, "a worker");
    for (int turn = 0; turn < TURNS; turn++) {
        order_here();
        while (atomic_load(&worked) == turn) {
            child_pause_ms(1);
        }
    }
    pthread_join(worker, NULL);
    expect_none_left();
}

static void test_a_worker_with_a_loop_of_its_own_runs_what_others_wrote(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(have_a_worker);
    expect_task(snapshot, SBX_OP_EVENTFD_WRITE, (void *)order_here);
    sbx_snapshot_destroy(snapshot);
}

OWN_PLACE static void write_in_handler(int signal)
{
    const uint64_t one = 1;
    int saved_errno = errno;
    (void)signal;
    child_expect(write(writer, &one, sizeof one) == (ssize_t)sizeof one, "it is written");
    errno = saved_errno;
    KEEP_FRAME();
}

static void *storm(void *unused)
{
    for (int i = 0; i < 2000; i++) {
        const struct iovec part = {.iov_base = &(uint64_t){1}, .iov_len = sizeof(uint64_t)};
        child_expect(writev(writer, &part, 1) == (ssize_t)sizeof(uint64_t), "it is written");
    }
    atomic_fetch_add(&worked, 1);
    return unused;
}

static void write_in_handlers(void)
{
    pthread_t threads[2];
    make_eventfd();
    child_expect(signal(SIGUSR1, write_in_handler) != SIG_ERR, "a handler is set");
    for (int turn = 0; turn < TURNS; turn++) { /* the technique that self-pipes are named after */
        raise(SIGUSR1);
        child_expect(wait_in_set(-1) == 1, "the loop is woken");
        empty();
        child_pause_ms(3);
    }
    for (int i = 0; i < 2; i++) {
        child_expect(pthread_create(&threads[i], NULL, storm, NULL) == 0, "a thread starts");
    }
    uint64_t sum = 0;
    for (unsigned turn = 0; atomic_load(&worked) < 2; turn++) {
        uint64_t count;
        pthread_kill(threads[turn % 2], SIGUSR1); /* the thread may be anywhere, also in the recorder's code */
        if (wait_in_set(0) == 1 && read(reader, &count, sizeof count) == (ssize_t)sizeof count) {
            sum += count;
        }
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    uint64_t count;
    sum += read(reader, &count, sizeof count) == (ssize_t)sizeof count ? count : 0;
    child_expect(sum >= 4000, "nothing is lost");
    child_expect(wait_in_set(0) == 0, "all was read");
    expect_none_left();
}

static void test_writes_in_signal_handlers_and_from_many_threads_wake_the_loop_and_leave_no_task(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(write_in_handlers);
    assert_non_null(find_task(snapshot, SBX_OP_WRITE, (void *)write_in_handler));
    sbx_snapshot_destroy(snapshot);
}

static void have_a_child(void)
{
    make_eventfd();
    for (int turn = 0; turn < TURNS; turn++) {
        turn_woken_by(write_elsewhere);
    }
    child_expect(wait_in_set(0) == 0, "all was read");
    write_one();
    child_expect(count_left() == 1, "it lies there");
    pid_t child = fork();
    if (child == 0) {
        close(reader);
        close(set);
        _exit(0);
    }
    int status = 0;
    child_expect(waitpid(child, &status, 0) == child && status == 0, "the child ends");
    child = vfork();
    if (child == 0) {
        close(reader);
        _exit(0);
    }
    child_expect(waitpid(child, &status, 0) == child && status == 0, "the child ends");
    child_expect(count_left() == 1, "what a child closes is its own");
    child_expect(wait_in_set(-1) == 1, "the loop is woken");
    empty();
    child_expect(wait_in_set(0) == 0, "all was read");
    expect_none_left();
}

static void test_what_a_child_closes_is_followed_in_its_parent(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(have_a_child));
}

/* ---- libraries whose own points tell better ---- */

#if defined(HAS_UV) || defined(HAS_GLIB)
static unsigned count_of_write(const struct sbx_snapshot *snapshot)
{
    unsigned count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        count += record->kind == SBX_RECORD_TASK && record->op == SBX_OP_WRITE;
    }
    return count;
}
#endif

#ifdef HAS_UV
static uv_async_t async;
static int sent;

static void on_async(uv_async_t *self)
{
    child_pause_ms(3);
    sent++;
    (void)self;
}

OWN_PLACE static void send_to_loop(void)
{
    child_expect(uv_async_send(&async) == 0, "it is sent");
    KEEP_FRAME();
}

static void loop_of_libuv(void)
{
    uv_loop_t loop;
    child_expect(uv_loop_init(&loop) == 0 && uv_async_init(&loop, &async, on_async) == 0, "a loop");
    for (int turn = 0; turn < TURNS; turn++) {
        on_another_thread(send_to_loop);
        uv_run(&loop, UV_RUN_ONCE);
    }
    child_expect(sent == TURNS, "all of them came");
    uv_close((uv_handle_t *)&async, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    child_expect(uv_loop_close(&loop) == 0, "the loop is closed");
    expect_none_left();
}

static void test_what_libuv_sends_to_its_loop_is_told_once_and_by_its_own_points(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(loop_of_libuv);
    assert_non_null(find_task(snapshot, SBX_OP_UV_ASYNC_SEND, (void *)send_to_loop));
    assert_int_equal(count_of_write(snapshot), 0);
    sbx_snapshot_destroy(snapshot);
}
#endif

#ifdef HAS_GLIB
static GMainContext *context;
static int called;

static gboolean on_idle(gpointer unused)
{
    (void)unused;
    child_pause_ms(3);
    called++;
    return G_SOURCE_REMOVE;
}

OWN_PLACE static void attach_here(void)
{
    GSource *source = g_idle_source_new();
    g_source_set_callback(source, on_idle, NULL, NULL);
    g_source_attach(source, context);
    g_source_unref(source);
    KEEP_FRAME();
}

static void loop_of_glib(void)
{
    context = g_main_context_new();
    child_expect(g_main_context_acquire(context), "it is this thread's");
    for (int turn = 0; turn < TURNS; turn++) {
        on_another_thread(attach_here);
        while (called == turn) {
            g_main_context_iteration(context, TRUE);
        }
    }
    g_main_context_release(context);
    g_main_context_unref(context);
    expect_none_left();
}

static void test_what_glib_wakes_its_loop_by_is_told_once_and_by_its_own_points(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(loop_of_glib);
    assert_non_null(find_task(snapshot, SBX_OP_G_SOURCE_ATTACH, (void *)attach_here));
    assert_int_equal(count_of_write(snapshot), 0);
    sbx_snapshot_destroy(snapshot);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_message_of_an_epoll_loop_names_the_thread_that_wrote_to_its_eventfd),
        cmocka_unit_test(test_many_writes_before_a_loop_comes_to_them_are_one_task_that_tells_how_many),
        cmocka_unit_test(test_either_end_of_a_pair_of_sockets_wakes_a_loop_of_select),
        cmocka_unit_test(test_a_message_for_which_more_than_one_descriptor_was_ready_is_said_to_be_about_none),
        cmocka_unit_test(test_what_is_read_with_an_earlier_write_wakes_no_later_message),
        cmocka_unit_test(test_what_a_read_of_a_pipe_leaves_there_wakes_the_next_message),
        cmocka_unit_test(test_a_poll_call_of_a_handler_does_not_end_what_the_message_is_about),
        cmocka_unit_test(test_writes_to_what_nobody_polls_are_no_tasks),
        cmocka_unit_test(test_a_descriptor_is_followed_until_it_is_closed),
        cmocka_unit_test(test_a_loop_goes_on_while_the_group_is_out),
        cmocka_unit_test(test_a_worker_with_a_loop_of_its_own_runs_what_others_wrote),
        cmocka_unit_test(test_writes_in_signal_handlers_and_from_many_threads_wake_the_loop_and_leave_no_task),
        cmocka_unit_test(test_what_a_child_closes_is_followed_in_its_parent),
#ifdef HAS_UV
        cmocka_unit_test(test_what_libuv_sends_to_its_loop_is_told_once_and_by_its_own_points),
#endif
#ifdef HAS_GLIB
        cmocka_unit_test(test_what_glib_wakes_its_loop_by_is_told_once_and_by_its_own_points),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
