/* SPDX-License-Identifier: Apache-2.0 */
/* test_light_sleep.c - the sleeper is woken by every ring and by a stop, tells the two apart, and takes no signal that
 * is meant for the program. A sleeper that is not woken is killed by the alarm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "light_sleep.h"
#include "order.h"

enum {
    ROUNDS = 5000,
    PATIENCE_S = 120,
};

static struct sbx_light_sleep sleeper;
static uint32_t has_woken; /* how often it woke */
static bool was_stopped;

static void pause_ms(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

/* All threads of this test block the signal, as the recorder's own threads do. */
static void block_signal(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGSTKFLT);
    pthread_sigmask(how, &set, NULL);
}

static int begin_anew(void **state)
{
    (void)state;
    memset(&sleeper, 0, sizeof sleeper);
    has_woken = 0;
    was_stopped = false;
    block_signal(SIG_BLOCK);
    alarm(PATIENCE_S);
    return 0;
}

static void *sleep_once(void *unused)
{
    (void)unused;
    was_stopped = sbx_light_sleep_until(&sleeper, sbx_load_acquire(&sleeper.bell), NULL, true);
    sbx_store_release(&has_woken, 1);
    return NULL;
}

static pthread_t begin_sleep(void *(*body)(void *))
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, body, NULL), 0);
    return thread;
}

/* Wait until the thread sleeps with a signal that can wake it, or until it has found that it cannot rely on the
 * signal. */
static void wait_for_sleep(void)
{
    while (sbx_load_acquire(&sleeper.state) == 0 && sbx_load_relaxed(&sleeper.trust) != SBX_LIGHT_REFUSED) {
        pause_ms(1);
    }
    pause_ms(20);
}

static bool is_light_here(void)
{
    const struct timespec at_once = {0, 1};
    (void)sbx_light_sleep_until(&sleeper, sleeper.bell, &at_once, true);
    return sbx_load_relaxed(&sleeper.trust) == SBX_LIGHT_WORKS;
}

static void test_a_ring_wakes_it_and_is_no_stop(void **state)
{
    (void)state;
    pthread_t thread = begin_sleep(sleep_once);
    wait_for_sleep();
    assert_int_equal(sbx_load_acquire(&has_woken), 0);
    sbx_light_sleep_ring(&sleeper);
    pthread_join(thread, NULL);
    assert_false(was_stopped);
}

static void test_what_was_rung_before_is_not_slept_on(void **state)
{
    (void)state;
    uint32_t seen = sleeper.bell;
    sbx_light_sleep_ring(&sleeper);
    assert_false(sbx_light_sleep_until(&sleeper, seen, NULL, true));
}

static void test_its_time_is_over_without_a_ring(void **state)
{
    (void)state;
    const struct timespec soon = {0, 1000000};
    for (int is_light = 0; is_light < 2; is_light++) {
        assert_false(sbx_light_sleep_until(&sleeper, sleeper.bell, &soon, is_light != 0));
    }
}

static void *count_rings(void *unused)
{
    (void)unused;
    for (uint32_t seen = 0; seen < ROUNDS; seen = sbx_load_acquire(&sleeper.bell)) {
        sbx_store_release(&has_woken, seen);
        (void)sbx_light_sleep_until(&sleeper, seen, NULL, true);
    }
    sbx_store_release(&has_woken, ROUNDS);
    return NULL;
}

/* Each ring follows as soon as the thread has seen the ring before: while it looks at the bell, falls asleep, or
 * sleeps. */
static void test_no_ring_is_lost_whenever_it_comes(void **state)
{
    (void)state;
    pthread_t thread = begin_sleep(count_rings);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        while (sbx_load_acquire(&has_woken) != round) {
        }
        for (volatile uint32_t i = 0; i < round % 1024 * 4; i++) {
        }
        sbx_light_sleep_ring(&sleeper);
    }
    pthread_join(thread, NULL);
    assert_int_equal(has_woken, ROUNDS);
}

/* Runs in a child. The whole process is stopped for a moment, as job control, a freezer or a debugger would do. */
static void be_stopped(void)
{
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        kill(parent, SIGSTOP);
        pause_ms(20);
        kill(parent, SIGCONT);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void test_a_stop_ends_it_and_is_told_from_a_ring(void **state)
{
    (void)state;
    if (!is_light_here()) {
        skip();
    }
    pthread_t thread = begin_sleep(sleep_once);
    wait_for_sleep();
    be_stopped();
    pthread_join(thread, NULL);
    assert_true(was_stopped);
}

static void test_a_signal_for_the_program_is_given_back_and_a_futex_slept_on_from_there(void **state)
{
    const struct timespec patience = {PATIENCE_S, 0};
    sigset_t set;
    (void)state;
    if (!is_light_here()) {
        skip();
    }
    pthread_t thread = begin_sleep(sleep_once);
    wait_for_sleep();
    kill(getpid(), SIGSTKFLT);
    pthread_join(thread, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGSTKFLT);
    assert_int_equal(sigtimedwait(&set, NULL, &patience), SIGSTKFLT);
    assert_false(is_light_here());
    thread = begin_sleep(sleep_once);
    wait_for_sleep();
    sbx_light_sleep_ring(&sleeper);
    pthread_join(thread, NULL);
}

/* The signal's default action would end this process. */
static void test_who_does_not_block_the_signal_is_sent_none(void **state)
{
    (void)state;
    block_signal(SIG_UNBLOCK);
    pthread_t thread = begin_sleep(sleep_once);
    wait_for_sleep();
    sbx_light_sleep_ring(&sleeper);
    pthread_join(thread, NULL);
    assert_false(was_stopped);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup(test, begin_anew)
    const struct CMUnitTest tests[] = {
        CASE(test_a_ring_wakes_it_and_is_no_stop),
        CASE(test_what_was_rung_before_is_not_slept_on),
        CASE(test_its_time_is_over_without_a_ring),
        CASE(test_no_ring_is_lost_whenever_it_comes),
        CASE(test_a_stop_ends_it_and_is_told_from_a_ring),
        CASE(test_a_signal_for_the_program_is_given_back_and_a_futex_slept_on_from_there),
        CASE(test_who_does_not_block_the_signal_is_sent_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
