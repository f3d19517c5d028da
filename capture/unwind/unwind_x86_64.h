/* SPDX-License-Identifier: Apache-2.0 */
/* unwind_x86_64.h - what a walk must know about x86-64: register numbers and the kernel's signal frame.
 *
 * System V ABI: the CFA is the caller's stack pointer, and the call instruction pushed the return address just below it.
 * A signal frame begins, where the handler's `ret` has popped its return address, with an ucontext_t:
 *
 *     sp + 0    uc_flags, uc_link, uc_stack (40 bytes)
 *     sp + 40   gregs: r8 r9 r10 r11 r12 r13 r14 r15 rdi rsi rbp rbx rdx rax rcx rsp rip
 */
#ifndef SBX_UNWIND_X86_64_H
#define SBX_UNWIND_X86_64_H

#include <stdint.h>

/* Below sp, and untouched by signal handlers. */
enum { SBX_RED_ZONE_BYTES = 128 };

/* DWARF numbers. */
enum {
    SBX_DWARF_FRAME_POINTER = 6,
    SBX_DWARF_STACK_POINTER = 7,
    SBX_DWARF_RETURN_ADDRESS = 16,
    SBX_DWARF_GENERAL_REGISTERS = 16,
};

/* The interrupted registers, as 8-byte words from `gregs` on. */
enum {
    SBX_CONTEXT_AT = 40, /* bytes from sp */
    SBX_CONTEXT_FP = 10,
    SBX_CONTEXT_SP = 15,
    SBX_CONTEXT_PC = 16,
    SBX_CONTEXT_WORDS = 17,
};

/* The word of gregs that holds a DWARF register 0..15: rax rdx rcx rbx rsi rdi rbp rsp r8 .. r15, four bits each. */
static inline uint32_t sbx_context_word(uint32_t dwarf_register)
{
    return (uint32_t)(UINT64_C(0x76543210fa89becd) >> (4 * dwarf_register)) & 15;
}

#endif
