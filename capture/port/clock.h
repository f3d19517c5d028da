/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the clocks capture reads. clock_gettime is async-signal-safe (POSIX) and a vdso call for MONOTONIC. */
#ifndef SBX_CLOCK_H
#define SBX_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "marks.h"

struct sbx_times {
    uint64_t wall_ns; /* CLOCK_MONOTONIC */
    uint64_t cpu_ns;  /* of the thread */
};

/* How old the line may be by which a thread tells its times (thread_clock.h), and so the most that it can be ahead.
 * Bounds what stolen time, NTP and a wrong rate can do: at 10 ms a clock that is 500 ppm off shows 5 us. At 1 ms a thread
 * that captures each millisecond would never find a fresh line; at 100 ms a steal stays visible ten times as long. */
enum {
    SBX_CLOCK_REBASE_NS = 10 * 1000 * 1000
};

SBX_SIGNAL_SAFE static inline uint64_t sbx_read_clock_ns(clockid_t clock)
{
    struct timespec now = {0, 0};
    if (clock_gettime(clock, &now) != 0) {
        return 0;
    }
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* About 25 ns. */
SBX_SIGNAL_SAFE static inline uint64_t sbx_now_ns(void)
{
    return sbx_read_clock_ns(CLOCK_MONOTONIC);
}

/* CPU time of the calling thread. A system call: some 250 ns. */
SBX_SIGNAL_SAFE static inline uint64_t sbx_own_cpu_ns(void)
{
    return sbx_read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* CPU time of any thread of this process, 0 when it is gone. The clock id is the kernel's encoding of a per-thread CPU
 * clock, CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED over the complement of the tid (include/linux/posix-timers_types.h). */
SBX_SIGNAL_SAFE static inline uint64_t sbx_thread_cpu_ns(uint32_t tid)
{
    return sbx_read_clock_ns((clockid_t)((~tid << 3) | 6u));
}

#endif
