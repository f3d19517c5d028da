/* SPDX-License-Identifier: Apache-2.0 */
/* test_rule_encode_aarch64.c - which frame states fit a rule on aarch64, and what the rule then says. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cfa_program.h"
#include "stub_rows.h"
#include "unwind_rule.h"

enum {
    SP = SBX_DWARF_STACK_POINTER,
    FP = SBX_DWARF_FRAME_POINTER,
    IN_REGISTER = 0
};

/* CFA = register + offset; x29 and x30 saved at these places (bytes from the CFA; 0: not saved). */
static struct sbx_frame_state state_of(uint64_t number, int64_t offset, int64_t fp, int64_t return_address)
{
    struct sbx_frame_state state = {.cfa_register = number, .cfa_offset = offset};
    if (fp != IN_REGISTER) {
        state.columns[SBX_COLUMN_FRAME_POINTER] = (struct sbx_column){.kind = SBX_COLUMN_OFFSET, .value = fp};
    }
    if (return_address != IN_REGISTER) {
        state.columns[SBX_COLUMN_RETURN_ADDRESS] =
            (struct sbx_column){.kind = SBX_COLUMN_OFFSET, .value = return_address};
    }
    return state;
}

/* In a frame the encoded rule must find what the state says: CFA, slot of the caller's fp, slot of the return
 * address. */
static void expect(uint64_t number, int64_t offset, int64_t fp, int64_t return_address, uint32_t kind)
{
    const uint64_t sp = 0x7ff000000, frame = number == FP ? 0x7ff100000 : 0x7ff200000;
    struct sbx_frame_state state = state_of(number, offset, fp, return_address);
    uint32_t rule = sbx_rule_encode(&state);
    uint64_t base = number == FP ? frame : sp, cfa = 0;
    assert_int_equal(sbx_rule_kind(rule), kind);
    if (kind == SBX_RULE_FROM_SP || kind == SBX_RULE_FROM_FP) {
        cfa = base + (uint64_t)sbx_rule_offset(rule);
    } else {
        struct sbx_cfa_place place = {0};
        assert_int_equal(sbx_rule_cfa(rule, 0, &place), SBX_CFA_FROM_SP);
        cfa = sp + (uint64_t)place.offset;
    }
    assert_int_equal(cfa, base + (uint64_t)offset);
    uint64_t slot = sbx_rule_return_slot(rule, sp, frame, cfa);
    assert_int_equal(slot, return_address == IN_REGISTER ? 0 : cfa + (uint64_t)return_address);
    if (fp == IN_REGISTER) {
        assert_int_equal(sbx_rule_fp(rule), SBX_RULE_FP_SAME);
    } else if (sbx_rule_fp(rule) == SBX_RULE_FP_AT_FP) {
        assert_int_equal(frame, cfa + (uint64_t)fp);
    } else {
        assert_int_equal(sbx_rule_fp_slot(rule, sp, cfa), cfa + (uint64_t)fp);
    }
}

static void expect_unsupported(uint64_t number, int64_t offset, int64_t fp, int64_t return_address)
{
    struct sbx_frame_state state = state_of(number, offset, fp, return_address);
    assert_int_equal(sbx_rule_encode(&state), SBX_RULE_UNSUPPORTED);
}

static void test_a_leaf_keeps_its_return_address_in_the_link_register(void **state)
{
    (void)state;
    expect(SP, 0, IN_REGISTER, IN_REGISTER, SBX_RULE_FROM_SP);
    expect(SP, 48, IN_REGISTER, IN_REGISTER, SBX_RULE_FROM_SP);
    expect(SP, 1 << 20, IN_REGISTER, IN_REGISTER, SBX_RULE_FROM_SP);
    expect(SP, 32, -32, IN_REGISTER, SBX_RULE_APART); /* x29 in use for something else */
}

static void test_a_record_lies_anywhere_in_its_frame(void **state)
{
    (void)state;
    expect(SP, 16, -16, -8, SBX_RULE_FROM_SP);
    expect(SP, 512, -512, -504, SBX_RULE_FROM_SP);
    expect(SP, 4072 + 16, -4072, -4064, SBX_RULE_FROM_SP);
    expect(FP, 16, -16, -8, SBX_RULE_FROM_FP);     /* clang */
    expect(FP, 208, -208, -200, SBX_RULE_FROM_FP); /* gcc with alloca */
}

static void test_a_record_far_from_the_cfa_is_named_from_below(void **state)
{
    (void)state;
    expect(SP, 8192, -8192, -8184, SBX_RULE_RECORD_AT_SP);
    expect(SP, 8192 + 64, -8192, -8184, SBX_RULE_RECORD_AT_SP); /* stack arguments below it */
    expect(SP, 8192 + 8 * 510, -8192, -8184, SBX_RULE_RECORD_AT_SP);
    expect_unsupported(SP, 8192 + 8 * 511, -8192, -8184);
    expect(FP, 65536, -65536, -65528, SBX_RULE_FROM_FP);
    expect_unsupported(FP, 65536 + 16, -65536, -65528);
    expect_unsupported(SP, 4096, -8192, -8184); /* below sp */
    expect_unsupported(SP, 8 * (1 << 19), -8192, -8184);
}

static void test_a_return_address_may_be_saved_alone(void **state)
{
    (void)state;
    expect(SP, 32, IN_REGISTER, -32, SBX_RULE_APART);
    expect(SP, 32, IN_REGISTER, -8, SBX_RULE_APART);
    expect(SP, 64, -16, -64, SBX_RULE_APART); /* in the wrong order, or with other words between them */
    expect(SP, 64, -64, -16, SBX_RULE_APART);
    expect(SP, 2047 * 16, -24, -511 * 8, SBX_RULE_APART);
    expect_unsupported(SP, 2048 * 16, -24, -32);
    expect_unsupported(SP, 8192, IN_REGISTER, -512 * 8);
    expect_unsupported(SP, 24, IN_REGISTER, -8);
    expect_unsupported(SP, -16, IN_REGISTER, -8);
    expect_unsupported(FP, 32, IN_REGISTER, -8);
}

static void test_slots_that_are_none_are_refused(void **state)
{
    (void)state;
    expect_unsupported(SP, 16, -16, 8);
    expect_unsupported(SP, 16, -16, -4);
    expect_unsupported(SP, 12, -16, -8);
    struct sbx_frame_state lost = state_of(SP, 32, 8, -8); /* fp saved outside of the frame: only fp is lost */
    uint32_t rule = sbx_rule_encode(&lost);
    assert_int_equal(sbx_rule_kind(rule), SBX_RULE_APART);
    assert_int_equal(sbx_rule_fp(rule), SBX_RULE_FP_LOST);
    assert_int_equal(sbx_rule_return_slot(rule, 0, 0, 0x1000), 0x1000 - 8);
}

static void test_other_registers_are_named(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < SBX_DWARF_GENERAL_REGISTERS; number++) {
        if (number == SP || number == FP) {
            continue;
        }
        struct sbx_frame_state frame = state_of(number, -48, IN_REGISTER, IN_REGISTER);
        uint32_t rule = sbx_rule_encode(&frame);
        struct sbx_cfa_place place = {0};
        assert_int_equal(sbx_rule_cfa(rule, 0, &place), SBX_CFA_FROM_WORD);
        assert_int_equal(place.word, number);
        assert_int_equal(place.offset, -48);
        assert_false(sbx_rule_is_plain(rule));
    }
    expect_unsupported(SBX_DWARF_GENERAL_REGISTERS, 16, IN_REGISTER, IN_REGISTER);
    expect_unsupported(46, 16, IN_REGISTER, IN_REGISTER); /* VG: scalable vectors */
    expect_unsupported(UINT64_MAX, 16, IN_REGISTER, IN_REGISTER);
}

static void test_ends_and_what_does_not_fit(void **state)
{
    (void)state;
    struct sbx_frame_state end = state_of(SP, 0, IN_REGISTER, IN_REGISTER);
    end.columns[SBX_COLUMN_RETURN_ADDRESS].kind = SBX_COLUMN_UNDEFINED;
    assert_int_equal(sbx_rule_encode(&end), SBX_RULE_END);
    struct sbx_frame_state moved = state_of(SP, 0, IN_REGISTER, IN_REGISTER);
    moved.columns[SBX_COLUMN_RETURN_ADDRESS] = (struct sbx_column){.kind = SBX_COLUMN_REGISTER, .value = 16};
    assert_int_equal(sbx_rule_encode(&moved), SBX_RULE_UNSUPPORTED);
    struct sbx_frame_state expression = state_of(SP, 0, -16, -8);
    expression.cfa_is_expression = true;
    assert_int_equal(sbx_rule_encode(&expression), SBX_RULE_UNSUPPORTED);
    struct sbx_frame_state switched = state_of(SP, 16, -16, -8);
    switched.columns[SBX_COLUMN_STACK_POINTER] = (struct sbx_column){.kind = SBX_COLUMN_OFFSET, .value = -24};
    assert_int_equal(sbx_rule_encode(&switched), SBX_RULE_UNSUPPORTED);
}

static void test_the_kernels_signal_frame_is_known_by_its_record(void **state)
{
    (void)state;
    struct sbx_frame_state signal = {.cfa_register = FP, .is_signal_frame = true};
    signal.columns[SBX_COLUMN_FRAME_POINTER] = (struct sbx_column){.kind = SBX_COLUMN_OFFSET, .value = 0};
    signal.columns[SBX_COLUMN_RETURN_ADDRESS] = (struct sbx_column){.kind = SBX_COLUMN_OFFSET, .value = 8};
    assert_int_equal(sbx_rule_encode(&signal), SBX_RULE_SIGNAL);
    signal.cfa_offset = 16;
    assert_int_equal(sbx_rule_encode(&signal), SBX_RULE_UNSUPPORTED);
}

static void test_signatures_are_taken_off(void **state)
{
    (void)state;
    assert_int_equal(sbx_plain_address(UINT64_C(0x003daaaacafe0124)), UINT64_C(0x0000aaaacafe0124));
    assert_int_equal(sbx_plain_address(UINT64_C(0xb53dffffcafe0124)), UINT64_C(0x0000ffffcafe0124));
    assert_int_equal(sbx_plain_address(UINT64_C(0x0000ffffcafe0124)), UINT64_C(0x0000ffffcafe0124));
}

/* ---- stubs ---- */

struct rows {
    uint64_t addresses[16];
    uint32_t rules[16];
    unsigned count;
};

static int put_row(void *context, uint64_t address, uint32_t rule)
{
    struct rows *rows = context;
    assert_true(rows->count < SBX_COUNT_OF(rows->rules));
    rows->addresses[rows->count] = address;
    rows->rules[rows->count++] = rule;
    return 0;
}

static void test_plt_stubs_leave_the_link_register_alone(void **state)
{
    (void)state;
    static const uint32_t plt[] = {
        0xd503201f, 0xd503201f, 0xa9bf7bf0, 0xf0000170, 0xf947fe11, 0x913fe210, 0xd61f0220, 0xd503201f, /* head */
        0xd503201f, 0xd503201f, 0xf0000170, 0xf9403611, 0x9101a210, 0xd61f0220,                         /* plain */
        0xd503245f, 0xf0000170, 0xf9403611, 0x9101a210, 0xd503219f, 0xd61f0220, /* bti and pac */
        0xf0000170, 0xf9403611, 0x9101a210, 0xd503201f,                         /* no jump */
    };
    struct rows rows = {.count = 0};
    assert_int_equal(sbx_stub_rows_put((const uint8_t *)plt, sizeof plt, 0x1000, put_row, &rows), 0);
    const uint32_t leaf = SBX_RULE_FROM_SP;
    const uint64_t addresses[] = {0x1008, 0x100c, 0x101c, 0x1028, 0x1038, 0x1038, 0x1050};
    assert_int_equal(rows.count, SBX_COUNT_OF(addresses));
    assert_memory_equal(rows.addresses, addresses, sizeof addresses);
    assert_int_equal(rows.rules[0], leaf);
    assert_int_equal(sbx_rule_return_slot(rows.rules[1], 0x7000, 0, 0x7010), 0x7008); /* stp x16, x30, [sp, #-16]! */
    assert_int_equal(rows.rules[2], SBX_RULE_NONE);
    assert_int_equal(rows.rules[3], leaf);
    assert_int_equal(rows.rules[5], leaf);
    assert_int_equal(rows.rules[6], SBX_RULE_NONE);
    for (size_t bytes = 0; bytes < sizeof plt; bytes++) { /* cut at every length: never a rule for half a stub */
        struct rows cut = {.count = 0};
        assert_int_equal(sbx_stub_rows_put((const uint8_t *)plt, bytes, 0x1000, put_row, &cut), 0);
        assert_true(cut.count <= rows.count);
        assert_memory_equal(cut.rules, rows.rules, cut.count * sizeof rows.rules[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_leaf_keeps_its_return_address_in_the_link_register),
        cmocka_unit_test(test_a_record_lies_anywhere_in_its_frame),
        cmocka_unit_test(test_a_record_far_from_the_cfa_is_named_from_below),
        cmocka_unit_test(test_a_return_address_may_be_saved_alone),
        cmocka_unit_test(test_slots_that_are_none_are_refused),
        cmocka_unit_test(test_other_registers_are_named),
        cmocka_unit_test(test_ends_and_what_does_not_fit),
        cmocka_unit_test(test_the_kernels_signal_frame_is_known_by_its_record),
        cmocka_unit_test(test_signatures_are_taken_off),
        cmocka_unit_test(test_plt_stubs_leave_the_link_register_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
