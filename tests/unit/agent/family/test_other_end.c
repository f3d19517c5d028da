/* SPDX-License-Identifier: Apache-2.0 */
/* test_other_end.c - which of several processes has the other end of a pipe or a socket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "kept_child.h"
#include "other_end.h"

static uint32_t self(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static void close_end(void *end)
{
    close(*(const int *)end);
}

/* A child that is the only process with the other end open. */
static uint32_t keep_without(int *closed)
{
    return kept_child_begin(close_end, closed);
}

static void test_the_one_that_has_the_writing_end_is_found(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    uint32_t reader = keep_without(&ends[1]), writer = keep_without(&ends[0]);
    const uint32_t both[] = {reader, writer, 0};
    close(ends[1]);
    assert_int_equal(sbx_other_end_find(self(), ends[0], true, true, both, 3), writer);
    assert_int_equal(sbx_other_end_find(self(), ends[0], true, true, both, 1),
                     0); /* a process that also reads is no answer */
    kept_child_end(writer);
    assert_int_equal(sbx_other_end_find(self(), ends[0], true, true, both, 3), 0);
    kept_child_end(reader);
    close(ends[0]);
}

static void test_of_two_that_have_it_none_is_named_and_of_oneself_neither(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    uint32_t one = keep_without(&ends[0]), other = keep_without(&ends[0]);
    const uint32_t both[] = {one, other};
    assert_int_equal(sbx_other_end_find(self(), ends[0], true, true, both, 1), 0); /* this process has it as well */
    close(ends[1]);
    assert_int_equal(sbx_other_end_find(self(), ends[0], true, true, both, 2), 0);
    assert_int_equal(sbx_other_end_find(self(), ends[0], true, true, both, 1), one);
    kept_child_end(one);
    kept_child_end(other);
    close(ends[0]);
}

static void test_the_socket_that_one_is_connected_to_is_found(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    uint32_t other = keep_without(&ends[0]);
    close(ends[1]);
    uint32_t found = sbx_other_end_find(self(), ends[0], true, true, &other, 1);
    assert_int_equal(sbx_other_end_find(self(), ends[0], true, false, &other, 1), 0); /* asking is not allowed */
    kept_child_end(other);
    close(ends[0]);
    if (found == 0) {
        skip(); /* a kernel without unix_diag */
    }
    assert_int_equal(found, other);
}

static void test_what_is_no_pipe_has_no_other_end(void **state)
{
    (void)state;
    uint32_t pid = (uint32_t)getppid();
    assert_int_equal(sbx_other_end_find(self(), -1, true, true, &pid, 1), 0);
    assert_int_equal(sbx_other_end_find(self(), 999, true, true, &pid, 1), 0);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[1]);
    const uint32_t nobody = 1000000000;
    assert_int_equal(sbx_other_end_find(self(), ends[0], true, true, &nobody, 1), 0);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_one_that_has_the_writing_end_is_found),
        cmocka_unit_test(test_of_two_that_have_it_none_is_named_and_of_oneself_neither),
        cmocka_unit_test(test_the_socket_that_one_is_connected_to_is_found),
        cmocka_unit_test(test_what_is_no_pipe_has_no_other_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
