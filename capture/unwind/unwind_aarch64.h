/* SPDX-License-Identifier: Apache-2.0 */
/* unwind_aarch64.h - the facts about aarch64 that a walk needs: register numbers, its own kinds of rules, the kernel's
 * signal frame. Included by unwind_rule.h only.
 *
 * AAPCS64: a call leaves the return address in x30. A function that calls others saves x30, usually as the second word
 * of a frame record {x29, x30}. The record may lie anywhere in its frame; gcc puts it at the low end and makes x29
 * point at it. A leaf function does not save x30. So its caller is known only when its registers are known: for the
 * interrupted frame itself, and behind a signal frame.
 *
 *     31                          12 11              3 2     0
 *    +------------------------------+-----------------+-------+
 *    |  offset / 8, signed          |  frame pointer  |   1   |     return address in the word behind fp's, or in x30
 *    +------------------------------+-----------------+-------+     where fp is not saved; the same with kind 2
 *    |  offset / 16  | return addr. |  frame pointer  |   3   |     11 and 9 bits
 *    +---------------+--------------+-----------------+-------+
 *    |  offset / 8, signed          |  record         |   4   |
 *    +------------------------------+-----------------+-------+
 *    |  offset / 8, signed | reg.   |  frame pointer  |   6   |     15 and 5 bits
 *    +---------------------+--------+-----------------+-------+
 *
 *   kind  CFA
 *     3   sp + offset           fp and return address are not neighbours: the latter is saved at CFA - 8 * number, 0: in x30
 *     4   sp + offset           a frame so large that its record is given from its low end: at sp + 8 * (number - 1)
 *     6   register + offset     any other register: works only for a frame whose registers are all known
 *
 * A signal frame begins with a siginfo_t and an ucontext_t (struct rt_sigframe, arch/arm64/kernel/signal.c):
 *
 *     sp + 0    siginfo (128 bytes)
 *     sp + 128  uc_flags, uc_link, uc_stack, uc_sigmask with its reserve (168 bytes, and 8 of alignment)
 *     sp + 304  fault_address, x0 .. x30, sp, pc */
#ifndef SBX_UNWIND_AARCH64_H
#define SBX_UNWIND_AARCH64_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SBX_RED_ZONE_BYTES = 0,     /* the ABI protects no memory below sp from signals, so none of it is valid */
    SBX_USER_ADDRESS_BITS = 48, /* above it: the kernel, or nothing (52-bit addresses need a special request to mmap) */
};

/* DWARF numbers. */
enum {
    SBX_DWARF_FRAME_POINTER = 29,
    SBX_DWARF_RETURN_ADDRESS = 30,
    SBX_DWARF_STACK_POINTER = 31,
    SBX_DWARF_GENERAL_REGISTERS = 32,
};

enum sbx_rule_kind_aarch64 {
    SBX_RULE_APART = 3,
    SBX_RULE_RECORD_AT_SP = 4,
    SBX_RULE_FROM_REGISTER = 6,
};

enum {
    SBX_RULE_RETURN_SHIFT = 12,
    SBX_RULE_RETURN_MASK = 511,
    SBX_RULE_APART_SHIFT = 21,
    SBX_RULE_REGISTER_MASK = 31,
    SBX_RULE_REGISTER_OFFSET_SHIFT = 17,
};

/* The interrupted registers, as 8-byte words from x0 on. */
enum {
    SBX_CONTEXT_AT = 312, /* bytes from sp */
    SBX_CONTEXT_FP = 29,
    SBX_CONTEXT_LINK = 30,
    SBX_CONTEXT_SP = 31,
    SBX_CONTEXT_PC = 32,
    SBX_CONTEXT_WORDS = 33,
};

enum {
    SBX_HAS_LINK_REGISTER = 1,
    SBX_FP_TELLS_SP = 0, /* a record may lie anywhere in its frame */
};

static inline uint32_t sbx_context_word(uint32_t dwarf_register)
{
    return dwarf_register;
}

/* Kind 3: bytes. */
static inline int64_t sbx_rule_apart_offset(uint32_t rule)
{
    return (int64_t)(rule >> SBX_RULE_APART_SHIFT) * 16;
}

/* Kind 3: the return address is saved at CFA - 8 * this; 0: it is in x30. */
static inline uint32_t sbx_rule_return(uint32_t rule)
{
    return (rule >> SBX_RULE_RETURN_SHIFT) & SBX_RULE_RETURN_MASK;
}

/* Kind 6: DWARF number of the register. */
static inline uint32_t sbx_rule_register(uint32_t rule)
{
    return (rule >> SBX_RULE_VALUE_SHIFT) & SBX_RULE_REGISTER_MASK;
}

/* Kind 6: bytes. */
static inline int64_t sbx_rule_register_offset(uint32_t rule)
{
    return (int64_t)((int32_t)rule >> SBX_RULE_REGISTER_OFFSET_SHIFT) * 8;
}

/* Does a register alone decide the CFA? No word of memory, and no register that a walk does not keep. */
static inline bool sbx_rule_is_plain(uint32_t rule)
{
    return sbx_rule_kind(rule) != SBX_RULE_FROM_REGISTER;
}

/* How to find the CFA of a rule of kind 3 to 7: a base, which is a word of memory or a register, and an offset. */
static inline enum sbx_cfa_source sbx_rule_cfa(uint32_t rule, uint64_t pc, struct sbx_cfa_place *place_out)
{
    (void)pc;
    switch (sbx_rule_kind(rule)) {
    case SBX_RULE_APART:
        *place_out = (struct sbx_cfa_place){.offset = sbx_rule_apart_offset(rule)};
        return SBX_CFA_FROM_SP;
    case SBX_RULE_RECORD_AT_SP:
        *place_out = (struct sbx_cfa_place){.offset = sbx_rule_offset(rule)};
        return SBX_CFA_FROM_SP;
    case SBX_RULE_FROM_REGISTER:
        *place_out = (struct sbx_cfa_place){.offset = sbx_rule_register_offset(rule), .word = sbx_rule_register(rule)};
        return SBX_CFA_FROM_WORD;
    default:
        return SBX_CFA_UNKNOWN;
    }
}

/* Does fp point at a saved fp and the return address, whatever the value of sp? */
static inline bool sbx_rule_has_record(uint32_t rule)
{
    uint32_t kind = sbx_rule_kind(rule);
    return kind == SBX_RULE_RECORD_AT_SP ||
           (kind == SBX_RULE_FROM_SP && sbx_rule_fp(rule) >= 1 && sbx_rule_fp(rule) <= SBX_RULE_FP_SLOT_MAX);
}

static inline uint64_t sbx_rule_fp_slot(uint32_t rule, uint64_t sp, uint64_t cfa)
{
    uint64_t bytes = sbx_rule_fp_bytes(rule);
    return SBX_UNLIKELY(sbx_rule_kind(rule) == SBX_RULE_RECORD_AT_SP) ? sp + bytes - 8 : cfa - bytes;
}

static inline uint64_t sbx_rule_return_slot(uint32_t rule, uint64_t sp, uint64_t fp, uint64_t cfa)
{
    if (SBX_UNLIKELY(sbx_rule_kind(rule) == SBX_RULE_APART)) {
        return sbx_rule_return(rule) == 0 ? 0 : cfa - 8 * (uint64_t)sbx_rule_return(rule);
    }
    switch (sbx_rule_fp(rule)) {
    case SBX_RULE_FP_SAME:
        return 0;
    case SBX_RULE_FP_AT_FP:
        return fp + 8;
    default:
        return sbx_rule_fp_slot(rule, sp, cfa) + 8;
    }
}

/* Does the kernel make signal handlers return to this code: `mov x8, #__NR_rt_sigreturn; svc #0`? The vdso has had no
 * rows for it since Linux 5.8 (they misled libgcc). So libgcc, gdb and this library recognize it by its two
 * instructions. Reads 8 bytes. */
static inline bool sbx_is_signal_return(const void *code)
{
    const uint32_t *instructions = (const uint32_t *)code;
    return ((uintptr_t)code & 3) == 0 && instructions[0] == 0xd2801168 && instructions[1] == 0xd4000001;
}

/* Pointer authentication keeps its code in the bits above the address (Arm ARM, D8.10 "Pointer authentication"): with
 * 48-bit user space in bits 54 to 48, and without tags also in 63 to 56. A user-space address has none of these bits.
 * So clearing them has the effect of XPACLRI, whether the function signed the address or not. */
static inline uint64_t sbx_plain_address(uint64_t address)
{
    return address & ((UINT64_C(1) << 48) - 1);
}

#endif
