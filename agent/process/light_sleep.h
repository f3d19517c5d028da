/* SPDX-License-Identifier: Apache-2.0 */
/* light_sleep.h - a sleep that ends when somebody stops the process, as a debugger does that attaches.
 *
 * The kernel takes up a futex again after a stop, and nobody learns of it. rt_sigtimedwait() ends with EINTR instead (signal(7), "Interruption
 * of system calls and library functions by stop signals"), whoever stopped the thread: SIGSTOP, PTRACE_ATTACH, PTRACE_INTERRUPT. The thread
 * runs again when the others do, so it knows some ten microseconds later. A ring is a signal to the sleeping thread alone, which blocks it and
 * takes it in its sleep: no handler is called, and a tracer is not shown it. It is SIGSTKFLT, which Linux has a number for and never
 * makes.
 *
 * Synchronization:        [1] [2]     [1] sleep (one thread)
 *     [1] sleep            -   .      [2] ring (any thread)
 *     [2] ring             .   .      .: a bell that is counted up, and a word that is exchanged */
#ifndef SBX_LIGHT_SLEEP_H
#define SBX_LIGHT_SLEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum sbx_light_trust {
    SBX_LIGHT_UNTRIED = 0,
    SBX_LIGHT_WORKS = 1,
    SBX_LIGHT_REFUSED =
        2 /* by this kernel, a filter or an emulator; or the signal is somebody's: from here on a futex is slept on */
};

/* Zeroed: nobody has slept yet. */
struct sbx_light_sleep {
    uint32_t bell;  /* counted up by who rings; what the sleeper has seen of it is slept on. A futex word */
    uint32_t state; /* 0: awake, or on the futex; else asleep so that a signal is needed: light_sleep.c */
    uint32_t tid;   /* of who sleeps lightly */
    uint32_t trust; /* enum sbx_light_trust, written by the sleeper */
};

/* Sleep until the bell is not at `seen` any more, at most for `pause` (NULL: without end). Wanted lightly, it sleeps so where that
 * works. Returns whether a stop has ended it. A thread of ours, which blocks all signals. */
bool sbx_light_sleep_until(struct sbx_light_sleep *sleep, uint32_t seen, const struct timespec *pause, bool is_light);

/* Wake it, or let its next sleep end at once. */
void sbx_light_sleep_ring(struct sbx_light_sleep *sleep);

#endif
