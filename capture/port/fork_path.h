/* SPDX-License-Identifier: Apache-2.0 */
/* fork_path.h - what a forked child runs and writes of ours lies together, and calls nothing.
 *
 * A child shares all pages with its parent until it touches them: code that it runs is mapped at the first call, some 64 KiB at a time, and a page
 * that it writes is copied. Each costs 1 to 2 us, and a program that forks pays for them at each fork, also for a child that calls exec at once.
 * So the fork handlers' code is one piece of the library (linkers put .text.hot in front), what they write lies in one page with sbx_the_capture, and
 * what they ask they ask the kernel, because a function of libc's is one more page. bench/bench_forks measures it. */
#ifndef SBX_FORK_PATH_H
#define SBX_FORK_PATH_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "marks.h"
#include "raw_syscall.h"

/* The fork handlers, and what a child runs of ours with its first poll: hooks of polls and of the clock lie 200 KiB further on otherwise. */
#define SBX_FORK_CODE __attribute__((section(".text.hot.sbx_fork")))
#define SBX_FORK_DATA __attribute__((section("sbx_fork_data"))) /* a section of its own: .data has many pages */
#define SBX_FORK_DATA_FIRST \
    __attribute__((section("sbx_fork_data"), aligned(4096))) /* what is linked first: all of it fits a page */

enum {
    SBX_FORK_WAIT_MS = 200,        /* how long a fork waits for a thread of ours that is in the middle of something */
    SBX_FORK_REAL_TIME_WAIT_MS = 5 /* and a real-time thread's */
};

/* sbx_now_ns(), without libc's code and the vdso. About 150 ns. */
SBX_SIGNAL_SAFE static inline uint64_t sbx_fork_now_ns(void)
{
    struct timespec now = {0, 0};
    (void)sbx_raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, (long)(uintptr_t)&now, 0, 0, 0, 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Is the calling thread a real-time one? Who waits for a thread of ours before a fork asks: ours may get no processor beside it, and its deadline does not
 * wait. */
SBX_SIGNAL_SAFE static inline bool sbx_fork_is_real_time(void)
{
    long policy = sbx_raw_syscall(SYS_sched_getscheduler, 0, 0, 0, 0, 0, 0);
    return policy == SCHED_FIFO || policy == SCHED_RR || policy == 6; /* SCHED_DEADLINE */
}

/* memcpy() of whole words, which the compiler does not make a call of it. */
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
