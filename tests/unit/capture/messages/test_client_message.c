/* SPDX-License-Identifier: Apache-2.0 */
/* test_client_message.c - what a thread does for a client is a message; what it does for no client is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "order.h"
#include "recorded_process.h"
#include "stallbox/stallbox.h"
#include "test_clients.h"

static int listener;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wanted = PTHREAD_COND_INITIALIZER;
static int queue[64], queued, taken;

static void start(uint32_t anr_ms, uint32_t slow_ms, void *(*body)(void *))
{
    pthread_t thread;
    child_start_with(anr_ms, slow_ms);
    child_wait_for_rows();
    listener = child_listen();
    child_expect(pthread_create(&thread, NULL, body, NULL) == 0, "a thread");
}

static void finish(void)
{
    child_await_clients();
    child_pause_ms(50);
    stallbox_stop(5000);
}

__attribute__((noinline)) static void answer(int client, long ms)
{
    if (ms != 0) {
        child_sleep_ms(ms);
    }
    child_expect(send(client, "a", 1, MSG_NOSIGNAL) == 1, "an answer");
    KEEP_FRAME();
}

/* ---- a thread for each connection ---- */

static volatile int slow_at;
static volatile long slow_ms;

static void *serve_connection(void *unused)
{
    int client = accept(listener, NULL, NULL);
    char question;
    (void)unused;
    for (int i = 0; recv(client, &question, 1, 0) == 1; i++) {
        answer(client, i == slow_at ? slow_ms : 0);
    }
    close(client);
    return NULL;
}

static void child_answers_late(void)
{
    slow_at = 0;
    slow_ms = 400;
    start(60000, 300, serve_connection);
    child_ask_later(1, 10, 1);
    finish();
}

static void child_does_not_answer(void)
{
    slow_at = 2;
    slow_ms = 700;
    start(300, 60000, serve_connection);
    child_ask_later(3, 10, 1);
    finish();
}

static void child_waits_for_its_client(void)
{
    slow_at = -1;
    start(300, 300, serve_connection);
    child_ask_later(3, 450, 1);
    finish();
}

static void expect_one(void (*child)(void), uint32_t kind, uint64_t least_ns, void *function)
{
    assert_int_equal(recorded_process_run(child), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, kind);
    assert_true(snapshot->header.trigger.end_ns - snapshot->header.trigger.begin_ns >= least_ns);
    assert_int_not_equal(snapshot->header.trigger.thread, snapshot->header.main_thread);
    int seen = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        seen += snapshot->records[i].thread == snapshot->header.trigger.thread &&
                snapshot->records[i].message == snapshot->header.trigger.message &&
                passes_through(snapshot, &snapshot->records[i], function);
    }
    assert_true(seen > 0);
    sbx_snapshot_destroy(snapshot);
}

static void expect_none(void (*child)(void))
{
    assert_int_equal(recorded_process_run(child), 0);
    assert_int_equal(count_files(recorded_process_raw(), SBX_RAW_SUFFIX), 0);
}

static void test_a_late_answer_is_a_slow_message_of_the_thread_that_gave_it(void **state)
{
    (void)state;
    expect_one(child_answers_late, SBX_TRIGGER_SLOW_MESSAGE, 390000000, (void *)answer);
}

static void test_a_client_that_gets_no_answer_is_told_while_it_waits(void **state)
{
    (void)state;
    expect_one(child_does_not_answer, SBX_TRIGGER_ANR, 300000000, (void *)answer);
}

static void test_a_thread_that_waits_for_its_client_is_idle(void **state)
{
    (void)state;
    expect_none(child_waits_for_its_client);
}

/* The thread polls its client and another peer, and wakes for whichever sends first. */
static void *relay(void *unused)
{
    int client = accept(listener, NULL, NULL), pair[2];
    struct pollfd both[2] = {{.fd = client, .events = POLLIN}, {.events = POLLIN}};
    char byte;
    child_expect(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "a pair of sockets");
    both[1].fd = pair[0];
    child_expect(recv(client, &byte, 1, 0) == 1 && send(pair[0], &byte, 1, 0) == 1, "a question handed on");
    poll(both, 2, 700);
    answer(client, 0);
    return unused;
}

static void child_relays(void)
{
    start(300, 300, relay);
    child_ask_later(1, 10, 0);
    finish();
}

static void test_a_thread_that_waits_for_its_client_and_for_another_is_idle(void **state)
{
    (void)state;
    expect_none(child_relays);
}

/* While the thread works, the points that would see its answer are removed, as the governor does. */
static void child_loses_its_points(void)
{
    slow_at = 2;
    slow_ms = 900;
    start(600, 600, serve_connection);
    child_ask_later(3, 10, 1);
    child_pause_ms(250);
    child_set_points(SBX_POINTS_ALL & ~SBX_POINT_BIT(SBX_GROUP_SOCKET));
    child_pause_ms(1000);
    finish();
}

static void test_a_question_whose_answer_cannot_be_seen_raises_no_alarm(void **state)
{
    (void)state;
    expect_none(child_loses_its_points);
}

/* ---- a pool that takes connections from a queue ---- */

static void *accept_all(void *unused)
{
    for (;;) {
        int client = accept(listener, NULL, NULL);
        pthread_mutex_lock(&lock);
        queue[queued++ % 64] = client;
        pthread_cond_signal(&wanted);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

__attribute__((noinline)) static int take(void)
{
    pthread_mutex_lock(&lock);
    while (taken == queued) {
        pthread_cond_wait(&wanted, &lock);
    }
    int client = queue[taken++ % 64];
    pthread_mutex_unlock(&lock);
    return client;
}

static sem_t answered;

/* Reads a client's question, gives the client to another thread, and takes the next client. The other thread
 * answers. */
static void *read_and_hand_over(void *unused)
{
    for (;;) {
        char question;
        int client = take();
        if (recv(client, &question, 1, 0) == 1) {
            *(volatile int *)(intptr_t)unused = client;
            sem_post(&answered);
        }
    }
    return unused;
}

static void child_hands_over(void)
{
    static volatile int last;
    pthread_t thread;
    sem_init(&answered, 0, 0);
    start(300, 300, accept_all);
    child_expect(pthread_create(&thread, NULL, read_and_hand_over, (void *)(intptr_t)&last) == 0, "a thread");
    child_ask_later(1, 30, 0);
    sem_wait(&answered);
    child_pause_ms(700); /* the reader waits for work; the client's answer is due from another thread */
    child_expect(send(last, "a", 1, MSG_NOSIGNAL) == 1, "an answer");
    finish();
}

static void test_a_thread_that_has_handed_its_client_over_is_idle(void **state)
{
    (void)state;
    expect_none(child_hands_over);
}

static void *work_by_itself(void *unused)
{
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&lock);
        struct timespec until = in_ten_seconds(CLOCK_REALTIME);
        until.tv_sec -= 10;
        pthread_cond_timedwait(&wanted, &lock, &until);
        pthread_mutex_unlock(&lock);
        child_sleep_ms(400);
    }
    sem_post(&answered);
    return unused;
}

static void child_works_for_nobody(void)
{
    sem_init(&answered, 0, 0);
    start(300, 300, work_by_itself);
    child_expect(sem_wait(&answered) == 0, "the end");
    finish();
}

static void test_a_thread_that_works_for_no_client_is_not_judged(void **state)
{
    (void)state;
    expect_none(child_works_for_nobody);
}

/* ---- a loop over epoll in a thread of its own ---- */

/* More than the three times that a wait must be seen before it counts. On a busy machine a wait may find its question
 * already there, and then is no wait. */
enum {
    QUESTIONS = 6
};
static int latch_set;

__attribute__((noinline)) static void wait_in_handler(int ms)
{
    struct epoll_event event;
    epoll_wait(latch_set, &event, 1, ms);
    KEEP_FRAME();
}

static void *serve_by_epoll(void *unused)
{
    int set = epoll_create1(EPOLL_CLOEXEC), client = accept(listener, NULL, NULL), count = 0;
    struct epoll_event event = {.events = EPOLLIN};
    latch_set = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(set, EPOLL_CTL_ADD, client, &event);
    for (;;) {
        char question;
        epoll_wait(set, &event, 1, -1);
        if (recv(client, &question, 1, MSG_DONTWAIT) != 1) {
            break;
        }
        child_expect(recv(client, &question, 1, MSG_DONTWAIT) != 1, "no second question");
        wait_in_handler(count++ == QUESTIONS - 1 ? 400 : 1);
        answer(client, 0);
    }
    close(client);
    return unused;
}

static void child_waits_in_a_handler_of_its_loop(void)
{
    start(60000, 300, serve_by_epoll);
    child_ask_later(QUESTIONS, 10, 1);
    finish();
}

static void test_a_wait_in_a_handler_of_a_threads_loop_is_part_of_its_message(void **state)
{
    (void)state;
    expect_one(child_waits_in_a_handler_of_its_loop, SBX_TRIGGER_SLOW_MESSAGE, 390000000, (void *)wait_in_handler);
}

/* ---- a client that is slow itself ---- */

__attribute__((noinline)) static void answer_at_length(int client)
{
    static char much[8 << 20];
    for (size_t sent = 0; sent < sizeof much;) {
        ssize_t count = send(client, much + sent, sizeof much - sent, MSG_NOSIGNAL);
        sent = count > 0 ? sent + (size_t)count : sizeof much;
    }
    KEEP_FRAME();
}

static void *send_much(void *unused)
{
    int client = accept(listener, NULL, NULL);
    char question;
    if (recv(client, &question, 1, 0) == 1) {
        answer_at_length(client);
    }
    close(client);
    return unused;
}

static void child_sends_to_a_client_that_does_not_read(void)
{
    start(300, 300, send_much);
    child_ask_later(1, 700, 2);
    finish();
}

static void test_a_client_that_does_not_take_its_answer_raises_no_alarm(void **state)
{
    (void)state;
    expect_none(child_sends_to_a_client_that_does_not_read);
}

/* ---- followed lightly ---- */

static void start_lightly(uint32_t anr_ms, uint32_t slow_ms_or_more, void *(*body)(void *))
{
    pthread_t thread;
    child_start_with(anr_ms, slow_ms_or_more);
    child_wait_for_rows();
    listener = child_listen();
    child_follow_lightly();
    child_expect(pthread_create(&thread, NULL, body, NULL) == 0, "a thread");
}

static void child_answers_late_and_is_followed_lightly(void)
{
    slow_at = 2;
    slow_ms = 400;
    start_lightly(60000, 300, serve_connection);
    child_ask_later(3, 10, 1);
    finish();
}

static void test_a_late_answer_of_a_thread_that_is_followed_lightly_is_a_slow_message(void **state)
{
    (void)state;
    expect_one(child_answers_late_and_is_followed_lightly, SBX_TRIGGER_SLOW_MESSAGE, 390000000, (void *)answer);
}

static void child_does_not_answer_and_is_followed_lightly(void)
{
    slow_at = 2;
    slow_ms = 900;
    start_lightly(300, 60000, serve_connection);
    child_ask_later(3, 10, 1);
    finish();
}

static void test_a_client_that_gets_no_answer_of_a_thread_that_is_followed_lightly_is_told_while_it_waits(void **state)
{
    (void)state;
    expect_one(child_does_not_answer_and_is_followed_lightly, SBX_TRIGGER_ANR, 300000000, (void *)answer);
}

/* From the begin of the first such call whose stack passes through `function` to the end of the last, recorded by the
 * thread itself or seen from outside. */
static uint64_t length_of(const struct sbx_snapshot *snapshot, uint8_t op, void *function)
{
    uint64_t begin_ns = UINT64_MAX, end_ns = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if ((record->kind == SBX_RECORD_SOCKET || record->kind == SBX_RECORD_BLOCKED) && record->op == op &&
            passes_through(snapshot, record, function)) {
            begin_ns = record->begin_ns < begin_ns ? record->begin_ns : begin_ns;
            end_ns = record->end_ns > end_ns ? record->end_ns : end_ns;
        }
    }
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

static void expect_long(void (*child)(void), uint8_t op, uint64_t least_ns, void *function)
{
    assert_int_equal(recorded_process_run(child), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_MANUAL);
    assert_true(length_of(snapshot, op, function) >= least_ns);
    sbx_snapshot_destroy(snapshot);
}

/* It stays, as the threads of a server do: looks at it that were alike are one record that is not written yet. */
static void *send_much_and_await_the_next(void *unused)
{
    send_much(unused);
    child_expect(accept(listener, NULL, NULL) >= 0, "never");
    return unused;
}

/* Works now and then, so that the watch thread does not rest. */
static void *work_on(void *is_over)
{
    while (sbx_load_relaxed((const uint32_t *)is_over) == 0) {
        compute_without_a_call();
        child_pause_ms(10);
    }
    return NULL;
}

static void child_is_stuck_in_its_answer(void)
{
    uint32_t is_over = 0;
    pthread_t worker;
    start_lightly(300, 300, send_much_and_await_the_next);
    child_expect(pthread_create(&worker, NULL, work_on, &is_over) == 0, "a thread");
    child_ask_later(1, 1000, 2);
    child_await_clients();
    child_pause_ms(50);
    sbx_store_relaxed(&is_over, 1);
    pthread_join(worker, NULL);
    child_finish();
}

/* Symptom: the hook hands such an answer on. Looks at a thread that is not in a message told its begin only. */
static void test_an_answer_that_hangs_is_told_with_its_length_though_it_is_followed_lightly(void **state)
{
    (void)state;
    expect_long(child_is_stuck_in_its_answer, SBX_OP_SEND, 200000000, (void *)answer_at_length);
}

__attribute__((noinline)) static void read_the_rest(int client)
{
    char rest;
    child_expect(recv(client, &rest, 1, 0) == 1, "the rest of a question");
    KEEP_FRAME();
}

/* A question in two parts; the second part is late. */
static void *serve_slow_questions(void *unused)
{
    int client = accept(listener, NULL, NULL);
    char question;
    while (recv(client, &question, 1, 0) == 1) {
        read_the_rest(client);
        answer(client, 0);
    }
    close(client);
    return unused;
}

static void child_waits_for_the_rest_of_a_question(void)
{
    start_lightly(300, 300, serve_slow_questions);
    child_ask_later(2, 1000, 3);
    child_await_clients();
    child_pause_ms(50);
    child_finish();
}

static void
test_a_wait_for_the_rest_of_a_question_is_told_and_is_no_stall_though_its_thread_is_followed_lightly(void **state)
{
    (void)state;
    expect_long(child_waits_for_the_rest_of_a_question, SBX_OP_RECV, 400000000, (void *)read_the_rest);
}

/* Takes connections from the queue and answers one question of each. */
static void *answer_what_is_queued(void *unused)
{
    for (;;) {
        char question;
        int client = take();
        if (recv(client, &question, 1, 0) == 1) {
            answer(client, 0);
        }
        close(client);
    }
    return unused;
}

enum {
    RARE_CLIENTS = 6,
    APART_MS = 60,
};

static void child_has_little_to_do(void)
{
    pthread_t thread;
    start_lightly(60000, 60000, accept_all);
    child_expect(pthread_create(&thread, NULL, answer_what_is_queued, NULL) == 0, "a thread");
    child_ask_later(RARE_CLIENTS, APART_MS, 0);
    child_await_clients();
    child_pause_ms(50);
    child_finish();
}

/* Is there a record of who ended that wait? */
static bool has_waker(const struct sbx_snapshot *snapshot, uint32_t wait)
{
    bool has_one = false;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        has_one |= snapshot->records[i].kind == SBX_RECORD_WAKE && snapshot->records[i].wait == wait;
    }
    return has_one;
}

/* Waits for the next connection are handed on only where they are short. */
static void test_who_queued_work_for_a_pool_that_had_none_is_known_though_its_threads_are_followed_lightly(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_has_little_to_do), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    int known = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        known += record->kind == SBX_RECORD_COND && record->wait != 0 && has_waker(snapshot, record->wait) &&
                 passes_through(snapshot, record, (void *)take);
    }
    sbx_snapshot_destroy(snapshot);
    assert_true(known >= RARE_CLIENTS / 2);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, recorded_process_set_up, recorded_process_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_a_late_answer_is_a_slow_message_of_the_thread_that_gave_it),
        CASE(test_a_client_that_gets_no_answer_is_told_while_it_waits),
        CASE(test_a_thread_that_waits_for_its_client_is_idle),
        CASE(test_a_thread_that_waits_for_its_client_and_for_another_is_idle),
        CASE(test_a_question_whose_answer_cannot_be_seen_raises_no_alarm),
        CASE(test_a_thread_that_has_handed_its_client_over_is_idle),
        CASE(test_a_thread_that_works_for_no_client_is_not_judged),
        CASE(test_a_wait_in_a_handler_of_a_threads_loop_is_part_of_its_message),
        CASE(test_a_client_that_does_not_take_its_answer_raises_no_alarm),
        CASE(test_a_late_answer_of_a_thread_that_is_followed_lightly_is_a_slow_message),
        CASE(test_a_client_that_gets_no_answer_of_a_thread_that_is_followed_lightly_is_told_while_it_waits),
        CASE(test_an_answer_that_hangs_is_told_with_its_length_though_it_is_followed_lightly),
        CASE(test_who_queued_work_for_a_pool_that_had_none_is_known_though_its_threads_are_followed_lightly),
        CASE(test_a_wait_for_the_rest_of_a_question_is_told_and_is_no_stall_though_its_thread_is_followed_lightly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
