/* SPDX-License-Identifier: Apache-2.0 */
/* syscall_gate.h - the hook of syscall(): all but a few system calls go to the original as if there were no hook.
 *
 * It is in assembly because it must be a jump that leaves every register and the stack as the caller left them. The
 * number of arguments of syscall() is not known, and a program may call clone, vfork or rt_sigreturn through it. The
 * first two of these return twice on one stack. The hook is defined in one file of points/, as SBX_SYSCALL_GATE(hook,
 * table, inner_hook, original). The table has a bit for each call number below 512 that goes to the inner hook. Each of
 * these calls returns once. */
#ifndef SBX_SYSCALL_GATE_H
#define SBX_SYSCALL_GATE_H

#if defined(__x86_64__)
/* A call to the inner hook is a call, not a jump, with a copy of the seventh word. The stack slot of an argument
 * belongs to the called function, and a compiler may use it in any way. But a caller that gave fewer arguments keeps
 * something else there. endbr64 is a no-op where indirect branches are not checked. */
#define SBX_SYSCALL_GATE(hook, table, inner_hook, original)                                                      \
    __asm__(".text\n\t.p2align 4\n\t.hidden " #hook "\n\t.globl " #hook "\n\t.type " #hook ", @function\n" #hook \
            ":\n\t.cfi_startproc\n\tendbr64\n\t"                                                                 \
            "cmpq $512, %rdi\n\tjae 2f\n\t"                                                                      \
            "btq %rdi, " #table "(%rip)\n\tjc 1f\n"                                                              \
            "2:\tjmpq *" #original "(%rip)\n"                                                                    \
            "1:\tpushq 8(%rsp)\n\t.cfi_adjust_cfa_offset 8\n\t"                                                  \
            "call " #inner_hook "\n\t"                                                                           \
            "addq $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n\tret\n\t"                                              \
            ".cfi_endproc\n\t.size " #hook ", .-" #hook "\n")
#elif defined(__aarch64__)
/* All seven words are in registers, so this is a jump. hint 34 is `bti c`. A call may change x16 and x17 on its way
 * (AAPCS64). */
#define SBX_SYSCALL_GATE(hook, table, inner_hook, original)                                                      \
    __asm__(".text\n\t.p2align 4\n\t.hidden " #hook "\n\t.globl " #hook "\n\t.type " #hook ", %function\n" #hook \
            ":\n\t.cfi_startproc\n\thint #34\n\t"                                                                \
            "cmp x0, #512\n\tb.hs 1f\n\t"                                                                        \
            "adrp x16, " #table "\n\tadd x16, x16, :lo12:" #table "\n\t"                                         \
            "lsr x17, x0, #3\n\tldrb w16, [x16, x17]\n\tand w17, w0, #7\n\tlsr w16, w16, w17\n\t"                \
            "tbz w16, #0, 1f\n\tb " #inner_hook "\n1:\t"                                                         \
            "adrp x16, " #original "\n\tldr x16, [x16, :lo12:" #original "]\n\tbr x16\n\t"                       \
            ".cfi_endproc\n\t.size " #hook ", .-" #hook "\n")
#else
#error "the way past a hook of this architecture is not known"
#endif

#endif
