/* SPDX-License-Identifier: Apache-2.0 */
/* test_point_foreign.c - programs that lock and wait through another library: libstdc++, and GLib where there is one.
 * */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorded_process.h"

#ifdef HAS_CPP
/* cpp_waits.cpp */
void cpp_wait_for_mutex(void);
void cpp_release_mutex(void);
void cpp_wait_for_condition(void);
void cpp_notify(void);
void cpp_wait_for_semaphore(void);
void cpp_release_semaphore(void);
void cpp_join(void *thread);
void child_waits_in_cpp(void);

static void test_cpp_programs_wait_through_points(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_waits_in_cpp);
    const struct expected_wait lock = {SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, SBX_OP_MUTEX_UNLOCK,
                                       (void *)cpp_wait_for_mutex, (void *)cpp_release_mutex};
    const struct expected_wait condition = {SBX_RECORD_COND, SBX_OP_COND_WAIT, SBX_OP_COND_SIGNAL,
                                            (void *)cpp_wait_for_condition, (void *)cpp_notify};
    const struct expected_wait by_futex = {SBX_RECORD_WAIT, SBX_OP_FUTEX_WAIT, SBX_OP_FUTEX_WAKE,
                                           (void *)cpp_wait_for_semaphore, (void *)cpp_release_semaphore};
    const struct expected_wait by_semaphore = {SBX_RECORD_WAIT, SBX_OP_SEM_WAIT, SBX_OP_SEM_POST,
                                               (void *)cpp_wait_for_semaphore, (void *)cpp_release_semaphore};
    const struct expected_wait join = {SBX_RECORD_WAIT, SBX_OP_JOIN, SBX_OP_THREAD_EXIT, (void *)cpp_join, NULL};
    assert_int_equal(count_pairs(snapshot, &lock), 1);
    assert_int_equal(count_pairs(snapshot, &condition), 1);
    assert_int_equal(count_pairs(snapshot, &by_futex) + count_pairs(snapshot, &by_semaphore), 1);
    assert_int_equal(count_pairs(snapshot, &join), 1);
    sbx_snapshot_destroy(snapshot);
}
#endif

#ifdef HAS_GLIB
#include "glib_waits.h"

static void test_glib_programs_wait_through_points(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_waits_in_glib);
    const struct expected_wait lock = {SBX_RECORD_LOCK, SBX_OP_FUTEX_WAIT, SBX_OP_FUTEX_WAKE,
                                       (void *)glib_wait_for_mutex, (void *)glib_release_mutex};
    const struct expected_wait condition = {SBX_RECORD_WAIT, SBX_OP_FUTEX_WAIT, SBX_OP_FUTEX_WAKE,
                                            (void *)glib_wait_for_condition, (void *)glib_signal};
    assert_int_equal(count_pairs(snapshot, &lock), 1);
    assert_true(count_pairs(snapshot, &condition) >= 1); /* the mutex as well, if it is still held */
    sbx_snapshot_destroy(snapshot);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef HAS_CPP
        cmocka_unit_test(test_cpp_programs_wait_through_points),
#endif
#ifdef HAS_GLIB
        cmocka_unit_test(test_glib_programs_wait_through_points),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
