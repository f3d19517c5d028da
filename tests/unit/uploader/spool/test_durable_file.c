/* SPDX-License-Identifier: Apache-2.0 */
/* test_durable_file.c - a file that is complete or absent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "durable_file.h"
#include "temporary_file.h"
#include "test_folder.h"

struct place {
    char *path;
    int folder;
};

static int make_place(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    place->path = sbx_test_folder_make();
    place->folder = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = place;
    return place->folder < 0 ? -1 : 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;
    close(place->folder);
    sbx_test_folder_remove(place->path);
    free(place);
    return 0;
}

static void test_what_is_written_is_read_back_and_private(void **state)
{
    const struct place *place = *state;
    uint8_t *content;
    size_t bytes;
    assert_int_equal(sbx_durable_file_write(place->folder, "note", "hello", 5), 0);
    assert_int_equal(sbx_durable_file_read(place->folder, "note", 5, &content, &bytes), 0);
    assert_int_equal(bytes, 5);
    assert_memory_equal(content, "hello", 5);
    free(content);
    struct stat status;
    assert_int_equal(stat(sbx_test_path(place->path, "note"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(sbx_test_count(place->path, ".tmp"), 0);
    assert_int_equal(sbx_durable_file_write(place->folder, "empty", "", 0), 0);
    assert_int_equal(sbx_durable_file_read(place->folder, "empty", 0, &content, &bytes), 0);
    assert_int_equal(bytes, 0);
    free(content);
}

static void test_a_file_is_replaced_at_once(void **state)
{
    const struct place *place = *state;
    assert_int_equal(sbx_durable_file_write(place->folder, "note", "old", 3), 0);
    assert_int_equal(sbx_durable_file_write(place->folder, "note", "newer", 5), 0);
    size_t bytes;
    uint8_t *content = sbx_test_read(sbx_test_path(place->path, "note"), &bytes);
    assert_int_equal(bytes, 5);
    assert_memory_equal(content, "newer", 5);
    free(content);
}

static void test_what_is_no_regular_file_or_too_large_is_not_read(void **state)
{
    const struct place *place = *state;
    uint8_t *content;
    size_t bytes;
    sbx_test_write(sbx_test_path(place->path, "target"), "secret", 6);
    assert_int_equal(symlink("target", sbx_test_path(place->path, "link")), 0);
    assert_int_equal(mkfifo(sbx_test_path(place->path, "fifo"), 0600), 0);
    assert_int_equal(mkdir(sbx_test_path(place->path, "folder"), 0700), 0);
    assert_int_equal(sbx_durable_file_read(place->folder, "link", 100, &content, &bytes), -ELOOP);
    assert_int_equal(sbx_durable_file_read(place->folder, "fifo", 100, &content, &bytes),
                     -EINVAL); /* and it does not block */
    assert_int_equal(sbx_durable_file_read(place->folder, "folder", 100, &content, &bytes), -EINVAL);
    assert_int_equal(sbx_durable_file_read(place->folder, "target", 5, &content, &bytes), -EFBIG);
    assert_int_equal(sbx_durable_file_read(place->folder, "nothing", 5, &content, &bytes), -ENOENT);
}

static void test_a_write_that_fails_leaves_what_was_there(void **state)
{
    const struct place *place = *state;
    assert_int_equal(sbx_durable_file_write(place->folder, "note", "old", 3), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) { /* the limit is for this process only */
        static const char large[65536];
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 4096, .rlim_max = 4096});
        _exit(sbx_durable_file_write(place->folder, "note", large, sizeof large) == -EFBIG ? 0 : 1);
    }
    int ended;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    size_t bytes;
    uint8_t *content = sbx_test_read(sbx_test_path(place->path, "note"), &bytes);
    assert_int_equal(bytes, 3);
    free(content);
    assert_int_equal(sbx_test_count(place->path, ".tmp"), 0);
}

static void test_temporary_names_are_told_from_others(void **state)
{
    (void)state;
    assert_true(sbx_durable_file_is_temporary(".0123.sbx-0a0b0c0d.4711.tmp"));
    const char *const others[] = {".tmp",      ".4711.tmp",          "x.4711.tmp",      ".x.4711",     ".x.0.tmp",
                                  ".x.-1.tmp", ".x.99999999999.tmp", ".x.4711.tmp.tmp", ".x.47a1.tmp", "",
                                  "."};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (sbx_durable_file_is_temporary(others[i])) {
            fail_msg("\"%s\" is taken for a temporary name", others[i]);
        }
    }
}

static void make_older(const struct place *place, const char *name, time_t seconds)
{
    const struct timespec then[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    assert_int_equal(utimensat(place->folder, name, then, AT_SYMLINK_NOFOLLOW), 0);
}

/* The lock decides and not a pid: the file names this process, whose pid is alive. */
static void test_spl_03_what_dead_writers_left_is_swept_and_nothing_else(void **state)
{
    const struct place *place = *state;
    char dead[64], living[SBX_TEMPORARY_NAME_BYTES], pipe_name[64], old_pipe[64], snapshot[96], old_snapshot[96];
    snprintf(dead, sizeof dead, ".a.sbx-1.%d.tmp", (int)getpid());
    snprintf(pipe_name, sizeof pipe_name, ".p.sbx-2.%d.tmp", (int)getpid());
    snprintf(old_pipe, sizeof old_pipe, ".q.sbx-3.%d.tmp", (int)getpid());
    snprintf(snapshot, sizeof snapshot, ".0123456789abcdef0123456789abcdef.raw-1.%d.tmp", (int)getpid());
    snprintf(old_snapshot, sizeof old_snapshot, ".0123456789abcdef0123456789abcdef.raw-2.%d.tmp", (int)getpid());
    const char *const names[] = {dead, snapshot, old_snapshot, "a.sbx", ".hidden", ".x.tmp"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        sbx_test_write(sbx_test_path(place->path, names[i]), "x", 1);
    }
    assert_int_equal(mkfifo(sbx_test_path(place->path, pipe_name), 0600), 0);
    assert_int_equal(mkfifo(sbx_test_path(place->path, old_pipe), 0600), 0);
    int writer = sbx_temporary_create(place->folder, "b.sbx", living);
    assert_true(writer >= 0);
    make_older(place, living, 30 * 86400); /* as if its writer had been stopped for a month */
    make_older(place, old_pipe, 2 * 3600);
    make_older(place, old_snapshot, 8 * 86400);
    make_older(place, snapshot, 2 * 86400);
    sbx_durable_file_sweep(place->folder);
    assert_false(sbx_test_exists(sbx_test_path(place->path, dead)));
    assert_true(sbx_test_exists(sbx_test_path(place->path, living)));
    assert_true(sbx_test_exists(sbx_test_path(place->path, pipe_name)));
    assert_false(sbx_test_exists(sbx_test_path(place->path, old_pipe)));
    assert_true(sbx_test_exists(sbx_test_path(place->path, snapshot))); /* a recording may refer to it */
    assert_false(sbx_test_exists(sbx_test_path(place->path, old_snapshot)));
    assert_true(sbx_test_exists(sbx_test_path(place->path, "a.sbx")));
    assert_true(sbx_test_exists(sbx_test_path(place->path, ".hidden")));
    assert_true(sbx_test_exists(sbx_test_path(place->path, ".x.tmp")));
    close(writer);
    sbx_durable_file_sweep(place->folder);
    assert_false(sbx_test_exists(sbx_test_path(place->path, living)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_written_is_read_back_and_private, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_a_file_is_replaced_at_once, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_what_is_no_regular_file_or_too_large_is_not_read, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(test_a_write_that_fails_leaves_what_was_there, make_place, remove_place),
        cmocka_unit_test(test_temporary_names_are_told_from_others),
        cmocka_unit_test_setup_teardown(test_spl_03_what_dead_writers_left_is_swept_and_nothing_else, make_place,
                                        remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
