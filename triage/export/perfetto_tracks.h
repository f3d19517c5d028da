/* SPDX-License-Identifier: Apache-2.0 */
/* perfetto_tracks.h - which tracks a trace has, and their numbers. */
#ifndef SBX_PERFETTO_TRACKS_H
#define SBX_PERFETTO_TRACKS_H

#include "perfetto_packets.h"
#include "report.h"

enum {
    SBX_TRACE_PID = 1,
    SBX_TRACK_PROCESS = 1,
    SBX_TRACK_STALL = 2,
    SBX_FIRST_MACHINE_TRACK = 8, /* and one track for each of the kernel's counts */
    SBX_TRACE_LABEL_BYTES = 128, /* of a thread */
};

/* What a thread's tracks show. */
enum sbx_thread_track {
    SBX_TRACK_CALLS = 0,
    SBX_TRACK_STATE = 1,
    SBX_TRACK_MESSAGES = 2,
    SBX_TRACK_CPU_TIME = 3,
    SBX_TRACK_ALLOCATED = 4,
    SBX_TRACK_READY = 5
};

uint64_t sbx_track_of(uint32_t thread, enum sbx_thread_track which);

/* The tracks that every trace has: of the process, of the stall, and the calls and states of each thread. */
void sbx_perfetto_all_tracks(struct sbx_perfetto *trace, const struct sbx_report *report);

/* One more track of a thread, "LABEL: WHAT": of slices, or of counts in `unit` if that is not NULL. */
void sbx_perfetto_named_track(struct sbx_perfetto *trace, uint32_t thread, enum sbx_thread_track which,
                              const char *label, const char *what, const char *unit);

#endif
