/* SPDX-License-Identifier: Apache-2.0 */
/* perfetto_packets.h - one stream of Perfetto TracePackets, with their interned data.
 *
 * It knows the format: packets, tracks, events, interned names and callstacks. print_perfetto.c decides what a trace
 * contains. Every packet is written as soon as it is complete. The first error of the stream or of memory is kept, and
 * every later call does nothing. */
#ifndef SBX_PERFETTO_PACKETS_H
#define SBX_PERFETTO_PACKETS_H

#include <stdio.h>

#include "call_path.h"
#include "proto_writer.h"
#include "text_table.h"

enum sbx_perfetto_event {
    SBX_PERFETTO_BEGIN = 1,
    SBX_PERFETTO_END = 2,
    SBX_PERFETTO_INSTANT = 3,
    SBX_PERFETTO_COUNTER = 4
};

struct sbx_perfetto {
    FILE *out; /* borrowed */
    const struct sbx_report *report;
    const struct sbx_call_paths *paths;
    struct sbx_proto_writer packet;
    struct sbx_proto_writer interned; /* fields of InternedData for the next packet */
    struct sbx_text_table event_names, annotation_names, functions, sources, module_paths, build_ids, mappings, frames,
        callstacks;
    size_t packet_mark, event_mark;
    int64_t base_ns; /* report time of the trace's time zero */
    bool first;      /* no packet was written yet */
    int error;       /* 0, or the first -errno */
};

/* Times given below are report times; the trace's clock starts at `base_ns`. Borrows all arguments until finish. */
void sbx_perfetto_init(struct sbx_perfetto *trace, FILE *out, const struct sbx_report *report,
                       const struct sbx_call_paths *paths, int64_t base_ns);
/* Returns the first error, 0 if there was none. */
int sbx_perfetto_finish(struct sbx_perfetto *trace);

/* ---- tracks; `track` is any number but 0, and unique in the trace ---- */
void sbx_perfetto_process(struct sbx_perfetto *trace, uint64_t track, uint32_t pid, const char *name);
void sbx_perfetto_thread(struct sbx_perfetto *trace, uint64_t track, uint64_t parent, uint32_t pid, uint32_t tid,
                         const char *name);
void sbx_perfetto_track(struct sbx_perfetto *trace, uint64_t track, uint64_t parent, const char *name);
void sbx_perfetto_counter(struct sbx_perfetto *trace, uint64_t track, uint64_t parent, const char *name,
                          const char *unit);

/* ---- events; an event's flows and annotations lie between its begin and end ---- */
void sbx_perfetto_event_begin(struct sbx_perfetto *trace, enum sbx_perfetto_event type, uint64_t track, int64_t at_ns,
                              const char *name); /* interned: borrowed until finish; NULL: none */
void sbx_perfetto_event_name(struct sbx_perfetto *trace, const char *name); /* for a name that is used once: copied */
void sbx_perfetto_event_end(struct sbx_perfetto *trace);
void sbx_perfetto_flow(struct sbx_perfetto *trace, uint64_t flow, bool terminating);
void sbx_perfetto_callstack(struct sbx_perfetto *trace, uint32_t stack);
/* `name` is borrowed until finish. */
void sbx_perfetto_note_text(struct sbx_perfetto *trace, const char *name, const char *text);
void sbx_perfetto_note_number(struct sbx_perfetto *trace, const char *name, double value);
void sbx_perfetto_note_count(struct sbx_perfetto *trace, const char *name, int64_t value);

/* A complete event without extras, and a value of a counter. */
void sbx_perfetto_close(struct sbx_perfetto *trace, uint64_t track, int64_t at_ns);
void sbx_perfetto_count(struct sbx_perfetto *trace, uint64_t track, int64_t at_ns, double value);

/* ---- samples ---- */
void sbx_perfetto_sample(struct sbx_perfetto *trace, uint32_t pid, uint32_t tid, int64_t at_ns, uint32_t stack);

#endif
