/* SPDX-License-Identifier: Apache-2.0 */
/* test_descriptor.c - descriptions of descriptors: of this process, and of texts in the kernel's format. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "descriptor.h"

static char text[SBX_DESCRIPTOR_TEXT];

static void test_a_connection_is_told_with_both_addresses(void **state)
{
    (void)state;
    const char *line =
        "   1: 0100007F:9C5C 0100007F:18EB 01 00000000:00000000 00:00000000 00000000     0        0 4711 1 0";
    assert_int_equal(sbx_descriptor_parse_tcp(line, 4711, text), 0);
    assert_string_equal(text, "TCP 127.0.0.1:40028 to 127.0.0.1:6379");
    assert_int_not_equal(sbx_descriptor_parse_tcp(line, 4712, text), 0);
}

static void test_ipv6_and_listeners_are_told_apart(void **state)
{
    (void)state;
    const char *line = "   0: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A "
                       "00000000:00000000 00:00000000 00000000     0        0 9 1 0";
    assert_int_equal(sbx_descriptor_parse_tcp(line, 9, text), 0);
    assert_string_equal(text, "TCP listening on [::1]:80");
}

static void test_broken_lines_are_no_connection(void **state)
{
    (void)state;
    assert_int_not_equal(sbx_descriptor_parse_tcp("", 0, text), 0);
    assert_int_not_equal(sbx_descriptor_parse_tcp("  sl  local_address rem_address   st tx_queue", 0, text), 0);
    assert_int_not_equal(
        sbx_descriptor_parse_tcp("   1: 0100:1 0100007F:18EB 01 0:0 0:0 0     0        0 4711 1 0", 4711, text), 0);
}

static void test_real_descriptors_are_described(void **state)
{
    (void)state;
    int ends[2], listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(pipe(ends), 0);
    sbx_descriptor_describe(getpid(), ends[0], text);
    assert_string_equal(text, "a pipe");
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 1), 0);
    sbx_descriptor_describe(getpid(), listener, text);
    assert_non_null(strstr(text, "TCP listening on 127.0.0.1:"));
    int set = epoll_create1(0), watched[2];
    size_t count;
    struct epoll_event event = {.events = EPOLLIN};
    assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event), 0);
    assert_int_equal(sbx_descriptor_watched(getpid(), set, watched, 2, &count), 1);
    assert_int_equal(count, 1);
    assert_int_equal(watched[0], ends[0]);
    close(set);
    sbx_descriptor_describe(getpid(), set, text);
    assert_non_null(strstr(text, "descriptor "));
    close(listener);
    close(ends[0]);
    close(ends[1]);
}

static void test_the_owner_of_a_file_lock_is_another_process(void **state)
{
    (void)state;
    const char *locks = "1: POSIX  ADVISORY  WRITE 77 08:01:456 0 EOF\n"
                        "1: -> POSIX  ADVISORY  WRITE 78 08:01:456 0 EOF\n"
                        "2: FLOCK  ADVISORY  WRITE 79 08:01:457 0 EOF\n";
    assert_int_equal(sbx_file_lock_owner(locks, makedev(8, 1), 456, 78), 77);
    assert_int_equal(sbx_file_lock_owner(locks, makedev(8, 1), 456, 77), 0);
    assert_int_equal(sbx_file_lock_owner(locks, makedev(8, 1), 457, 78), 79);
    assert_int_equal(sbx_file_lock_owner(locks, makedev(8, 2), 457, 78), 0);
    assert_int_equal(sbx_file_lock_owner("", 0, 0, 0), 0);
}

static void test_a_real_file_lock_names_the_process_that_has_it(void **state)
{
    (void)state;
    char path[] = "/tmp/look-lock.XXXXXX";
    int file = mkstemp(path), ready[2];
    assert_true(file >= 0);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        int own = open(path, O_RDWR);
        flock(own, LOCK_EX);
        if (write(ready[1], "r", 1) == 1) {
            pause();
        }
        _exit(0);
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    pid_t owner = sbx_descriptor_lock_owner(getpid(), file);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    unlink(path);
    close(file);
    assert_int_equal(owner, child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_connection_is_told_with_both_addresses),
        cmocka_unit_test(test_ipv6_and_listeners_are_told_apart),
        cmocka_unit_test(test_broken_lines_are_no_connection),
        cmocka_unit_test(test_real_descriptors_are_described),
        cmocka_unit_test(test_the_owner_of_a_file_lock_is_another_process),
        cmocka_unit_test(test_a_real_file_lock_names_the_process_that_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
