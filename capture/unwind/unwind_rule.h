/* SPDX-License-Identifier: Apache-2.0 */
/* unwind_rule.h - one row's rule in 32 bits: how to get from a frame to its caller.
 *
 *     31                          12 11              3 2     0
 *    +------------------------------+-----------------+-------+
 *    |  offset / 8, signed          |  frame pointer  | kind  |     kinds 1 and 2
 *    +------------------------------+-----------------+-------+
 *    |  the architecture's own      |  frame pointer  | kind  |     kinds 3 to 7: unwind_ARCH.h draws them
 *    +------------------------------+-----------------+-------+
 *    |  (zero)                      |  special number |   0   |
 *    +------------------------------+-----------------+-------+
 *
 *   kind  CFA (the stack pointer of the caller)
 *     0   none: the special number says what to do instead
 *     1   sp + offset
 *     2   fp + offset
 *
 *   frame pointer   the caller's fp is
 *     0             what it is now
 *     1 to 509      saved at CFA - 8 * number
 *     510           saved at *fp
 *     511           lost
 *
 * The architecture defines where the return address lies: sbx_rule_return_slot().
 *
 * The word 0 means "no row here". Equal rules are equal words. So equal neighbours merge, and a cache stores only this
 * word. */
#ifndef SBX_UNWIND_RULE_H
#define SBX_UNWIND_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

enum sbx_rule_kind {
    SBX_RULE_SPECIAL = 0,
    SBX_RULE_FROM_SP = 1,
    SBX_RULE_FROM_FP = 2,
};

/* Whole words of kind 0. */
#define SBX_RULE_NONE        0u        /* no unwind data covers this address */
#define SBX_RULE_END         (1u << 3) /* outermost frame: there is no caller */
#define SBX_RULE_UNSUPPORTED (2u << 3) /* there is a rule, but it does not fit 32 bits */
#define SBX_RULE_SIGNAL      (3u << 3) /* the kernel's signal frame: registers lie on the stack */
#define SBX_RULE_NO_MODULE   (4u << 3) /* never in rows: the walker uses it for code outside every module */

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

/* The same field times eight: the distance of the slot below the CFA, in bytes. */
static inline uint64_t sbx_rule_fp_bytes(uint32_t rule)
{
    _Static_assert(SBX_RULE_FP_SHIFT == 3, "the field lies where a product with 8 would put it");
    return rule & (uint32_t)SBX_RULE_FP_MASK << SBX_RULE_FP_SHIFT;
}

/* Bytes. For kinds 1 and 2, and for the kinds that unwind_ARCH.h names. */
static inline int64_t sbx_rule_offset(uint32_t rule)
{
    return ((int64_t)(int32_t)rule >> (SBX_RULE_VALUE_SHIFT - 3)) &
           ~INT64_C(7); /* a mask costs one instruction less than a product */
}

/* For encoders: put offset / unit as a signed field of `bits` at `shift`. False: it does not fit. */
static inline bool sbx_rule_offset_field(int64_t offset, int64_t unit, unsigned shift, unsigned bits,
                                         uint32_t *field_out)
{
    int64_t limit = unit << (bits - 1);
    if (offset % unit != 0 || offset < -limit || offset >= limit) {
        return false;
    }
    *field_out = ((uint32_t)(offset / unit) & ((UINT32_C(1) << bits) - 1)) << shift;
    return true;
}

struct sbx_frame_state; /* cfa_program.h */

/* The rule for a state of a call-frame program; SBX_RULE_UNSUPPORTED when it does not fit. Per architecture. */
uint32_t sbx_rule_encode(const struct sbx_frame_state *state);

/* The base of the CFA of a rule of kind 3 to 7. */
enum sbx_cfa_source {
    SBX_CFA_UNKNOWN,   /* no such kind */
    SBX_CFA_FROM_SP,   /* sp + offset */
    SBX_CFA_AT_FP,     /* *(fp + offset) + addend */
    SBX_CFA_AT_SP,     /* *(sp + offset) + addend */
    SBX_CFA_FROM_WORD, /* register number `word` of the signal context, + offset */
};
struct sbx_cfa_place {
    int64_t offset;
    uint64_t addend;
    uint32_t word;
};

/* Each architecture's file defines its kinds and their fields, and these functions for the walk:
 *
 *   sbx_rule_cfa()            the base of the CFA of a rule of kind 3 to 7
 *   sbx_rule_is_plain()       does the CFA depend only on sp, fp and pc?
 *   sbx_rule_has_record()     does fp point at a saved fp and the return address, whatever the value of sp?
 *   sbx_rule_fp_slot()        the slot that holds the caller's frame pointer, field 1 to 509
 *   sbx_rule_return_slot()    the slot that holds the return address; 0: it is in the link register
 *   sbx_is_signal_return()    does the kernel make handlers return to this code, although no row says so?
 *   sbx_plain_address()       a return address without the processor's signature */
#if defined(__x86_64__)
#include "unwind_x86_64.h"
#elif defined(__aarch64__)
#include "unwind_aarch64.h"
#else
#error "no unwind rules for this architecture yet: add unwind_ARCH.h and rule_encode_ARCH.c"
#endif

#endif
