/* SPDX-License-Identifier: Apache-2.0 */
/* test_cfa_program.c - every opcode of call-frame programs, checked by the rows that it makes. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "cfa_program.h"
#include "eh_frame_writer.h"
#include "guarded_bytes.h"
#include "unwind_rule.h"

enum {
    ROWS_MAX = 64,
    FUNCTION_BYTES = 0x1000
};

struct rows {
    uint32_t count;
    uint64_t offsets[ROWS_MAX]; /* from WRITER_TEXT_AT */
    uint32_t rules[ROWS_MAX];
    uint32_t refuse_at; /* which call fails; 0: none */
};

static int keep_row(void *context, uint64_t address, uint32_t rule)
{
    struct rows *rows = context;
    assert_true(rows->count < ROWS_MAX);
    rows->offsets[rows->count] = address - WRITER_TEXT_AT;
    rows->rules[rows->count++] = rule;
    return rows->count == rows->refuse_at ? -ENOMEM : 0;
}

/* sp + cfa, with fp saved at CFA - slot (0: in its register). */
static uint32_t from_sp(uint32_t cfa, uint32_t slot)
{
    return (cfa / 8) << SBX_RULE_VALUE_SHIFT | (slot / 8) << SBX_RULE_FP_SHIFT | SBX_RULE_FROM_SP;
}

static uint32_t from_fp(uint32_t cfa, uint32_t slot)
{
    return (cfa / 8) << SBX_RULE_VALUE_SHIFT | (slot / 8) << SBX_RULE_FP_SHIFT | SBX_RULE_FROM_FP;
}

/* Run `program` as a function of FUNCTION_BYTES under a CIE that begins with `initial`. */
static int run_under(const uint8_t *initial, size_t initial_bytes, const uint8_t *program, size_t program_bytes,
                     struct rows *rows)
{
    struct eh_frame_writer writer = {0};
    uint32_t cie_position = writer_put_cie(&writer, initial, initial_bytes);
    uint32_t fde_position =
        writer_put_fde(&writer, cie_position, WRITER_TEXT_AT, FUNCTION_BYTES, program, program_bytes);
    struct sbx_eh_section section = writer_section(&writer);
    struct sbx_eh_cie cie;
    struct sbx_eh_fde fde;
    struct sbx_frame_state state;
    rows->count = 0;
    assert_int_equal(sbx_eh_cie_read(&section, cie_position, &cie), 0);
    if (sbx_cfa_initial_state(&cie, &state) != 0) {
        return -EILSEQ; /* distinguishes it from a bad program */
    }
    assert_int_equal(sbx_eh_fde_read(&section, fde_position, &cie, &fde), 0);
    assert_int_equal(fde.begin, WRITER_TEXT_AT);
    return sbx_cfa_program_run(&section, &cie, &state, &fde, keep_row, rows);
}

static int run(const uint8_t *program, size_t program_bytes, struct rows *rows)
{
    return run_under(NULL, 0, program, program_bytes, rows);
}

/* The last row's rule after a program without advances. */
static uint32_t rule_after(const uint8_t *program, size_t program_bytes)
{
    struct rows rows = {0};
    assert_int_equal(run(program, program_bytes, &rows), 0);
    assert_int_equal(rows.count, 1);
    assert_int_equal(rows.offsets[0], 0);
    return rows.rules[0];
}

static void test_empty_program_has_one_row(void **state)
{
    (void)state;
    assert_int_equal(rule_after(NULL, 0), from_sp(8, 0));
    assert_int_equal(rule_after(WRITER_BYTES(0, 0, 0)), from_sp(8, 0));
}

static void test_ordinary_prologue_and_epilogue_are_followed(void **state)
{
    (void)state;
    struct rows rows = {0};
    /* push %rbp; mov %rsp,%rbp; ...; leave; ret */
    assert_int_equal(run(WRITER_BYTES(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x60, 0x0c, 7, 8, 0xc6), &rows), 0);
    assert_int_equal(rows.count, 4);
    assert_true(rows.offsets[0] == 0 && rows.rules[0] == from_sp(8, 0));
    assert_true(rows.offsets[1] == 1 && rows.rules[1] == from_sp(16, 16));
    assert_true(rows.offsets[2] == 4 && rows.rules[2] == from_fp(16, 16));
    assert_true(rows.offsets[3] == 0x24 && rows.rules[3] == from_sp(8, 0));
}

static void test_every_advance_moves_the_location(void **state)
{
    (void)state;
    struct rows rows = {0};
    assert_int_equal(
        run(WRITER_BYTES(0x7f, 0x0e, 16, 2, 0x80, 0x0e, 24, 3, 0x00, 0x02, 0x0e, 32, 4, 0x01, 0x01, 0, 0, 0x0e, 40),
            &rows),
        0);
    assert_int_equal(rows.count, 5);
    assert_int_equal(rows.offsets[1], 0x3f);
    assert_int_equal(rows.offsets[2], 0x3f + 0x80);
    assert_int_equal(rows.offsets[3], 0x3f + 0x80 + 0x200);
    assert_int_equal(rows.offsets[4], 0x3f + 0x80 + 0x200 + 0x101);
    assert_int_equal(rows.rules[4], from_sp(40, 0));
}

static void test_set_loc_is_an_encoded_address(void **state)
{
    (void)state;
    /* The operand lies behind CIE (24), the FDE's fixed 17 bytes and the opcode; pcrel sdata4. */
    struct eh_frame_writer writer = {0};
    uint32_t operand_at = writer_put_cie(&writer, NULL, 0);
    operand_at = (uint32_t)writer.count + 17 + 1;
    uint32_t to = WRITER_TEXT_AT + 0x33 - (WRITER_SECTION_AT + operand_at);
    uint8_t program[] = {1, (uint8_t)to, (uint8_t)(to >> 8), (uint8_t)(to >> 16), (uint8_t)(to >> 24), 0x0e, 16};
    struct rows rows = {0};
    assert_int_equal(run(program, sizeof program, &rows), 0);
    assert_int_equal(rows.count, 2);
    assert_int_equal(rows.offsets[1], 0x33);
    program[4] = 0x80; /* before the function */
    assert_int_equal(run(program, sizeof program, &rows), -EINVAL);
}

static void test_several_instructions_at_one_place_make_one_row(void **state)
{
    (void)state;
    struct rows rows = {0};
    assert_int_equal(run(WRITER_BYTES(0x44, 0x0e, 16, 0x40, 0x0e, 24, 0x0e, 32), &rows), 0);
    assert_int_equal(rows.count, 2);
    assert_int_equal(rows.rules[1], from_sp(32, 0));
}

static void test_cfa_definitions(void **state)
{
    (void)state;
    assert_int_equal(rule_after(WRITER_BYTES(0x0c, 6, 16)), from_fp(16, 0));    /* def_cfa */
    assert_int_equal(rule_after(WRITER_BYTES(0x0d, 6)), from_fp(8, 0));         /* def_cfa_register */
    assert_int_equal(rule_after(WRITER_BYTES(0x0e, 0x80, 1)), from_sp(128, 0)); /* def_cfa_offset */
    assert_int_equal(rule_after(WRITER_BYTES(0x12, 6, 0x7e)), from_fp(16, 0));  /* def_cfa_sf: -2 * -8 */
    assert_int_equal(rule_after(WRITER_BYTES(0x13, 0x7d)), from_sp(24, 0));     /* def_cfa_offset_sf: -3 * -8 */
    assert_int_equal(rule_after(WRITER_BYTES(0x0f, 3, 0x76, 0x78, 0x06)),       /* def_cfa_expression *(rbp - 8) */
                     (uint32_t)-1 << SBX_RULE_VALUE_SHIFT | SBX_RULE_AT_FP);
}

static void test_register_after_expression_takes_the_offset_before_it(void **state)
{
    (void)state;
    assert_int_equal(rule_after(WRITER_BYTES(0x0e, 56, 0x0f, 3, 0x76, 0x78, 0x06, 0x0d, 7)), from_sp(56, 0));
}

static void test_every_way_to_say_where_fp_was_saved(void **state)
{
    (void)state;
    const uint32_t saved = from_sp(8, 24);
    assert_int_equal(rule_after(WRITER_BYTES(0x86, 3)), saved);     /* offset */
    assert_int_equal(rule_after(WRITER_BYTES(0x05, 6, 3)), saved);  /* offset_extended */
    assert_int_equal(rule_after(WRITER_BYTES(0x11, 6, 3)), saved);  /* offset_extended_sf */
    assert_int_equal(rule_after(WRITER_BYTES(0x10, 6, 2, 0x76, 0)), /* expression: at *rbp */
                     from_sp(8, 8 * SBX_RULE_FP_AT_FP));
    assert_int_equal(rule_after(WRITER_BYTES(0x86, 3, 0x08, 6)), from_sp(8, 0)); /* same_value */
    assert_int_equal(rule_after(WRITER_BYTES(0x86, 3, 0xc6)), from_sp(8, 0));    /* restore */
    assert_int_equal(rule_after(WRITER_BYTES(0x86, 3, 0x06, 6)), from_sp(8, 0)); /* restore_extended */
}

static void test_every_way_to_lose_fp(void **state)
{
    (void)state;
    const uint32_t lost = from_sp(8, 8 * SBX_RULE_FP_LOST);
    assert_int_equal(rule_after(WRITER_BYTES(0x07, 6)), lost);             /* undefined */
    assert_int_equal(rule_after(WRITER_BYTES(0x09, 6, 3)), lost);          /* register: in rbx */
    assert_int_equal(rule_after(WRITER_BYTES(0x14, 6, 2)), lost);          /* val_offset */
    assert_int_equal(rule_after(WRITER_BYTES(0x15, 6, 2)), lost);          /* val_offset_sf */
    assert_int_equal(rule_after(WRITER_BYTES(0x16, 6, 2, 0x76, 0)), lost); /* val_expression */
    assert_int_equal(rule_after(WRITER_BYTES(0x2f, 6, 3)), lost);          /* above the CFA: no callee saves there */
    assert_int_equal(rule_after(WRITER_BYTES(0x05, 6, 0xff, 0x7f)), lost); /* too far away for a rule */
}

static void test_return_address_rules(void **state)
{
    (void)state;
    assert_int_equal(rule_after(WRITER_BYTES(0x07, 16)), SBX_RULE_END);            /* undefined: outermost */
    assert_int_equal(rule_after(WRITER_BYTES(0x90, 2)), SBX_RULE_UNSUPPORTED);     /* elsewhere */
    assert_int_equal(rule_after(WRITER_BYTES(0x09, 16, 5)), SBX_RULE_UNSUPPORTED); /* in a register (vfork) */
    assert_int_equal(rule_after(WRITER_BYTES(0x90, 2, 0xd0)), from_sp(8, 0));      /* restored to the CIE's */
    assert_int_equal(rule_after(WRITER_BYTES(0x14, 7, 0)), from_sp(8, 0));         /* rsp is the CFA: nothing new */
    assert_int_equal(rule_after(WRITER_BYTES(0x87, 2)), SBX_RULE_UNSUPPORTED);     /* rsp from memory */
}

static void test_args_size_and_other_registers_change_nothing(void **state)
{
    (void)state;
    assert_int_equal(rule_after(WRITER_BYTES(0x2e, 32)), from_sp(8, 0));
    assert_int_equal(rule_after(WRITER_BYTES(0x83, 2, 0x8c, 3, 0x08, 12, 0xc3, 0x07, 13, 0x09, 3, 12)), from_sp(8, 0));
    assert_int_equal(rule_after(WRITER_BYTES(0x10, 3, 2, 0x76, 0, 0x16, 12, 2, 0x76, 0)), from_sp(8, 0));
}

static void test_remembered_states_nest(void **state)
{
    (void)state;
    struct rows rows = {0};
    assert_int_equal(
        run(WRITER_BYTES(0x0e, 16, 0x86, 2, 0x0a, 0x41, 0x0e, 24, 0x0a, 0x41, 0x0c, 6, 16, 0x41, 0x0b, 0x41, 0x0b),
            &rows),
        0);
    assert_int_equal(rows.count, 5);
    assert_int_equal(rows.rules[0], from_sp(16, 16));
    assert_int_equal(rows.rules[1], from_sp(24, 16));
    assert_int_equal(rows.rules[2], from_fp(16, 16));
    assert_int_equal(rows.rules[3], from_sp(24, 16));
    assert_int_equal(rows.rules[4], from_sp(16, 16));
}

static void test_restore_goes_back_to_what_the_cie_said(void **state)
{
    (void)state;
    struct rows rows = {0};
    assert_int_equal(run_under(WRITER_BYTES(0x86, 4), WRITER_BYTES(0x86, 9, 0xc6), &rows), 0);
    assert_int_equal(rows.rules[0], from_sp(8, 32));
}

/* ---- damage ---- */

static void expect_damage_after_first_row(const uint8_t *program, size_t program_bytes)
{
    struct rows rows = {0};
    assert_int_equal(run(program, program_bytes, &rows), -EINVAL);
    assert_int_equal(rows.count, 2);
    assert_int_equal(rows.rules[0], from_sp(8, 0));
    assert_int_equal(rows.offsets[1], 4);
    assert_int_equal(rows.rules[1], SBX_RULE_UNSUPPORTED);
}

static void test_damage_keeps_the_rows_before_it(void **state)
{
    (void)state;
    expect_damage_after_first_row(WRITER_BYTES(0x44, 0x3f));                      /* no such opcode */
    expect_damage_after_first_row(WRITER_BYTES(0x44, 0x2d));                      /* an opcode of SPARC or aarch64 */
    expect_damage_after_first_row(WRITER_BYTES(0x44, 0x0b));                      /* nothing was remembered */
    expect_damage_after_first_row(WRITER_BYTES(0x44, 0x0e, 0x80));                /* operand cut off */
    expect_damage_after_first_row(WRITER_BYTES(0x44, 0x0f, 5, 0x77));             /* expression cut off */
    expect_damage_after_first_row(WRITER_BYTES(0x44, 4, 0xff, 0xff, 0xff, 0xff)); /* beyond the function */
    expect_damage_after_first_row(WRITER_BYTES(0x44, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a,
                                               0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a)); /* remembers without end */
}

static void test_advance_to_the_very_end_is_no_damage(void **state)
{
    (void)state;
    struct rows rows = {0};
    assert_int_equal(run(WRITER_BYTES(3, 0x00, 0x10, 0x0e, 16), &rows), 0);
    assert_int_equal(rows.count, 1);
}

static void test_initial_program_may_not_move_or_restore(void **state)
{
    (void)state;
    struct rows rows = {0};
    assert_int_equal(run_under(WRITER_BYTES(0x41), NULL, 0, &rows), -EILSEQ);
    assert_int_equal(run_under(WRITER_BYTES(1, 0, 0, 0, 0), NULL, 0, &rows), -EILSEQ);
    assert_int_equal(run_under(WRITER_BYTES(4, 0, 0, 0, 0), NULL, 0, &rows), -EILSEQ);
    assert_int_equal(run_under(WRITER_BYTES(0xc6), NULL, 0, &rows), -EILSEQ);
    assert_int_equal(run_under(WRITER_BYTES(0x3f), NULL, 0, &rows), -EILSEQ);
}

static void test_caller_stops_the_run(void **state)
{
    (void)state;
    struct rows rows = {.refuse_at = 2};
    assert_int_equal(run(WRITER_BYTES(0x41, 0x0e, 16, 0x41, 0x0e, 24, 0x41, 0x0e, 32), &rows), -ENOMEM);
    assert_int_equal(rows.count, 2);
}

/* Every opcode, cut off after every byte. */
static void test_truncation_at_every_length_reads_nothing_beyond(void **state)
{
    (void)state;
    static const uint8_t program[] = {
        0x41, 0x02, 1,    0x03, 1,    0,    0x04, 1,    0,    0,    0,                /* advances */
        0x0c, 7,    16,   0x12, 6,    0x7e, 0x0d, 6,    0x0e, 0x90, 1,    0x13, 0x7d, /* CFA definitions */
        0x0f, 3,    0x76, 0x78, 0x06, 0x10, 6,    2,    0x76, 0,    0x16, 6,    2,    0x76, 0,    0x05, 6,    2,
        0x11, 6,    0x7e, 0x14, 6,    1,    0x15, 6,    1,    0x2f, 6,    1, /* columns */
        0x2e, 0x80, 1,    0x06, 6,    0x07, 6,    0x08, 6,    0x09, 6,    3,    0x0a, 0x0b, 0x86, 2,    0xc6, 0x41,
    };
    struct eh_frame_writer writer = {0};
    struct guarded_bytes guarded;
    uint32_t cie_position = writer_put_cie(&writer, NULL, 0);
    struct sbx_eh_section section = writer_section(&writer);
    struct sbx_eh_cie cie;
    struct sbx_frame_state initial;
    assert_int_equal(sbx_eh_cie_read(&section, cie_position, &cie), 0);
    assert_int_equal(sbx_cfa_initial_state(&cie, &initial), 0);
    guarded_bytes_init(&guarded, sizeof program);
    uint32_t whole = 0;
    for (size_t bytes = 0; bytes <= sizeof program; bytes++) {
        struct rows rows = {0};
        guarded_bytes_set(&guarded, program, bytes);
        struct sbx_eh_fde fde = {cie_position, WRITER_TEXT_AT, WRITER_TEXT_AT + FUNCTION_BYTES, guarded.at, bytes};
        int result = sbx_cfa_program_run(&section, &cie, &initial, &fde, keep_row, &rows);
        assert_true(result == 0 || result == -EINVAL);
        assert_true(rows.count >= 1);
        assert_int_equal(rows.rules[rows.count - 1] == SBX_RULE_UNSUPPORTED, result != 0);
        whole += result == 0;
    }
    assert_int_equal(whole, 28); /* one before the first, and one behind each of the 27 instructions */
    guarded_bytes_finish(&guarded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_program_has_one_row),
        cmocka_unit_test(test_ordinary_prologue_and_epilogue_are_followed),
        cmocka_unit_test(test_every_advance_moves_the_location),
        cmocka_unit_test(test_set_loc_is_an_encoded_address),
        cmocka_unit_test(test_several_instructions_at_one_place_make_one_row),
        cmocka_unit_test(test_cfa_definitions),
        cmocka_unit_test(test_register_after_expression_takes_the_offset_before_it),
        cmocka_unit_test(test_every_way_to_say_where_fp_was_saved),
        cmocka_unit_test(test_every_way_to_lose_fp),
        cmocka_unit_test(test_return_address_rules),
        cmocka_unit_test(test_args_size_and_other_registers_change_nothing),
        cmocka_unit_test(test_remembered_states_nest),
        cmocka_unit_test(test_restore_goes_back_to_what_the_cie_said),
        cmocka_unit_test(test_damage_keeps_the_rows_before_it),
        cmocka_unit_test(test_advance_to_the_very_end_is_no_damage),
        cmocka_unit_test(test_initial_program_may_not_move_or_restore),
        cmocka_unit_test(test_caller_stops_the_run),
        cmocka_unit_test(test_truncation_at_every_length_reads_nothing_beyond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
