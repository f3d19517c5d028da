/* SPDX-License-Identifier: Apache-2.0 */
/* registers_aarch64.h - pc, sp, x29, x30. Included by registers.h only. */
#ifndef SBX_REGISTERS_AARCH64_H
#define SBX_REGISTERS_AARCH64_H

/* The compiler may use x30 here. The function calls others, so its return address is saved, and its unwind rows say
 * where. */
#define sbx_registers_here(registers)                                                                                \
    do {                                                                                                             \
        uint64_t here_pc_, here_sp_, here_fp_;                                                                       \
        __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29" : "=r"(here_pc_), "=r"(here_sp_), "=r"(here_fp_)); \
        (registers)->pc = here_pc_;                                                                                  \
        (registers)->sp = here_sp_;                                                                                  \
        (registers)->fp = here_fp_;                                                                                  \
        (registers)->link = 0;                                                                                       \
        (registers)->pc_is_exact = true;                                                                             \
        (registers)->fp_known = true;                                                                                \
        (registers)->link_known = false;                                                                             \
        (registers)->context = NULL;                                                                                 \
    } while (0)

/* The kernel stores sp and pc right behind x0 .. x30 (struct sigcontext), so the context is one array. */
#define sbx_registers_interrupted(registers, ucontext)                             \
    do {                                                                           \
        (registers)->pc = (uint64_t)(ucontext)->uc_mcontext.pc;                    \
        (registers)->sp = (uint64_t)(ucontext)->uc_mcontext.sp;                    \
        (registers)->fp = (uint64_t)(ucontext)->uc_mcontext.regs[29];              \
        (registers)->link = (uint64_t)(ucontext)->uc_mcontext.regs[30];            \
        (registers)->pc_is_exact = true;                                           \
        (registers)->fp_known = true;                                              \
        (registers)->link_known = true;                                            \
        (registers)->context = (const uint64_t *)&(ucontext)->uc_mcontext.regs[0]; \
    } while (0)

#endif
