/* SPDX-License-Identifier: Apache-2.0 */
/* cycle_counter_x86_64.h - the time stamp counter. Included by cycle_counter.h only. */
#ifndef SBX_CYCLE_COUNTER_X86_64_H
#define SBX_CYCLE_COUNTER_X86_64_H

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

#define SBX_CYCLE_CLOCKSOURCE "tsc"

/* There is no lfence, which would cost 5 ns more. So the processor may read the counter some tens of instructions
 * early, which a thread sees as noise of nanoseconds. The clobber keeps the compiler from moving loads and stores
 * across, because thread_clock.h needs the count between two looks at memory. */
SBX_SIGNAL_SAFE static inline uint64_t sbx_cycle_counter(void)
{
    uint32_t low;
    uint32_t high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}

/* CPUID 80000007h EDX bit 8, "Invariant TSC" (Intel SDM volume 2A, CPUID; AMD APM volume 3, E.4.6). Linux derives the
 * flags constant_tsc and nonstop_tsc from this bit. Not read from /proc/cpuinfo, because opening that makes kernels
 * before 5.18 interrupt every processor and wait for 20 ms. */
static inline bool sbx_cycle_counter_is_invariant(void)
{
    unsigned int a = 0;
    unsigned int b = 0;
    unsigned int c = 0;
    unsigned int d = 0;
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d & 1u << 8) != 0;
}

#endif
