/* SPDX-License-Identifier: Apache-2.0 */
/* raw_syscall_x86_64.h - the system call instruction of x86-64. Included by raw_syscall.h only. */
#ifndef SBX_RAW_SYSCALL_X86_64_H
#define SBX_RAW_SYSCALL_X86_64_H

#include "marks.h"

SBX_SIGNAL_SAFE static inline long sbx_raw_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#endif
