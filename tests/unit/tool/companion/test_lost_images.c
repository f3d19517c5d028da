/* SPDX-License-Identifier: Apache-2.0 */
/* test_lost_images.c - executables that are deleted or replaced while a process runs them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lost_images.h"

struct fixture {
    char folder[64], program[80];
    pid_t child;
    struct sbx_lost_images *images;
};

static void run_command(const char *command)
{
    assert_int_equal(system(command), 0);
}

static void set_up(struct fixture *fixture)
{
    char command[256];
    *fixture = (struct fixture){.folder = "/tmp/lost_images.XXXXXX"};
    assert_non_null(mkdtemp(fixture->folder));
    snprintf(fixture->program, sizeof fixture->program, "%s/sleeper", fixture->folder);
    snprintf(command, sizeof command, "cp \"$(command -v sleep)\" %s", fixture->program);
    run_command(command);
    int ready[2];
    char byte;
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    fixture->child = fork();
    if (fixture->child == 0) {
        execl(fixture->program, "sleeper", "600", (char *)NULL);
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 0); /* closed by exec: the other program runs now */
    close(ready[0]);
    fixture->images = sbx_lost_images_create(fixture->folder);
    assert_non_null(fixture->images);
    sbx_lost_images_see(fixture->images, (uint32_t)fixture->child);
    sbx_lost_images_see(fixture->images, (uint32_t)fixture->child);
}

static void end_child(struct fixture *fixture)
{
    kill(fixture->child, SIGKILL);
    waitpid(fixture->child, NULL, 0);
}

static void tear_down(struct fixture *fixture)
{
    char command[128];
    sbx_lost_images_destroy(fixture->images);
    snprintf(command, sizeof command, "rm -rf %s", fixture->folder);
    run_command(command);
}

/* The number of copies with this `name`; `bytes_out`: the size of the last. */
static unsigned count_copies(const struct fixture *fixture, const char *name, off_t *bytes_out)
{
    char path[PATH_MAX];
    struct stat status;
    unsigned count = 0;
    snprintf(path, sizeof path, "%s/images", fixture->folder);
    DIR *listing = opendir(path);
    for (const struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL;) {
        snprintf(path, sizeof path, "%s/images/%s/%s", fixture->folder, entry->d_name, name);
        if (entry->d_name[0] != '.' && stat(path, &status) == 0) {
            assert_int_equal(status.st_mode & 0777, 0600);
            *bytes_out = status.st_size;
            count++;
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
    return count;
}

static void test_a_file_that_is_where_it_was_is_not_copied(void **state)
{
    struct fixture fixture;
    off_t bytes;
    (void)state;
    set_up(&fixture);
    assert_int_equal(sbx_lost_images_keep(fixture.images), 0);
    end_child(&fixture);
    assert_int_equal(sbx_lost_images_keep(fixture.images), 0);
    assert_int_equal(count_copies(&fixture, "sleeper", &bytes), 0);
    tear_down(&fixture);
}

static void test_a_deleted_file_is_copied_once_also_when_its_process_has_ended(void **state)
{
    struct fixture fixture;
    struct stat before;
    off_t bytes = 0;
    (void)state;
    set_up(&fixture);
    assert_int_equal(stat(fixture.program, &before), 0);
    assert_int_equal(unlink(fixture.program), 0);
    end_child(&fixture);
    assert_int_equal(sbx_lost_images_keep(fixture.images), 1);
    assert_int_equal(sbx_lost_images_keep(fixture.images), 0);
    assert_int_equal(count_copies(&fixture, "sleeper", &bytes), 1);
    assert_int_equal(bytes, before.st_size);
    tear_down(&fixture);
}

static void test_a_file_that_another_has_replaced_is_copied(void **state)
{
    struct fixture fixture;
    char command[300];
    off_t bytes = 0;
    (void)state;
    set_up(&fixture);
    snprintf(command, sizeof command, "echo new >%s.new && mv %s.new %s", fixture.program, fixture.program,
             fixture.program);
    run_command(command);
    assert_int_equal(sbx_lost_images_keep(fixture.images), 1);
    assert_int_equal(count_copies(&fixture, "sleeper", &bytes), 1);
    assert_true(bytes > 1000); /* the program itself, not the five bytes that now have its name */
    end_child(&fixture);
    tear_down(&fixture);
}

static void test_a_second_companion_does_not_copy_it_again(void **state)
{
    struct fixture fixture;
    off_t bytes;
    (void)state;
    set_up(&fixture);
    struct sbx_lost_images *second = sbx_lost_images_create(fixture.folder);
    sbx_lost_images_see(second, (uint32_t)fixture.child);
    assert_int_equal(unlink(fixture.program), 0);
    assert_int_equal(sbx_lost_images_keep(fixture.images), 1);
    assert_int_equal(sbx_lost_images_keep(second), 0);
    assert_int_equal(count_copies(&fixture, "sleeper", &bytes), 1);
    sbx_lost_images_destroy(second);
    end_child(&fixture);
    tear_down(&fixture);
}

static void test_a_spool_that_is_gone_is_an_error_and_a_process_that_is_gone_is_none(void **state)
{
    struct fixture fixture;
    (void)state;
    set_up(&fixture);
    sbx_lost_images_see(fixture.images, UINT32_MAX);
    sbx_lost_images_see(NULL, 1);
    assert_int_equal(sbx_lost_images_keep(NULL), 0);
    end_child(&fixture);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", fixture.folder);
    run_command(command);
    assert_int_equal(sbx_lost_images_keep(fixture.images), -ENOENT);
    tear_down(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_that_is_where_it_was_is_not_copied),
        cmocka_unit_test(test_a_deleted_file_is_copied_once_also_when_its_process_has_ended),
        cmocka_unit_test(test_a_file_that_another_has_replaced_is_copied),
        cmocka_unit_test(test_a_second_companion_does_not_copy_it_again),
        cmocka_unit_test(test_a_spool_that_is_gone_is_an_error_and_a_process_that_is_gone_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
