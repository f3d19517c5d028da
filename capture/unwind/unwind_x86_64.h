/* SPDX-License-Identifier: Apache-2.0 */
/* unwind_x86_64.h - the facts about x86-64 that a walk needs: register numbers, its own kinds of rules, the kernel's
 * signal frame. Included by unwind_rule.h only.
 *
 * System V ABI: the CFA is the caller's stack pointer, and the call instruction pushed the return address just below it.
 *
 *     31                          12 11              3 2     0
 *    +------------------------------+-----------------+-------+
 *    |  offset / 8, signed          |  frame pointer  |   3   |
 *    +------------------------------+-----------------+-------+
 *    |  addend / 8   |  offset / 8  |  frame pointer  |   4   |     8 and 12 bits (signed)
 *    +---------------+------+-------+-----------------+-------+
 *    |  (zero)              | limit |  frame pointer  |   5   |     limit: 4 bits
 *    +----------------------+-------+-----------------+-------+
 *    |  offset / 8, signed  | reg.  |  frame pointer  |   6   |     16 and 4 bits
 *    +----------------------+-------+-----------------+-------+
 *
 *   kind  CFA
 *     3   *(fp + offset)            a frame that aligned its stack and kept the old one (gcc's DRAP)
 *     4   *(sp + offset) + addend   the same, by hand (OpenSSL's assembly)
 *     5   sp + 8 + ((pc & 15) >= limit ? 8 : 0)   a lazy PLT stub
 *     6   register + offset         any other register: works only for a frame whose registers are all known
 *
 * After the handler's `ret` has popped its return address, a signal frame begins with a ucontext_t:
 *
 *     sp + 0    uc_flags, uc_link, uc_stack (40 bytes)
 *     sp + 40   gregs: r8 r9 r10 r11 r12 r13 r14 r15 rdi rsi rbp rbx rdx rax rcx rsp rip */
#ifndef SBX_UNWIND_X86_64_H
#define SBX_UNWIND_X86_64_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SBX_RED_ZONE_BYTES = 128,   /* below sp; signal handlers do not touch it */
    SBX_USER_ADDRESS_BITS = 47, /* above it: the kernel, or nothing */
};

/* DWARF numbers. */
enum {
    SBX_DWARF_FRAME_POINTER = 6,
    SBX_DWARF_STACK_POINTER = 7,
    SBX_DWARF_RETURN_ADDRESS = 16,
    SBX_DWARF_GENERAL_REGISTERS = 16,
};

enum sbx_rule_kind_x86_64 {
    SBX_RULE_AT_FP = 3,
    SBX_RULE_AT_SP = 4,
    SBX_RULE_PLT = 5,
    SBX_RULE_FROM_REGISTER = 6,
};

/* The interrupted registers, as 8-byte words from `gregs` on. */
enum {
    SBX_CONTEXT_AT = 40, /* bytes from sp */
    SBX_CONTEXT_FP = 10,
    SBX_CONTEXT_SP = 15,
    SBX_CONTEXT_PC = 16,
    SBX_CONTEXT_WORDS = 17,
};

enum {
    SBX_HAS_LINK_REGISTER = 0,
    SBX_CONTEXT_LINK = SBX_CONTEXT_PC, /* not used on this architecture */
    SBX_FP_TELLS_SP = 1, /* fp points at the last two words of a frame, and the caller's sp lies behind them */
};

/* The word of gregs that holds a DWARF register 0..15: rax rdx rcx rbx rsi rdi rbp rsp r8 .. r15, four bits each. */
static inline uint32_t sbx_context_word(uint32_t dwarf_register)
{
    return (uint32_t)(UINT64_C(0x76543210fa89becd) >> (4 * dwarf_register)) & 15;
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

/* Does a register alone decide the CFA? No word of memory, and no register that a walk does not keep. */
static inline bool sbx_rule_is_plain(uint32_t rule)
{
    uint32_t kind = sbx_rule_kind(rule);
    return kind <= SBX_RULE_FROM_FP || kind == SBX_RULE_PLT;
}

/* How to find the CFA of a rule of kind 3 to 7: a base, which is a word of memory or a register, and an offset. */
static inline enum sbx_cfa_source sbx_rule_cfa(uint32_t rule, uint64_t pc, struct sbx_cfa_place *place_out)
{
    switch (sbx_rule_kind(rule)) {
    case SBX_RULE_AT_FP:
        *place_out = (struct sbx_cfa_place){.offset = sbx_rule_offset(rule)};
        return SBX_CFA_AT_FP;
    case SBX_RULE_AT_SP:
        *place_out = (struct sbx_cfa_place){.offset = sbx_rule_slot_offset(rule), .addend = sbx_rule_slot_addend(rule)};
        return SBX_CFA_AT_SP;
    case SBX_RULE_PLT:
        *place_out = (struct sbx_cfa_place){.offset = 8 + ((pc & 15) >= sbx_rule_plt_limit(rule) ? 8 : 0)};
        return SBX_CFA_FROM_SP;
    case SBX_RULE_FROM_REGISTER:
        *place_out = (struct sbx_cfa_place){.offset = sbx_rule_register_offset(rule),
                                            .word = sbx_context_word(sbx_rule_register(rule))};
        return SBX_CFA_FROM_WORD;
    default:
        return SBX_CFA_UNKNOWN;
    }
}

/* Does fp point at a saved fp and the return address, whatever the value of sp? Not used here, because fp gives sp. */
static inline bool sbx_rule_has_record(uint32_t rule)
{
    (void)rule;
    return false;
}

static inline uint64_t sbx_rule_fp_slot(uint32_t rule, uint64_t sp, uint64_t cfa)
{
    (void)sp;
    return cfa - sbx_rule_fp_bytes(rule);
}

static inline uint64_t sbx_rule_return_slot(uint32_t rule, uint64_t sp, uint64_t fp, uint64_t cfa)
{
    (void)rule;
    (void)sp;
    (void)fp;
    return cfa - 8;
}

/* Does the kernel make signal handlers return to this code? On x86-64 the rows say so. */
static inline bool sbx_is_signal_return(const void *code)
{
    (void)code;
    return false;
}

static inline uint64_t sbx_plain_address(uint64_t address)
{
    return address;
}

#endif
