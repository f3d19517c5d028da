/* SPDX-License-Identifier: Apache-2.0 */
/* sample_signal.h - how a running thread is asked for its stack: by a timer of its CPU time. The timer fires once, or,
 * for a standing question, again and again.
 *
 * Such a timer fires at the scheduler's next tick that finds its thread running (ticks are 4 ms apart at HZ=250). Where
 * the kernel does this as task work (CONFIG_POSIX_CPU_TIMERS_TASK_WORK; x86 from Linux 5.11), the signal is made when
 * the thread returns to its own code. So it never ends a call that nothing else has interrupted (sbx_call_was_cut()
 * handles calls that were). A thread that is about to block the signal, to remove its stack for handlers, or to end
 * takes its timer back with one call, and does not wait. docs/SIGNAL_SAFETY.md has the reasons for all of this.
 *
 * Synchronization:               [1] [2] [3]     [1] ask, review, withdraw all (watch thread)
 *     [1] ask, ask ahead          -   .   .      [2] sbx_sample_take_back() of the same thread (hook; any thread)
 *     [2] take back               .   -   .      [3] the handler of the same thread
 *     [3] handler                 .   .   -      .: one word, exchanged; the side that gets the number deletes it.
 *                                                   A standing question is answered without an exchange */
#ifndef SBX_SAMPLE_SIGNAL_H
#define SBX_SAMPLE_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "thread_block.h"

/* Take a free signal. Returns its number; 0: none is free, and running threads are not sampled. Called by the starting
 * thread. */
int sbx_sample_signal_start(void);

/* For tests, before the start: signals are made in the middle of calls, as by kernels before Linux 5.11, and no probe
 * is made. The timers use wall time, so that they fire wherever the thread is, also asleep. Timers of CPU time never do
 * that, in any kernel. */
void sbx_sample_fire_anywhere(void);

/* The probes told nothing about where signals are made: assume that they are made in calls, and probe once more each
 * half a minute. Watch thread; and tests. */
void sbx_sample_guess_place(uint64_t now_ns);

/* When seats are scarce, threads will give them back for the time of a wait. Then let the handler see a frame of this
 * kernel, if it has not seen one yet (handler_frames.h). Watch thread, after each scan of the threads. */
void sbx_sample_show_frame(void);

/* A step of the watch thread begins. sbx_sample_review() counts again the threads that were asked before. */
void sbx_sample_begin_step(void);

/* Such a step, in which all threads are asked anew: no timer is active from here on. */
void sbx_sample_begin_all(void);

/* A tick: such a step, and the next one comes in some `tick_ns`. Standing questions are withdrawn when a tracer has
 * come or the signal is not ours any more. */
void sbx_sample_begin_tick(uint64_t now_ns, uint64_t tick_ns);

/* Review the active timer of this thread, if there is one: an answer is cleared, and a timer that is too old is taken
 * back. */
void sbx_sample_review(struct sbx_thread *thread, uint64_t now_ns);

/* Ask a running thread for its stack; the timer starts with sbx_sample_arm(). `cpu_ns` is the thread's CPU time; 0: it
 * is read here. The sample will have `flags`. False: not now, or not at all (counted). If a standing question exists,
 * it is answered at once, without flags. */
bool sbx_sample_ask(struct sbx_thread *thread, uint64_t now_ns, uint64_t cpu_ns, uint32_t flags);

/* Arm the timers of the threads that were asked, or got a standing question, since the last time: one barrier for all
 * of them. Until then no timer runs. */
void sbx_sample_arm(void);

/* Give a thread a standing question: from here on it samples itself each 30 ms of its CPU time, until the question is
 * taken back. For threads that are judged while ticks are far apart, because shorter work lies between two ticks. It
 * costs nothing while the thread rests. Only a few threads have one at a time. When more want one, threads without a
 * loop take turns. Not used where signals are made in calls, because each call would take the timer back. */
void sbx_sample_ask_ahead(struct sbx_thread *thread, uint64_t now_ns);

/* The watch thread will not look for a while: from here on no question stands, and no timer is kept. So a debugger that
 * attaches then, or a program that takes our number, meets no timer. */
void sbx_sample_withdraw_ahead(void);

/* The process was stopped, so a debugger may have attached. From here on no question is out, and none is asked before a
 * look for a tracer. Any thread of ours. */
void sbx_sample_was_stopped(void);

/* Was any thread of this process asked, and may threads be asked again? Any thread. */
bool sbx_sample_has_asked(void);

/* Find out where this kernel makes signals, if that is not known. Forked children inherit the answer of their parent;
 * otherwise each child would pay two ticks of CPU time for it. Watch thread. */
void sbx_sample_learn_place(uint64_t now_ns);

/* Does the thread have an active timer that it has not answered yet? */
static inline bool sbx_sample_is_awaited(const struct sbx_thread *thread)
{
    uint32_t timer = sbx_load_relaxed(&thread->sample_timer);
    return timer != 0 && (timer & SBX_TIMER_ANSWERED) == 0;
}

#endif
