/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the clocks that the capture code reads. clock_gettime is async-signal-safe (POSIX), and for MONOTONIC it is
 * a vdso call. */
#ifndef SBX_CLOCK_H
#define SBX_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "marks.h"

struct sbx_times {
    uint64_t wall_ns; /* CLOCK_MONOTONIC */
    uint64_t cpu_ns;  /* of the thread */
};

/* The maximum age of the line from which a thread takes its times (thread_clock.h). It also limits how far a line can
 * be ahead. It bounds the effect of stolen time, NTP and a wrong rate: at 10 ms, a clock that is 500 ppm off is wrong
 * by 5 us. At 1 ms, a thread that captures each millisecond would never find a fresh line. At 100 ms, stolen time would
 * stay visible ten times as long. */
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

/* CPU time of any thread of this process, 0 when the thread is gone. The clock id is the kernel's encoding of a
 * per-thread CPU clock, CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED over the complement of the tid
 * (include/linux/posix-timers_types.h). */
SBX_SIGNAL_SAFE static inline uint64_t sbx_thread_cpu_ns(uint32_t tid)
{
    return sbx_read_clock_ns((clockid_t)((~tid << 3) | 6u));
}

#endif
