/* SPDX-License-Identifier: Apache-2.0 */
/* test_point_rwlock.c - read-write locks and spin locks in a process that records itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "recorded_process.h"

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;

/* ---- read-write locks ---- */

static int read_plainly(void)
{
    return pthread_rwlock_rdlock(&rwlock);
}

static int write_plainly(void)
{
    return pthread_rwlock_wrlock(&rwlock);
}

static int read_timed(void)
{
    struct timespec until = in_ten_seconds(CLOCK_REALTIME);
    return pthread_rwlock_timedrdlock(&rwlock, &until);
}

static int write_timed(void)
{
    struct timespec until = in_ten_seconds(CLOCK_REALTIME);
    return pthread_rwlock_timedwrlock(&rwlock, &until);
}

static int read_by_clock(void)
{
    struct timespec until = in_ten_seconds(CLOCK_MONOTONIC);
    return pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &until);
}

static int write_by_clock(void)
{
    struct timespec until = in_ten_seconds(CLOCK_MONOTONIC);
    return pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &until);
}

__attribute__((noinline)) static void wait_for_the_lock(int (*lock)(void))
{
    say_about_to_wait();
    child_expect(lock() == 0, "the lock is had in the end");
    KEEP_FRAME();
}

__attribute__((noinline)) static void let_go_of_the_lock(void)
{
    pthread_rwlock_unlock(&rwlock);
    KEEP_FRAME();
}

static void *lock_and_unlock(void *lock)
{
    wait_for_the_lock((int (*)(void))lock);
    pthread_rwlock_unlock(&rwlock);
    return NULL;
}

static void let_wait_with(int (*lock)(void), int threads)
{
    pthread_t thread[8];
    for (int i = 0; i < threads; i++) {
        child_expect(pthread_create(&thread[i], NULL, lock_and_unlock, (void *)lock) == 0, "a thread starts");
    }
    let_them_wait(threads);
    let_go_of_the_lock();
    for (int i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
    }
}

enum {
    READERS = 5
};

static void child_waits_for_a_writer(void)
{
    int (*const ways[])(void) = {write_plainly, read_timed, write_timed, read_by_clock, write_by_clock};
    for (int i = 0; i < 5; i++) {
        pthread_rwlock_wrlock(&rwlock);
        let_wait_with(ways[i], 1);
    }
    pthread_rwlock_wrlock(&rwlock);
    let_wait_with(read_plainly, READERS);
}

static void test_a_wait_for_a_writer_names_it_and_all_readers_learn_who_let_go(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_waits_for_a_writer);
    const struct {
        uint8_t op;
        int waits;
    } expected[] = {{SBX_OP_RWLOCK_WRLOCK, 1},
                    {SBX_OP_RWLOCK_TIMEDRDLOCK, 2},
                    {SBX_OP_RWLOCK_TIMEDWRLOCK, 2},
                    {SBX_OP_RWLOCK_RDLOCK, READERS}};
    for (int i = 0; i < 4; i++) {
        const struct expected_wait wait = {SBX_RECORD_LOCK, expected[i].op, SBX_OP_RWLOCK_UNLOCK,
                                           (void *)wait_for_the_lock, (void *)let_go_of_the_lock};
        assert_int_equal(count_pairs(snapshot, &wait), expected[i].waits);
    }
    for (size_t i = 0; i < snapshot->record_count; i++) {
        if (snapshot->records[i].kind == SBX_RECORD_LOCK) {
            assert_int_equal(snapshot->records[i].peer, snapshot->header.pid);
        }
    }
    sbx_snapshot_destroy(snapshot);
}

static void child_waits_for_a_reader(void)
{
    pthread_rwlock_rdlock(&rwlock);
    let_wait_with(write_plainly, 1);
}

static void test_a_writer_learns_which_reader_let_it_in(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_waits_for_a_reader);
    const struct expected_wait wait = {SBX_RECORD_LOCK, SBX_OP_RWLOCK_WRLOCK, SBX_OP_RWLOCK_UNLOCK,
                                       (void *)wait_for_the_lock, (void *)let_go_of_the_lock};
    assert_int_equal(count_pairs(snapshot, &wait), 1);
    sbx_snapshot_destroy(snapshot);
}

enum {
    ANSWERS = 24
};

static void ask(int *answers)
{
    int n = 0;
    struct timespec past = {1, 0}, bad = {1, 1000000000};
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    answers[n++] = pthread_rwlock_timedrdlock(&lock, &bad); /* EINVAL although the lock is free */
    answers[n++] = pthread_rwlock_timedwrlock(&lock, &bad);
    answers[n++] = pthread_rwlock_clockrdlock(&lock, CLOCK_THREAD_CPUTIME_ID, &past);
    answers[n++] = pthread_rwlock_clockwrlock(&lock, CLOCK_THREAD_CPUTIME_ID, &past);
    answers[n++] = pthread_rwlock_rdlock(&lock);
    answers[n++] = pthread_rwlock_rdlock(&lock);
    answers[n++] = pthread_rwlock_timedwrlock(&lock, &past); /* ETIMEDOUT */
    answers[n++] = pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &past);
    answers[n++] = pthread_rwlock_unlock(&lock);
    answers[n++] = pthread_rwlock_unlock(&lock);
    answers[n++] = pthread_rwlock_wrlock(&lock);
    answers[n++] = pthread_rwlock_rdlock(&lock); /* EDEADLK */
    answers[n++] = pthread_rwlock_wrlock(&lock); /* EDEADLK */
    answers[n++] = pthread_rwlock_timedrdlock(&lock, &past);
    answers[n++] = pthread_rwlock_unlock(&lock);
    answers[n++] = pthread_rwlock_timedrdlock(&lock, &past); /* free: a past time-out is not checked */
    answers[n++] = pthread_rwlock_unlock(&lock);
    answers[n++] = pthread_rwlock_timedwrlock(&lock, &past);
    answers[n++] = pthread_rwlock_unlock(&lock);
    pthread_spinlock_t lock_of_spins;
    pthread_spin_init(&lock_of_spins, PTHREAD_PROCESS_PRIVATE);
    answers[n++] = pthread_spin_lock(&lock_of_spins);
    answers[n++] = pthread_spin_trylock(&lock_of_spins);
    answers[n++] = pthread_spin_unlock(&lock_of_spins);
    answers[n++] = pthread_spin_trylock(&lock_of_spins);
    answers[n++] = pthread_spin_unlock(&lock_of_spins);
    child_expect(n == ANSWERS, "all is asked");
}

static void test_rwlocks_and_spin_locks_answer_as_without_hooks(void **state)
{
    (void)state;
    const int *answers = expect_same_answers(ask, ANSWERS);
    assert_int_equal(answers[0], EINVAL);
    assert_int_equal(answers[11], EDEADLK);
}

/* ---- spin locks ---- */

__attribute__((noinline)) static void spin_for_it(void)
{
    say_about_to_wait();
    child_expect(pthread_spin_lock(&spin) == 0, "the lock is had in the end");
    KEEP_FRAME();
}

__attribute__((noinline)) static void let_go_of_the_spin_lock(void)
{
    pthread_spin_unlock(&spin);
    KEEP_FRAME();
}

static void *spinning_thread(void *unused)
{
    (void)unused;
    spin_for_it();
    pthread_spin_unlock(&spin);
    return NULL;
}

static void child_sleeps_with_a_spin_lock(void)
{
    pthread_t thread;
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    pthread_spin_lock(&spin);
    child_expect(pthread_create(&thread, NULL, spinning_thread, NULL) == 0, "a thread starts");
    let_them_wait(1);
    let_go_of_the_spin_lock();
    pthread_join(thread, NULL);
}

static void test_spinning_for_a_lock_that_stays_held_is_a_wait(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_sleeps_with_a_spin_lock);
    const struct expected_wait wait = {SBX_RECORD_LOCK, SBX_OP_SPIN_LOCK, SBX_OP_SPIN_UNLOCK, (void *)spin_for_it,
                                       (void *)let_go_of_the_spin_lock};
    assert_int_equal(count_pairs(snapshot, &wait), 1);
    sbx_snapshot_destroy(snapshot);
}

/* ---- under load ---- */

enum {
    CONTENDERS = 4,
    TURNS = 20000
};
static long written, spun; /* each protected by its lock; not atomic, so that a lost update shows */

static void *contend(void *unused)
{
    (void)unused;
    for (int i = 0; i < TURNS; i++) {
        if (i % 4 == 0) {
            pthread_rwlock_wrlock(&rwlock);
            long now = written;
            if (i % 1000 == 0) {
                sched_yield();
            }
            written = now + 1;
        } else {
            pthread_rwlock_rdlock(&rwlock);
        }
        pthread_rwlock_unlock(&rwlock);
        pthread_spin_lock(&spin);
        spun++;
        pthread_spin_unlock(&spin);
    }
    return NULL;
}

static void child_contends(void)
{
    pthread_t threads[CONTENDERS];
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    for (int i = 0; i < CONTENDERS; i++) {
        child_expect(pthread_create(&threads[i], NULL, contend, NULL) == 0, "a thread starts");
    }
    for (int i = 0; i < CONTENDERS; i++) {
        pthread_join(threads[i], NULL);
    }
    child_expect(written == (long)CONTENDERS * TURNS / 4, "no written turn was lost");
    child_expect(spun == (long)CONTENDERS * TURNS, "no spun turn was lost");
}

static void test_exclusion_is_kept_under_contention(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_contends));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wait_for_a_writer_names_it_and_all_readers_learn_who_let_go),
        cmocka_unit_test(test_a_writer_learns_which_reader_let_it_in),
        cmocka_unit_test(test_rwlocks_and_spin_locks_answer_as_without_hooks),
        cmocka_unit_test(test_spinning_for_a_lock_that_stays_held_is_a_wait),
        cmocka_unit_test(test_exclusion_is_kept_under_contention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
