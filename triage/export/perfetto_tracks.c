/* SPDX-License-Identifier: Apache-2.0 */
/* perfetto_tracks.c - which tracks a trace has, and their numbers. */
#include "perfetto_tracks.h"

#include <assert.h>
#include <stdio.h>

#include "clean_text.h"
#include "names.h"

enum {
    TRACKS_PER_THREAD = 8,
    FIRST_THREAD_TRACK = 32,
};
static_assert(SBX_FIRST_MACHINE_TRACK + SBX_KERNEL_COUNTS <= FIRST_THREAD_TRACK, "tracks have numbers of their own");

uint64_t sbx_track_of(uint32_t thread, enum sbx_thread_track which)
{
    return FIRST_THREAD_TRACK + (uint64_t)thread * TRACKS_PER_THREAD + which;
}

void sbx_perfetto_named_track(struct sbx_perfetto *trace, uint32_t thread, enum sbx_thread_track which,
                              const char *label, const char *what, const char *unit)
{
    char name[SBX_TRACE_LABEL_BYTES + 32];
    snprintf(name, sizeof name, "%s: %s", label, what);
    if (unit != NULL) {
        sbx_perfetto_counter(trace, sbx_track_of(thread, which), sbx_track_of(thread, SBX_TRACK_CALLS), name, unit);
    } else {
        sbx_perfetto_track(trace, sbx_track_of(thread, which), sbx_track_of(thread, SBX_TRACK_CALLS), name);
    }
}

void sbx_perfetto_all_tracks(struct sbx_perfetto *trace, const struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    sbx_perfetto_process(trace, SBX_TRACK_PROCESS, SBX_TRACE_PID, report->app_name);
    sbx_perfetto_track(trace, SBX_TRACK_STALL, SBX_TRACK_PROCESS, "stall");
    for (uint32_t thread = 0; thread < stall->thread_count; thread++) {
        char label[SBX_TRACE_LABEL_BYTES];
        sbx_thread_label(stall, thread, label, sizeof label);
        sbx_perfetto_thread(trace, sbx_track_of(thread, SBX_TRACK_CALLS), SBX_TRACK_PROCESS, SBX_TRACE_PID, thread + 1,
                            label);
        sbx_perfetto_named_track(trace, thread, SBX_TRACK_STATE, label, "state", NULL);
    }
}
