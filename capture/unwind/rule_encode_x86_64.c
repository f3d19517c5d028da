/* SPDX-License-Identifier: Apache-2.0 */
/* rule_encode_x86_64.c - which states of a call-frame program fit a 32-bit rule on x86-64.
 *
 * Expressions are recognized, not evaluated, because linkers and compilers write only a few, and always in the same
 * way. An expression that is not recognized is SBX_RULE_UNSUPPORTED, so that a walk stops there and reports it. */
#include "byte_reader.h"
#include "cfa_program.h"
#include "unwind_rule.h"

enum {
    OP_DEREF = 0x06,
    OP_AND = 0x1a,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_GE = 0x2a,
    OP_LIT0 = 0x30, /* to OP_LIT0 + 31 */
    OP_BREG0 = 0x70,
};

static struct sbx_byte_reader expression_reader(const uint8_t *expression, uint32_t bytes)
{
    return (struct sbx_byte_reader){expression, expression + bytes, expression == NULL};
}

/* Do these bytes come next in the reader? Steps over them if they do. */
static bool take_bytes(struct sbx_byte_reader *reader, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (sbx_read_u8(reader) != bytes[i]) {
            return false;
        }
    }
    return !reader->damaged;
}

/* Is this column's expression exactly "register + offset"? */
static bool is_register_offset(const struct sbx_column *column, uint32_t number, int64_t offset)
{
    struct sbx_byte_reader reader = expression_reader(column->expression, column->expression_bytes);
    return sbx_read_u8(&reader) == OP_BREG0 + number && sbx_read_sleb(&reader) == offset && !reader.damaged &&
           sbx_bytes_left(&reader) == 0;
}

/* The frame pointer field of a rule. */
static uint32_t encode_frame_pointer(const struct sbx_column *column)
{
    switch (column->kind) {
    case SBX_COLUMN_UNSET:
    case SBX_COLUMN_SAME:
        return SBX_RULE_FP_SAME << SBX_RULE_FP_SHIFT;
    case SBX_COLUMN_OFFSET:
        if (column->value < 0 && column->value % 8 == 0 && column->value >= -8 * SBX_RULE_FP_SLOT_MAX) {
            return (uint32_t)(column->value / -8) << SBX_RULE_FP_SHIFT;
        }
        break;
    case SBX_COLUMN_EXPRESSION: /* a frame that aligns its stack pushes fp where the new fp points */
        if (is_register_offset(column, SBX_DWARF_FRAME_POINTER, 0)) {
            return SBX_RULE_FP_AT_FP << SBX_RULE_FP_SHIFT;
        }
        break;
    default:
        break;
    }
    return SBX_RULE_FP_LOST << SBX_RULE_FP_SHIFT;
}

/* register + offset; the frame pointer field is added by the caller. */
static uint32_t encode_register_cfa(const struct sbx_frame_state *state)
{
    uint32_t field;
    switch (state->cfa_register) {
    case SBX_DWARF_STACK_POINTER:
        return sbx_rule_offset_field(state->cfa_offset, 8, 12, 20, &field) ? field | SBX_RULE_FROM_SP
                                                                           : SBX_RULE_UNSUPPORTED;
    case SBX_DWARF_FRAME_POINTER:
        return sbx_rule_offset_field(state->cfa_offset, 8, 12, 20, &field) ? field | SBX_RULE_FROM_FP
                                                                           : SBX_RULE_UNSUPPORTED;
    default:
        if (state->cfa_register >= SBX_DWARF_GENERAL_REGISTERS ||
            !sbx_rule_offset_field(state->cfa_offset, 8, 16, 16, &field)) {
            return SBX_RULE_UNSUPPORTED;
        }
        return field | (uint32_t)state->cfa_register << SBX_RULE_VALUE_SHIFT | SBX_RULE_FROM_REGISTER;
    }
}

/* sp + 8 + (((pc & 15) >= limit) << 3), the form that every linker writes for its lazy PLT. `reader` is behind sp +
 * 8. */
static uint32_t encode_plt(struct sbx_byte_reader reader)
{
    static const uint8_t before[] = {OP_BREG0 + SBX_DWARF_RETURN_ADDRESS, 0, OP_LIT0 + 15, OP_AND};
    static const uint8_t after[] = {OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS};
    if (!take_bytes(&reader, before, sizeof before)) {
        return SBX_RULE_UNSUPPORTED;
    }
    uint32_t limit = (uint32_t)sbx_read_u8(&reader) - OP_LIT0;
    if (limit > 15 || !take_bytes(&reader, after, sizeof after) || sbx_bytes_left(&reader) != 0) {
        return SBX_RULE_UNSUPPORTED;
    }
    return limit << SBX_RULE_VALUE_SHIFT | SBX_RULE_PLT;
}

/* *(register + offset), with or without an addend. */
static uint32_t encode_deref(struct sbx_byte_reader reader, uint32_t number, int64_t offset)
{
    uint64_t addend = 0;
    if (sbx_read_u8(&reader) != OP_DEREF) {
        return SBX_RULE_UNSUPPORTED;
    }
    if (sbx_bytes_left(&reader) != 0) {
        if (sbx_read_u8(&reader) != OP_PLUS_UCONST) {
            return SBX_RULE_UNSUPPORTED;
        }
        addend = sbx_read_uleb(&reader);
    }
    if (reader.damaged || sbx_bytes_left(&reader) != 0 || addend % 8 != 0 || addend / 8 > UINT8_MAX) {
        return SBX_RULE_UNSUPPORTED;
    }
    uint32_t field;
    if (number == SBX_DWARF_FRAME_POINTER && addend == 0 && sbx_rule_offset_field(offset, 8, 12, 20, &field)) {
        return field | SBX_RULE_AT_FP;
    }
    if (number == SBX_DWARF_STACK_POINTER && sbx_rule_offset_field(offset, 8, 12, 12, &field)) {
        return field | (uint32_t)(addend / 8) << 24 | SBX_RULE_AT_SP;
    }
    return SBX_RULE_UNSUPPORTED;
}

static uint32_t encode_expression_cfa(const struct sbx_frame_state *state)
{
    struct sbx_byte_reader reader = expression_reader(state->cfa_expression, state->cfa_expression_bytes);
    uint32_t number = (uint32_t)sbx_read_u8(&reader) - OP_BREG0;
    int64_t offset = sbx_read_sleb(&reader);
    if (reader.damaged || number >= SBX_DWARF_GENERAL_REGISTERS) {
        return SBX_RULE_UNSUPPORTED;
    }
    if (number == SBX_DWARF_STACK_POINTER && offset == 8 && sbx_bytes_left(&reader) > 0 && *reader.at != OP_DEREF) {
        return encode_plt(reader);
    }
    return encode_deref(reader, number, offset);
}

/* The kernel's signal frame, recognized by where it keeps rsp and rip. */
static bool is_kernel_signal_frame(const struct sbx_frame_state *state)
{
    const struct sbx_column *return_address = &state->columns[SBX_COLUMN_RETURN_ADDRESS];
    if (!state->cfa_is_expression || return_address->kind != SBX_COLUMN_EXPRESSION) {
        return false;
    }
    struct sbx_byte_reader reader = expression_reader(state->cfa_expression, state->cfa_expression_bytes);
    return sbx_read_u8(&reader) == OP_BREG0 + SBX_DWARF_STACK_POINTER &&
           sbx_read_sleb(&reader) == SBX_CONTEXT_AT + 8 * SBX_CONTEXT_SP && sbx_read_u8(&reader) == OP_DEREF &&
           !reader.damaged && sbx_bytes_left(&reader) == 0 &&
           is_register_offset(return_address, SBX_DWARF_STACK_POINTER, SBX_CONTEXT_AT + 8 * SBX_CONTEXT_PC);
}

/* Is the caller's sp the CFA? It always is, except in code that switches stacks. */
static bool is_ordinary_stack_pointer(const struct sbx_column *column)
{
    return column->kind == SBX_COLUMN_UNSET || (column->kind == SBX_COLUMN_VAL_OFFSET && column->value == 0);
}

uint32_t sbx_rule_encode(const struct sbx_frame_state *state)
{
    const struct sbx_column *return_address = &state->columns[SBX_COLUMN_RETURN_ADDRESS];
    if (return_address->kind == SBX_COLUMN_UNDEFINED) {
        return SBX_RULE_END;
    }
    if (state->is_signal_frame) {
        return is_kernel_signal_frame(state) ? SBX_RULE_SIGNAL : SBX_RULE_UNSUPPORTED;
    }
    if (return_address->kind != SBX_COLUMN_OFFSET || return_address->value != -8 ||
        !is_ordinary_stack_pointer(&state->columns[SBX_COLUMN_STACK_POINTER])) {
        return SBX_RULE_UNSUPPORTED;
    }
    uint32_t rule = state->cfa_is_expression ? encode_expression_cfa(state) : encode_register_cfa(state);
    if (rule == SBX_RULE_UNSUPPORTED) {
        return rule;
    }
    return rule | encode_frame_pointer(&state->columns[SBX_COLUMN_FRAME_POINTER]);
}
