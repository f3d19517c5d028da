/* SPDX-License-Identifier: Apache-2.0 */
/* rule_encode_aarch64.c - which states of a call-frame program fit a 32-bit rule on aarch64.
 *
 * Frames differ in where the return address lies: in x30, in the word behind the saved frame pointer (a frame record),
 * or elsewhere. Expressions do not fit. Compilers write them only for frames with scalable vectors. */
#include "cfa_program.h"
#include "unwind_rule.h"

/* A saved register lies at CFA - 8 * this; 0: it does not. */
static uint64_t slot_number(const struct sbx_column *column)
{
    bool is_slot = column->kind == SBX_COLUMN_OFFSET && column->value < 0 && column->value % 8 == 0;
    return is_slot ? (uint64_t)(column->value / -8) : 0;
}

static bool is_in_register(const struct sbx_column *column)
{
    return column->kind == SBX_COLUMN_UNSET || column->kind == SBX_COLUMN_SAME;
}

/* The frame pointer field on its own. */
static uint32_t encode_frame_pointer(const struct sbx_column *column)
{
    uint64_t slot = slot_number(column);
    if (is_in_register(column)) {
        return SBX_RULE_FP_SAME << SBX_RULE_FP_SHIFT;
    }
    return (slot >= 1 && slot <= SBX_RULE_FP_SLOT_MAX ? (uint32_t)slot : (uint32_t)SBX_RULE_FP_LOST)
           << SBX_RULE_FP_SHIFT;
}

/* The return address and the frame pointer are not saved next to each other. */
static uint32_t encode_apart(const struct sbx_frame_state *state)
{
    const struct sbx_column *return_address = &state->columns[SBX_COLUMN_RETURN_ADDRESS];
    uint64_t slot = slot_number(return_address);
    if (state->cfa_register != SBX_DWARF_STACK_POINTER || state->cfa_offset < 0 || state->cfa_offset % 16 != 0 ||
        state->cfa_offset / 16 >= 1 << (32 - SBX_RULE_APART_SHIFT) || slot > SBX_RULE_RETURN_MASK ||
        (slot == 0 && !is_in_register(return_address))) {
        return SBX_RULE_UNSUPPORTED;
    }
    return (uint32_t)(state->cfa_offset / 16) << SBX_RULE_APART_SHIFT | (uint32_t)slot << SBX_RULE_RETURN_SHIFT |
           encode_frame_pointer(&state->columns[SBX_COLUMN_FRAME_POINTER]) | SBX_RULE_APART;
}

/* A frame record too far from the CFA for its field, so its place is given from the other end of the frame. */
static uint32_t encode_far_record(const struct sbx_frame_state *state, uint64_t slot)
{
    uint32_t offset;
    uint64_t bytes = 8 * slot;
    if (state->cfa_offset < 0 || (uint64_t)state->cfa_offset < bytes ||
        !sbx_rule_offset_field(state->cfa_offset, 8, SBX_RULE_VALUE_SHIFT, 20, &offset)) {
        return SBX_RULE_UNSUPPORTED;
    }
    uint64_t number = ((uint64_t)state->cfa_offset - bytes) / 8 + 1;
    if (state->cfa_register == SBX_DWARF_FRAME_POINTER && number == 1) {
        return offset | SBX_RULE_FP_AT_FP << SBX_RULE_FP_SHIFT | SBX_RULE_FROM_FP;
    }
    if (state->cfa_register == SBX_DWARF_STACK_POINTER && number <= SBX_RULE_FP_MASK) {
        return offset | (uint32_t)number << SBX_RULE_FP_SHIFT | SBX_RULE_RECORD_AT_SP;
    }
    return SBX_RULE_UNSUPPORTED;
}

/* register + offset; the frame pointer field is added by the caller. */
static uint32_t encode_register_cfa(const struct sbx_frame_state *state)
{
    uint32_t field;
    if (state->cfa_register == SBX_DWARF_STACK_POINTER || state->cfa_register == SBX_DWARF_FRAME_POINTER) {
        uint32_t kind = state->cfa_register == SBX_DWARF_STACK_POINTER ? SBX_RULE_FROM_SP : SBX_RULE_FROM_FP;
        bool fits = sbx_rule_offset_field(state->cfa_offset, 8, SBX_RULE_VALUE_SHIFT, 20, &field);
        return fits ? field | kind : SBX_RULE_UNSUPPORTED;
    }
    if (state->cfa_register >= SBX_DWARF_GENERAL_REGISTERS ||
        !sbx_rule_offset_field(state->cfa_offset, 8, SBX_RULE_REGISTER_OFFSET_SHIFT, 15, &field)) {
        return SBX_RULE_UNSUPPORTED;
    }
    return field | (uint32_t)state->cfa_register << SBX_RULE_VALUE_SHIFT | SBX_RULE_FROM_REGISTER;
}

/* The kernel's signal frame, of kernels before 5.8. (Later kernels have no rows for it, and the walker knows its
 * address.) Recognized by the frame record that the kernel puts behind it, with x29 pointing there. */
static bool is_kernel_signal_frame(const struct sbx_frame_state *state)
{
    const struct sbx_column *fp = &state->columns[SBX_COLUMN_FRAME_POINTER];
    const struct sbx_column *return_address = &state->columns[SBX_COLUMN_RETURN_ADDRESS];
    return !state->cfa_is_expression && state->cfa_register == SBX_DWARF_FRAME_POINTER && state->cfa_offset == 0 &&
           fp->kind == SBX_COLUMN_OFFSET && fp->value == 0 && return_address->kind == SBX_COLUMN_OFFSET &&
           return_address->value == 8;
}

/* Is the caller's sp the CFA? It always is, except in code that switches stacks. */
static bool is_ordinary_stack_pointer(const struct sbx_column *column)
{
    return column->kind == SBX_COLUMN_UNSET || (column->kind == SBX_COLUMN_VAL_OFFSET && column->value == 0);
}

uint32_t sbx_rule_encode(const struct sbx_frame_state *state)
{
    const struct sbx_column *fp = &state->columns[SBX_COLUMN_FRAME_POINTER];
    const struct sbx_column *return_address = &state->columns[SBX_COLUMN_RETURN_ADDRESS];
    if (return_address->kind == SBX_COLUMN_UNDEFINED) {
        return SBX_RULE_END;
    }
    if (state->is_signal_frame) {
        return is_kernel_signal_frame(state) ? SBX_RULE_SIGNAL : SBX_RULE_UNSUPPORTED;
    }
    if (state->cfa_is_expression || !is_ordinary_stack_pointer(&state->columns[SBX_COLUMN_STACK_POINTER])) {
        return SBX_RULE_UNSUPPORTED;
    }
    uint64_t fp_slot = slot_number(fp), return_slot = slot_number(return_address);
    bool is_leaf = is_in_register(return_address) && is_in_register(fp);
    bool is_record = return_slot != 0 && fp_slot == return_slot + 1;
    if (!is_leaf && !is_record) {
        return encode_apart(state);
    }
    if (fp_slot > SBX_RULE_FP_SLOT_MAX) {
        return encode_far_record(state, fp_slot);
    }
    uint32_t rule = encode_register_cfa(state);
    return rule == SBX_RULE_UNSUPPORTED ? rule : rule | encode_frame_pointer(fp);
}
