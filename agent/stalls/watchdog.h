/* SPDX-License-Identifier: Apache-2.0 */
/* watchdog.h - judges how long messages, frames, watches and deadlines of all threads have been open. Watch thread
 * only, except sbx_watchdog_has_news().
 *
 * It looks, asks trigger_decision.h, and passes what has fired to snapshot_maker.h. It also leaves the note, from which
 * a recoverer knows that a process died in the middle of a message (recording_format.h, struct sbx_note). */
#ifndef SBX_WATCHDOG_H
#define SBX_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"
#include "trigger_decision.h"

/* Look at everything. Returns whether something is close to being a stall and needs close looks: a message that has
 * been open longer than usual in a program that responds, a watch or a deadline that has used an eighth of its time, or
 * any frame (16 ms are enough to drop a frame). */
bool sbx_watchdog_look(const struct sbx_capture_settings *settings, const struct sbx_gaps *gaps, uint64_t now_ns);

/* Look at watches and deadlines only: these can become due while the application rests. */
void sbx_watchdog_look_at_watches(const struct sbx_capture_settings *settings, const struct sbx_gaps *gaps,
                                  uint64_t now_ns);

/* At the last look, did a stall go on that has been judged, and nothing else that could become one? Then looks are
 * rare, because the stall's thread reports its end. */
bool sbx_watchdog_stands_by(void);

/* Is a message or a frame open on any thread that does not stand? Then the looks come tick by tick, because it could
 * become a stall. Ordered by sequential consistency after the caller's store of `resting`. */
bool sbx_watchdog_is_armed(void);

/* When the next watch or deadline is due; UINT64_MAX: none is open. */
uint64_t sbx_watchdog_due_ns(const struct sbx_gaps *gaps);

/* Has something ended badly that has not been judged yet? Any thread. */
bool sbx_watchdog_has_news(void);

/* Recording was switched off: open items are not judged any more, and reports are forgotten. The ends of reported
 * stalls will not be seen from now on: with consent this is reported as well. */
void sbx_watchdog_forget(uint64_t now_ns);

/* Settings changed: withdraw the note, which is left again according to the new limit. */
void sbx_watchdog_withdraw_note(void);

#endif
