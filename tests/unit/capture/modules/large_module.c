/* SPDX-License-Identifier: Apache-2.0 */
/* large_module.c - a library of 200,000 functions, whose rows weigh more than those of departed modules may. */
void large_module_first(void);

/* By the assembler, because a compiler would take a minute for it. Three rows a function, and a gap. */
__asm__(".text\n"
        ".rept 200000\n"
        ".cfi_startproc\n"
#if defined(__aarch64__)
        "stp x29, x30, [sp, #-16]!\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset 29, -16\n"
        ".cfi_offset 30, -8\n"
        "ldp x29, x30, [sp], #16\n"
        ".cfi_restore 29\n"
        ".cfi_restore 30\n"
        ".cfi_def_cfa_offset 0\n"
#else
        "push %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset 6, -16\n"
        "pop %rbp\n"
        ".cfi_def_cfa_offset 8\n"
        ".cfi_restore 6\n"
#endif
        "ret\n"
        ".cfi_endproc\n"
        "nop\n"
        ".endr\n");

void large_module_first(void)
{
}
