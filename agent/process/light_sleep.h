/* SPDX-License-Identifier: Apache-2.0 */
/* light_sleep.h - a sleep that ends when the process is stopped, for example by a debugger that attaches.
 *
 * After a stop the kernel continues a futex wait, so the waiter does not notice the stop. rt_sigtimedwait() ends with
 * EINTR instead (signal(7), "Interruption of system calls and library functions by stop signals"), whatever stopped the
 * thread: SIGSTOP, PTRACE_ATTACH, PTRACE_INTERRUPT. The thread runs again when the others do, so it notices the stop
 * some ten microseconds later. A ring is a signal to the sleeping thread alone, which blocks the signal and takes it in
 * its sleep: no handler runs, and a tracer does not see it. The signal is SIGSTKFLT, which has a number in Linux but is
 * never generated.
 *
 * Synchronization:        [1] [2]     [1] sleep (one thread)
 *     [1] sleep            -   .      [2] ring (any thread)
 *     [2] ring             .   .      .: an incremented bell, and an exchanged word */
#ifndef SBX_LIGHT_SLEEP_H
#define SBX_LIGHT_SLEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum sbx_light_trust {
    SBX_LIGHT_UNTRIED = 0,
    SBX_LIGHT_WORKS = 1,
    SBX_LIGHT_REFUSED =
        2 /* by this kernel, a filter or an emulator; or the program uses the signal: sleeps on a futex from now on */
};

/* Zeroed: no thread has slept yet. */
struct sbx_light_sleep {
    uint32_t bell;  /* incremented by a ring; the sleeper sleeps on the value that it has seen. A futex word */
    uint32_t state; /* 0: awake, or on the futex; otherwise a signal is needed to wake it: light_sleep.c */
    uint32_t tid;   /* of the light sleeper */
    uint32_t trust; /* enum sbx_light_trust, written by the sleeper */
};

/* Sleep until the bell differs from `seen`, at most for `pause` (NULL: no limit). With `is_light` the sleep is light,
 * if that works. Returns whether a stop has ended the sleep. For a thread of ours, which blocks all signals. */
bool sbx_light_sleep_until(struct sbx_light_sleep *sleep, uint32_t seen, const struct timespec *pause, bool is_light);

/* Wake the sleeper, or let its next sleep end at once. */
void sbx_light_sleep_ring(struct sbx_light_sleep *sleep);

#endif
