/* SPDX-License-Identifier: Apache-2.0 */
/* test_wake.c - when a release is recorded and when it is not; and many threads that wait for each other in every
 * way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "capture_settings.h"
#include "recorded_process.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static atomic_bool is_over;

static int count_wakes(const struct sbx_snapshot *snapshot, uint8_t op)
{
    int count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        count += snapshot->records[i].kind == SBX_RECORD_WAKE && (op == SBX_OP_NONE || snapshot->records[i].op == op);
    }
    return count;
}

/* ---- what is not told ---- */

static void *wait_on_the_condition(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&mutex);
    say_about_to_wait();
    while (!is_over) {
        pthread_cond_wait(&condition, &mutex);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

/* A signaller in a tight loop, and a waiter that keeps waiting: the wake is recorded now and then, not each time. The
 * waiter is never given the mutex, so it stays entered for the condition that is signalled. */
static void child_signals_all_the_time(void)
{
    pthread_t thread;
    child_expect(pthread_create(&thread, NULL, wait_on_the_condition, NULL) == 0, "a thread starts");
    let_them_wait(1);
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < 100000; i++) {
        pthread_cond_signal(&condition);
    }
    is_over = true;
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
}

static void test_a_wait_is_told_of_once_an_interval_however_often_it_is_ended(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_signals_all_the_time);
    int wakes = count_wakes(snapshot, SBX_OP_COND_SIGNAL);
    assert_true(wakes >= 1);
    assert_true(wakes < 2000); /* 100,000 signals in some 10 ms; an interval is 5 ms */
    sbx_snapshot_destroy(snapshot);
}

/* Another thread ends one wait while this group of points is off. */
static void end_one_wait_without(unsigned group)
{
    pthread_t thread;
    child_set_points(SBX_POINTS_ALL & ~SBX_POINT_BIT(group));
    child_expect(pthread_create(&thread, NULL, wait_on_the_condition, NULL) == 0, "a thread starts");
    let_them_wait(1);
    pthread_mutex_lock(&mutex);
    is_over = true;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
}

static void child_has_the_wakes_off(void)
{
    end_one_wait_without(SBX_GROUP_WAKE);
}

static void test_with_the_wakes_off_waits_are_told_of_alone(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_has_the_wakes_off);
    const struct sbx_record *wait =
        only_record(snapshot, SBX_RECORD_COND, SBX_OP_COND_WAIT, (void *)wait_on_the_condition);
    assert_int_not_equal(wait->wait, 0);
    assert_int_equal(wait->peer, 0);
    assert_int_equal(count_wakes(snapshot, SBX_OP_NONE), 0);
    sbx_snapshot_destroy(snapshot);
}

static void child_has_the_waits_off(void)
{
    end_one_wait_without(SBX_GROUP_COND);
}

static void test_a_group_is_switched_by_itself(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_has_the_waits_off);
    for (size_t i = 0; i < snapshot->record_count; i++) {
        assert_int_not_equal(snapshot->records[i].kind, SBX_RECORD_COND);
    }
    assert_int_equal(count_wakes(snapshot, SBX_OP_COND_SIGNAL), 0); /* no waiter is known */
    sbx_snapshot_destroy(snapshot);
}

/* ---- many at once ---- */

enum {
    WORKERS = 10,
    LOCKS = 4
};
static pthread_mutex_t locks[LOCKS];
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static long counts[LOCKS], written; /* each protected by its lock */
static atomic_long expected_counts[LOCKS], expected_written, posted, taken;

static void *work(void *number)
{
    unsigned seed = (unsigned)(uintptr_t)number + 1;
    while (!is_over) {
        int lock = rand_r(&seed) % LOCKS;
        struct timespec soon;
        switch (rand_r(&seed) % 5) {
        case 0:
            pthread_mutex_lock(&locks[lock]);
            counts[lock]++;
            if (rand_r(&seed) % 8 == 0) {
                child_sleep_ms(1);
            }
            pthread_mutex_unlock(&locks[lock]);
            expected_counts[lock]++;
            break;
        case 1:
            clock_gettime(CLOCK_REALTIME, &soon);
            soon.tv_sec += 1;
            pthread_mutex_lock(&mutex);
            if (rand_r(&seed) % 3 != 0) {
                pthread_cond_timedwait(&condition, &mutex, &soon);
            } else if (rand_r(&seed) % 2 != 0) {
                pthread_cond_broadcast(&condition);
            } else {
                pthread_cond_signal(&condition);
            }
            pthread_mutex_unlock(&mutex);
            pthread_cond_signal(&condition);
            break;
        case 2:
            pthread_rwlock_wrlock(&rwlock);
            written++;
            if (rand_r(&seed) % 8 == 0) {
                child_sleep_ms(1);
            }
            pthread_rwlock_unlock(&rwlock);
            expected_written++;
            break;
        case 3:
            pthread_rwlock_rdlock(&rwlock);
            sched_yield();
            pthread_rwlock_unlock(&rwlock);
            break;
        default:
            clock_gettime(CLOCK_REALTIME, &soon);
            soon.tv_nsec = soon.tv_nsec + 500000 < 1000000000 ? soon.tv_nsec + 500000 : 999999999;
            taken += sem_timedwait(&semaphore, &soon) == 0;
            sem_post(&semaphore);
            posted++;
        }
    }
    return NULL;
}

static void child_does_everything_at_once(void)
{
    pthread_t threads[WORKERS];
    int value = 0;
    sem_init(&semaphore, 0, 0);
    for (int i = 0; i < LOCKS; i++) {
        pthread_mutex_init(&locks[i], NULL);
    }
    for (uintptr_t i = 0; i < WORKERS; i++) {
        child_expect(pthread_create(&threads[i], NULL, work, (void *)i) == 0, "a thread starts");
    }
    child_sleep_ms(2000);
    is_over = true;
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < LOCKS; i++) {
        child_expect(counts[i] == expected_counts[i], "no turn was lost");
    }
    sem_getvalue(&semaphore, &value);
    child_expect(written == expected_written && value == posted - taken, "nothing else was lost");
}

/* A wait id names one wait of one thread. A wake with that id names the same thread and object, and comes after the
 * wait has begun. */
static void test_what_is_told_of_a_crowd_is_consistent(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_does_everything_at_once);
    int waits = 0, joined = 0, contradictions = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *wait = &snapshot->records[i];
        if (wait->wait == 0 || wait->kind == SBX_RECORD_WAKE || wait->kind == SBX_RECORD_BLOCKED) {
            continue;
        }
        waits++;
        bool is_joined = false;
        for (size_t j = 0; j < snapshot->record_count; j++) {
            const struct sbx_record *other = &snapshot->records[j];
            if (j == i || other->wait != wait->wait || other->kind == SBX_RECORD_BLOCKED) { /* seen from outside */
                continue;
            }
            contradictions += other->kind != SBX_RECORD_WAKE; /* two waits with one id */
            contradictions += other->object != wait->object || other->peer != tid_of_record(snapshot, wait) ||
                              other->thread == wait->thread;
            contradictions += other->end_ns < wait->begin_ns;
            is_joined |= other->end_ns <= wait->end_ns; /* a later one came after the wait's end */
        }
        joined += is_joined;
    }
    assert_int_equal(contradictions, 0);
    assert_true(waits > 50);
    assert_true(joined * 2 > waits); /* neither time-outs nor waits that have just begun have a waker */
    assert_int_equal(snapshot->drops[SBX_DROP_NO_WAITER_SEAT], 0);
    sbx_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wait_is_told_of_once_an_interval_however_often_it_is_ended),
        cmocka_unit_test(test_with_the_wakes_off_waits_are_told_of_alone),
        cmocka_unit_test(test_a_group_is_switched_by_itself),
        cmocka_unit_test(test_what_is_told_of_a_crowd_is_consistent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
