/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.h - the asynchronous gap filler: stacks of threads that do not pass a capture point.
 *
 * A running thread that has not recorded for gap_us is asked by a timer of its CPU time (sample_signal.h), and records
 * itself in the handler. A blocked thread is never signalled. The kernel says where it sleeps
 * (/proc/self/task/TID/syscall), and its stack is copied and walked from outside. This costs the thread nothing and
 * interrupts no call. All functions: the watch thread only. */
#ifndef SBX_SAMPLER_H
#define SBX_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"

/* Take a free signal (sample_signal.h). Returns its number, or 0 when there is none: then blocked threads are still
 * observed, but running ones are not. */
int sbx_sampler_start(void);

/* One tick; the next comes in some `tick_ns`. Looks at every thread and fills the gaps. Returns the CPU time that
 * threads have used since the last look at them: only of threads that were in no call. */
uint64_t sbx_sampler_step(const struct sbx_capture_settings *settings, uint64_t tick_ns, uint64_t now_ns);

/* No tick comes for a while: answers that begin from here on are followed to their end (messages/client_message.h). */
void sbx_sampler_lies_down(void);

/* Is there a thread that computes, but had no processor since it was last seen to run or recorded itself, as on a busy
 * machine? To be asked before the looks stop, because such a thread passes no point, and would never be looked at
 * again. Takes some microseconds. */
bool sbx_sampler_finds_ready(const struct sbx_capture_settings *settings, uint64_t now_ns);

/* Record all threads' stacks now, flagged SBX_FLAG_AT_TRIGGER. Waits at most some milliseconds for the answers of
 * running threads. */
void sbx_sampler_capture_all(uint64_t now_ns);

/* The same for sleeping threads only, for another process that is about to report that it waits for one of them. */
void sbx_sampler_capture_sleepers(uint64_t now_ns);

#endif
