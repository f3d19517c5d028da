/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbol_helper.c - a helper process that has symbol files read, for a program with threads: what it holds open,
 * and its end. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "build_id.h"
#include "symbol_helper.h"

static char why[240];

/* Have `path` read as many times as requested; returns the last result. */
static int make(struct sbx_symbol_helper *helper, const char *path, struct sbx_symbol_image **image_out)
{
    struct sbx_helper_making making = {.in_count = 1, .alternate = -1, .parts = -1, .name = "sample", .now_s = 7};
    making.in[0] = open(path, O_RDONLY | O_CLOEXEC);
    making.out = memfd_create("image", MFD_CLOEXEC);
    assert_true(making.in[0] >= 0 && making.out >= 0);
    making.build_id_bytes = sbx_build_id_read(making.in[0], making.build_id);
    int result = sbx_symbol_helper_make(helper, &making, why, sizeof why);
    close(making.in[0]);
    if (result == 0 && image_out != NULL) {
        assert_int_equal(sbx_symbol_image_open(making.out, 0, image_out), 0);
    } else {
        close(making.out);
    }
    return result;
}

/* The only child of this process, found in /proc. */
static pid_t child(void)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    return (pid_t)atoi(text);
}

static void test_it_reads_one_file_after_the_other_and_its_own_mistakes_end_nobody(void **state)
{
    (void)state;
    struct sbx_symbol_helper *helper;
    struct sbx_symbol_image *image = NULL;
    assert_int_equal(sbx_symbol_helper_start(&helper), 0);
    assert_int_equal(make(helper, SAMPLE_FULL, &image), 0);
    assert_string_equal(sbx_symbol_image_facts(image)->name, "sample");
    assert_int_equal(sbx_symbol_image_facts(image)->made_s, 7);
    assert_int_equal(sbx_symbol_image_facts(image)->best, SBX_SYMBOLS_DWARF);
    sbx_symbol_image_close(image);
    assert_int_not_equal(make(helper, "/dev/null", NULL), 0);
    assert_string_not_equal(why, "");
    assert_int_equal(make(helper, SAMPLE_PLAIN, NULL), 0);
    sbx_symbol_helper_stop(helper);
}

/* A file from outside must not reach anything that the helper's parent has open. */
static void test_it_holds_one_socket_and_nothing_of_its_parent(void **state)
{
    (void)state;
    struct sbx_symbol_helper *helper;
    char path[64];
    int count = 0;
    int held = open("/proc/self/status", O_RDONLY); /* not even marked close-on-exec */
    assert_int_equal(sbx_symbol_helper_start(&helper), 0);
    assert_int_equal(make(helper, SAMPLE_PLAIN, NULL), 0); /* it is ready */
    snprintf(path, sizeof path, "/proc/%d/fd", child());
    DIR *folder = opendir(path);
    if (folder == NULL) { /* only root can look at a process of another user */
        assert_int_equal(errno, EACCES);
    } else {
        for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
            count += entry->d_name[0] != '.';
        }
        closedir(folder);
        assert_int_equal(count, 4); /* 0 to 2 are /dev/null */
    }
    close(held);
    sbx_symbol_helper_stop(helper);
}

static void test_a_helper_that_is_gone_is_said_to_be(void **state)
{
    (void)state;
    struct sbx_symbol_helper *helper;
    assert_int_equal(sbx_symbol_helper_start(&helper), 0);
    assert_int_equal(kill(child(), SIGTERM), 0); /* meant for its parent */
    assert_int_equal(make(helper, SAMPLE_PLAIN, NULL), 0);
    sbx_symbol_helper_cancel(helper);
    assert_int_equal(make(helper, SAMPLE_PLAIN, NULL), -EPIPE);
    assert_non_null(strstr(why, "is gone"));
    sbx_symbol_helper_stop(helper);
}

static void test_it_ends_with_its_parent(void **state)
{
    (void)state;
    int pipes[2];
    pid_t helper_pid = 0;
    assert_int_equal(pipe(pipes), 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct sbx_symbol_helper *helper;
        helper_pid = sbx_symbol_helper_start(&helper) == 0 ? child() : 0;
        _exit(write(pipes[1], &helper_pid, sizeof helper_pid) != (ssize_t)sizeof helper_pid);
    }
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &helper_pid, sizeof helper_pid), (ssize_t)sizeof helper_pid);
    close(pipes[0]);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    assert_true(helper_pid > 0);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/exe", helper_pid); /* a zombie has none; init waits for it */
    char text[8];
    for (int i = 0; i < 1000 && readlink(path, text, sizeof text) > 0; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    assert_true(readlink(path, text, sizeof text) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_reads_one_file_after_the_other_and_its_own_mistakes_end_nobody),
        cmocka_unit_test(test_it_holds_one_socket_and_nothing_of_its_parent),
        cmocka_unit_test(test_a_helper_that_is_gone_is_said_to_be),
        cmocka_unit_test(test_it_ends_with_its_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
