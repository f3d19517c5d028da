/* SPDX-License-Identifier: Apache-2.0 */
/* test_raw_snapshot.c - the folder of a spool's snapshots; each name is given only once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "own_folder.h"
#include "raw_snapshot.h"

/* Simulates a file system that supports no flags of renameat2(), as NFS does not. */
static bool has_no_flags;

long __real_syscall(long number, long folder, const char *from, long to_folder, const char *to, long flags);
long __wrap_syscall(long number, long folder, const char *from, long to_folder, const char *to, long flags);

long __wrap_syscall(long number, long folder, const char *from, long to_folder, const char *to, long flags)
{
    if (has_no_flags && number == SYS_renameat2) {
        errno = EINVAL;
        return -1;
    }
    return __real_syscall(number, folder, from, to_folder, to, flags);
}

static char place[64], spool[96];

static int make_place(void **state)
{
    (void)state;
    has_no_flags = false;
    snprintf(place, sizeof place, "/tmp/sbx_raw_snapshot.XXXXXX");
    assert_non_null(mkdtemp(place));
    snprintf(spool, sizeof spool, "%s/deep/spool", place);
    return 0;
}

static int remove_place(void **state)
{
    char command[96];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", place);
    return system(command);
}

static void put(int folder, const char *name, const char *text)
{
    int file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
}

static void assert_text(int folder, const char *name, const char *text)
{
    char content[16] = "";
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(read(file, content, sizeof content - 1), strlen(text));
    assert_string_equal(content, text);
    close(file);
}

static void test_the_folder_is_made_with_all_above_it_for_the_owner_alone(void **state)
{
    struct stat status;
    (void)state;
    int folder = sbx_raw_folder_open(spool);
    assert_true(folder >= 0);
    assert_int_equal(fstat(folder, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    close(folder);
    folder = sbx_raw_folder_open(spool); /* open the folder that is there now */
    assert_true(folder >= 0);
    close(folder);
}

static void test_a_folder_that_others_may_write_to_is_refused(void **state)
{
    char raw[128];
    (void)state;
    close(sbx_raw_folder_open(spool));
    snprintf(raw, sizeof raw, "%s/raw", spool);
    assert_int_equal(chmod(raw, 0777), 0);
    assert_int_equal(sbx_raw_folder_open(spool), -EPERM);
    assert_int_equal(chmod(raw, 0700), 0);
    assert_int_equal(chmod(spool, 0777), 0);
    assert_int_equal(sbx_raw_folder_open(spool), -EPERM);
}

static void test_a_name_is_the_id_in_digits(void **state)
{
    char name[SBX_RAW_NAME_BYTES];
    (void)state;
    sbx_raw_name_print((const uint8_t[16]){0x00, 0x0f, 0xa0, [15] = 0xff}, name);
    assert_string_equal(name, "000fa0000000000000000000000000ff.raw");
}

static void give_and_try_to_replace(void)
{
    int folder = sbx_raw_folder_open(spool);
    put(folder, "first", "first");
    put(folder, "second", "second");
    assert_int_equal(sbx_raw_name_give(folder, "first", "name.raw"), 0);
    assert_int_equal(faccessat(folder, "first", F_OK, 0), -1);
    assert_int_equal(sbx_raw_name_give(folder, "second", "name.raw"), -EEXIST);
    assert_text(folder, "name.raw", "first");
    assert_text(folder, "second", "second");
    assert_int_equal(sbx_raw_name_give(folder, "missing", "other.raw"), -ENOENT);
    close(folder);
}

static void test_a_name_that_is_taken_is_not_given_again(void **state)
{
    (void)state;
    give_and_try_to_replace();
}

static void test_nor_is_it_on_a_file_system_that_cannot_promise_it(void **state)
{
    (void)state;
    has_no_flags = true;
    give_and_try_to_replace();
}

int main(void)
{
#define PLACED(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)
    const struct CMUnitTest tests[] = {
        PLACED(test_the_folder_is_made_with_all_above_it_for_the_owner_alone),
        PLACED(test_a_folder_that_others_may_write_to_is_refused),
        PLACED(test_a_name_is_the_id_in_digits),
        PLACED(test_a_name_that_is_taken_is_not_given_again),
        PLACED(test_nor_is_it_on_a_file_system_that_cannot_promise_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
