/* SPDX-License-Identifier: Apache-2.0 */
/* application_cpu.h - has the application run since the last tick?
 *
 * For the CPU time of a process the kernel adds up all its threads, some 100 ns each: for 2,000 threads that is 0.2 ms
 * a tick, 1 % of a processor. So in a process with many threads the kernel is asked only if the sampler, which has seen
 * some of them run, cannot answer the question. Watch thread only. */
#ifndef SBX_APPLICATION_CPU_H
#define SBX_APPLICATION_CPU_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SBX_QUIET_CPU_NS = 20000, /* an application that uses less CPU time in a tick is quiet */
    SBX_THREADS_ADDED_UP = 128,
};

/* Zeroed: never read. */
struct sbx_application_cpu {
    uint64_t total_ns; /* at the last reading */
    uint64_t ran_ns;   /* in the last tick; a lower bound, if the clock was not read */
    bool is_known;     /* the clock was read in the last tick as well, so the difference was used in this tick */
};

/* The process has `threads` threads. The sampler saw some of them run for `seen_ns` in this tick. `total_ns` returns
 * the CPU time that the application has used so far. */
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
