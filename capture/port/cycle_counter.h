/* SPDX-License-Identifier: Apache-2.0 */
/* cycle_counter.h - the processor's own time counter: one instruction reads it, without memory access or the kernel.
 *
 * Each architecture's file defines
 *
 *     SBX_CYCLE_CLOCKSOURCE            the kernel's name for the counter as a clock (current_clocksource in /sys)
 *     sbx_cycle_counter()              the count now
 *     sbx_cycle_counter_is_invariant() the processor says that it neither stops nor changes its rate
 *
 * A count has no meaning until clock_calibration.c has compared it with the kernel's clocks. The instruction may be
 * forbidden to a thread (prctl PR_SET_TSC, SIGSEGV). So readers must not use the counter before sbx_clock_source() says
 * CYCLES or better. */
#ifndef SBX_CYCLE_COUNTER_H
#define SBX_CYCLE_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

#if defined(__x86_64__)
#include "cycle_counter_x86_64.h"
#elif defined(__aarch64__)
#include "cycle_counter_aarch64.h"
#else
/* An architecture with an unknown counter: the clock always asks the kernel. */
#define SBX_CYCLE_CLOCKSOURCE ""
SBX_SIGNAL_SAFE static inline uint64_t sbx_cycle_counter(void)
{
    return 0;
}
static inline bool sbx_cycle_counter_is_invariant(void)
{
    return false;
}
#endif

/* Counts are multiplied by the nanoseconds a count, a 32.32 fixed point number. The product needs more than 64 bits: an
 * hour of a 3 GHz counter is 2^43 counts, and the multiplier of a 24 MHz counter has 37 bits. */
enum {
    SBX_CYCLE_FRACTION_BITS = 32
};

SBX_SIGNAL_SAFE static inline uint64_t sbx_cycles_scaled(uint64_t cycles, uint64_t multiplier)
{
#ifdef __SIZEOF_INT128__
    return (uint64_t)(((unsigned __int128)cycles * multiplier) >> SBX_CYCLE_FRACTION_BITS);
#else
    return (cycles >> 32) * multiplier + (((cycles & UINT32_MAX) * (multiplier & UINT32_MAX)) >> 32) +
           (cycles & UINT32_MAX) * (multiplier >> 32);
#endif
}

#endif
