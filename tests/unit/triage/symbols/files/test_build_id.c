/* SPDX-License-Identifier: Apache-2.0 */
/* test_build_id.c - the build-id note of real files and of malformed ones. */
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "build_id.h"

static size_t read_from(const char *path, uint8_t *build_id)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    size_t bytes = sbx_build_id_read(fd, build_id);
    close(fd);
    return bytes;
}

static void test_program_stripped_and_debug_file_have_one_id(void **state)
{
    (void)state;
    uint8_t full[32], stripped[32], debug[32];
    assert_int_equal(read_from(SAMPLE_FULL, full), 20);
    assert_int_equal(read_from(SAMPLE_STRIPPED, stripped), 20);
    assert_int_equal(read_from(SAMPLE_DEBUG, debug), 20);
    assert_memory_equal(full, stripped, 20);
    assert_memory_equal(full, debug, 20);
}

static void test_other_files_have_none(void **state)
{
    (void)state;
    uint8_t build_id[32];
    assert_int_equal(read_from("/dev/null", build_id), 0);
    assert_int_equal(read_from("/etc/passwd", build_id), 0);
}

/* A real file cut at every length, and with every byte of its first headers damaged, must be read without harm. */
static void test_sym_05_damaged_headers_and_notes_do_no_harm(void **state)
{
    (void)state;
    char path[] = "/tmp/test_build_id.XXXXXX";
    static uint8_t bytes[8192];
    uint8_t build_id[32];
    int from = open(SAMPLE_STRIPPED, O_RDONLY | O_CLOEXEC), fd = mkstemp(path);
    assert_true(from >= 0 && fd >= 0);
    ssize_t got = read(from, bytes, sizeof bytes);
    assert_true(got > 1024);
    close(from);
    for (size_t at = 0; at < 1024; at++) {
        bytes[at] ^= 0xff;
        assert_int_equal(pwrite(fd, bytes, (size_t)got, 0), got);
        assert_true(sbx_build_id_read(fd, build_id) <= 32);
        bytes[at] ^= 0xff;
    }
    for (off_t cut = 0; cut < 1024; cut += 7) {
        assert_int_equal(pwrite(fd, bytes, (size_t)got, 0), got);
        assert_int_equal(ftruncate(fd, cut), 0);
        assert_true(sbx_build_id_read(fd, build_id) <= 32);
    }
    close(fd);
    unlink(path);
}

static void test_hex_goes_both_ways(void **state)
{
    (void)state;
    static const uint8_t build_id[3] = {0x00, 0xab, 0x7f};
    uint8_t back[32];
    char hex[65];
    sbx_build_id_format(build_id, 3, hex);
    assert_string_equal(hex, "00ab7f");
    assert_int_equal(sbx_build_id_parse("00AB7f", 6, back), 3);
    assert_memory_equal(back, build_id, 3);
    assert_int_equal(sbx_build_id_parse("00ab7", 5, back), 0);
    assert_int_equal(sbx_build_id_parse("00ag", 4, back), 0);
    assert_int_equal(sbx_build_id_parse("", 0, back), 0);
    static const char uuid[] = "4C4C442F-5555-3144-A154-D8C9F506D344";
    assert_int_equal(sbx_build_id_parse(uuid, 36, back), 16);
    sbx_build_id_format(back, 16, hex);
    assert_string_equal(hex, "4c4c442f55553144a154d8c9f506d344");
    assert_int_equal(sbx_build_id_parse("4C4C442F5-555-3144-A154-D8C9F506D344", 36, back), 0);
    assert_int_equal(sbx_build_id_parse("4C4C442F-5555-3144-A154-D8C9F506D3-4", 36, back), 0);
    char many[67];
    memset(many, 'a', sizeof many);
    assert_int_equal(sbx_build_id_parse(many, 64, back), 32);
    assert_int_equal(sbx_build_id_parse(many, 66, back), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_program_stripped_and_debug_file_have_one_id),
        cmocka_unit_test(test_other_files_have_none),
        cmocka_unit_test(test_sym_05_damaged_headers_and_notes_do_no_harm),
        cmocka_unit_test(test_hex_goes_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
