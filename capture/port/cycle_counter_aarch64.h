/* SPDX-License-Identifier: Apache-2.0 */
/* cycle_counter_aarch64.h - the generic timer's virtual count. Included by cycle_counter.h only. */
#ifndef SBX_CYCLE_COUNTER_AARCH64_H
#define SBX_CYCLE_COUNTER_AARCH64_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

#define SBX_CYCLE_CLOCKSOURCE "arch_sys_counter"

/* The kernel's vdso has an isb before this instruction; here there is none, so the count may be taken some instructions
 * early. One count is between 1 ns and 54 ns (1 GHz to 18.5 MHz). */
SBX_SIGNAL_SAFE static inline uint64_t sbx_cycle_counter(void)
{
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count) : : "memory");
    return count;
}

/* True by definition (Arm ARM D11.1.2: the system counter has a fixed rate and runs in every power state). */
static inline bool sbx_cycle_counter_is_invariant(void)
{
    return true;
}

#endif
