/* SPDX-License-Identifier: Apache-2.0 */
/* test_rule_encode.c - which frame states fit a rule on x86-64, and what the rule then says. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ucontext.h>

#include "cfa_program.h"
#include "unwind_rule.h"

#define EXPRESSION(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

/* CFA = register + offset, return address below it. */
static struct sbx_frame_state state_of(uint64_t number, int64_t offset)
{
    struct sbx_frame_state state = {.cfa_register = number, .cfa_offset = offset};
    state.columns[SBX_COLUMN_RETURN_ADDRESS] = (struct sbx_column){.kind = SBX_COLUMN_OFFSET, .value = -8};
    return state;
}

static uint32_t rule_of_expression(const uint8_t *expression, size_t bytes)
{
    struct sbx_frame_state state = state_of(SBX_DWARF_STACK_POINTER, 8);
    state.cfa_is_expression = true;
    state.cfa_expression = expression;
    state.cfa_expression_bytes = (uint32_t)bytes;
    return sbx_rule_encode(&state);
}

static uint32_t rule_of_register(uint64_t number, int64_t offset)
{
    struct sbx_frame_state state = state_of(number, offset);
    return sbx_rule_encode(&state);
}

static void test_offsets_are_kept_up_to_the_field(void **state)
{
    (void)state;
    static const int64_t kept[] = {8, 16, 4096, 8 * ((1 << 19) - 1), -8, -8 * (1 << 19), 0};
    static const int64_t refused[] = {4, 12, -1, 8 * (1 << 19), -8 * (1 << 19) - 8, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < SBX_COUNT_OF(kept); i++) {
        uint32_t rule = rule_of_register(SBX_DWARF_STACK_POINTER, kept[i]);
        assert_int_equal(sbx_rule_kind(rule), SBX_RULE_FROM_SP);
        assert_int_equal(sbx_rule_offset(rule), kept[i]);
        assert_int_equal(sbx_rule_fp(rule), SBX_RULE_FP_SAME);
        rule = rule_of_register(SBX_DWARF_FRAME_POINTER, kept[i]);
        assert_int_equal(sbx_rule_kind(rule), SBX_RULE_FROM_FP);
        assert_int_equal(sbx_rule_offset(rule), kept[i]);
    }
    for (size_t i = 0; i < SBX_COUNT_OF(refused); i++) {
        assert_int_equal(rule_of_register(SBX_DWARF_STACK_POINTER, refused[i]), SBX_RULE_UNSUPPORTED);
        assert_int_equal(rule_of_register(SBX_DWARF_FRAME_POINTER, refused[i]), SBX_RULE_UNSUPPORTED);
    }
}

static void test_other_registers_are_named(void **state)
{
    (void)state;
    uint32_t rule = rule_of_register(10, -32);
    assert_int_equal(sbx_rule_kind(rule), SBX_RULE_FROM_REGISTER);
    assert_int_equal(sbx_rule_register(rule), 10);
    assert_int_equal(sbx_rule_register_offset(rule), -32);
    rule = rule_of_register(15, 8 * 32767);
    assert_int_equal(sbx_rule_register(rule), 15);
    assert_int_equal(sbx_rule_register_offset(rule), 8 * 32767);
    assert_int_equal(rule_of_register(15, 8 * 32768), SBX_RULE_UNSUPPORTED);
    assert_int_equal(rule_of_register(17, 8), SBX_RULE_UNSUPPORTED);         /* xmm0 */
    assert_int_equal(rule_of_register(UINT64_MAX, 8), SBX_RULE_UNSUPPORTED); /* no CFA is defined */
}

static void test_plt_stub_keeps_its_limit(void **state)
{
    (void)state;
    for (uint32_t limit = 0; limit < 16; limit++) {
        uint32_t rule = rule_of_expression(
            EXPRESSION(0x77, 8, 0x80, 0, 0x3f, 0x1a, (uint8_t)(0x30 + limit), 0x2a, 0x33, 0x24, 0x22));
        assert_int_equal(sbx_rule_kind(rule), SBX_RULE_PLT);
        assert_int_equal(sbx_rule_plt_limit(rule), limit);
    }
    assert_int_equal(rule_of_expression(EXPRESSION(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x40, 0x2a, 0x33, 0x24, 0x22)),
                     SBX_RULE_UNSUPPORTED); /* lit16 */
    assert_int_equal(rule_of_expression(EXPRESSION(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x32, 0x24, 0x22)),
                     SBX_RULE_UNSUPPORTED); /* shifted by 2 */
    assert_int_equal(rule_of_expression(EXPRESSION(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24)),
                     SBX_RULE_UNSUPPORTED); /* cut off */
    assert_int_equal(rule_of_expression(EXPRESSION(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22, 0x22)),
                     SBX_RULE_UNSUPPORTED); /* with an additional operation */
}

static void test_saved_stack_pointers_are_found(void **state)
{
    (void)state;
    uint32_t rule = rule_of_expression(EXPRESSION(0x76, 0x70, 0x06)); /* *(rbp - 16) */
    assert_int_equal(sbx_rule_kind(rule), SBX_RULE_AT_FP);
    assert_int_equal(sbx_rule_offset(rule), -16);
    rule = rule_of_expression(EXPRESSION(0x77, 0x98, 4, 0x06, 0x23, 56)); /* *(rsp + 536) + 56 */
    assert_int_equal(sbx_rule_kind(rule), SBX_RULE_AT_SP);
    assert_int_equal(sbx_rule_slot_offset(rule), 536);
    assert_int_equal(sbx_rule_slot_addend(rule), 56);
    rule = rule_of_expression(EXPRESSION(0x77, 8, 0x06)); /* *(rsp + 8): begins like a PLT stub */
    assert_int_equal(sbx_rule_kind(rule), SBX_RULE_AT_SP);
    assert_int_equal(sbx_rule_slot_addend(rule), 0);
    rule = rule_of_expression(EXPRESSION(0x77, 0x78, 0x06, 0x23, 0xf8, 0x0f)); /* *(rsp - 8) + 2040 */
    assert_int_equal(sbx_rule_slot_offset(rule), -8);
    assert_int_equal(sbx_rule_slot_addend(rule), 2040);
}

static void test_other_expressions_are_unsupported(void **state)
{
    (void)state;
    assert_int_equal(rule_of_expression(NULL, 0), SBX_RULE_UNSUPPORTED);
    assert_int_equal(rule_of_expression(EXPRESSION(0x77)), SBX_RULE_UNSUPPORTED);
    assert_int_equal(rule_of_expression(EXPRESSION(0x77, 8)), SBX_RULE_UNSUPPORTED);
    assert_int_equal(rule_of_expression(EXPRESSION(0x77, 4, 0x06)), SBX_RULE_UNSUPPORTED);             /* unaligned */
    assert_int_equal(rule_of_expression(EXPRESSION(0x7a, 8, 0x06)), SBX_RULE_UNSUPPORTED);             /* *(r10 + 8) */
    assert_int_equal(rule_of_expression(EXPRESSION(0x76, 0x70, 0x06, 0x23, 8)), SBX_RULE_UNSUPPORTED); /* *fp + 8 */
    assert_int_equal(rule_of_expression(EXPRESSION(0x77, 16, 0x06, 0x23, 7)), SBX_RULE_UNSUPPORTED);   /* odd addend */
    assert_int_equal(rule_of_expression(EXPRESSION(0x77, 16, 0x06, 0x23, 0x80, 0x10)), SBX_RULE_UNSUPPORTED); /* 2048 */
    assert_int_equal(rule_of_expression(EXPRESSION(0x77, 0x80, 0x80, 1, 0x06)), SBX_RULE_UNSUPPORTED); /* 16 KiB off */
    assert_int_equal(rule_of_expression(EXPRESSION(0x03, 0, 0, 0, 0, 0, 0, 0, 0)), SBX_RULE_UNSUPPORTED);
}

static struct sbx_frame_state kernel_frame(const uint8_t *cfa, size_t cfa_bytes, const uint8_t *pc, size_t pc_bytes)
{
    struct sbx_frame_state state = {.cfa_is_expression = true, .is_signal_frame = true};
    state.cfa_expression = cfa;
    state.cfa_expression_bytes = (uint32_t)cfa_bytes;
    state.columns[SBX_COLUMN_RETURN_ADDRESS] =
        (struct sbx_column){.kind = SBX_COLUMN_EXPRESSION, .expression_bytes = (uint32_t)pc_bytes, .expression = pc};
    return state;
}

static void test_signal_frame_of_the_kernel_is_told_by_its_slots(void **state)
{
    (void)state;
    struct sbx_frame_state frame = kernel_frame(EXPRESSION(0x77, 0xa0, 1, 0x06), EXPRESSION(0x77, 0xa8, 1));
    assert_int_equal(sbx_rule_encode(&frame), SBX_RULE_SIGNAL);
    frame = kernel_frame(EXPRESSION(0x77, 0xa8, 1, 0x06), EXPRESSION(0x77, 0xa8, 1));
    assert_int_equal(sbx_rule_encode(&frame), SBX_RULE_UNSUPPORTED); /* rsp elsewhere */
    frame = kernel_frame(EXPRESSION(0x77, 0xa0, 1, 0x06), EXPRESSION(0x77, 0xb0, 1));
    assert_int_equal(sbx_rule_encode(&frame), SBX_RULE_UNSUPPORTED); /* rip elsewhere */
    frame = state_of(SBX_DWARF_STACK_POINTER, 8);
    frame.is_signal_frame = true;
    assert_int_equal(sbx_rule_encode(&frame), SBX_RULE_UNSUPPORTED);
}

static void test_context_words_are_where_the_kernel_puts_them(void **state)
{
    (void)state;
    static const int gregs[SBX_DWARF_GENERAL_REGISTERS] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                                           REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                           REG_R12, REG_R13, REG_R14, REG_R15};
    for (uint32_t i = 0; i < SBX_DWARF_GENERAL_REGISTERS; i++) {
        assert_int_equal(sbx_context_word(i), gregs[i]);
    }
    assert_int_equal(SBX_CONTEXT_FP, REG_RBP);
    assert_int_equal(SBX_CONTEXT_SP, REG_RSP);
    assert_int_equal(SBX_CONTEXT_PC, REG_RIP);
    assert_int_equal(SBX_CONTEXT_AT, offsetof(ucontext_t, uc_mcontext.gregs));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_offsets_are_kept_up_to_the_field),
        cmocka_unit_test(test_other_registers_are_named),
        cmocka_unit_test(test_plt_stub_keeps_its_limit),
        cmocka_unit_test(test_saved_stack_pointers_are_found),
        cmocka_unit_test(test_other_expressions_are_unsupported),
        cmocka_unit_test(test_signal_frame_of_the_kernel_is_told_by_its_slots),
        cmocka_unit_test(test_context_words_are_where_the_kernel_puts_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
