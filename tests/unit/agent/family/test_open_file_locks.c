/* SPDX-License-Identifier: Apache-2.0 */
/* test_open_file_locks.c - which of several processes has the open file that a lock belongs to. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "file_locks.h"
#include "open_file_locks.h"

enum {
    LIST_BYTES = 64 * 1024
};

static char path[] = "/tmp/stallbox-lock-XXXXXX", list[LIST_BYTES];

static int make_file(void **state)
{
    (void)state;
    int file = mkstemp(path);
    close(file);
    return file < 0 ? -1 : 0;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static int ask(int file, int command, short type)
{
    struct flock whole = {.l_type = type, .l_whence = SEEK_SET};
    return fcntl(file, command, &whole);
}

/* A child that calls work(argument), reports, and waits to be killed. */
static uint32_t keep(int (*work)(int), int argument)
{
    int ready[2];
    char letter = 'x';
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        letter = work(argument) == 0 ? 'x' : 'f';
        (void)!write(ready[1], &letter, 1);
        for (;;) {
            pause();
        }
    }
    assert_int_equal(read(ready[0], &letter, 1), 1);
    assert_int_equal(letter, 'x');
    close(ready[0]);
    close(ready[1]);
    return (uint32_t)child;
}

static int lock_it(int unused)
{
    (void)unused;
    return ask(open(path, O_RDWR), F_OFD_SETLK, F_WRLCK);
}

static int have_it_open(int unused)
{
    (void)unused;
    return open(path, O_RDWR) >= 0 ? 0 : -1;
}

static int inherit(int file)
{
    return fcntl(file, F_GETFD) < 0;
}

static void end(uint32_t pid)
{
    kill((pid_t)pid, SIGKILL);
    waitpid((pid_t)pid, NULL, 0);
}

/* The line of the kernel's list about the lock that child `waiter` waits for. Polls until the child waits. */
static const char *wait_for_the_list(uint32_t waiter)
{
    struct stat status;
    const char *lock = NULL;
    assert_int_equal(stat(path, &status), 0);
    for (int tries = 0; lock == NULL && tries < 5000; tries++) {
        usleep(1000);
        int file = open("/proc/locks", O_RDONLY);
        ssize_t got = file >= 0 ? read(file, list, sizeof list - 1) : 0;
        close(file);
        list[got > 0 ? got : 0] = '\0';
        lock = sbx_file_lock_of_open_file(list, waiter, (uint64_t)status.st_ino);
    }
    assert_non_null(lock);
    return lock;
}

/* A child that waits for the lock. */
static uint32_t wait_for_it(int command)
{
    pid_t child = fork();
    if (child == 0) {
        _exit(ask(open(path, O_RDWR), command, F_WRLCK) != 0);
    }
    return (uint32_t)child;
}

static void test_the_one_that_has_the_open_file_is_found(void **state)
{
    (void)state;
    static const int commands[] = {F_OFD_SETLKW, F_SETLKW};
    for (int i = 0; i < 2; i++) {
        uint32_t other = keep(have_it_open, 0), holder = keep(lock_it, 0), waiter = wait_for_it(commands[i]);
        const uint32_t all[] = {other, 0, holder, waiter};
        const char *lock = wait_for_the_list(waiter);
        assert_int_equal(sbx_open_file_lock_find(lock, all, 4), holder);
        assert_int_equal(sbx_open_file_lock_find(lock, all, 2), 0);
        end(holder);
        end(waiter);
        assert_int_equal(sbx_open_file_lock_find(lock, all, 4), 0);
        end(other);
    }
}

static void test_of_two_that_have_it_none_is_named_and_of_oneself_neither(void **state)
{
    (void)state;
    int file = open(path, O_RDWR);
    assert_int_equal(ask(file, F_OFD_SETLK, F_WRLCK), 0);
    uint32_t one = keep(inherit, file), other = keep(inherit, file);
    const uint32_t all[] = {one, other, (uint32_t)getpid()};
    close(file);
    uint32_t waiter = wait_for_it(F_OFD_SETLKW);
    const char *lock = wait_for_the_list(waiter);
    assert_int_equal(sbx_open_file_lock_find(lock, all, 3), 0);
    assert_int_equal(sbx_open_file_lock_find(lock, all, 1), one);
    end(one);
    end(other);
    end(waiter);
    file = open(path, O_RDWR);
    assert_int_equal(ask(file, F_OFD_SETLK, F_WRLCK), 0);
    waiter = wait_for_it(F_OFD_SETLKW);
    lock = wait_for_the_list(waiter);
    assert_int_equal(sbx_open_file_lock_find(lock, all + 2, 1), 0);
    end(waiter);
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_one_that_has_the_open_file_is_found),
        cmocka_unit_test(test_of_two_that_have_it_none_is_named_and_of_oneself_neither),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
