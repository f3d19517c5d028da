/* SPDX-License-Identifier: Apache-2.0 */
/* tracer_look.h - has a tracer come? As seldom as may be: a look is some 20 us.
 *
 * A tracer is told of each signal before the thread is, and gdb stops the whole program at one that its user has not named: nobody is asked while
 * one is attached. Who attaches stops the process, or most of it, and a thread of ours that sleeps lightly says so (agent/process/light_sleep.h). Where it cannot,
 * a debugger is found because the watch thread comes late, or by the clock. */
#ifndef SBX_TRACER_LOOK_H
#define SBX_TRACER_LOOK_H

#include <stdbool.h>
#include <stdint.h>

/* Is one attached now, as far as need be known before somebody is asked? Watch thread. */
bool sbx_tracer_look(uint64_t now_ns);

/* How old the last look is. Watch thread. */
uint64_t sbx_tracer_look_age_ns(uint64_t now_ns);

/* Behind a question's announcement: has the process been stopped since the last look? Then it is not to be put. Watch thread. */
bool sbx_tracer_may_have_come(void);

/* From here on a thread of ours would notice a stop, and say so; or it is awake, and would not. While it would, a look holds for a second. That
 * thread. */
void sbx_tracer_stops_are_noticed(bool are_noticed);

/* The process was stopped: the next look is a look. Any thread, before it takes back the questions that are out. */
void sbx_tracer_note_stop(void);

#endif
