/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "worker_sandbox.h"

/* Run child_does() in a sandboxed child. Returns the number of the first failed check, 0 when all are right. */
static int status_behind(bool has_connections, int (*child_does)(void))
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(sbx_worker_sandbox_close(has_connections) == 0 ? child_does() : 99);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int status_of(int (*child_does)(void))
{
    return status_behind(false, child_does);
}

static int read_and_write(void)
{
    char byte;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), folder = open("/usr/bin", O_RDONLY | O_DIRECTORY);
    if (fd < 0 || read(fd, &byte, 1) != 1)
        return 1;
    if (folder < 0)
        return 2;
    if (open("/tmp/sbx_sandbox_test", O_WRONLY | O_CREAT, 0600) >= 0 || errno != EPERM)
        return 3;
    if (open("/dev/null", O_RDWR) >= 0 || errno != EPERM)
        return 4;
    if (unlink("/tmp/sbx_sandbox_test") == 0 || errno != EPERM)
        return 5;
    return 0;
}

static void test_files_can_be_read_and_not_written(void **state)
{
    (void)state;
    if (!sbx_worker_sandbox_is_real())
        skip();
    assert_int_equal(status_of(read_and_write), 0);
}

static int reach_out(void)
{
    char *const arguments[] = {(char *)"true", NULL};
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM)
        return 1;
    if (fork() >= 0 || errno != EPERM)
        return 2;
    if (execv("/bin/true", arguments) == 0 || errno != EPERM)
        return 3;
    if (kill(getppid(), 0) == 0 || errno != EPERM)
        return 4;
    return 0;
}

static void test_nobody_else_can_be_reached(void **state)
{
    (void)state;
    if (!sbx_worker_sandbox_is_real())
        skip();
    assert_int_equal(status_of(reach_out), 0);
}

/* Descriptors from before the sandbox: a connection and its other end, a listening socket, and one that is not
 * connected. */
static int near_end, far_end, listening, loose;
static struct sockaddr_in listening_at;

static void open_sockets(int near, int far)
{
    socklen_t bytes = sizeof(listening_at);
    near_end = near;
    far_end = far;
    listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    listening_at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(bind(listening, (const struct sockaddr *)&listening_at, bytes), 0);
    assert_int_equal(listen(listening, 1), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&listening_at, &bytes), 0);
    loose = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(loose >= 0);
}

static void close_sockets(void)
{
    close(near_end);
    close(far_end);
    close(listening);
    close(loose);
}

static int talk(void)
{
    char byte = 0;
    struct pollfd wait = {.fd = far_end, .events = POLLIN};
    if (send(near_end, "!", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
        return 1;
    if (poll(&wait, 1, 10000) != 1)
        return 2;
    if (recv(far_end, &byte, 1, MSG_DONTWAIT) != 1 || byte != '!')
        return 3;
    return 0;
}

static int reach_somewhere_else(void)
{
    const struct sockaddr *there = (const struct sockaddr *)&listening_at;
    const struct sockaddr_in anywhere = {.sin_family = AF_INET};
    static const int families[] = {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK};
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        if (socket(families[i], SOCK_STREAM, 0) >= 0 || errno != EPERM)
            return 1;
        if (socket(families[i], SOCK_DGRAM, 0) >= 0 || errno != EPERM)
            return 2;
    }
    if (connect(loose, there, sizeof(listening_at)) == 0 || errno != EPERM)
        return 3;
    if (bind(loose, (const struct sockaddr *)&anywhere, sizeof(anywhere)) == 0 || errno != EPERM)
        return 4;
    if (listen(loose, 1) == 0 || errno != EPERM)
        return 5;
    if (accept(listening, NULL, NULL) >= 0 || errno != EPERM)
        return 6;
    if (sendto(loose, "!", 1, MSG_NOSIGNAL, there, sizeof(listening_at)) >= 0 || errno != EPERM)
        return 7;
    if (send(loose, "!", 1, MSG_NOSIGNAL | MSG_FASTOPEN) >= 0 || errno != EPERM)
        return 8;
    struct iovec part = {.iov_base = (char *)"!", .iov_len = 1};
    const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (sendmsg(near_end, &message, MSG_NOSIGNAL) >= 0 || errno != EPERM)
        return 9;
    return 0;
}

/* The worker connects to a symbol store in Redis before the sandbox begins, by TCP or by a Unix socket. */
static void test_a_connection_of_before_is_used_and_no_other_is_made(void **state)
{
    (void)state;
    int ends[2];
    if (!sbx_worker_sandbox_is_real())
        skip();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    open_sockets(ends[0], ends[1]);
    assert_int_equal(status_behind(true, talk), 0);
    assert_int_equal(status_behind(true, reach_somewhere_else), 0);
    assert_int_equal(status_behind(true, reach_out), 0);
    close_sockets();
    int near = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    open_sockets(near, -1);
    assert_int_equal(connect(near, (const struct sockaddr *)&listening_at, sizeof(listening_at)), 0);
    far_end = accept(listening, NULL, NULL);
    assert_true(far_end >= 0);
    assert_int_equal(status_behind(true, talk), 0);
    close_sockets();
}

static int take_memory(void)
{
    const size_t bytes = (size_t)600 << 20;
    if (mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        return 1;
    return mmap(NULL, bytes / 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? 2 : 0;
}

static void test_memory_ends(void **state)
{
    (void)state;
    if (!sbx_worker_sandbox_is_real())
        skip();
    assert_int_equal(status_of(take_memory), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_can_be_read_and_not_written),
        cmocka_unit_test(test_nobody_else_can_be_reached),
        cmocka_unit_test(test_a_connection_of_before_is_used_and_no_other_is_made),
        cmocka_unit_test(test_memory_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
