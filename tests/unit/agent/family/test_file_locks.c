/* SPDX-License-Identifier: Apache-2.0 */
/* test_file_locks.c - which process holds a lock on a file, by the kernel's list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "file_locks.h"

static const char two_files[] = "1: POSIX  ADVISORY  WRITE 1757 fe:00:10953474 0 EOF\n"
                                "1: -> POSIX  ADVISORY  WRITE 1807 fe:00:10953474 0 EOF\n"
                                "1:  -> POSIX  ADVISORY  WRITE 1808 fe:00:10953474 0 EOF\n"
                                "2: FLOCK  ADVISORY  WRITE 1760 fe:00:10953472 0 EOF\n"
                                "2: -> FLOCK  ADVISORY  WRITE 1803 fe:00:10953472 0 EOF\n";

static void test_who_holds_is_in_the_line_above(void **state)
{
    (void)state;
    assert_int_equal(sbx_file_lock_holder(two_files, 1807, 0), 1757);
    assert_int_equal(sbx_file_lock_holder(two_files, 1803, 0), 1760);
}

static void test_who_waits_behind_another_waits_for_the_holder_too(void **state)
{
    (void)state;
    assert_int_equal(sbx_file_lock_holder(two_files, 1808, 0), 1757);
}

static void test_who_does_not_wait_has_no_holder(void **state)
{
    (void)state;
    assert_int_equal(sbx_file_lock_holder(two_files, 1757, 0), 0);
    assert_int_equal(sbx_file_lock_holder(two_files, 4, 0), 0);
    assert_int_equal(sbx_file_lock_holder("", 4, 0), 0);
}

static void test_of_two_waits_of_one_process_the_file_decides(void **state)
{
    (void)state;
    static const char text[] =
        "1: FLOCK  ADVISORY  WRITE 10 fe:00:7 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 30 fe:00:7 0 EOF\n"
        "2: FLOCK  ADVISORY  WRITE 20 fe:00:8 0 EOF\n2: -> FLOCK  ADVISORY  WRITE 30 fe:00:8 0 EOF\n";
    assert_int_equal(sbx_file_lock_holder(text, 30, 0), 0);
    assert_int_equal(sbx_file_lock_holder(text, 30, 7), 10);
    assert_int_equal(sbx_file_lock_holder(text, 30, 8), 20);
    assert_int_equal(sbx_file_lock_holder(text, 30, 9), 0);
}

static void test_a_holder_that_the_kernel_does_not_tell_is_nobody(void **state)
{
    (void)state;
    assert_int_equal(sbx_file_lock_holder("3: OFDLCK ADVISORY  WRITE -1 00:1b:17 0 EOF\n"
                                          "3: -> OFDLCK ADVISORY  WRITE 30 00:1b:17 0 EOF\n",
                                          30, 0),
                     0);
    assert_int_equal(sbx_file_lock_holder("3: FLOCK  ADVISORY  WRITE 30 00:1b:17 0 EOF\n"
                                          "3: -> FLOCK  ADVISORY  WRITE 30 00:1b:17 0 EOF\n",
                                          30, 0),
                     0); /* two threads of the same process */
}

static const char open_files[] = "3: OFDLCK ADVISORY  WRITE -1 00:1b:17 0 9\n"
                                 "3: -> OFDLCK ADVISORY  WRITE -1 00:1b:17 0 EOF\n"
                                 "4: POSIX  ADVISORY  WRITE 50 00:1b:18 0 EOF\n"
                                 "4: -> OFDLCK ADVISORY  WRITE -1 00:1b:18 0 EOF\n"
                                 "5: OFDLCK ADVISORY  READ  -1 00:1b:19 0 EOF\n"
                                 "5: -> POSIX  ADVISORY  WRITE 30 00:1b:19 0 EOF\n";

static void test_a_lock_of_an_open_file_is_told_by_its_line(void **state)
{
    (void)state;
    const char *lock = sbx_file_lock_of_open_file(open_files, 40, 17);
    assert_non_null(lock);
    assert_memory_equal(lock, "OFDLCK ADVISORY  WRITE -1 00:1b:17 0 9\n", 39);
    lock = sbx_file_lock_of_open_file(open_files, 30, 0);
    assert_non_null(lock);
    assert_memory_equal(lock, "OFDLCK ADVISORY  READ  -1 00:1b:19 0 EOF\n", 41);
    assert_null(sbx_file_lock_of_open_file(open_files, 40, 0)); /* the list does not name the waiter */
    assert_null(sbx_file_lock_of_open_file(open_files, 40, 18));
    assert_int_equal(sbx_file_lock_holder(open_files, 40, 18), 50);
}

static void test_of_two_open_files_none_is_the_answer(void **state)
{
    (void)state;
    static const char text[] =
        "3: OFDLCK ADVISORY  WRITE -1 00:1b:17 0 9\n3: -> OFDLCK ADVISORY  WRITE -1 00:1b:17 0 9\n"
        "4: OFDLCK ADVISORY  WRITE -1 00:1b:17 20 29\n4: -> OFDLCK ADVISORY  WRITE -1 00:1b:17 20 29\n";
    assert_null(sbx_file_lock_of_open_file(text, 40, 17));
}

static void test_lines_that_are_cut_off_are_no_answer(void **state)
{
    (void)state;
    static const char *const texts[] = {"1",
                                        "1:",
                                        "1: ->",
                                        "1: -> FLOCK",
                                        "1: -> FLOCK  ADVISORY  WRITE 30",
                                        ":",
                                        "x: y",
                                        "\n\n",
                                        "1: FLOCK  ADVISORY  WRITE 10 fe\n1: -> FLOCK  ADVISORY  WRITE 30"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(sbx_file_lock_holder(texts[i], 30, 0), 0);
        assert_null(sbx_file_lock_of_open_file(texts[i], 30, 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_holds_is_in_the_line_above),
        cmocka_unit_test(test_who_waits_behind_another_waits_for_the_holder_too),
        cmocka_unit_test(test_who_does_not_wait_has_no_holder),
        cmocka_unit_test(test_of_two_waits_of_one_process_the_file_decides),
        cmocka_unit_test(test_a_holder_that_the_kernel_does_not_tell_is_nobody),
        cmocka_unit_test(test_a_lock_of_an_open_file_is_told_by_its_line),
        cmocka_unit_test(test_of_two_open_files_none_is_the_answer),
        cmocka_unit_test(test_lines_that_are_cut_off_are_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
