/* SPDX-License-Identifier: Apache-2.0 */
/* tick_moment.h - when the scheduler's clock ticks next, without asking the kernel how often it does.
 *
 * Ticks are 1, 4 or 10 ms apart (CONFIG_HZ of 1000, 250, 100), so in all three cases there is one every 20 ms. Kernels
 * since 2023 have them at multiples of their distance by CLOCK_MONOTONIC (tick_setup_device() of
 * kernel/time/tick-common.c). Other kernels have them anywhere: there the first observed tick gives the place. With 300
 * ticks a second the place drifts; a waiter then gets whatever tick comes next. Pure. */
#ifndef SBX_TICK_MOMENT_H
#define SBX_TICK_MOMENT_H

#include <stdint.h>

#define SBX_TICK_ROUND_NS UINT64_C(20000000)

/* The place in a round of a tick that was observed just before `met_ns`. */
static inline uint64_t sbx_tick_place_of(uint64_t met_ns)
{
    return met_ns % SBX_TICK_ROUND_NS;
}

/* The first tick of a round after `now_ns`; `place_ns` 0: ticks are where newer kernels have them. */
static inline uint64_t sbx_tick_next_ns(uint64_t now_ns, uint64_t place_ns)
{
    uint64_t next_ns = now_ns / SBX_TICK_ROUND_NS * SBX_TICK_ROUND_NS + place_ns;
    return next_ns > now_ns ? next_ns : next_ns + SBX_TICK_ROUND_NS;
}

#endif
