/* SPDX-License-Identifier: Apache-2.0 */
/* watchdog.h - what is open and for how long: messages, frames, watches and deadlines of all threads. Watch thread only,
 * but for sbx_watchdog_has_news().
 *
 * It looks, asks trigger_decision.h, and hands what has fired to snapshot_maker.h. It also leaves the note by which a
 * process that dies in the middle of something is known (recording_format.h, struct sbx_note). */
#ifndef SBX_WATCHDOG_H
#define SBX_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"
#include "trigger_decision.h"

/* Look at everything. Returns whether something is near to being a stall and wants to be looked at closely: a message that
 * has been open for longer than those of a program that answers, a watch or a deadline that has used up an eighth of its
 * time, or any frame (a dropped one is a matter of 16 ms). */
bool sbx_watchdog_look(const struct sbx_capture_settings *settings, const struct sbx_gaps *gaps, uint64_t now_ns);

/* Look at watches and deadlines alone: what can come due while the application rests. */
void sbx_watchdog_look_at_watches(const struct sbx_capture_settings *settings, const struct sbx_gaps *gaps,
                                  uint64_t now_ns);

/* By the last look: a stall goes on that has been judged, and nothing else that could become one. Whether it ends tells its
 * thread; it is looked at rarely. */
bool sbx_watchdog_stands_by(void);

/* Is a message or a frame open on any thread that does not stand? What could become a stall is then looked at tick by tick. Ordered by
 * sequential consistency behind the caller's store of `resting`. */
bool sbx_watchdog_is_armed(void);

/* When the next watch or deadline is due; UINT64_MAX: none is open. */
uint64_t sbx_watchdog_due_ns(const struct sbx_gaps *gaps);

/* Something ended badly and has not been judged yet. Any thread. */
bool sbx_watchdog_has_news(void);

/* Recording was switched off: what is open is nobody's business, and what was told is forgotten. How told stalls end nobody
 * sees from now on: with consent that is told as well. */
void sbx_watchdog_forget(uint64_t now_ns);

/* Settings changed: the note is left anew by the new limit. */
void sbx_watchdog_withdraw_note(void);

#endif
