/* SPDX-License-Identifier: Apache-2.0 */
/* registers_x86_64.h - rip, rsp, rbp. Included by registers.h only. */
#ifndef SBX_REGISTERS_X86_64_H
#define SBX_REGISTERS_X86_64_H

#define sbx_registers_here(registers)                                            \
    do {                                                                         \
        uint64_t here_pc_, here_sp_, here_fp_;                                   \
        __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2" \
                         : "=r"(here_pc_), "=r"(here_sp_), "=r"(here_fp_));      \
        (registers)->pc = here_pc_;                                              \
        (registers)->sp = here_sp_;                                              \
        (registers)->fp = here_fp_;                                              \
        (registers)->link = 0;                                                   \
        (registers)->pc_is_exact = true;                                         \
        (registers)->fp_known = true;                                            \
        (registers)->link_known = false;                                         \
        (registers)->context = NULL;                                             \
    } while (0)

#define sbx_registers_interrupted(registers, ucontext)                          \
    do {                                                                        \
        (registers)->pc = (uint64_t)(ucontext)->uc_mcontext.gregs[REG_RIP];     \
        (registers)->sp = (uint64_t)(ucontext)->uc_mcontext.gregs[REG_RSP];     \
        (registers)->fp = (uint64_t)(ucontext)->uc_mcontext.gregs[REG_RBP];     \
        (registers)->link = 0;                                                  \
        (registers)->pc_is_exact = true;                                        \
        (registers)->fp_known = true;                                           \
        (registers)->link_known = false;                                        \
        (registers)->context = (const uint64_t *)(ucontext)->uc_mcontext.gregs; \
    } while (0)

#endif
