/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
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

/* What a child behind the sandbox says of itself: the number of the first thing that is not so, 0 when all is. */
static int status_of(int (*child_does)(void))
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(sbx_worker_sandbox_close(false) == 0 ? child_does() : 99);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
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
        cmocka_unit_test(test_memory_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
