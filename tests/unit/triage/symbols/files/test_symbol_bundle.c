/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbol_bundle.c - several files as one: the files come out unchanged, and a false table is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbol_bundle.h"

static int file_of(const char *text)
{
    int fd = memfd_create("file", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    return fd;
}

/* Make a bundle of three files. */
static int made(void)
{
    static const char *const texts[] = {"a program", "", "what was split off it"};
    static const enum sbx_bundle_kind kinds[] = {SBX_BUNDLE_PROGRAM, SBX_BUNDLE_ALTERNATE, SBX_BUNDLE_PART};
    int fd = memfd_create("bundle", MFD_CLOEXEC);
    struct sbx_bundle_writer *writer = sbx_bundle_begin(fd, 5);
    assert_non_null(writer);
    for (size_t i = 0; i < 3; i++) {
        int file = file_of(texts[i]);
        assert_int_equal(sbx_bundle_add(writer, kinds[i], file), 0);
        assert_int_equal(sbx_bundle_add(writer, kinds[i], file), 0); /* the bundle already contains that same file */
        assert_int_equal(sbx_bundle_count(writer), i + 1);
        close(file);
    }
    assert_int_equal(sbx_bundle_end(writer), 0);
    return fd;
}

static void test_what_went_in_comes_out(void **state)
{
    (void)state;
    struct sbx_bundle bundle;
    char text[64] = "";
    int fd = made(), copy = memfd_create("copy", MFD_CLOEXEC);
    assert_int_equal(pread(fd, text, SBX_BUNDLE_BEGIN_BYTES, 0), SBX_BUNDLE_BEGIN_BYTES);
    assert_true(sbx_bundle_is(text, SBX_BUNDLE_BEGIN_BYTES));
    assert_false(sbx_bundle_is(text, 7));
    assert_false(sbx_bundle_is("\x7f"
                               "ELF....",
                               8));
    assert_int_equal(sbx_bundle_read(fd, &bundle), 0);
    assert_int_equal(bundle.count, 3);
    assert_int_equal(bundle.members[1].kind, SBX_BUNDLE_ALTERNATE);
    assert_int_equal(bundle.members[1].bytes, 0);
    assert_int_equal(bundle.members[2].kind, SBX_BUNDLE_PART);
    assert_int_equal(sbx_bundle_copy(fd, bundle.members[2].offset, bundle.members[2].bytes, copy, 0), 0);
    memset(text, 0, sizeof text);
    assert_int_equal(pread(copy, text, sizeof text, 0), 21);
    assert_string_equal(text, "what was split off it");
    free(bundle.members);
    close(copy);
    close(fd);
}

static void test_a_last_member_without_bytes_lies_within_the_file(void **state)
{
    (void)state;
    struct sbx_bundle bundle;
    int fd = memfd_create("bundle", MFD_CLOEXEC), one = file_of("seven.."), empty = file_of("");
    struct sbx_bundle_writer *writer = sbx_bundle_begin(fd, 2);
    assert_int_equal(sbx_bundle_add(writer, SBX_BUNDLE_PROGRAM, one), 0);
    assert_int_equal(sbx_bundle_add(writer, SBX_BUNDLE_PART, empty), 0);
    assert_int_equal(sbx_bundle_end(writer), 0);
    assert_int_equal(sbx_bundle_read(fd, &bundle), 0);
    assert_int_equal(bundle.count, 2);
    free(bundle.members);
    close(one);
    close(empty);
    close(fd);
}

static void test_more_than_there_is_room_for_is_said_at_the_end(void **state)
{
    (void)state;
    int fd = memfd_create("bundle", MFD_CLOEXEC), one = file_of("one"), other = file_of("other");
    struct sbx_bundle_writer *writer = sbx_bundle_begin(fd, 1);
    assert_int_equal(sbx_bundle_add(writer, SBX_BUNDLE_PART, one), 0);
    assert_int_equal(sbx_bundle_add(writer, SBX_BUNDLE_PART, other), -E2BIG);
    assert_int_equal(sbx_bundle_end(writer), -E2BIG);
    close(one);
    close(other);
    close(fd);
}

static void test_sym_06_a_damaged_table_is_refused_and_leads_nowhere(void **state)
{
    (void)state;
    static uint8_t whole[400], damaged[400];
    struct stat status;
    struct sbx_bundle bundle;
    int good = made();
    assert_int_equal(fstat(good, &status), 0);
    size_t bytes = (size_t)status.st_size, refused = 0;
    assert_true(bytes < sizeof whole);
    assert_int_equal(pread(good, whole, bytes, 0), (ssize_t)bytes);
    for (size_t i = 0; i < bytes; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            memcpy(damaged, whole, bytes);
            damaged[i] ^= (uint8_t)(1u << bit);
            int fd = memfd_create("damaged", MFD_CLOEXEC);
            assert_int_equal(write(fd, damaged, bytes), (ssize_t)bytes);
            int result = sbx_bundle_read(fd, &bundle);
            uint64_t from = 16 + 24 * bundle.count;
            assert_true(result == 0 || result == -EBADMSG);
            refused += result != 0;
            for (size_t k = 0; k < bundle.count; k++) {
                assert_true(bundle.members[k].offset >= from);
                from = bundle.members[k].offset + bundle.members[k].bytes;
                assert_true(from <= bytes);
            }
            free(bundle.members);
            close(fd);
        }
    }
    assert_true(refused > 300);
    for (size_t cut = 0; cut < bytes; cut++) {
        assert_int_equal(ftruncate(good, (off_t)(bytes - 1 - cut)), 0);
        assert_int_equal(sbx_bundle_read(good, &bundle), -EBADMSG);
        assert_null(bundle.members);
    }
    close(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_went_in_comes_out),
        cmocka_unit_test(test_a_last_member_without_bytes_lies_within_the_file),
        cmocka_unit_test(test_more_than_there_is_room_for_is_said_at_the_end),
        cmocka_unit_test(test_sym_06_a_damaged_table_is_refused_and_leads_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
