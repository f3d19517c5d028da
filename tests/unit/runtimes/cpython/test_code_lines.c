/* SPDX-License-Identifier: Apache-2.0 */
/* test_code_lines.c - line tables of one function, as five versions of Python wrote them, and the lines that these
 * versions report (co_lines(), dis.findlinestarts()). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "code_lines.h"

struct span {
    int64_t from, to;
    uint32_t line;
};

static size_t from_hex(const char *hex, uint8_t *bytes)
{
    size_t count = strlen(hex) / 2;
    for (size_t i = 0; i < count; i++) {
        unsigned value = 0;
        for (int j = 0; j < 2; j++) {
            char c = hex[2 * i + j];
            value = value << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
        }
        bytes[i] = (uint8_t)value;
    }
    return count;
}

static void expect(enum cpython_line_table kind, const char *hex, const struct span *spans, size_t count)
{
    uint8_t table[256];
    size_t bytes = from_hex(hex, table);
    for (size_t i = 0; i < count; i++) {
        for (int64_t at = spans[i].from; at < spans[i].to; at += 2) {
            assert_int_equal(cpython_line_of(kind, table, bytes, 1, at), spans[i].line);
        }
    }
    assert_int_equal(cpython_line_of(kind, table, bytes, 77, -1), 77); /* the frame has not begun */
}
#define EXPECT(kind, hex, ...)                            \
    expect(kind, hex, (const struct span[]){__VA_ARGS__}, \
           sizeof(const struct span[]){__VA_ARGS__} / sizeof(struct span))

static void test_lines_of_3_9(void **state)
{
    (void)state;
    EXPECT(CPYTHON_LNOTAB, "0002020102ff04020c0106010a010201040208fe0202", {0, 2, 3}, {2, 4, 4}, {4, 8, 3}, {8, 20, 5},
           {20, 26, 6}, {26, 36, 7}, {36, 38, 8}, {38, 42, 9}, {42, 50, 11}, {50, 52, 9}, {52, 66, 11});
}

static void test_lines_of_3_10(void **state)
{
    (void)state;
    EXPECT(CPYTHON_LINES, "0202020104ff0c0206010a01020104011402", {0, 2, 3}, {2, 4, 4}, {4, 8, 3}, {8, 20, 5},
           {20, 26, 6}, {26, 36, 7}, {36, 38, 8}, {38, 42, 9}, {42, 62, 11}, {62, 64, 0});
    EXPECT(CPYTHON_LINES, "020202800402", {0, 2, 3}, {2, 4, 0}, {4, 8, 5}); /* some in the middle have no line */
}

static void test_lines_of_3_11(void **state)
{
    (void)state;
    EXPECT(CPYTHON_LOCATIONS,
           "8000e0090ad8090af103010a0b8041e50d12903189588c58f00002050ff00002050f8801d80b0c880e8868d80809885189068801880"
           "1f002"
           "030511d80f10e5080d886189088c0888088808f88d05886189088c0888088808f8f8f8",
           {0, 2, 1}, {2, 4, 3}, {4, 6, 4}, {6, 12, 3}, {12, 46, 5}, {46, 52, 6}, {52, 64, 7}, {64, 66, 8}, {66, 68, 9},
           {68, 100, 11}, {100, 102, 0}, {102, 134, 11}, {134, 140, 0}, {140, 142, 0});
}

static void test_lines_of_3_12_and_3_13(void **state)
{
    (void)state;
    EXPECT(CPYTHON_LOCATIONS,
           "8000e0090ad8090af103010a0b8041e40d1290318b58f20002050f8801d90b0c8868d80809885189068901f00502050ff006030511d"
           "80f10"
           "e4080d88618d08f88c0588618d08fa",
           {0, 2, 1}, {2, 4, 3}, {4, 6, 4}, {6, 12, 3}, {12, 40, 5}, {40, 46, 6}, {46, 58, 7}, {58, 60, 5}, {60, 62, 8},
           {62, 64, 9}, {64, 88, 11}, {88, 90, 0}, {90, 114, 11}, {114, 120, 0});
    EXPECT(CPYTHON_LOCATIONS,
           "8000e0090ad8090af103010a0b8041e40d1290318e588801de0b0c8968d8080989068a01f105000e16f006030511d80f10e4080d886"
           "18d08"
           "f88c0588618d08fa",
           {0, 2, 1}, {2, 4, 3}, {4, 6, 4}, {6, 12, 3}, {12, 40, 5}, {40, 58, 6}, {58, 70, 7}, {70, 74, 5}, {74, 76, 8},
           {76, 78, 9}, {78, 102, 11}, {102, 104, 0}, {104, 128, 11}, {128, 134, 0});
}

static void test_a_table_that_ends_early_has_no_line(void **state)
{
    (void)state;
    static const uint8_t half[] = {0xf0, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40};
    for (size_t bytes = 0; bytes <= sizeof half; bytes++) {
        assert_int_equal(cpython_line_of(CPYTHON_LOCATIONS, half, bytes, 5, 1000), 0);
        assert_int_equal(cpython_line_of(CPYTHON_LINES, half, bytes, 5, 100000), 0);
        (void)cpython_line_of(CPYTHON_LNOTAB, half, bytes, 5, 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_of_3_9),
        cmocka_unit_test(test_lines_of_3_10),
        cmocka_unit_test(test_lines_of_3_11),
        cmocka_unit_test(test_lines_of_3_12_and_3_13),
        cmocka_unit_test(test_a_table_that_ends_early_has_no_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
