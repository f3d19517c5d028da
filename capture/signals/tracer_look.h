/* SPDX-License-Identifier: Apache-2.0 */
/* tracer_look.h - has a tracer attached? Looks as rarely as possible, because a look takes some 20 us.
 *
 * A tracer is told of each signal before the thread is, and gdb stops the whole program at a signal that its user has
 * not named. So no thread is asked while a tracer is attached. A tracer that attaches usually stops the process, or
 * most of it, and a thread of ours that sleeps lightly notices this (agent/process/light_sleep.h). Where it cannot, a
 * debugger is noticed because the watch thread comes late, or by regular looks. */
#ifndef SBX_TRACER_LOOK_H
#define SBX_TRACER_LOOK_H

#include <stdbool.h>
#include <stdint.h>

/* Is a tracer attached now? The last look counts if it is recent enough. To be called before a thread is asked. Watch
 * thread. */
bool sbx_tracer_look(uint64_t now_ns);

/* The age of the last look. Watch thread. */
uint64_t sbx_tracer_look_age_ns(uint64_t now_ns);

/* After a question's announcement: has the process been stopped since the last look? Then the question must not be
 * asked. Watch thread. */
bool sbx_tracer_may_have_come(void);

/* true: from here on a thread of ours notices a stop, and reports it. false: it is awake, and does not. While it does,
 * a look is valid for a second. Called by that thread. */
void sbx_tracer_stops_are_noticed(bool are_noticed);

/* The process was stopped: the next look must look again. Any thread, before it takes back the active questions. */
void sbx_tracer_note_stop(void);

#endif
