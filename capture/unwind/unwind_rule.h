/* SPDX-License-Identifier: Apache-2.0 */
/* unwind_rule.h - one row's rule in 32 bits: how to get from a frame to its caller.
 *
 *     31                          12 11              3 2     0
 *    +------------------------------+-----------------+-------+
 *    |  offset / 8, signed          |  frame pointer  | kind  |     kinds 1 to 3
 *    +------------------------------+-----------------+-------+
 *    |  addend / 8   |  offset / 8  |  frame pointer  |   4   |     8 and 12 bits (signed)
 *    +---------------+------+-------+-----------------+-------+
 *    |  (zero)              | limit |  frame pointer  |   5   |     limit: 4 bits
 *    +----------------------+-------+-----------------+-------+
 *    |  offset / 8, signed  | reg.  |  frame pointer  |   6   |     16 and 4 bits
 *    +----------------------+-------+-----------------+-------+
 *    |  (zero)                      |  special number |   0   |
 *    +------------------------------+-----------------+-------+
 *
 *   kind  CFA (the stack pointer of the caller; its return address lies 8 bytes below)
 *     0   none: the special number says what to do instead
 *     1   sp + offset
 *     2   fp + offset
 *     3   *(fp + offset)            a frame that aligned its stack and kept the old one (gcc's DRAP)
 *     4   *(sp + offset) + addend   the same, by hand (OpenSSL's assembly)
 *     5   sp + 8 + ((pc & 15) >= limit ? 8 : 0)   a lazy PLT stub
 *     6   register + offset         any other register: known only for a frame whose registers are all at hand
 *
 *   frame pointer   the caller's fp is
 *     0             what it is now
 *     1 to 509      saved at CFA - 8 * number
 *     510           saved at *fp
 *     511           lost
 *
 * The word 0 is "no row here". Equal rules are equal words, so neighbours merge and a cache needs no more than this. */
#ifndef SBX_UNWIND_RULE_H
#define SBX_UNWIND_RULE_H

#include <stdint.h>

#include "marks.h"

#if defined(__x86_64__)
#include "unwind_x86_64.h"
#else
#error "no unwind rules for this architecture yet: add unwind_ARCH.h and rule_encode_ARCH.c"
#endif

enum sbx_rule_kind {
    SBX_RULE_SPECIAL = 0,
    SBX_RULE_FROM_SP = 1,
    SBX_RULE_FROM_FP = 2,
    SBX_RULE_AT_FP = 3,
    SBX_RULE_AT_SP = 4,
    SBX_RULE_PLT = 5,
    SBX_RULE_FROM_REGISTER = 6,
};

/* Whole words of kind 0. */
#define SBX_RULE_NONE 0u                /* no unwind data covers this address */
#define SBX_RULE_END (1u << 3)          /* outermost frame: there is no caller */
#define SBX_RULE_UNSUPPORTED (2u << 3)  /* there is a rule, and it does not fit */
#define SBX_RULE_SIGNAL (3u << 3)       /* the kernel's signal frame: registers lie on the stack */
#define SBX_RULE_NO_MODULE (4u << 3)    /* never in rows: the walker's own, for code outside every module */

enum {
    SBX_RULE_FP_SHIFT = 3,
    SBX_RULE_FP_MASK = 511,
    SBX_RULE_FP_SAME = 0,
    SBX_RULE_FP_SLOT_MAX = 509,
    SBX_RULE_FP_AT_FP = 510,
    SBX_RULE_FP_LOST = 511,
    SBX_RULE_VALUE_SHIFT = 12,
};

static inline uint32_t sbx_rule_kind(uint32_t rule)
{
    return rule & 7;
}

static inline uint32_t sbx_rule_fp(uint32_t rule)
{
    return (rule >> SBX_RULE_FP_SHIFT) & SBX_RULE_FP_MASK;
}

/* Kinds 1 to 3: bytes. */
static inline int64_t sbx_rule_offset(uint32_t rule)
{
    return (int64_t)((int32_t)rule >> SBX_RULE_VALUE_SHIFT) * 8;
}

/* Kind 4: bytes from sp to the slot. */
static inline int64_t sbx_rule_slot_offset(uint32_t rule)
{
    return (int64_t)((int32_t)(rule << 8) >> 20) * 8;
}

/* Kind 4: bytes added to what the slot holds. */
static inline uint64_t sbx_rule_slot_addend(uint32_t rule)
{
    return (uint64_t)(rule >> 24) * 8;
}

/* Kind 5. */
static inline uint32_t sbx_rule_plt_limit(uint32_t rule)
{
    return (rule >> SBX_RULE_VALUE_SHIFT) & 15;
}

/* Kind 6: DWARF number of the register. */
static inline uint32_t sbx_rule_register(uint32_t rule)
{
    return (rule >> SBX_RULE_VALUE_SHIFT) & 15;
}

/* Kind 6: bytes. */
static inline int64_t sbx_rule_register_offset(uint32_t rule)
{
    return (int64_t)((int32_t)rule >> 16) * 8;
}

struct sbx_frame_state; /* cfa_program.h */

/* The rule for a state of a call-frame program; SBX_RULE_UNSUPPORTED when it does not fit. Per architecture. */
uint32_t sbx_rule_encode(const struct sbx_frame_state *state);

#endif
