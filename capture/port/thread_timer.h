/* SPDX-License-Identifier: Apache-2.0 */
/* thread_timer.h - timers that run with one thread's CPU time, alternate signal stacks and signal masks, by direct
 * system calls.
 *
 * Such a timer fires only while its thread runs, at the next tick of the scheduler's clock. Its number is not used
 * again while the process lives, or only after two thousand million other timers (posix_timer_add() in
 * kernel/time/posix-timers.c). So a deleted timer is cancelled for good, and a later timer_settime() fails and does no
 * harm. */
#ifndef SBX_THREAD_TIMER_H
#define SBX_THREAD_TIMER_H

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "marks.h"
#include "raw_syscall.h"

/* struct sigevent, struct itimerspec and struct sigaction as the kernel has them on x86-64 and aarch64. */
struct sbx_kernel_sigevent {
    uint64_t value;
    int32_t signal;
    int32_t notify;
    int32_t tid;
    int32_t padding[11];
};

struct sbx_kernel_itimerspec {
    int64_t interval[2];
    int64_t value[2]; /* seconds, nanoseconds */
};

struct sbx_kernel_sigaction {
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

/* The clock of thread `tid`'s CPU time. */
static inline uint32_t sbx_thread_clock_of(uint32_t tid)
{
    enum {
        THREAD_CLOCK = 6, /* CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED of include/linux/posix-timers.h */
    };
    return ~tid << 3 | THREAD_CLOCK;
}

/* Makes a timer on `clock` that sends `signal` with `value` to thread `tid`; it is not armed. Returns its number, or a
 * negative errno. */
static inline long sbx_raw_thread_timer(uint32_t tid, uint32_t clock, int signal, uint64_t value)
{
    enum {
        THREAD_ID = 4, /* SIGEV_THREAD_ID */
    };
    struct sbx_kernel_sigevent event;
    int32_t timer = -1;
    memset(&event, 0, sizeof event);
    event.value = value;
    event.signal = signal;
    event.notify = THREAD_ID;
    event.tid = (int32_t)tid;
    long result = sbx_raw_syscall(SYS_timer_create, (long)(int32_t)clock, (long)(uintptr_t)&event,
                                  (long)(uintptr_t)&timer, 0, 0, 0);
    return result < 0 ? result : timer;
}

/* Fire after `ns` (not 0, less than a second) of the timer's clock, and then each `every_ns`; 0: once. A timer of CPU
 * time fires at a tick that finds its thread running. While the first signal waits to be handled, no second one is
 * made. */
static inline long sbx_raw_timer_arm(uint32_t timer, int64_t ns, int64_t every_ns)
{
    const struct sbx_kernel_itimerspec soon = {.interval = {0, every_ns}, .value = {0, ns}};
    return sbx_raw_syscall(SYS_timer_settime, (long)timer, 0, (long)(uintptr_t)&soon, 0, 0, 0);
}

/* Returns 0, or a negative errno: -EINVAL where the process, as a child of vfork(), has no timer of that number. */
SBX_SIGNAL_SAFE static inline long sbx_raw_timer_delete(uint32_t timer)
{
    return sbx_raw_syscall(SYS_timer_delete, (long)timer, 0, 0, 0, 0, 0);
}

SBX_SIGNAL_SAFE static inline long sbx_raw_sigaltstack(const stack_t *wanted, stack_t *was_out)
{
    return sbx_raw_syscall(SYS_sigaltstack, (long)(uintptr_t)wanted, (long)(uintptr_t)was_out, 0, 0, 0, 0);
}

/* The handler of a signal according to the kernel; NULL: there is none, or the kernel does not say. */
SBX_SIGNAL_SAFE static inline void *sbx_raw_handler_of(int signal)
{
    struct sbx_kernel_sigaction now = {.handler = NULL};
    long result = sbx_raw_syscall(SYS_rt_sigaction, signal, 0, (long)(uintptr_t)&now, sizeof now.mask, 0, 0);
    return result == 0 ? now.handler : NULL;
}

/* The calling thread's signal mask, signal n in bit n - 1. All bits are set when the kernel does not say. */
SBX_SIGNAL_SAFE static inline uint64_t sbx_raw_signal_mask(void)
{
    uint64_t mask = 0;
    long result = sbx_raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)(uintptr_t)&mask, sizeof mask, 0, 0);
    return result == 0 ? mask : UINT64_MAX;
}

/* Block all signals of the calling thread except those of faults, and those that cannot be blocked. Returns the mask
 * from before. */
#define SBX_SIGNAL_BIT(number) (UINT64_C(1) << ((number)-1))
#define SBX_BLOCKED_SIGNALS                                                                                 \
    (~(SBX_SIGNAL_BIT(SIGSEGV) | SBX_SIGNAL_BIT(SIGBUS) | SBX_SIGNAL_BIT(SIGILL) | SBX_SIGNAL_BIT(SIGFPE) | \
       SBX_SIGNAL_BIT(SIGTRAP) | SBX_SIGNAL_BIT(SIGSYS) | SBX_SIGNAL_BIT(SIGKILL) | SBX_SIGNAL_BIT(SIGSTOP)))
SBX_SIGNAL_SAFE static inline uint64_t sbx_raw_block_signals(void)
{
    const uint64_t others = SBX_BLOCKED_SIGNALS;
    uint64_t mask = 0;
    (void)sbx_raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)(uintptr_t)&others, (long)(uintptr_t)&mask, sizeof mask,
                          0, 0);
    return mask;
}

SBX_SIGNAL_SAFE static inline void sbx_raw_set_signals(uint64_t mask)
{
    (void)sbx_raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)(uintptr_t)&mask, 0, sizeof mask, 0, 0);
}

#endif
