/* SPDX-License-Identifier: Apache-2.0 */
/* cfa_program.c - the interpreter of call-frame programs.
 *
 * It is apart from eh_frame.c: eh_frame.c finds the programs, this file decides what they mean. */
#include "cfa_program.h"

#include <errno.h>

#include "byte_reader.h"
#include "unwind_rule.h"

enum cfa_opcode {
    CFA_ADVANCE_LOC = 0x40, /* high two bits; the low six are the operand */
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_PRIMARY = 0xc0,
    CFA_PRIMARY_OPERAND = 0x3f,

    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE_LOC1 = 0x02,
    CFA_ADVANCE_LOC2 = 0x03,
    CFA_ADVANCE_LOC4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER_STATE = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
    CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
    CFA_GNU_ARGS_SIZE = 0x2e,
    CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

enum {
    REMEMBER_MAX = 16
}; /* compilers nest two or three deep */

/* One run. */
struct program {
    struct sbx_byte_reader reader;
    const struct sbx_eh_cie *cie;
    const struct sbx_frame_state *initial; /* the state that DW_CFA_restore returns to; NULL while a CIE runs */
    struct sbx_frame_state state;
    struct sbx_frame_state remembered[REMEMBER_MAX];
    uint32_t remembered_count;
    uint64_t location; /* the state holds from this address on */
};

/* The column of a DWARF register; SBX_COLUMN_COUNT for a register that a walk does not need. */
static enum sbx_column_index column_of(const struct program *program, uint64_t number)
{
    if (number == program->cie->return_register) {
        return SBX_COLUMN_RETURN_ADDRESS;
    }
    if (number == SBX_DWARF_FRAME_POINTER) {
        return SBX_COLUMN_FRAME_POINTER;
    }
    if (number == SBX_DWARF_STACK_POINTER) {
        return SBX_COLUMN_STACK_POINTER;
    }
    return SBX_COLUMN_COUNT;
}

static void set_column(struct program *program, uint64_t number, uint32_t kind, int64_t value)
{
    enum sbx_column_index index = column_of(program, number);
    if (index != SBX_COLUMN_COUNT) {
        program->state.columns[index] = (struct sbx_column){.kind = kind, .value = value};
    }
}

/* Factored operands are multiplied by the data alignment of the CIE. A product that overflows wraps, and then fits no
 * rule. */
static int64_t scaled(const struct program *program, uint64_t number)
{
    return (int64_t)(number * (uint64_t)program->cie->data_align);
}

static void restore_column(struct program *program, uint64_t number)
{
    enum sbx_column_index index = column_of(program, number);
    if (program->initial == NULL) { /* a CIE has no initial state to restore: it defines it */
        program->reader.damaged = true;
    } else if (index != SBX_COLUMN_COUNT) {
        program->state.columns[index] = program->initial->columns[index];
    }
}

static const uint8_t *read_expression(struct program *program, uint32_t *bytes_out)
{
    uint64_t bytes = sbx_read_uleb(&program->reader);
    const uint8_t *expression = sbx_read_span(&program->reader, bytes);
    *bytes_out = expression == NULL ? 0 : (uint32_t)bytes; /* the section is below 4 GiB, so this is too */
    return expression;
}

static void set_expression_column(struct program *program, uint32_t kind)
{
    uint64_t number = sbx_read_uleb(&program->reader);
    uint32_t bytes;
    const uint8_t *expression = read_expression(program, &bytes);
    enum sbx_column_index index = column_of(program, number);
    if (index != SBX_COLUMN_COUNT) {
        program->state.columns[index] =
            (struct sbx_column){.kind = kind, .expression_bytes = bytes, .expression = expression};
    }
}

static void define_cfa(struct program *program, uint64_t number, int64_t offset)
{
    program->state.cfa_is_expression = false;
    program->state.cfa_register = number;
    program->state.cfa_offset = offset;
}

static void remember_state(struct program *program)
{
    if (program->remembered_count == REMEMBER_MAX) {
        program->reader.damaged = true;
        return;
    }
    program->remembered[program->remembered_count++] = program->state;
}

static void restore_state(struct program *program)
{
    if (program->remembered_count == 0) {
        program->reader.damaged = true;
        return;
    }
    program->state = program->remembered[--program->remembered_count];
}

/* Every opcode that does not move the location. */
static void run_extended(struct program *program, uint8_t opcode)
{
    struct sbx_byte_reader *reader = &program->reader;
    uint64_t number;
    switch (opcode) {
    case CFA_NOP:
        break;
    case CFA_OFFSET_EXTENDED:
        number = sbx_read_uleb(reader);
        set_column(program, number, SBX_COLUMN_OFFSET, scaled(program, sbx_read_uleb(reader)));
        break;
    case CFA_OFFSET_EXTENDED_SF:
        number = sbx_read_uleb(reader);
        set_column(program, number, SBX_COLUMN_OFFSET, scaled(program, (uint64_t)sbx_read_sleb(reader)));
        break;
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        number = sbx_read_uleb(reader);
        set_column(program, number, SBX_COLUMN_OFFSET, scaled(program, 0 - sbx_read_uleb(reader)));
        break;
    case CFA_VAL_OFFSET:
        number = sbx_read_uleb(reader);
        set_column(program, number, SBX_COLUMN_VAL_OFFSET, scaled(program, sbx_read_uleb(reader)));
        break;
    case CFA_VAL_OFFSET_SF:
        number = sbx_read_uleb(reader);
        set_column(program, number, SBX_COLUMN_VAL_OFFSET, scaled(program, (uint64_t)sbx_read_sleb(reader)));
        break;
    case CFA_RESTORE_EXTENDED:
        restore_column(program, sbx_read_uleb(reader));
        break;
    case CFA_UNDEFINED:
        set_column(program, sbx_read_uleb(reader), SBX_COLUMN_UNDEFINED, 0);
        break;
    case CFA_SAME_VALUE:
        set_column(program, sbx_read_uleb(reader), SBX_COLUMN_SAME, 0);
        break;
    case CFA_REGISTER:
        number = sbx_read_uleb(reader);
        set_column(program, number, SBX_COLUMN_REGISTER, (int64_t)sbx_read_uleb(reader));
        break;
    case CFA_REMEMBER_STATE:
        remember_state(program);
        break;
    case CFA_RESTORE_STATE:
        restore_state(program);
        break;
    case CFA_DEF_CFA:
        number = sbx_read_uleb(reader);
        define_cfa(program, number, (int64_t)sbx_read_uleb(reader));
        break;
    case CFA_DEF_CFA_SF:
        number = sbx_read_uleb(reader);
        define_cfa(program, number, scaled(program, (uint64_t)sbx_read_sleb(reader)));
        break;
    case CFA_DEF_CFA_REGISTER: /* After an expression the earlier offset counts again. DWARF forbids this,
                                  libgcrypt's assembly does it, and libgcc accepts it. */
        define_cfa(program, sbx_read_uleb(reader), program->state.cfa_offset);
        break;
    case CFA_DEF_CFA_OFFSET:
        program->state.cfa_offset = (int64_t)sbx_read_uleb(reader);
        break;
    case CFA_DEF_CFA_OFFSET_SF:
        program->state.cfa_offset = scaled(program, (uint64_t)sbx_read_sleb(reader));
        break;
    case CFA_DEF_CFA_EXPRESSION:
        program->state.cfa_is_expression = true;
        program->state.cfa_expression = read_expression(program, &program->state.cfa_expression_bytes);
        break;
    case CFA_EXPRESSION:
        set_expression_column(program, SBX_COLUMN_EXPRESSION);
        break;
    case CFA_VAL_EXPRESSION:
        set_expression_column(program, SBX_COLUMN_VAL_EXPRESSION);
        break;
    case CFA_AARCH64_NEGATE_RA_STATE: /* signatures are always removed, so this does nothing; no meaning elsewhere */
    case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
        reader->damaged |= !SBX_HAS_LINK_REGISTER;
        break;
    case CFA_GNU_ARGS_SIZE: /* only landing pads need it */
        (void)sbx_read_uleb(reader);
        break;
    default:
        reader->damaged = true;
    }
}

/* Run one instruction. Returns true when it moves the location; the new location is then in *location_out. */
static bool run_instruction(struct program *program, const struct sbx_eh_section *section, uint64_t *location_out)
{
    struct sbx_byte_reader *reader = &program->reader;
    uint8_t opcode = sbx_read_u8(reader);
    uint64_t operand = opcode & CFA_PRIMARY_OPERAND;
    switch (opcode & CFA_PRIMARY) {
    case CFA_ADVANCE_LOC:
        break;
    case CFA_OFFSET:
        set_column(program, operand, SBX_COLUMN_OFFSET, scaled(program, sbx_read_uleb(reader)));
        return false;
    case CFA_RESTORE:
        restore_column(program, operand);
        return false;
    default:
        switch (opcode) {
        case CFA_SET_LOC:
            *location_out = sbx_eh_read_address(reader, program->cie->pointer_encoding, section);
            return true;
        case CFA_ADVANCE_LOC1:
            operand = sbx_read_u8(reader);
            break;
        case CFA_ADVANCE_LOC2:
            operand = sbx_read_bytes(reader, 2);
            break;
        case CFA_ADVANCE_LOC4:
            operand = sbx_read_u32(reader);
            break;
        default:
            run_extended(program, opcode);
            return false;
        }
    }
    uint64_t distance;
    if (__builtin_mul_overflow(operand, program->cie->code_align, &distance) ||
        __builtin_add_overflow(program->location, distance, location_out)) {
        reader->damaged = true;
        return false;
    }
    return true;
}

int sbx_cfa_initial_state(const struct sbx_eh_cie *cie, struct sbx_frame_state *state_out)
{
    struct program program = {
        .reader = {cie->program, cie->program + cie->program_bytes, false},
        .cie = cie,
        .state = {.cfa_register = UINT64_MAX, .is_signal_frame = cie->is_signal_frame},
    };
    while (program.reader.at < program.reader.end) {
        uint8_t opcode = *program.reader.at;
        /* A CIE has no location, so nothing may move it. DW_CFA_set_loc is also the only instruction that needs the
         * section. */
        bool moves = (opcode & CFA_PRIMARY) == CFA_ADVANCE_LOC || (opcode >= CFA_SET_LOC && opcode <= CFA_ADVANCE_LOC4);
        uint64_t unused;
        if (moves || run_instruction(&program, NULL, &unused) || program.reader.damaged) {
            return -EINVAL;
        }
    }
    *state_out = program.state;
    return 0;
}

int sbx_cfa_program_run(const struct sbx_eh_section *section, const struct sbx_eh_cie *cie,
                        const struct sbx_frame_state *initial, const struct sbx_eh_fde *fde, sbx_rule_put *put,
                        void *context)
{
    struct program program;
    program.reader = (struct sbx_byte_reader){fde->program, fde->program + fde->program_bytes, false};
    program.cie = cie;
    program.initial = initial;
    program.state = *initial;
    program.remembered_count = 0; /* the array is not cleared: it has 1 KiB and is rarely used */
    program.location = fde->begin;
    while (program.reader.at < program.reader.end) {
        uint64_t next;
        if (!run_instruction(&program, section, &next) || program.reader.damaged) {
            if (program.reader.damaged) {
                break;
            }
            continue;
        }
        if (next < program.location || next > fde->end) {
            program.reader.damaged = true;
            break;
        }
        if (next > program.location) {
            int result = put(context, program.location, sbx_rule_encode(&program.state));
            if (result != 0) {
                return result;
            }
            program.location = next;
        }
    }
    if (program.location < fde->end) {
        uint32_t rule = program.reader.damaged ? SBX_RULE_UNSUPPORTED : sbx_rule_encode(&program.state);
        int result = put(context, program.location, rule);
        if (result != 0) {
            return result;
        }
    }
    return program.reader.damaged ? -EINVAL : 0;
}
