/* SPDX-License-Identifier: Apache-2.0 */
/* test_names.c - the name tables that are compiled into both sides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>

#include <string.h>

#include "name_tables.h"
#include "names.h"
#include "payload_numbers.h"

static void test_every_system_module_is_found_at_its_own_index(void **state)
{
    (void)state;
    uint32_t count = 0;
    for (uint32_t i = 1; sbx_system_module_name(i) != NULL; i++) {
        const char *name = sbx_system_module_name(i);
        assert_int_equal(sbx_system_module_index(name), i); /* no name is in the table twice */
        assert_null(strchr(name, '/'));
        assert_true(strlen(name) < 64);
        count++;
    }
    assert_true(count >= 150);
    assert_null(sbx_system_module_name(0));
    assert_null(sbx_system_module_name(count + 1));
    assert_null(sbx_system_module_name(UINT32_MAX));
}

static void test_indexes_that_were_sent_stay_what_they_are(void **state)
{
    (void)state;
    assert_string_equal(sbx_system_module_name(1), "linux-vdso.so.1");
    assert_string_equal(sbx_system_module_name(4), "libc.so.6");
    assert_string_equal(sbx_thread_name_pattern(0), "other");
    assert_string_equal(sbx_thread_name_pattern(1), "main");
    assert_string_equal(sbx_thread_name_pattern(2), "bio_close_file");
}

static void test_unknown_modules_have_no_index(void **state)
{
    (void)state;
    assert_int_equal(sbx_system_module_index("libanna-private.so.1"), 0);
    assert_int_equal(sbx_system_module_index("libc.so"), 0);
    assert_int_equal(sbx_system_module_index("libc.so.6 "), 0);
    assert_int_equal(sbx_system_module_index(""), 0);
    assert_int_equal(sbx_system_module_index(NULL), 0);
}

static const char *pattern_of(const char *name)
{
    return sbx_thread_name_pattern(sbx_thread_name_index(name));
}

static void test_digits_of_a_thread_name_never_matter(void **state)
{
    (void)state;
    assert_string_equal(pattern_of("io_thd_1"), "io_thd_#");
    assert_string_equal(pattern_of("io_thd_127"), "io_thd_#");
    assert_string_equal(pattern_of("pool-4711"), "pool-#");
    assert_string_equal(pattern_of("pool-1-thread-2"), "pool-#-thread-#");
    assert_string_equal(pattern_of("iou-wrk-12345"), "iou-wrk-#");
    assert_string_equal(pattern_of("G1 Main Marker"), "G# Main Marker");
}

static void test_names_of_redis_threads_are_known(void **state)
{
    (void)state;
    const char *const names[] = {"bio_close_file", "bio_aof_fsync", "bio_lazy_free", "jemalloc_bg_thd"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_string_equal(pattern_of(names[i]), names[i]);
    }
}

static void test_a_name_the_kernel_cut_matches_the_whole_one(void **state)
{
    (void)state;
    assert_string_equal(pattern_of("ThreadPoolForeg"), "ThreadPoolForegroundWorker");
    assert_string_equal(pattern_of("CompositorTileW"), "CompositorTileWorker#");
    assert_string_equal(pattern_of("VizCompositorTh"), "VizCompositorThread");
    assert_string_equal(pattern_of("ThreadPoolFore"), "other"); /* 14 bytes: the kernel has not cut the name */
}

static void test_other_names_are_other(void **state)
{
    (void)state;
    const char *const names[] = {"anna's mailbox", "pool-", "pool-x",          "pool-4x",  "xpool-4",
                                 "bio_close_fil",  "",      "<script>alert(1", "io_thd_#x"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(sbx_thread_name_index(names[i]), 0);
    }
    assert_int_equal(sbx_thread_name_index(NULL), 0);
    assert_string_equal(sbx_thread_name_pattern(UINT32_MAX), "other");
}

static void test_main_is_not_given_by_name(void **state)
{
    (void)state;
    assert_int_equal(sbx_thread_name_index("main"), 0);
}

static void test_every_pattern_has_an_index_that_names_it(void **state)
{
    (void)state;
    for (uint32_t i = 2; strcmp(sbx_thread_name_pattern(i), "other") != 0; i++) {
        const char *pattern = sbx_thread_name_pattern(i);
        char name[16] = ""; /* the pattern as a thread's name: a digit for '#' ("##": "#7"), cut */
        for (size_t at = 0; at < 15 && pattern[at] != '\0'; at++) {
            name[at] = pattern[at] == '#' && pattern[at + 1] != '#' ? '7' : pattern[at];
        }
        assert_string_equal(pattern_of(name), pattern); /* no entry hides a later one */
    }
}

static void test_enum_names_are_those_of_the_reports(void **state)
{
    (void)state;
    assert_string_equal(sbx_trigger_name(SBX_TRIGGER_SLOW_MESSAGE), "slow_message");
    assert_string_equal(sbx_trigger_name(SBX_TRIGGER_KILLED), "killed");
    assert_string_equal(sbx_signal_name(SIGSEGV), "SIGSEGV");
    assert_string_equal(sbx_signal_name(SIGSYS), "SIGSYS");
    assert_string_equal(sbx_signal_name(SBX_SIGNAL_MAX), "SIGRT");
    assert_string_equal(sbx_fault_text(SBX_FAULT_UNMAPPED), "no memory at the address");
    assert_string_equal(sbx_record_name(SBX_RECORD_LOCK), "lock");
    assert_string_equal(sbx_op_name(SBX_OP_NANOSLEEP), "nanosleep");
    assert_string_equal(sbx_op_name(SBX_OP_MUTEX_LOCK), "pthread_mutex_lock");
    assert_string_equal(sbx_op_name(SBX_OP_EPOLL_WAIT), "epoll_wait");
    assert_string_equal(sbx_op_name(SBX_OP_GETADDRINFO), "getaddrinfo");
    assert_string_equal(sbx_drop_name(SBX_DROP_STACK_OVERFLOW), "stack_overflow");
    assert_string_equal(sbx_walk_end_name(SBX_WALK_ROWS_PENDING), "rows_pending");
    assert_string_equal(sbx_fd_class_name(SBX_FD_PIPE), "pipe");
    assert_string_equal(sbx_drop_name(SBX_DROP_UNREADABLE), "unreadable");
    assert_string_equal(sbx_runtime_name(SBX_RUNTIME_JAVA), "Java");
    assert_string_equal(sbx_runtime_state_name(SBX_RUNTIME_LEFT_ALONE), "left alone");
    assert_string_equal(sbx_syscall_name(202), "futex");
    assert_string_equal(sbx_syscall_name(230), "clock_nanosleep");
}

static void test_every_enum_value_has_a_name_and_others_are_unknown(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SBX_TRIGGER_KINDS; i++) {
        assert_string_not_equal(sbx_trigger_name(i), "unknown");
    }
    for (uint32_t i = 1; i <= SBX_SIGNAL_MAX; i++) {
        assert_string_not_equal(sbx_signal_name(i), "unknown");
    }
    for (uint32_t i = 0; i < SBX_FAULT_KINDS; i++) {
        assert_string_not_equal(sbx_fault_text(i), "unknown");
    }
    assert_string_equal(sbx_signal_name(0), "unknown");
    assert_string_equal(sbx_signal_name(SBX_SIGNAL_MAX + 1), "unknown");
    assert_string_equal(sbx_fault_text(SBX_FAULT_KINDS), "unknown");
    for (uint32_t i = 0; i < SBX_RECORD_KINDS; i++) {
        assert_string_not_equal(sbx_record_name(i), "unknown");
    }
    for (uint32_t i = 0; i <= SBX_DROP_CUT; i++) {
        assert_string_not_equal(sbx_drop_name(i), "unknown");
    }
    for (uint32_t i = 0; i <= SBX_WALK_ROWS_PENDING; i++) {
        assert_string_not_equal(sbx_walk_end_name(i), "unknown");
    }
    for (uint32_t i = 0; i < SBX_GROUP_COUNT; i++) {
        assert_string_not_equal(sbx_point_name(i), "unknown");
    }
    assert_string_equal(sbx_point_name(SBX_GROUP_COUNT), "unknown");
    assert_string_equal(sbx_trigger_name(SBX_TRIGGER_KINDS), "unknown");
    assert_string_equal(sbx_record_name(UINT32_MAX), "unknown");
    assert_string_equal(sbx_op_name(SBX_OP_MAX), "unknown");
    assert_string_equal(sbx_op_name(7), "unknown");
    assert_string_equal(sbx_drop_name(SBX_DROP_COUNT), "unknown");
    for (uint32_t i = 1; i < SBX_RUNTIME_KIND_COUNT; i++) {
        assert_string_not_equal(sbx_runtime_name(i), "unknown");
    }
    for (uint32_t i = SBX_RUNTIME_NOT_YET; i <= SBX_RUNTIME_NO_PROVIDER; i++) {
        assert_string_not_equal(sbx_runtime_state_name(i), "unknown");
    }
    assert_string_equal(sbx_runtime_name(SBX_RUNTIME_KIND_COUNT), "unknown");
    assert_string_equal(sbx_runtime_state_name(UINT32_MAX), "unknown");
    assert_string_equal(sbx_walk_end_name(1000), "unknown");
    assert_string_equal(sbx_fd_class_name(1000), "unknown");
    assert_null(sbx_syscall_name(39));
    assert_null(sbx_syscall_name(UINT64_MAX));
}

static void test_a_message_kind_is_known_by_its_program_and_number(void **state)
{
    static const uint8_t one[8] = {1, 2, 3, 4, 5, 6, 7, 8}, other[8] = {1, 2, 3, 4, 5, 6, 7, 9};
    (void)state;
    uint64_t what = sbx_message_kind_what(one, sizeof one, 7);
    assert_int_equal(what, UINT64_C(0x8dad4b759e));
    assert_true(what != sbx_message_kind_what(one, sizeof one, 8));
    assert_true(what != sbx_message_kind_what(other, sizeof other, 7));
    assert_int_equal(sbx_message_kind_what(one, 0, 7), 0); /* the kind's application is not known */
    assert_int_equal(sbx_message_kind_what(one, sizeof one, 0), 0);
    assert_true(sbx_scene_what(one, sizeof one, 7) != what); /* scenes have numbers of their own */
    assert_true(sbx_scene_what(one, sizeof one, 7) != sbx_scene_what(one, sizeof one, 8));
    assert_int_equal(sbx_scene_what(one, 0, 7), 0);
    assert_int_equal(sbx_scene_what(one, sizeof one, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_system_module_is_found_at_its_own_index),
        cmocka_unit_test(test_indexes_that_were_sent_stay_what_they_are),
        cmocka_unit_test(test_unknown_modules_have_no_index),
        cmocka_unit_test(test_digits_of_a_thread_name_never_matter),
        cmocka_unit_test(test_names_of_redis_threads_are_known),
        cmocka_unit_test(test_a_name_the_kernel_cut_matches_the_whole_one),
        cmocka_unit_test(test_other_names_are_other),
        cmocka_unit_test(test_main_is_not_given_by_name),
        cmocka_unit_test(test_every_pattern_has_an_index_that_names_it),
        cmocka_unit_test(test_enum_names_are_those_of_the_reports),
        cmocka_unit_test(test_a_message_kind_is_known_by_its_program_and_number),
        cmocka_unit_test(test_every_enum_value_has_a_name_and_others_are_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
