/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.h - the asynchronous gap filler: stacks of threads that do not pass a capture point.
 *
 * A running thread that has not recorded for gap_us is asked by a timer of its CPU time (sample_signal.h) and records itself
 * in the handler. A blocked thread is never signalled: the kernel tells where it sleeps (/proc/self/task/TID/syscall), and its stack is copied and
 * walked from outside, which costs it nothing and interrupts no call (DESIGN.md 4.2). All functions: the watch thread
 * only. */
#ifndef SBX_SAMPLER_H
#define SBX_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"

/* Take a free signal (sample_signal.h). Returns its number, or 0 when there is none: blocked threads are then still
 * observed, running ones not. */
int sbx_sampler_start(void);

/* One tick, some `tick_ns` before the next: look at every thread, fill the gaps. Returns the CPU time that threads were seen to have
 * used since they were looked at last: some of them, those that were in no call. */
uint64_t sbx_sampler_step(const struct sbx_capture_settings *settings, uint64_t tick_ns, uint64_t now_ns);

/* No tick comes for a while: what begins from here on is not followed lightly (calls/lone_call.h). And, once every thread can have seen that
 * (process_barrier.h): what is followed so now ends by the clock. */
void sbx_sampler_lies_down(void);
void sbx_sampler_lay_down(void);

/* Is there a thread that computes, and had no processor since it was seen to run or recorded itself last, as on a busy machine? To be asked before
 * nobody is looked at any more: such a thread passes no point, and would never be looked at again. Some microseconds. */
bool sbx_sampler_finds_ready(const struct sbx_capture_settings *settings, uint64_t now_ns);

/* All threads' stacks now, flagged SBX_FLAG_AT_TRIGGER. Waits some milliseconds at most for running threads to answer.
 */
void sbx_sampler_capture_all(uint64_t now_ns);

/* The same of those that sleep alone, for another process that is about to tell that it waits for one of them. */
void sbx_sampler_capture_sleepers(uint64_t now_ns);

#endif
