/* SPDX-License-Identifier: Apache-2.0 */
/* test_dwarf_lines.c - line programs written by hand: those of compilers and linkers, and harmful ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dwarf.h>

#include "dwarf_lines.h"

enum {
    LINE_BASE = -5,
    LINE_RANGE = 14,
    OPCODE_BASE = 13
};

struct program {
    uint8_t bytes[4096];
    size_t count;
};

static void put(struct program *program, uint64_t value, unsigned bytes)
{
    memcpy(program->bytes + program->count, &value, bytes); /* this machine's byte order is also the files' */
    program->count += bytes;
}

/* Begin a header of `version`; finish() sets the length. */
static void begin(struct program *program, unsigned version)
{
    static const uint8_t lengths[OPCODE_BASE - 1] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    program->count = 0;
    put(program, 0, 4);
    put(program, version, 2);
    if (version >= 5) {
        put(program, 8, 1);
        put(program, 0, 1);
    }
    unsigned header_bytes = (version >= 4 ? 6 : 5) + sizeof lengths + 2;
    put(program, header_bytes, 4);
    put(program, 1, 1);
    if (version >= 4) {
        put(program, 1, 1);
    }
    put(program, 1, 1);
    put(program, (uint8_t)LINE_BASE, 1);
    put(program, LINE_RANGE, 1);
    put(program, OPCODE_BASE, 1);
    memcpy(program->bytes + program->count, lengths, sizeof lengths);
    program->count += sizeof lengths;
    put(program, 0, 2); /* no folders, no files */
}

static void address(struct program *program, uint64_t value)
{
    put(program, 0, 1);
    put(program, 9, 1);
    put(program, DW_LNE_set_address, 1);
    put(program, value, 8);
}

static int read_lines(const uint8_t *bytes, size_t count, uint64_t offset, uint64_t text_begin, uint64_t text_end,
                      struct sbx_line_spans *spans)
{
    const struct sbx_dwarf_section section = {bytes, count};
    struct sbx_dwarf_budget budget = {1 << 20};
    return sbx_dwarf_lines_read(&section, offset, text_begin, text_end, &budget, spans);
}

/* Add a row `bytes` further and `lines` below. */
static void row(struct program *program, unsigned bytes, int lines)
{
    put(program, (unsigned)(lines - LINE_BASE) + LINE_RANGE * bytes + OPCODE_BASE, 1);
}

static void end_sequence(struct program *program, unsigned bytes)
{
    put(program, DW_LNS_advance_pc, 1);
    put(program, bytes, 1);
    put(program, 0, 1);
    put(program, 1, 1);
    put(program, DW_LNE_end_sequence, 1);
}

static struct sbx_line_spans run(struct program *program)
{
    struct sbx_line_spans spans;
    uint32_t length = (uint32_t)program->count - 4;
    memcpy(program->bytes, &length, sizeof length);
    assert_int_equal(read_lines(program->bytes, program->count, 0, 0x1000, 0x9000, &spans), 0);
    return spans;
}

static uint32_t line_at(const struct sbx_line_spans *spans, uint64_t at)
{
    for (size_t i = 0; i < spans->count; i++) {
        assert_true(spans->spans[i].begin < spans->spans[i].end);
        assert_true(i == 0 || spans->spans[i - 1].end <= spans->spans[i].begin);
        if (at >= spans->spans[i].begin && at < spans->spans[i].end) {
            return spans->spans[i].line;
        }
    }
    return 0;
}

static void test_all_versions_give_the_same_lines(void **state)
{
    (void)state;
    for (unsigned version = 2; version <= 5; version++) {
        struct program program;
        begin(&program, version);
        address(&program, 0x2000);
        row(&program, 0, 6);
        row(&program, 4, 1);
        put(&program, DW_LNS_set_file, 1);
        put(&program, 3, 1);
        row(&program, 4, -3);
        end_sequence(&program, 8);
        struct sbx_line_spans spans = run(&program);
        assert_int_equal(line_at(&spans, 0x1fff), 0);
        assert_int_equal(line_at(&spans, 0x2000), 7);
        assert_int_equal(line_at(&spans, 0x2004), 8);
        assert_int_equal(line_at(&spans, 0x2008), 5);
        assert_int_equal(line_at(&spans, 0x200f), 5);
        assert_int_equal(line_at(&spans, 0x2010), 0);
        assert_int_equal(spans.spans[0].file, 1);
        assert_int_equal(spans.spans[2].file, 3);
        sbx_line_spans_finish(&spans);
    }
}

static void test_of_several_rows_at_one_address_the_last_counts(void **state)
{
    (void)state;
    struct program program;
    begin(&program, 5);
    address(&program, 0x2000);
    row(&program, 0, 6);
    row(&program, 0, 2);
    row(&program, 0, 1);
    row(&program, 3, 1);
    end_sequence(&program, 1);
    struct sbx_line_spans spans = run(&program);
    assert_int_equal(line_at(&spans, 0x2000), 10);
    assert_int_equal(line_at(&spans, 0x2003), 11);
    sbx_line_spans_finish(&spans);
}

/* A linker leaves the rows of a discarded function at address 0, or at the address of the copy that it kept. */
static void test_a_sequence_of_discarded_code_lies_open_over_no_other(void **state)
{
    (void)state;
    struct program program;
    begin(&program, 4);
    address(&program, 0); /* long enough to reach into the code */
    row(&program, 0, 6);
    put(&program, DW_LNS_advance_pc, 1);
    put(&program, 0x80, 1); /* 0x2000 as LEB128 */
    put(&program, 0x40, 1);
    row(&program, 1, 1);
    end_sequence(&program, 0x10);
    address(&program, UINT64_MAX - 1);
    row(&program, 0, 6);
    end_sequence(&program, 0x10);
    address(&program, 0x2000);
    row(&program, 0, 8);
    end_sequence(&program, 0x20);
    address(&program, 0x2100); /* between two sequences no line is known */
    row(&program, 0, 3);
    end_sequence(&program, 0x20);
    struct sbx_line_spans spans = run(&program);
    assert_int_equal(spans.count, 2);
    assert_int_equal(line_at(&spans, 0x1800), 0);
    assert_int_equal(line_at(&spans, 0x2001), 9);
    assert_int_equal(line_at(&spans, 0x2050), 0);
    assert_int_equal(line_at(&spans, 0x2100), 4);
    sbx_line_spans_finish(&spans);
}

static void test_what_is_damaged_gives_what_came_before(void **state)
{
    (void)state;
    struct program program;
    begin(&program, 5);
    address(&program, 0x2000);
    row(&program, 0, 6);
    end_sequence(&program, 8);
    size_t whole = program.count;
    address(&program, 0x3000);
    row(&program, 0, 6); /* without an end */
    struct sbx_line_spans spans = run(&program);
    assert_int_equal(spans.count, 1);
    sbx_line_spans_finish(&spans);
    for (size_t cut = 0; cut < whole; cut++) { /* the header's length reaches past the end */
        assert_int_equal(read_lines(program.bytes, cut, 0, 0x1000, 0x9000, &spans), 0);
        assert_int_equal(spans.count, 0);
    }
    assert_int_equal(read_lines(program.bytes, whole, whole, 0x1000, 0x9000, &spans), 0);
    assert_int_equal(spans.count, 0);
    assert_int_equal(read_lines(program.bytes, whole, UINT64_MAX, 0x1000, 0x9000, &spans), 0);
    assert_int_equal(spans.count, 0);
}

/* SYM-6: a LEB128 of 10 KB, lines without range, lengths past the end. */
static void test_sym_06_random_programs_end(void **state)
{
    (void)state;
    static uint8_t bytes[12000];
    uint64_t random = 5;
    memset(bytes, 0xff, sizeof bytes);
    struct program program;
    for (int round = 0; round < 2000; round++) {
        begin(&program, 2 + round % 4);
        size_t header = program.count;
        memcpy(bytes, program.bytes, header);
        uint32_t length = (uint32_t)sizeof bytes - 4;
        memcpy(bytes, &length, sizeof length);
        for (size_t i = round % 2 == 0 ? header : 4; i < header + 400; i++) {
            random = random * UINT64_C(6364136223846793005) + 1;
            bytes[i] = (uint8_t)(random >> 40);
        }
        struct sbx_line_spans spans;
        assert_int_equal(read_lines(bytes, sizeof bytes, 0, 0, UINT64_MAX, &spans), 0);
        (void)line_at(&spans, 0x2000);
        sbx_line_spans_finish(&spans);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_versions_give_the_same_lines),
        cmocka_unit_test(test_of_several_rows_at_one_address_the_last_counts),
        cmocka_unit_test(test_a_sequence_of_discarded_code_lies_open_over_no_other),
        cmocka_unit_test(test_what_is_damaged_gives_what_came_before),
        cmocka_unit_test(test_sym_06_random_programs_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
