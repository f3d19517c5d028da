/* SPDX-License-Identifier: Apache-2.0 */
/* fork_path.h - the agent's code and data that a forked child runs and writes lie together, and this code calls no libc
 * function.
 *
 * A child shares all pages with its parent until it touches them. Code that it runs is mapped at the first call, some
 * 64 KiB at a time, and a page that it writes is copied. Each costs 1 to 2 us, and a program pays this at each fork,
 * even for a child that calls exec at once. So the code of the fork handlers is one piece of the library (linkers put
 * .text.hot in front). The data that they write lies in one page with sbx_the_capture. They ask the kernel directly,
 * because a libc function would be one more page. bench/bench_forks measures it. */
#ifndef SBX_FORK_PATH_H
#define SBX_FORK_PATH_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "marks.h"
#include "raw_syscall.h"

/* For the fork handlers and the agent's code that a child runs with its first poll. Without this, the hooks of polls
 * and of the clock would lie 200 KiB further on. */
#define SBX_FORK_CODE __attribute__((section(".text.hot.sbx_fork")))
#define SBX_FORK_DATA __attribute__((section("sbx_fork_data"))) /* a section of its own: .data has many pages */
#define SBX_FORK_DATA_FIRST \
    __attribute__((section("sbx_fork_data"), aligned(4096))) /* linked first; the section fits one page */

enum {
    SBX_FORK_WAIT_MS = 200,        /* the most that a fork waits for a busy thread of the agent */
    SBX_FORK_REAL_TIME_WAIT_MS = 5 /* the same for a real-time thread's fork */
};

/* sbx_now_ns(), without libc's code and the vdso. About 150 ns. */
SBX_SIGNAL_SAFE static inline uint64_t sbx_fork_now_ns(void)
{
    struct timespec now = {0, 0};
    (void)sbx_raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, (long)(uintptr_t)&now, 0, 0, 0, 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Is the calling thread a real-time thread? Code that waits for a thread of the agent before a fork asks this. Beside a
 * real-time thread the agent's thread may get no processor, and the real-time thread has a deadline. */
SBX_SIGNAL_SAFE static inline bool sbx_fork_is_real_time(void)
{
    long policy = sbx_raw_syscall(SYS_sched_getscheduler, 0, 0, 0, 0, 0, 0);
    return policy == SCHED_FIFO || policy == SCHED_RR || policy == 6; /* SCHED_DEADLINE */
}

/* memcpy() of whole words that the compiler does not turn into a call of memcpy(). */
SBX_SIGNAL_SAFE static inline void sbx_fork_copy(void *to, const void *from, size_t bytes)
{
    uint32_t *words = to;
    const uint32_t *others = from;
    for (size_t i = 0; i < bytes / sizeof *words; i++) {
        words[i] = others[i];
        __asm__ volatile("" ::: "memory");
    }
}

#endif
