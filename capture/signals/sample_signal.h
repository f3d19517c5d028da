/* SPDX-License-Identifier: Apache-2.0 */
/* sample_signal.h - how a running thread is asked for its stack: a timer of its CPU time that fires once, or, where it is asked ahead,
 * again and again.
 *
 * Such a timer fires at the scheduler's next tick that meets its thread running (4 ms apart at HZ=250), and where the
 * kernel makes it a task's work (CONFIG_POSIX_CPU_TIMERS_TASK_WORK; x86 from Linux 5.11) the signal is made when the
 * thread goes back to its own code: it never ends a call that nothing else has interrupted (sbx_call_was_cut() is for those). And whoever is about to block the signal, to put
 * away the stack for handlers, or to end takes his timer back with one call, and waits for nobody. docs/SIGNAL_SAFETY.md
 * has the reasons for all of it.
 *
 * Synchronization:               [1] [2] [3]     [1] ask, review, withdraw all (watch thread)
 *     [1] ask, ask ahead          -   .   .      [2] sbx_sample_take_back() of the same thread (hook; any thread)
 *     [2] take back               .   -   .      [3] the handler of the same thread
 *     [3] handler                 .   .   -      .: one word, exchanged; who gets the timer's number deletes it. A question that stands
 *                                                   is answered without an exchange */
#ifndef SBX_SAMPLE_SIGNAL_H
#define SBX_SAMPLE_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "thread_block.h"

/* Take a free signal. Returns its number; 0: none is free, and running threads are not sampled. By the starting thread. */
int sbx_sample_signal_start(void);

/* For tests, before the start: signals are made in the middle of calls, as by kernels before Linux 5.11, and no finding out is needed. The
 * timers are of the clock on the wall, so that they fire wherever the thread is then, asleep as well: more than any kernel does with those of
 * CPU time. */
void sbx_sample_fire_anywhere(void);

/* Where seats are scarce, and will be given back for the time of a wait: let the handler see a frame of this kernel's, if none
 * was seen yet (handler_frames.h). Watch thread, after each scan of the threads. */
void sbx_sample_show_frame(void);

/* A step of the watch thread begins. Those that were asked before are counted anew in it: by sbx_sample_review(). */
void sbx_sample_begin_step(void);

/* Such a step, in which everybody is asked anew: no timer is out from here on. */
void sbx_sample_begin_all(void);

/* A tick: such a step, and the next comes in some `tick_ns`. Questions that stand are withdrawn where a tracer has come or the signal is
 * not ours any more. */
void sbx_sample_begin_tick(uint64_t now_ns, uint64_t tick_ns);

/* What became of the timer that is out for this thread, if one is: an answer is cleared away, what is too old taken back. */
void sbx_sample_review(struct sbx_thread *thread, uint64_t now_ns);

/* Ask a running thread, from sbx_sample_arm() on, whose CPU time is `cpu_ns`, for its stack: its sample will have `flags`. False: not now, or not at
 * all (counted). `cpu_ns` 0: to be asked for. Where a question stands that is answered at once, without flags. */
bool sbx_sample_ask(struct sbx_thread *thread, uint64_t now_ns, uint64_t cpu_ns, uint32_t flags);

/* Arm the timers of those who were asked, or asked ahead, since the last time: behind one barrier for all of them. Until then nobody is. */
void sbx_sample_arm(void);

/* Let a thread ask itself from here on, each 30 ms of its CPU time: the question stands until it is taken back. For threads that are judged,
 * while ticks are far apart: what computes for less than that lies between two of them. While it rests that costs nothing. A few have one
 * at a time, and where more want one those without a loop take turns. Not where signals are made in calls: each call would take it back. */
void sbx_sample_ask_ahead(struct sbx_thread *thread, uint64_t now_ns);

/* Nobody looks for a while: no question stands from here on, and no timer is kept. So a debugger that comes then, or a program that takes our number, meets none. */
void sbx_sample_withdraw_ahead(void);

/* The process was stopped, so a debugger may have come: no question is out from here on, nor is one put before it was looked for. Any thread
 * of ours. */
void sbx_sample_was_stopped(void);

/* Was anybody asked in this process, and may be again? Any thread. */
bool sbx_sample_has_asked(void);

/* Find out where this kernel makes signals, if that is not known: forked children know what their parent knew, and each would pay two ticks
 * of CPU time for it. Watch thread. */
void sbx_sample_learn_place(uint64_t now_ns);

/* Is a timer out for it that was not answered yet? */
static inline bool sbx_sample_is_awaited(const struct sbx_thread *thread)
{
    uint32_t timer = sbx_load_relaxed(&thread->sample_timer);
    return timer != 0 && (timer & SBX_TIMER_ANSWERED) == 0;
}

#endif
