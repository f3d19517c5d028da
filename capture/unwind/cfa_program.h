/* SPDX-License-Identifier: Apache-2.0 */
/* cfa_program.h - runs a function's call-frame program: which rule holds from which address on.
 *
 * Only the columns that a walk needs are followed: frame pointer, stack pointer, return address. This file knows only
 * the language: DWARF 5 section 6.4.2 and the GNU additions. The sbx_rule_encode() of the architecture turns each state
 * into a rule. Pure; bounded by the bytes of the program. */
#ifndef SBX_CFA_PROGRAM_H
#define SBX_CFA_PROGRAM_H

#include <stdint.h>

#include "eh_frame.h"
#include "marks.h"

/* Where the caller's value of a register is found. */
enum sbx_column_kind {
    SBX_COLUMN_UNSET = 0,      /* not mentioned: the architecture's default */
    SBX_COLUMN_SAME,           /* still in the register */
    SBX_COLUMN_UNDEFINED,      /* lost; for the return address: no caller */
    SBX_COLUMN_OFFSET,         /* in memory at CFA + value */
    SBX_COLUMN_VAL_OFFSET,     /* is CFA + value */
    SBX_COLUMN_REGISTER,       /* in register number value */
    SBX_COLUMN_EXPRESSION,     /* in memory at the address that the expression computes */
    SBX_COLUMN_VAL_EXPRESSION, /* is the value of the expression */
};

struct sbx_column {
    uint32_t kind; /* enum sbx_column_kind */
    uint32_t expression_bytes;
    union {
        int64_t value;
        const uint8_t *expression;
    };
};

/* The registers that are followed. */
enum sbx_column_index {
    SBX_COLUMN_FRAME_POINTER,
    SBX_COLUMN_STACK_POINTER,
    SBX_COLUMN_RETURN_ADDRESS,
    SBX_COLUMN_COUNT
};

/* The state of a program at one address. */
struct sbx_frame_state {
    bool cfa_is_expression;
    bool is_signal_frame; /* of the CIE */
    uint32_t cfa_expression_bytes;
    const uint8_t *cfa_expression;
    uint64_t cfa_register; /* UINT64_MAX: not defined */
    int64_t cfa_offset;
    struct sbx_column columns[SBX_COLUMN_COUNT];
};

/* Run the initial program of a CIE. 0 or -EINVAL. */
SBX_MUST_CHECK int sbx_cfa_initial_state(const struct sbx_eh_cie *cie, struct sbx_frame_state *state_out);

/* Takes one row: `rule` holds from `address` on. A nonzero result stops the run, and the run returns it. */
typedef int sbx_rule_put(void *context, uint64_t address, uint32_t rule);

/* Run the program of an FDE from the state of its CIE, and put its rows. Their addresses rise, from fde->begin and
 * below fde->end. Returns 0; what `put` returned when that is not 0; or -EINVAL when the program is damaged from the
 * last row on (the rule of that row is then SBX_RULE_UNSUPPORTED). */
SBX_MUST_CHECK int sbx_cfa_program_run(const struct sbx_eh_section *section, const struct sbx_eh_cie *cie,
                                       const struct sbx_frame_state *initial, const struct sbx_eh_fde *fde,
                                       sbx_rule_put *put, void *context);

#endif
