/* SPDX-License-Identifier: Apache-2.0 */
/* test_point_lock.c - mutexes and condition variables in a process that records itself: real threads, real locks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "recorded_process.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static mtx_t c11_mutex;
static cnd_t c11_condition;
static bool is_ready; /* protected by mutex */

/* ---- who holds it, and who lets go ---- */

__attribute__((noinline)) static void wait_for_the_lock(int (*lock)(void))
{
    say_about_to_wait();
    child_expect(lock() == 0, "the lock is had in the end");
    KEEP_FRAME();
}

__attribute__((noinline)) static void let_go_of_the_lock(void)
{
    pthread_mutex_unlock(&mutex);
    KEEP_FRAME();
}

static int lock_plainly(void)
{
    return pthread_mutex_lock(&mutex);
}

static int lock_timed(void)
{
    struct timespec until = in_ten_seconds(CLOCK_REALTIME);
    return pthread_mutex_timedlock(&mutex, &until);
}

static int lock_by_clock(void)
{
    struct timespec until = in_ten_seconds(CLOCK_MONOTONIC);
    return pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until);
}

static void *lock_and_unlock(void *lock)
{
    wait_for_the_lock((int (*)(void))lock);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void let_one_wait_with(int (*lock)(void))
{
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    child_expect(pthread_create(&thread, NULL, lock_and_unlock, (void *)lock) == 0, "a thread starts");
    let_them_wait(1);
    let_go_of_the_lock();
    pthread_join(thread, NULL);
}

static void child_waits_for_a_mutex_in_three_ways(void)
{
    let_one_wait_with(lock_plainly);
    let_one_wait_with(lock_timed);
    let_one_wait_with(lock_by_clock);
}

static void test_a_wait_for_a_mutex_names_its_holder_and_who_let_go(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_waits_for_a_mutex_in_three_ways);
    const uint8_t ops[] = {SBX_OP_MUTEX_LOCK, SBX_OP_MUTEX_TIMEDLOCK, SBX_OP_MUTEX_CLOCKLOCK};
    for (int i = 0; i < 3; i++) {
        const struct expected_wait expected = {SBX_RECORD_LOCK, ops[i], SBX_OP_MUTEX_UNLOCK, (void *)wait_for_the_lock,
                                               (void *)let_go_of_the_lock};
        assert_int_equal(count_pairs(snapshot, &expected), 1);
        const struct sbx_record *wait = only_record(snapshot, SBX_RECORD_LOCK, ops[i], (void *)wait_for_the_lock);
        assert_int_equal(wait->peer, snapshot->header.pid); /* the main thread held it */
        assert_int_equal(wait->object, (uint64_t)(uintptr_t)&mutex);
    }
    sbx_snapshot_destroy(snapshot);
}

__attribute__((noinline)) static void wait_for_the_c11_lock(void)
{
    say_about_to_wait();
    child_expect(mtx_lock(&c11_mutex) == thrd_success, "the lock is had in the end");
    KEEP_FRAME();
}

__attribute__((noinline)) static void wait_for_the_c11_condition(void)
{
    say_about_to_wait();
    child_expect(cnd_wait(&c11_condition, &c11_mutex) == thrd_success, "the condition is signalled");
    KEEP_FRAME();
}

static int use_c11(void *unused)
{
    (void)unused;
    wait_for_the_c11_lock();
    wait_for_the_c11_condition();
    mtx_unlock(&c11_mutex);
    return 0;
}

__attribute__((noinline)) static void let_go_of_the_c11_lock(void)
{
    mtx_unlock(&c11_mutex);
    KEEP_FRAME();
}

__attribute__((noinline)) static void signal_the_c11_condition(void)
{
    mtx_lock(&c11_mutex);
    cnd_signal(&c11_condition);
    mtx_unlock(&c11_mutex);
    KEEP_FRAME();
}

static void child_uses_c11_threads(void)
{
    thrd_t thread;
    mtx_init(&c11_mutex, mtx_timed);
    cnd_init(&c11_condition);
    mtx_lock(&c11_mutex);
    child_expect(thrd_create(&thread, use_c11, NULL) == thrd_success, "a thread starts");
    let_them_wait(1);
    let_go_of_the_c11_lock();
    let_them_wait(1);
    signal_the_c11_condition();
    thrd_join(thread, NULL);
}

static void test_c11_mutexes_and_conditions_are_points_as_well(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_uses_c11_threads);
    const struct expected_wait lock = {SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, SBX_OP_MUTEX_UNLOCK,
                                       (void *)wait_for_the_c11_lock, (void *)let_go_of_the_c11_lock};
    const struct expected_wait wait = {SBX_RECORD_COND, SBX_OP_COND_WAIT, SBX_OP_COND_SIGNAL,
                                       (void *)wait_for_the_c11_condition, (void *)signal_the_c11_condition};
    assert_int_equal(count_pairs(snapshot, &lock), 1);
    assert_int_equal(count_pairs(snapshot, &wait), 1);
    sbx_snapshot_destroy(snapshot);
}

/* A recursive mutex that is unlocked but still held wakes no waiter. */
static pthread_mutex_t recursive;

__attribute__((noinline)) static void wait_for_the_recursive_lock(void)
{
    say_about_to_wait();
    pthread_mutex_lock(&recursive);
    KEEP_FRAME();
}

static void *recursive_thread(void *unused)
{
    (void)unused;
    wait_for_the_recursive_lock();
    pthread_mutex_unlock(&recursive);
    return NULL;
}

__attribute__((noinline)) static void unlock_it_twice(void)
{
    pthread_mutex_unlock(&recursive);
    child_sleep_ms(50);
    pthread_mutex_unlock(&recursive);
    KEEP_FRAME();
}

static void child_locks_twice(void)
{
    pthread_t thread;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &attributes);
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
    child_expect(pthread_create(&thread, NULL, recursive_thread, NULL) == 0, "a thread starts");
    let_them_wait(1);
    unlock_it_twice();
    pthread_join(thread, NULL);
}

static void test_only_the_last_unlock_of_a_recursive_mutex_is_a_release(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_locks_twice);
    const struct expected_wait expected = {SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, SBX_OP_MUTEX_UNLOCK,
                                           (void *)wait_for_the_recursive_lock, (void *)unlock_it_twice};
    assert_int_equal(count_pairs(snapshot, &expected), 1);
    only_record(snapshot, SBX_RECORD_WAKE, SBX_OP_MUTEX_UNLOCK, (void *)unlock_it_twice);
    sbx_snapshot_destroy(snapshot);
}

/* ---- conditions ---- */

__attribute__((noinline)) static void wait_for_the_condition(void)
{
    pthread_mutex_lock(&mutex);
    say_about_to_wait();
    while (!is_ready) {
        pthread_cond_wait(&condition, &mutex);
    }
    pthread_mutex_unlock(&mutex);
    KEEP_FRAME();
}

static void *waiting_thread(void *unused)
{
    (void)unused;
    wait_for_the_condition();
    return NULL;
}

__attribute__((noinline)) static void tell_everybody(void)
{
    pthread_mutex_lock(&mutex);
    is_ready = true;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    KEEP_FRAME();
}

enum {
    CROWD = 12
};

static void child_broadcasts_to_a_crowd(void)
{
    pthread_t threads[CROWD];
    for (int i = 0; i < CROWD; i++) {
        child_expect(pthread_create(&threads[i], NULL, waiting_thread, NULL) == 0, "a thread starts");
    }
    let_them_wait(CROWD);
    tell_everybody();
    for (int i = 0; i < CROWD; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void test_everyone_a_broadcast_wakes_learns_by_whom(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_broadcasts_to_a_crowd);
    const struct expected_wait expected = {SBX_RECORD_COND, SBX_OP_COND_WAIT, SBX_OP_COND_BROADCAST,
                                           (void *)wait_for_the_condition, (void *)tell_everybody};
    assert_int_equal(count_pairs(snapshot, &expected), CROWD);
    uint32_t stack = 0; /* captured once for all of the records */
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->kind == SBX_RECORD_WAKE && record->op == SBX_OP_COND_BROADCAST) {
            assert_int_equal(record->amount, CROWD);
            assert_true(stack == 0 || stack == record->stack);
            stack = record->stack;
        }
    }
    sbx_snapshot_destroy(snapshot);
}

enum {
    MANY = 200
}; /* more releases than are recorded */

static void child_broadcasts_to_very_many(void)
{
    static pthread_t threads[MANY];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 * 1024);
    for (int i = 0; i < MANY; i++) {
        child_expect(pthread_create(&threads[i], &small, waiting_thread, NULL) == 0, "a thread starts");
    }
    let_them_wait(MANY);
    tell_everybody();
    for (int i = 0; i < MANY; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void test_very_many_waiters_of_one_condition_all_learn_who_it_was(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_broadcasts_to_very_many);
    int waits = 0, wakes = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->kind == SBX_RECORD_COND) {
            assert_int_equal(record->peer, snapshot->header.pid);
            waits++;
        }
        if (record->kind == SBX_RECORD_WAKE && record->op == SBX_OP_COND_BROADCAST) {
            assert_int_equal(record->amount, MANY);
            wakes++;
        }
    }
    assert_int_equal(waits, MANY);
    assert_true(wakes >= 1 && wakes < MANY);
    assert_int_equal(snapshot->drops[SBX_DROP_NO_WAITER_SEAT], 0);
    sbx_snapshot_destroy(snapshot);
}

/* A wait for a condition releases the mutex too. */
__attribute__((noinline)) static void let_go_by_waiting(void)
{
    pthread_cond_wait(&condition, &mutex);
    KEEP_FRAME();
}

__attribute__((noinline)) static void lock_then_signal(void)
{
    say_about_to_wait();
    pthread_mutex_lock(&mutex);
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    KEEP_FRAME();
}

static void *signalling_thread(void *unused)
{
    (void)unused;
    lock_then_signal();
    return NULL;
}

static void child_waits_with_the_mutex(void)
{
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    child_expect(pthread_create(&thread, NULL, signalling_thread, NULL) == 0, "a thread starts");
    let_them_wait(1);
    let_go_by_waiting();
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
}

static void test_a_wait_for_a_condition_releases_its_mutex(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_waits_with_the_mutex);
    const struct expected_wait expected = {SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, SBX_OP_COND_WAIT,
                                           (void *)lock_then_signal, (void *)let_go_by_waiting};
    assert_int_equal(count_pairs(snapshot, &expected), 1);
    sbx_snapshot_destroy(snapshot);
}

/* ---- out of a wait by another door ---- */

static atomic_bool was_cleaned_up;

static void unlock_in_cleanup(void *unused)
{
    (void)unused;
    was_cleaned_up = true;
    pthread_mutex_unlock(&mutex);
}

static void *wait_until_cancelled(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock_in_cleanup, NULL);
    say_about_to_wait();
    for (;;) {
        pthread_cond_wait(&condition, &mutex);
    }
    pthread_cleanup_pop(0);
    return NULL;
}

static void child_cancels_a_wait(void)
{
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        void *result = NULL;
        was_cleaned_up = false;
        child_expect(pthread_create(&thread, NULL, wait_until_cancelled, NULL) == 0, "a thread starts");
        let_them_wait(1);
        pthread_cancel(thread);
        child_expect(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED, "the thread is cancelled");
        child_expect(was_cleaned_up, "its cleanup has run");
        child_expect(pthread_mutex_trylock(&mutex) == 0, "the mutex was given back");
        pthread_cond_signal(&condition); /* no waiter is left; this must not record a wake */
        pthread_mutex_unlock(&mutex);
    }
}

static void test_a_cancelled_wait_leaves_nothing_behind(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_cancels_a_wait);
    for (size_t i = 0; i < snapshot->record_count; i++) {
        assert_false(snapshot->records[i].kind == SBX_RECORD_WAKE && snapshot->records[i].op == SBX_OP_COND_SIGNAL);
    }
    sbx_snapshot_destroy(snapshot);
}

/* ---- the meaning of the calls ---- */

enum {
    ANSWERS = 40
};

static void *die_with_it(void *lock)
{
    pthread_mutex_lock(lock);
    return NULL;
}

/* qemu-user has no robust lists, so nobody reports there that an owner died. */
static bool has_robust_lists(void)
{
    void *list = NULL;
    size_t bytes = 0;
    return syscall(SYS_get_robust_list, 0, &list, &bytes) == 0;
}

static int ask_about_robust(int *answers)
{
    int n = 0;
    pthread_mutex_t robust;
    pthread_mutexattr_t attributes;
    pthread_t thread;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    pthread_create(&thread, NULL, die_with_it, &robust);
    pthread_join(thread, NULL);
    answers[n++] = pthread_mutex_lock(&robust); /* EOWNERDEAD */
    answers[n++] = pthread_mutex_consistent(&robust);
    answers[n++] = pthread_mutex_unlock(&robust);
    pthread_create(&thread, NULL, die_with_it, &robust);
    pthread_join(thread, NULL);
    answers[n++] = pthread_mutex_lock(&robust); /* EOWNERDEAD, and this time it is not made consistent */
    answers[n++] = pthread_mutex_unlock(&robust);
    answers[n++] = pthread_mutex_lock(&robust); /* ENOTRECOVERABLE */
    return n;
}

/* The answers of every kind of mutex in every situation that has a defined answer. */
static void ask(int *answers)
{
    int n = 0;
    struct timespec past = {1, 0}, bad = {1, -1};
    const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                         PTHREAD_MUTEX_ADAPTIVE_NP};
    for (int i = 0; i < 4; i++) {
        pthread_mutex_t lock;
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_settype(&attributes, types[i]);
        pthread_mutex_init(&lock, &attributes);
        answers[n++] = pthread_mutex_lock(&lock);
        answers[n++] = pthread_mutex_timedlock(&lock, &past); /* ETIMEDOUT, 0 or EDEADLK */
        answers[n++] = types[i] != PTHREAD_MUTEX_ADAPTIVE_NP ? pthread_mutex_timedlock(&lock, &bad) : 0;
        answers[n++] = pthread_mutex_clocklock(&lock, CLOCK_THREAD_CPUTIME_ID, &past);
        if (types[i] == PTHREAD_MUTEX_RECURSIVE || types[i] == PTHREAD_MUTEX_ERRORCHECK) {
            answers[n++] = pthread_mutex_lock(&lock);
        }
        for (int k = 0; k < 4; k++) { /* more often than it was locked: the checking kinds return EPERM */
            if (k == 0 || types[i] == PTHREAD_MUTEX_RECURSIVE || types[i] == PTHREAD_MUTEX_ERRORCHECK) {
                answers[n++] = pthread_mutex_unlock(&lock);
            }
        }
    }
    if (has_robust_lists()) {
        n += ask_about_robust(answers + n);
    }
    pthread_mutexattr_t attributes;
    pthread_mutex_t inheriting;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&inheriting, &attributes);
    answers[n++] = pthread_mutex_lock(&inheriting);
    answers[n++] = pthread_mutex_lock(&inheriting); /* EDEADLK */
    answers[n++] = pthread_mutex_unlock(&inheriting);
    answers[n++] = pthread_mutex_unlock(&inheriting); /* EPERM */
    child_expect(n <= ANSWERS, "there is room for the answers");
    for (; n < ANSWERS; n++) {
        answers[n] = -1;
    }
}

static void test_every_kind_of_mutex_answers_as_without_hooks(void **state)
{
    (void)state;
    const int *answers = expect_same_answers(ask, ANSWERS);
    bool has_deadlock = false, has_owner_dead = false, has_lost = false;
    for (int i = 0; i < ANSWERS; i++) {
        has_deadlock |= answers[i] == EDEADLK;
        has_owner_dead |= answers[i] == EOWNERDEAD;
        has_lost |= answers[i] == ENOTRECOVERABLE;
    }
    assert_true(has_deadlock && has_owner_dead == has_robust_lists() && has_lost == has_robust_lists());
}

/* ---- under load ---- */

enum {
    CONTENDERS = 6,
    TURNS = 30000
};
static long sum; /* protected by mutex; not atomic, so that a lost update shows */
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;

static void *contend(void *unused)
{
    (void)unused;
    for (int i = 0; i < TURNS; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_lock(&inner);
        long now = sum;
        if (i % 1000 == 0) {
            sched_yield(); /* so that other threads find it held */
        }
        sum = now + 1;
        pthread_mutex_unlock(&inner);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void run_contenders(void (*meanwhile)(void))
{
    pthread_t threads[CONTENDERS];
    sum = 0;
    for (int i = 0; i < CONTENDERS; i++) {
        child_expect(pthread_create(&threads[i], NULL, contend, NULL) == 0, "a thread starts");
    }
    if (meanwhile != NULL) {
        meanwhile();
    }
    for (int i = 0; i < CONTENDERS; i++) {
        pthread_join(threads[i], NULL);
    }
    child_expect(sum == (long)CONTENDERS * TURNS, "no turn was lost");
}

static void child_contends(void)
{
    run_contenders(NULL);
}

static void test_mutual_exclusion_is_kept_under_contention(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_contends));
}

static void take_hooks_out_and_in(void)
{
    for (int i = 0; i < 4; i++) {
        child_set_recording(false);
        child_set_recording(true);
    }
}

static void child_switches_under_contention(void)
{
    run_contenders(take_hooks_out_and_in);
}

static void test_hooks_come_and_go_under_contention(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_switches_under_contention));
}

/* A waiter that fell asleep with hooks installed is woken without hooks, and the other way round. */
static void child_switches_while_they_sleep(void)
{
    pthread_t threads[4];
    for (int round = 0; round < 2; round++) {
        is_ready = false;
        for (int i = 0; i < 4; i++) {
            child_expect(pthread_create(&threads[i], NULL, waiting_thread, NULL) == 0, "a thread starts");
        }
        let_them_wait(4);
        child_set_recording(round != 0);
        tell_everybody();
        for (int i = 0; i < 4; i++) {
            pthread_join(threads[i], NULL);
        }
    }
}

static void test_points_are_taken_out_while_waiters_sleep(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_switches_while_they_sleep);
    for (size_t i = 0; i < snapshot->record_count; i++) { /* nobody reports a waiter that slept unseen */
        assert_false(snapshot->records[i].kind == SBX_RECORD_WAKE && snapshot->records[i].op == SBX_OP_COND_BROADCAST);
    }
    sbx_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wait_for_a_mutex_names_its_holder_and_who_let_go),
        cmocka_unit_test(test_only_the_last_unlock_of_a_recursive_mutex_is_a_release),
        cmocka_unit_test(test_c11_mutexes_and_conditions_are_points_as_well),
        cmocka_unit_test(test_everyone_a_broadcast_wakes_learns_by_whom),
        cmocka_unit_test(test_very_many_waiters_of_one_condition_all_learn_who_it_was),
        cmocka_unit_test(test_a_wait_for_a_condition_releases_its_mutex),
        cmocka_unit_test(test_a_cancelled_wait_leaves_nothing_behind),
        cmocka_unit_test(test_every_kind_of_mutex_answers_as_without_hooks),
        cmocka_unit_test(test_mutual_exclusion_is_kept_under_contention),
        cmocka_unit_test(test_hooks_come_and_go_under_contention),
        cmocka_unit_test(test_points_are_taken_out_while_waiters_sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
