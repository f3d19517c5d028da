/* SPDX-License-Identifier: Apache-2.0 */
/* test_waiter_table.c - seats, looks and stamps, alone and by many threads at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "waiter_table.h"

static struct sbx_waiter enter(uint64_t object, uint32_t seat, uint64_t begin_ns)
{
    const struct sbx_waiter waiter = {.object = object,
                                      .begin_ns = begin_ns,
                                      .seat = seat,
                                      .wait = sbx_waiter_new_id(),
                                      .tid = 1000 + seat,
                                      .group = 3};
    sbx_waiter_enter(&waiter);
    return waiter;
}

/* Another object of the same bucket. */
static uint64_t collide_with(uint64_t object)
{
    uint64_t other = object + 8;
    while (sbx_waiter_bucket(other) != sbx_waiter_bucket(object)) {
        other += 8;
    }
    return other;
}

static void test_nobody_waits_until_somebody_enters_and_nobody_after_he_left(void **state)
{
    struct sbx_waiter found[4];
    uint32_t seen = 9;
    (void)state;
    assert_false(sbx_waiter_is_likely(0x1000));
    struct sbx_waiter waiter = enter(0x1000, 70, 5);
    assert_true(sbx_waiter_is_likely(0x1000));
    assert_true(sbx_waiter_is_in(70));
    assert_int_equal(sbx_waiter_find(0x1000, found, 4, &seen), 1);
    assert_int_equal(seen, 1);
    assert_memory_equal(&found[0], &waiter, sizeof waiter);
    assert_int_equal(sbx_waiter_leave(70), 0);
    assert_false(sbx_waiter_is_likely(0x1000));
    assert_false(sbx_waiter_is_in(70));
    assert_int_equal(sbx_waiter_find(0x1000, found, 4, &seen), 0);
    assert_int_equal(seen, 0);
    assert_int_equal(sbx_waiter_leave(70), 0); /* leaving twice is harmless */
}

static void test_a_waiter_for_another_object_of_the_bucket_is_not_found(void **state)
{
    struct sbx_waiter found[4];
    uint32_t seen;
    uint64_t other = collide_with(0x2000);
    (void)state;
    enter(0x2000, 1, 5);
    assert_true(sbx_waiter_is_likely(other));
    assert_int_equal(sbx_waiter_find(other, found, 4, &seen), 0);
    assert_int_equal(seen, 0);
    enter(other, 2, 6);
    sbx_waiter_leave(1);
    assert_true(sbx_waiter_is_likely(other)); /* a leaving waiter removes only itself */
    assert_int_equal(sbx_waiter_find(other, found, 4, &seen), 1);
    assert_int_equal(found[0].seat, 2);
    sbx_waiter_leave(2);
    assert_false(sbx_waiter_is_likely(other));
}

static void test_the_longest_waits_are_found_first(void **state)
{
    struct sbx_waiter found[4];
    uint32_t seen;
    (void)state;
    for (uint32_t seat = 0; seat < 200; seat++) {
        enter(0x3000, seat, 1000 + (seat * 37) % 200); /* 37 and 200 have no common divisor: every number once */
    }
    assert_int_equal(sbx_waiter_find(0x3000, found, 4, &seen), 4);
    assert_int_equal(seen, 200);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(found[i].begin_ns, 1000 + i);
    }
    assert_int_equal(sbx_waiter_find(0x3000, found, 1, &seen), 1);
    assert_int_equal(found[0].begin_ns, 1000);
    for (uint32_t seat = 0; seat < 200; seat++) {
        sbx_waiter_leave(seat);
    }
    assert_false(sbx_waiter_is_likely(0x3000));
}

static void test_a_stamp_is_for_one_wait_only(void **state)
{
    (void)state;
    struct sbx_waiter first = enter(0x4000, 3, 5);
    sbx_waiter_stamp(&first, 77);
    sbx_waiter_stamp(&first, 78);
    assert_int_equal(sbx_waiter_leave(3), 78); /* the last stamp wins */
    enter(0x4000, 3, 6);
    assert_int_equal(sbx_waiter_leave(3), 0); /* a stamp is not found twice */
    enter(0x4000, 3, 7);
    sbx_waiter_stamp(&first, 79); /* a late stamp */
    assert_int_equal(sbx_waiter_leave(3), 0);
}

static void test_stamping_all_spares_who_came_later(void **state)
{
    (void)state;
    for (uint32_t seat = 0; seat < 150; seat++) {
        enter(0x5000, seat, seat < 100 ? 10 : 30);
    }
    enter(0x6000, 150, 10);
    sbx_waiter_stamp_all(0x5000, 77, 20);
    for (uint32_t seat = 0; seat < 150; seat++) {
        assert_int_equal(sbx_waiter_leave(seat), seat < 100 ? 77 : 0);
    }
    assert_int_equal(sbx_waiter_leave(150), 0);
}

static void test_a_look_is_bounded(void **state)
{
    struct sbx_waiter found[2];
    uint32_t seen;
    (void)state;
    for (uint32_t seat = 0; seat < SBX_THREADS_MAX; seat++) {
        enter(0x7000, seat, 10);
    }
    assert_int_equal(sbx_waiter_find(0x7000, found, 2, &seen), 2);
    assert_int_equal(seen, SBX_WAITER_LOOK_MOST);
    for (uint32_t seat = 0; seat < SBX_THREADS_MAX; seat++) {
        sbx_waiter_leave(seat);
    }
    assert_false(sbx_waiter_is_likely(0x7000));
}

/* Many threads wait and release at once, for few objects in few buckets, also in the same part of a bitmap. What must
 * hold: every look finds a waiter that stays. The found data is one wait, not a mixture (I2). A stamp that is taken was
 * meant for its waiter (I3). When all have left, nothing is left. */
enum {
    WAITERS = 6,
    WAKERS = 2,
    TURNS = 20000 / ROUNDS_DIVISOR,
    OBJECTS = 3
};
static uint64_t objects[OBJECTS];
static atomic_bool is_over;
static atomic_ulong found_waits, taken_stamps, wrong;

static void *wait_again_and_again(void *number)
{
    uint32_t seat = (uint32_t)(uintptr_t)number, seed = seat + 1;
    for (uint32_t i = 0; i < TURNS; i++) {
        seed = seed * 1103515245u + 12345u;
        uint64_t object = objects[seed >> 16 & 1]; /* not the last object: there a waiter stays all the time */
        struct sbx_waiter waiter = {.object = object,
                                    .begin_ns = object + seat,
                                    .seat = seat,
                                    .wait = sbx_waiter_new_id(),
                                    .tid = 1000 + seat,
                                    .group = seat};
        sbx_waiter_enter(&waiter);
        struct sbx_waiter others[WAITERS + 1];
        uint32_t seen, count = sbx_waiter_find(object, others, WAITERS + 1, &seen);
        for (uint32_t k = 0; k < count; k++) {
            wrong += others[k].seat == seat && others[k].wait != waiter.wait;
        }
        if (i % 8 == 0) {
            sched_yield(); /* so that others look while we are entered, also on one CPU */
        }
        uint32_t waker = sbx_waiter_leave(seat);
        wrong += waker != 0 && waker != (waiter.wait ^ 0x55555555); /* see wake_again_and_again() */
        taken_stamps += waker != 0;
    }
    return NULL;
}

static void *wake_again_and_again(void *unused)
{
    (void)unused;
    for (uint32_t i = 0; !is_over; i++) {
        struct sbx_waiter waiters[WAITERS + 1];
        uint64_t object = objects[i % OBJECTS];
        uint32_t seen, count = sbx_waiter_find(object, waiters, WAITERS + 1, &seen);
        if (i % OBJECTS == OBJECTS - 1) {
            wrong += !sbx_waiter_is_likely(object) || count != 1;
            continue;
        }
        for (uint32_t k = 0; k < count; k++) {
            wrong += waiters[k].object != object || waiters[k].begin_ns != object + waiters[k].seat ||
                     waiters[k].tid != 1000 + waiters[k].seat || waiters[k].group != waiters[k].seat;
            sbx_waiter_stamp(&waiters[k], waiters[k].wait ^ 0x55555555); /* the name says which wait it is meant for */
            found_waits++;
        }
    }
    return NULL;
}

static void test_many_waiters_and_wakers_at_once_see_only_what_is_true(void **state)
{
    pthread_t waiters[WAITERS], wakers[WAKERS];
    (void)state;
    objects[0] = 0x8000;
    objects[1] = 0x9000;
    objects[2] = collide_with(0x8000); /* the staying waiter shares bucket and bitmap part with the others */
    enter(objects[2], 63, 1);
    for (uintptr_t i = 0; i < WAKERS; i++) {
        assert_int_equal(pthread_create(&wakers[i], NULL, wake_again_and_again, NULL), 0);
    }
    for (uintptr_t i = 0; i < WAITERS; i++) {
        assert_int_equal(pthread_create(&waiters[i], NULL, wait_again_and_again, (void *)(i * 20)), 0);
    }
    for (int i = 0; i < WAITERS; i++) {
        pthread_join(waiters[i], NULL);
    }
    is_over = true;
    for (int i = 0; i < WAKERS; i++) {
        pthread_join(wakers[i], NULL);
    }
    assert_int_equal(wrong, 0);
    assert_true(found_waits > 0 && taken_stamps > 0);
    sbx_waiter_leave(63);
    for (int i = 0; i < OBJECTS; i++) {
        assert_false(sbx_waiter_is_likely(objects[i]));
    }
}

/* One thread leaves a part of a bitmap as the last one in it while another enters. When both are done the entered one
 * must not be hidden (I4). The two change roles in each round. */
enum {
    ROUNDS = 100000 / ROUNDS_DIVISOR,
    LONGEST_S = 60 /* with many threads for each processor a meeting takes a time slice */
};
static atomic_uint arrivals, hidden, round_count = ROUNDS;
static time_t begun_s;

static time_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void meet(uint32_t number)
{
    arrivals++;
    for (uint32_t looks = 0; arrivals < 2 * number; looks++) {
        if (looks % 1024 == 1023) {
            sched_yield(); /* the other thread has no CPU */
        }
    }
}

static void *enter_or_leave(void *first)
{
    uint32_t own = (uint32_t)(uintptr_t)first, meeting = 0;
    for (uint32_t round = 0; round < round_count; round++) {
        bool enters = (round & 1) == own;
        if (own == 0 && round % 256 == 0 && round + 2 < ROUNDS && now_s() - begun_s >= LONGEST_S) {
            round_count = round + 2; /* the other thread sees it after the meeting, before it gets there */
        }
        meet(++meeting);
        for (volatile uint32_t delay = (round * 7 + own * 3) % 16; delay > 0; delay--) {
        }
        if (enters) {
            const struct sbx_waiter waiter = {.object = 0xa000, .seat = 10 + own, .wait = round + 1, .tid = 1};
            sbx_waiter_enter(&waiter);
        } else {
            sbx_waiter_leave(10 + own);
        }
        meet(++meeting);
        hidden += enters && !sbx_waiter_is_likely(0xa000);
    }
    sbx_waiter_leave(10 + own);
    return NULL;
}

static void test_who_enters_while_the_last_other_leaves_stays_visible(void **state)
{
    pthread_t threads[2];
    (void)state;
    begun_s = now_s();
    for (uintptr_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, enter_or_leave, (void *)i), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(hidden, 0);
    assert_false(sbx_waiter_is_likely(0xa000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_waits_until_somebody_enters_and_nobody_after_he_left),
        cmocka_unit_test(test_a_waiter_for_another_object_of_the_bucket_is_not_found),
        cmocka_unit_test(test_the_longest_waits_are_found_first),
        cmocka_unit_test(test_a_stamp_is_for_one_wait_only),
        cmocka_unit_test(test_stamping_all_spares_who_came_later),
        cmocka_unit_test(test_a_look_is_bounded),
        cmocka_unit_test(test_many_waiters_and_wakers_at_once_see_only_what_is_true),
        cmocka_unit_test(test_who_enters_while_the_last_other_leaves_stays_visible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
