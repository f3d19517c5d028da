/* SPDX-License-Identifier: Apache-2.0 */
/* test_futex_owner.c - which thread holds the lock that is waited for, by the content of lock words; and cases without
 * an answer. */
#include <linux/futex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "futex_owner.h"

enum {
    WAITER = 100,
    OWNER = 101
};

static bool is_thread(void *context, uint32_t tid)
{
    (void)context;
    return tid == WAITER || tid == OWNER;
}

static uint32_t words[SBX_FUTEX_WORDS];

static int set_up(void **state)
{
    (void)state;
    memset(words, 0, sizeof words);
    return 0;
}

static struct sbx_futex_owner find(const char *function, uint64_t operation, uint32_t expected)
{
    return sbx_futex_owner_of(function, operation, expected, words, WAITER, is_thread, NULL);
}

static void put_mutex(unsigned at, uint32_t lock, uint32_t owner, uint32_t users)
{
    words[at] = lock;
    words[at + 2] = owner;
    words[at + 3] = users;
}

static void expect_nobody(struct sbx_futex_owner owner)
{
    assert_int_equal(owner.object, SBX_FUTEX_UNKNOWN);
    assert_int_equal(owner.tid, 0);
}

static void test_a_contended_mutex_names_its_owner(void **state)
{
    (void)state;
    put_mutex(SBX_FUTEX_WORDS_BEFORE, 2, OWNER, 1);
    struct sbx_futex_owner owner = find("pthread_mutex_lock", FUTEX_WAIT_PRIVATE, 2);
    assert_int_equal(owner.object, SBX_FUTEX_MUTEX);
    assert_int_equal(owner.tid, OWNER);
    assert_int_equal(find(NULL, FUTEX_WAIT_PRIVATE, 2).tid, OWNER); /* also in stripped programs */
}

static void test_an_owner_that_is_no_thread_of_the_process_is_not_claimed(void **state)
{
    (void)state;
    put_mutex(SBX_FUTEX_WORDS_BEFORE, 2, 999, 1);
    expect_nobody(find("pthread_mutex_lock", FUTEX_WAIT_PRIVATE, 2));
    put_mutex(SBX_FUTEX_WORDS_BEFORE, 2, WAITER, 1);
    expect_nobody(find("pthread_mutex_lock", FUTEX_WAIT_PRIVATE, 2));
}

static void test_a_word_that_has_changed_since_names_nobody(void **state)
{
    (void)state;
    put_mutex(SBX_FUTEX_WORDS_BEFORE, 1, OWNER, 1);
    expect_nobody(find("pthread_mutex_lock", FUTEX_WAIT_PRIVATE, 2));
}

static void test_a_condition_is_not_taken_for_the_mutex_behind_it(void **state)
{
    (void)state;
    words[SBX_FUTEX_WORDS_BEFORE] = 2;
    put_mutex(SBX_FUTEX_WORDS_BEFORE + 1, 2, OWNER, 1);
    expect_nobody(find("pthread_cond_wait", FUTEX_WAIT_BITSET_PRIVATE, 2));
    words[SBX_FUTEX_WORDS_BEFORE] = 0;
    expect_nobody(find(NULL, FUTEX_WAIT_BITSET_PRIVATE, 0));
}

static void test_a_thread_s_end_names_the_thread(void **state)
{
    (void)state;
    words[SBX_FUTEX_WORDS_BEFORE] = OWNER;
    struct sbx_futex_owner owner = find("pthread_join", FUTEX_WAIT_BITSET, OWNER);
    assert_int_equal(owner.object, SBX_FUTEX_THREAD_END);
    assert_int_equal(owner.tid, OWNER);
}

static void test_a_lock_with_priority_inheritance_names_its_owner(void **state)
{
    (void)state;
    words[SBX_FUTEX_WORDS_BEFORE] = OWNER | FUTEX_WAITERS;
    struct sbx_futex_owner owner = find("pthread_mutex_lock", FUTEX_LOCK_PI_PRIVATE, 0);
    assert_int_equal(owner.object, SBX_FUTEX_MUTEX);
    assert_int_equal(owner.tid, OWNER);
}

static void test_a_robust_mutex_names_its_owner(void **state)
{
    (void)state;
    words[SBX_FUTEX_WORDS_BEFORE] = OWNER | FUTEX_WAITERS;
    assert_int_equal(find(NULL, FUTEX_WAIT, OWNER | FUTEX_WAITERS).tid, OWNER);
}

static void test_a_read_write_lock_names_its_writer_at_either_word(void **state)
{
    (void)state;
    words[SBX_FUTEX_WORDS_BEFORE] = 2;
    words[SBX_FUTEX_WORDS_BEFORE + 4] = OWNER;
    assert_int_equal(find("pthread_rwlock_rdlock", FUTEX_WAIT_BITSET_PRIVATE, 2).object, SBX_FUTEX_WRITE_LOCK);
    words[SBX_FUTEX_WORDS_BEFORE + 4] = 0;
    words[SBX_FUTEX_WORDS_BEFORE + 3] = OWNER;
    assert_int_equal(find("pthread_rwlock_wrlock", FUTEX_WAIT_BITSET_PRIVATE, 2).tid, OWNER);
    expect_nobody(find("sem_wait", FUTEX_WAIT_BITSET_PRIVATE, 2));
}

static void test_a_call_that_wakes_waits_for_nobody(void **state)
{
    (void)state;
    put_mutex(SBX_FUTEX_WORDS_BEFORE, 2, OWNER, 1);
    expect_nobody(find(NULL, FUTEX_WAKE_PRIVATE, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_contended_mutex_names_its_owner, set_up),
        cmocka_unit_test_setup(test_an_owner_that_is_no_thread_of_the_process_is_not_claimed, set_up),
        cmocka_unit_test_setup(test_a_word_that_has_changed_since_names_nobody, set_up),
        cmocka_unit_test_setup(test_a_condition_is_not_taken_for_the_mutex_behind_it, set_up),
        cmocka_unit_test_setup(test_a_thread_s_end_names_the_thread, set_up),
        cmocka_unit_test_setup(test_a_lock_with_priority_inheritance_names_its_owner, set_up),
        cmocka_unit_test_setup(test_a_robust_mutex_names_its_owner, set_up),
        cmocka_unit_test_setup(test_a_read_write_lock_names_its_writer_at_either_word, set_up),
        cmocka_unit_test_setup(test_a_call_that_wakes_waits_for_nobody, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
