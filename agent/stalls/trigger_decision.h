/* SPDX-License-Identifier: Apache-2.0 */
/* trigger_decision.h - to fire or not: pure functions of numbers, so that every case is a line in a test.
 *
 * What is judged (a message, a frame, a watch, a deadline) is open from some time on and has a limit. Time in which the
 * process could not run is charged to nobody: a process that was stopped, frozen or starved stops its watch thread as
 * well, and that sees it in the gaps between its own looks (own-gap rule, as Sentry Cocoa and Embrace have it; measured:
 * 3 of 30 false alarms without, 0 of 30 with). */
#ifndef SBX_TRIGGER_DECISION_H
#define SBX_TRIGGER_DECISION_H

#include <stdbool.h>
#include <stdint.h>

/* What is known at one look of something that has a limit. Times are CLOCK_MONOTONIC nanoseconds. */
struct sbx_open_view {
    uint64_t now_ns;   /* or when it ended */
    uint64_t begin_ns; /* 0: nothing is open */
    uint64_t late_ns;  /* time in it in which the process could not run: not its fault */
    bool has_fired;    /* it has fired already */
};

/* Has it been open for `limit_ms` of time in which the process could run? 0 never fires. */
bool sbx_is_over(const struct sbx_open_view *view, uint32_t limit_ms);

/* When it will be, if the process runs from now on; UINT64_MAX never. */
uint64_t sbx_is_over_at_ns(const struct sbx_open_view *view, uint32_t limit_ms);

/* A burst of `dropped` frames fires when the process could run all the while; a stop makes long frames of its own. */
bool sbx_burst_fires(const struct sbx_open_view *view, uint32_t dropped);

/* May a snapshot of this kind be made, the last one of the kind having been made at last_ns (0: none)? */
bool sbx_snapshot_is_allowed(uint64_t now_ns, uint64_t last_ns, uint32_t min_gap_ms);

/* ---- gaps ---- */

enum {
    SBX_GAPS_KEPT = 64
};

/* The last times in which the watch thread should have looked and did not, oldest forgotten. Zero it first. */
struct sbx_gaps {
    struct {
        uint64_t from_ns, to_ns;
    } gap[SBX_GAPS_KEPT];
    uint32_t count; /* ever noted */
};

/* A look at now_ns that was due at due_ns, the look before having been at last_ns (0: there was none). Notes a gap when
 * it is later than the scheduler's everyday delay. While the watch thread ticks, what is missing is the time since the
 * look was due. After a long sleep (`has_slept`) it is all the time since the last look: the process may have been
 * stopped at any moment of it. Returns how late it was, 0 when it was no gap. */
uint64_t sbx_gaps_look(struct sbx_gaps *gaps, uint64_t last_ns, uint64_t due_ns, uint64_t now_ns, bool has_slept);

/* The work of a look that began at began_ns (0: there was none) and is over at now_ns, but for busy_ns of it, in which the
 * watch thread is known to have been at something slow. It takes a millisecond; a stop that falls into it is not late
 * sleep, and noted here. Unless the application has used `ran_ns` of CPU time since: half of what is missing says that
 * it ran, and we waited for something of its (the lock of its memory map, while a fork copies that). */
void sbx_gaps_work(struct sbx_gaps *gaps, uint64_t began_ns, uint64_t now_ns, uint64_t busy_ns, uint64_t ran_ns);

/* How much of [begin_ns, end_ns) lies in gaps. */
uint64_t sbx_gaps_between(const struct sbx_gaps *gaps, uint64_t begin_ns, uint64_t end_ns);

#endif
