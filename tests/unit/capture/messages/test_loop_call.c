/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_call.c - which waits of the main thread are its wait for work: accept(), other epoll sets, signals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <unistd.h>

#include "recorded_process.h"
#include "stallbox/stallbox.h"
#include "test_clients.h"

/* ---- a worker that accepts one client at a time (php-fpm) ---- */

/* As FastCGI does: the client is polled in the function that accepted it, and then read. The polls of a request are
 * further in. */
__attribute__((noinline)) static int accept_request(int listener)
{
    int client = accept(listener, NULL, NULL);
    struct pollfd polled = {.fd = client, .events = POLLIN};
    poll(&polled, 1, 5000);
    char question;
    child_expect(read(client, &question, 1) == 1, "a question");
    KEEP_FRAME();
    return client;
}

__attribute__((noinline)) static void handle_request(long ms)
{
    struct pollfd none = {.fd = -1};
    poll(&none, 1, 5);
    if (ms != 0) {
        child_sleep_ms(ms);
    }
    KEEP_FRAME();
}

static void serve_one_by_one(int count, int slow_at, long ms)
{
    int listener = child_listen();
    child_ask_later(count, 5, 0);
    for (int i = 0; i < count; i++) {
        volatile int turn = i;
        int client = accept_request(listener);
        handle_request(turn == slow_at ? ms : 0);
        child_expect(write(client, "a", 1) == 1, "an answer");
        close(client);
    }
    child_ask_later(1, 700, 0);
    close(accept_request(listener));
}

static void child_waits_in_accept(void)
{
    child_start_with(300, 300);
    child_wait_for_rows();
    serve_one_by_one(12, -1, 0);
    stallbox_stop(5000);
}

static void child_is_slow_between_accepts(void)
{
    child_start_with(60000, 300);
    child_wait_for_rows();
    serve_one_by_one(12, 9, 400);
    stallbox_stop(5000);
}

static void test_a_worker_that_waits_in_accept_is_idle(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_waits_in_accept), 0);
    assert_int_equal(count_files(recorded_process_raw(), SBX_RAW_SUFFIX), 0);
}

/* The client keeps its connection and asks again after a while. The server waits for it by a read, or by a poll before
 * the read. */
static void keep_client(bool polls)
{
    int listener = child_listen();
    child_ask_later(4, 5, 0);
    child_ask_later(3, 450, 1);
    for (int i = 0; i < 5; i++) {
        char question;
        int client = accept(listener, NULL, NULL);
        for (;;) {
            struct pollfd polled = {.fd = client, .events = POLLIN};
            if (polls) {
                poll(&polled, 1, 5000);
            }
            if (read(client, &question, 1) != 1) {
                break;
            }
            handle_request(0);
            child_expect(send(client, "a", 1, MSG_NOSIGNAL) == 1, "an answer");
        }
        close(client);
    }
}

static void child_keeps_its_client(void)
{
    child_start_with(300, 300);
    child_wait_for_rows();
    keep_client(false);
    stallbox_stop(5000);
}

static void child_polls_its_client(void)
{
    child_start_with(300, 300);
    child_wait_for_rows();
    keep_client(true);
    stallbox_stop(5000);
}

static void test_a_worker_that_waits_for_its_client_is_idle(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_keeps_its_client), 0);
    assert_int_equal(recorded_process_run(child_polls_its_client), 0);
    assert_int_equal(count_files(recorded_process_raw(), SBX_RAW_SUFFIX), 0);
}

static void expect_one(void (*child)(void), uint32_t kind, int64_t least_ns, void *function)
{
    assert_int_equal(recorded_process_run(child), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, kind);
    assert_true((int64_t)(snapshot->header.trigger.end_ns - snapshot->header.trigger.begin_ns) >= least_ns);
    int waits = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        waits += snapshot->records[i].message == snapshot->header.trigger.message &&
                 passes_through(snapshot, &snapshot->records[i], function);
    }
    assert_true(waits > 0);
    sbx_snapshot_destroy(snapshot);
}

static void test_a_slow_request_between_two_accepts_is_told(void **state)
{
    (void)state;
    expect_one(child_is_slow_between_accepts, SBX_TRIGGER_SLOW_MESSAGE, 390000000, (void *)handle_request);
}

/* A program that sleeps, and between its sleeps only checks whether there is a client. One client came once. */
static void child_sleeps_and_looks_for_clients(void)
{
    child_start_with(300, 300);
    child_wait_for_rows();
    int listener = child_listen();
    struct pollfd polled = {.fd = listener, .events = POLLIN};
    child_ask_later(1, 500, 0);
    for (int i = 0; i < 5; i++) {
        if (poll(&polled, 1, 1) == 1) {
            char question;
            int client = accept(listener, NULL, NULL);
            child_expect(read(client, &question, 1) == 1 && write(client, "a", 1) == 1, "an answer");
            close(client);
        }
        child_sleep_ms(400);
    }
    stallbox_stop(5000);
}

static void test_a_program_that_sleeps_between_clients_raises_no_alarm(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_sleeps_and_looks_for_clients), 0);
    assert_int_equal(count_files(recorded_process_raw(), SBX_RAW_SUFFIX), 0);
}

/* The polls of a request were taken for the polls of the loop, and then no client comes for a while (seen with a worker
 * of php-fpm). */
__attribute__((noinline)) static int await_client(int listener)
{
    int client = accept(listener, NULL, NULL);
    __asm__ volatile("" ::: "memory");
    return client;
}

static void child_polls_often_and_then_awaits_a_client(void)
{
    child_start_with(300, 300);
    child_wait_for_rows();
    int listener = child_listen();
    for (int i = 0; i < 100; i++) {
        (void)poll(NULL, 0, 2);
    }
    child_ask_later(1, 900, 0);
    char question;
    int client = await_client(listener);
    child_expect(read(client, &question, 1) == 1 && write(client, "a", 1) == 1, "an answer");
    close(client);
    (void)poll(NULL, 0, 2);
    stallbox_stop(5000);
}

static void test_an_accept_in_the_middle_of_a_message_is_nobodys_stall(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_polls_often_and_then_awaits_a_client), 0);
    assert_int_equal(count_files(recorded_process_raw(), SBX_RAW_SUFFIX), 0);
}

/* ---- a backend that waits for everything by one function (PostgreSQL) ---- */

static int clients_set, latch_set, client = -1;

__attribute__((noinline)) static void wait_event_set_wait(int set, int ms)
{
    struct epoll_event event;
    epoll_wait(set, &event, 1, ms);
    KEEP_FRAME();
}

__attribute__((noinline)) static void secure_read(void)
{
    char question;
    wait_event_set_wait(clients_set, 15);
    if (client >= 0 && recv(client, &question, 1, MSG_DONTWAIT) == 1) {
        child_expect(send(client, "a", 1, 0) == 1, "an answer");
    }
    KEEP_FRAME();
}

__attribute__((noinline)) static void read_command(void)
{
    secure_read();
    KEEP_FRAME();
}

__attribute__((noinline)) static void wait_latch(int ms)
{
    wait_event_set_wait(latch_set, ms);
    KEEP_FRAME();
}

__attribute__((noinline)) static void execute(int depth, int waits, int ms)
{
    volatile char ballast[512];
    ballast[0] = (char)depth;
    if (depth > 0) {
        execute(depth - 1, waits, ms);
    } else {
        for (int i = 0; i < waits; i++) {
            wait_latch(ms);
        }
    }
    ballast[1] = ballast[0];
}

__attribute__((noinline)) static void backend(int statements, int slow_at, int waits, int ms)
{
    for (int i = 0; i < statements; i++) {
        volatile int turn = i;
        read_command();
        if (turn >= slow_at) {
            execute(6, waits, ms);
        }
    }
    KEEP_FRAME();
}

static void open_sets(void)
{
    clients_set = epoll_create1(EPOLL_CLOEXEC);
    latch_set = epoll_create1(EPOLL_CLOEXEC);
}

/* The first wait for a lock is in the third statement. There are two waits: one until the deadlock check, and one
 * more. */
static void child_waits_for_a_lock(void)
{
    child_start_with(60000, 300);
    child_wait_for_rows();
    open_sets();
    backend(4, 3, 2, 200);
    read_command();
    stallbox_stop(5000);
}

static void test_a_wait_in_another_epoll_set_is_part_of_the_message(void **state)
{
    (void)state;
    expect_one(child_waits_for_a_lock, SBX_TRIGGER_SLOW_MESSAGE, 390000000, (void *)wait_latch);
}

static void child_hangs_in_a_lock_while_its_client_waits(void)
{
    child_start_with(300, 60000);
    child_wait_for_rows();
    open_sets();
    int listener = child_listen();
    child_ask_later(2, 1, 1);
    client = accept(listener, NULL, NULL);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(clients_set, EPOLL_CTL_ADD, client, &event);
    backend(2, 1, 1, 600); /* stall in the client's second question, in the loop's second pass */
    read_command();
    stallbox_stop(5000);
}

static void test_a_backend_whose_client_waits_is_told_while_it_hangs(void **state)
{
    (void)state;
    expect_one(child_hangs_in_a_lock_while_its_client_waits, SBX_TRIGGER_ANR, 300000000, (void *)wait_latch);
}

static void *accept_a_client(void *listener)
{
    client = accept((int)(intptr_t)listener, NULL, NULL);
    return NULL;
}

/* A backend that was forked for its client: the first question arrives before the backend has waited for one. */
static void child_waits_in_its_first_statement(void)
{
    pthread_t acceptor;
    child_start_with(60000, 300);
    child_wait_for_rows();
    open_sets();
    int listener = child_listen();
    child_ask_later(2, 1, 1);
    pthread_create(&acceptor, NULL, accept_a_client, (void *)(intptr_t)listener);
    pthread_join(acceptor, NULL);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(clients_set, EPOLL_CTL_ADD, client, &event);
    char question;
    child_expect(recv(client, &question, 1, 0) == 1, "a question");
    execute(6, 1, 400);
    child_expect(send(client, "a", 1, 0) == 1, "an answer");
    for (int i = 0; i < 3; i++) {
        volatile int turn = i;
        wait_event_set_wait(clients_set, turn >= 0 ? 15 : 16);
    }
    stallbox_stop(5000);
}

static void test_a_wait_before_the_first_pass_of_the_loop_is_part_of_the_message(void **state)
{
    (void)state;
    expect_one(child_waits_in_its_first_statement, SBX_TRIGGER_SLOW_MESSAGE, 390000000, (void *)wait_latch);
}

/* The backend polls for the rest of a question, which comes late. No client waits meanwhile. */
static void child_waits_for_the_rest(void)
{
    pthread_t acceptor;
    child_start_with(300, 300);
    child_wait_for_rows();
    open_sets();
    int listener = child_listen();
    child_ask_later(2, 450, 3);
    pthread_create(&acceptor, NULL, accept_a_client, (void *)(intptr_t)listener);
    pthread_join(acceptor, NULL);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(clients_set, EPOLL_CTL_ADD, client, &event);
    char question;
    child_expect(recv(client, &question, 1, 0) == 1, "half a question");
    wait_event_set_wait(clients_set, 5000);
    child_expect(recv(client, &question, 1, 0) == 1, "the rest");
    child_expect(send(client, "a", 1, 0) == 1, "an answer");
    stallbox_stop(5000);
}

static void test_a_wait_for_the_rest_of_a_question_is_idle(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_waits_for_the_rest), 0);
    assert_int_equal(count_files(recorded_process_raw(), SBX_RAW_SUFFIX), 0);
}

/* Another loop takes the place of the first, with the same polling function, and answers all the time. */
static void child_goes_on_with_another_set(void)
{
    child_start_with(300, 300);
    child_wait_for_rows();
    open_sets();
    backend(6, 6, 0, 0);
    execute(6, 150, 10);
    stallbox_stop(5000);
}

static void test_a_loop_over_another_epoll_set_raises_no_alarm(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_goes_on_with_another_set), 0);
    assert_int_equal(count_files(recorded_process_raw(), SBX_RAW_SUFFIX), 0);
}

/* ---- a master that waits for signals ---- */

static void on_alarm(int number)
{
    (void)number;
}

static void child_awaits_a_signal(void)
{
    child_start_with(300, 300);
    child_wait_for_rows();
    clients_set = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < 8; i++) {
        volatile int turn = i;
        wait_event_set_wait(clients_set, turn >= 0 ? 10 : 11);
    }
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval in_a_while = {.it_value = {0, 800000}};
    sigset_t none;
    sigemptyset(&none);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &in_a_while, NULL);
    sigsuspend(&none);
    stallbox_stop(5000);
}

static void test_a_master_that_waits_for_signals_is_idle(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_awaits_a_signal), 0);
    assert_int_equal(count_files(recorded_process_raw(), SBX_RAW_SUFFIX), 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, recorded_process_set_up, recorded_process_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_a_worker_that_waits_in_accept_is_idle),
        CASE(test_a_worker_that_waits_for_its_client_is_idle),
        CASE(test_a_program_that_sleeps_between_clients_raises_no_alarm),
        CASE(test_an_accept_in_the_middle_of_a_message_is_nobodys_stall),
        CASE(test_a_slow_request_between_two_accepts_is_told),
        CASE(test_a_wait_in_another_epoll_set_is_part_of_the_message),
        CASE(test_a_backend_whose_client_waits_is_told_while_it_hangs),
        CASE(test_a_wait_before_the_first_pass_of_the_loop_is_part_of_the_message),
        CASE(test_a_wait_for_the_rest_of_a_question_is_idle),
        CASE(test_a_loop_over_another_epoll_set_raises_no_alarm),
        CASE(test_a_master_that_waits_for_signals_is_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
