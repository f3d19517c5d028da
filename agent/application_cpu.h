/* SPDX-License-Identifier: Apache-2.0 */
/* application_cpu.h - has the application run since the last tick?
 *
 * The kernel adds up all threads of a process for its CPU time, some 100 ns each: of 2,000 that is 0.2 ms a tick, 1 % of a processor. So
 * where threads are many it is asked only when the sampler, which has met some of them, cannot tell. The watch thread alone. */
#ifndef SBX_APPLICATION_CPU_H
#define SBX_APPLICATION_CPU_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SBX_QUIET_CPU_NS = 20000, /* CPU time of the application in a tick that counts as quiet */
    SBX_THREADS_ADDED_UP = 128,
};

/* Zeroed: never asked. */
struct sbx_application_cpu {
    uint64_t total_ns; /* when it was asked last */
    uint64_t ran_ns;   /* in the last tick; at least so much, where it was not asked */
    bool is_known;     /* it was asked in the last tick as well: what is more now was used in this one */
};

/* `threads` are known, of which the sampler saw some run for `seen_ns` in this tick; `total_ns` tells what the application has used of
 * CPU time so far. */
static inline bool sbx_application_has_run(struct sbx_application_cpu *cpu, uint32_t threads, uint64_t seen_ns,
                                           uint64_t (*total_ns)(void))
{
    if (threads > SBX_THREADS_ADDED_UP && seen_ns >= SBX_QUIET_CPU_NS) {
        cpu->is_known = false;
        cpu->ran_ns = seen_ns;
        return true;
    }
    uint64_t now_ns = total_ns(), before_ns = cpu->total_ns;
    bool was_known = cpu->is_known;
    cpu->total_ns = now_ns > before_ns ? now_ns : before_ns;
    cpu->is_known = true;
    cpu->ran_ns = was_known ? cpu->total_ns - before_ns : seen_ns;
    return !was_known || cpu->ran_ns >= SBX_QUIET_CPU_NS;
}

#endif
