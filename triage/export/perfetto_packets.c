/* SPDX-License-Identifier: Apache-2.0 */
/* perfetto_packets.c - one stream of Perfetto TracePackets, with their interned data. */
#include "perfetto_packets.h"

#include <errno.h>
#include <string.h>

/* Field numbers of Perfetto's trace protos, as far as they are written here. */
enum {
    TRACE_PACKET = 1,

    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE_ID = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED_DATA = 12,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_TRACK_DESCRIPTOR = 60,
    PACKET_PERF_SAMPLE = 66,

    SEQUENCE_CLEARED = 1, /* interned data begins again */
    SEQUENCE_NEEDED = 2,  /* this packet refers to interned data */

    DESCRIPTOR_UUID = 1,
    DESCRIPTOR_NAME = 2,
    DESCRIPTOR_PROCESS = 3,
    DESCRIPTOR_THREAD = 4,
    DESCRIPTOR_PARENT = 5,
    DESCRIPTOR_COUNTER = 8,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_NAME = 5,
    COUNTER_UNIT_NAME = 6,

    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_IID = 10,
    EVENT_TRACK = 11,
    EVENT_NAME = 23,
    EVENT_DOUBLE_VALUE = 44,
    EVENT_FLOW = 47,
    EVENT_TERMINATING_FLOW = 48,
    EVENT_CALLSTACK_IID = 56,
    ANNOTATION_NAME_IID = 1,
    ANNOTATION_INT = 4,
    ANNOTATION_DOUBLE = 5,
    ANNOTATION_STRING = 6,

    INTERNED_EVENT_NAME = 2,
    INTERNED_ANNOTATION_NAME = 3,
    INTERNED_FUNCTION = 5,
    INTERNED_FRAME = 6,
    INTERNED_CALLSTACK = 7,
    INTERNED_BUILD_ID = 16,
    INTERNED_MODULE_PATH = 17,
    INTERNED_SOURCE = 18,
    INTERNED_MAPPING = 19,
    IID = 1,      /* in every interned entry */
    IID_TEXT = 2, /* in those that are names */
    MAPPING_BUILD_ID = 2,
    MAPPING_END = 5,
    MAPPING_PATH = 7,
    FRAME_FUNCTION = 2,
    FRAME_MAPPING = 3,
    FRAME_REL_PC = 4,
    FRAME_SOURCE = 5,
    FRAME_LINE = 6,
    CALLSTACK_FRAME = 2,

    SAMPLE_PID = 2,
    SAMPLE_TID = 3,
    SAMPLE_CALLSTACK = 4,
    SAMPLE_CPU_MODE = 5,
    CPU_MODE_USER = 2,

    SEQUENCE_ID = 1, /* one writer has one sequence */
};

void sbx_perfetto_init(struct sbx_perfetto *trace, FILE *out, const struct sbx_report *report,
                       const struct sbx_call_paths *paths, int64_t base_ns)
{
    *trace = (struct sbx_perfetto){.out = out, .report = report, .paths = paths, .base_ns = base_ns, .first = true};
    sbx_proto_writer_init(&trace->packet);
    sbx_proto_writer_init(&trace->interned);
    struct sbx_text_table *const tables[] = {&trace->event_names, &trace->annotation_names, &trace->functions,
                                             &trace->sources,     &trace->module_paths,     &trace->build_ids,
                                             &trace->mappings,    &trace->frames,           &trace->callstacks};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        sbx_text_table_init(tables[i]);
    }
}

int sbx_perfetto_finish(struct sbx_perfetto *trace)
{
    struct sbx_text_table *const tables[] = {&trace->event_names, &trace->annotation_names, &trace->functions,
                                             &trace->sources,     &trace->module_paths,     &trace->build_ids,
                                             &trace->mappings,    &trace->frames,           &trace->callstacks};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        sbx_text_table_finish(tables[i]);
    }
    sbx_proto_writer_finish(&trace->packet);
    sbx_proto_writer_finish(&trace->interned);
    return trace->error;
}

static void keep_error(struct sbx_perfetto *trace, int error)
{
    if (trace->error == 0) {
        trace->error = error;
    }
}

/* ---- packets ---- */

static void packet_begin(struct sbx_perfetto *trace)
{
    sbx_proto_writer_clear(&trace->packet);
    trace->packet_mark = sbx_proto_message_begin(&trace->packet, TRACE_PACKET);
}

/* Interned data is written into the first packet that needs it. A reader handles it before the rest of that packet. */
static void packet_end(struct sbx_perfetto *trace)
{
    struct sbx_proto_writer *packet = &trace->packet;
    sbx_proto_put_varint(packet, PACKET_SEQUENCE_ID, SEQUENCE_ID);
    sbx_proto_put_varint(packet, PACKET_SEQUENCE_FLAGS, trace->first ? SEQUENCE_CLEARED : SEQUENCE_NEEDED);
    if (trace->interned.count > 0) {
        sbx_proto_put_bytes(packet, PACKET_INTERNED_DATA, trace->interned.bytes, trace->interned.count);
        sbx_proto_writer_clear(&trace->interned);
    }
    sbx_proto_message_end(packet, trace->packet_mark);
    trace->first = false;
    if (packet->failed || trace->interned.failed) {
        keep_error(trace, -ENOMEM);
    }
    if (trace->error == 0 && fwrite(packet->bytes, 1, packet->count, trace->out) != packet->count) {
        keep_error(trace, errno != 0 ? -errno : -EIO);
    }
}

static void put_time(struct sbx_perfetto *trace, int64_t at_ns)
{
    sbx_proto_put_varint(&trace->packet, PACKET_TIMESTAMP,
                         at_ns > trace->base_ns ? (uint64_t)(at_ns - trace->base_ns) : 0);
}

/* ---- interned data ---- */

/* The number of `text` in `table`. A new text is added to the interned data as field `field`. */
static uint64_t name_iid(struct sbx_perfetto *trace, struct sbx_text_table *table, uint32_t field, const char *text)
{
    bool is_new;
    uint32_t iid = sbx_text_table_number(table, text, 0, 0, &is_new);
    if (iid == 0) {
        keep_error(trace, -ENOMEM);
    } else if (is_new) {
        size_t mark = sbx_proto_message_begin(&trace->interned, field);
        sbx_proto_put_varint(&trace->interned, IID, iid);
        sbx_proto_put_text(&trace->interned, IID_TEXT, text);
        sbx_proto_message_end(&trace->interned, mark);
    }
    return iid;
}

static uint64_t build_id_iid(struct sbx_perfetto *trace, uint32_t module)
{
    bool is_new;
    uint32_t iid = sbx_text_table_number(&trace->build_ids, NULL, module, 0, &is_new);
    if (iid == 0) {
        keep_error(trace, -ENOMEM);
    } else if (is_new) {
        const struct sbx_stall_module *self = &trace->report->stall->modules[module];
        size_t mark = sbx_proto_message_begin(&trace->interned, INTERNED_BUILD_ID);
        sbx_proto_put_varint(&trace->interned, IID, iid);
        sbx_proto_put_bytes(&trace->interned, IID_TEXT, self->build_id, self->build_id_bytes); /* shown as hex */
        sbx_proto_message_end(&trace->interned, mark);
    }
    return iid;
}

/* A module, by its index and the name that users know. */
static uint64_t mapping_iid(struct sbx_perfetto *trace, uint32_t module, const char *name)
{
    uint64_t path = name_iid(trace, &trace->module_paths, INTERNED_MODULE_PATH, name);
    bool has_build_id =
        module < trace->report->stall->module_count && trace->report->stall->modules[module].build_id_bytes > 0;
    uint64_t build_id = has_build_id ? build_id_iid(trace, module) : 0;
    bool is_new;
    uint32_t iid = sbx_text_table_number(&trace->mappings, NULL, module, path, &is_new);
    if (iid == 0) {
        keep_error(trace, -ENOMEM);
    } else if (is_new) {
        size_t mark = sbx_proto_message_begin(&trace->interned, INTERNED_MAPPING);
        sbx_proto_put_varint(&trace->interned, IID, iid);
        if (build_id != 0) {
            sbx_proto_put_varint(&trace->interned, MAPPING_BUILD_ID, build_id);
        }
        sbx_proto_put_varint(&trace->interned, MAPPING_END, UINT64_C(1) << 47);
        sbx_proto_put_varint(&trace->interned, MAPPING_PATH, path);
        sbx_proto_message_end(&trace->interned, mark);
    }
    return iid;
}

/* One frame per function. Inlined functions of one address are separate frames with that address. */
static uint64_t frame_iid(struct sbx_perfetto *trace, const struct sbx_path_frame *frame)
{
    const struct sbx_location *location = frame->location;
    const struct sbx_stall *stall = trace->report->stall;
    bool is_code = frame->frame < stall->frame_count && stall->frames[frame->frame].kind == SBX_FRAME_CODE;
    uint64_t function = name_iid(trace, &trace->functions, INTERNED_FUNCTION, location->function);
    uint64_t mapping = mapping_iid(trace, is_code ? stall->frames[frame->frame].module : UINT32_MAX,
                                   location->module[0] != '\0' ? location->module : "[none]");
    uint64_t source = location->file == NULL ? 0 : name_iid(trace, &trace->sources, INTERNED_SOURCE, location->file);
    bool is_new;
    uint32_t iid = sbx_text_table_number(&trace->frames, NULL, frame->frame, (uint64_t)(uintptr_t)location, &is_new);
    if (iid == 0) {
        keep_error(trace, -ENOMEM);
    } else if (is_new) {
        size_t mark = sbx_proto_message_begin(&trace->interned, INTERNED_FRAME);
        sbx_proto_put_varint(&trace->interned, IID, iid);
        sbx_proto_put_varint(&trace->interned, FRAME_FUNCTION, function);
        sbx_proto_put_varint(&trace->interned, FRAME_MAPPING, mapping);
        sbx_proto_put_varint(&trace->interned, FRAME_REL_PC, is_code ? stall->frames[frame->frame].offset : 0);
        if (source != 0) {
            sbx_proto_put_varint(&trace->interned, FRAME_SOURCE, source);
            sbx_proto_put_varint(&trace->interned, FRAME_LINE, location->line);
        }
        sbx_proto_message_end(&trace->interned, mark);
    }
    return iid;
}

static uint64_t callstack_iid(struct sbx_perfetto *trace, uint32_t stack)
{
    bool is_new;
    uint32_t iid = sbx_text_table_number(&trace->callstacks, NULL, stack, 0, &is_new);
    if (iid == 0) {
        keep_error(trace, -ENOMEM);
    } else if (is_new) {
        struct sbx_path_frame path[SBX_CALL_PATH_MAX];
        uint64_t frames[SBX_CALL_PATH_MAX];
        size_t count = sbx_call_path_read(trace->paths, stack, path);
        for (size_t i = 0; i < count; i++) {
            frames[i] = frame_iid(trace, &path[i]); /* before the callstack, because frames are entries of their own */
        }
        size_t mark = sbx_proto_message_begin(&trace->interned, INTERNED_CALLSTACK);
        sbx_proto_put_varint(&trace->interned, IID, iid);
        for (size_t i = 0; i < count; i++) {
            sbx_proto_put_varint(&trace->interned, CALLSTACK_FRAME, frames[i]);
        }
        sbx_proto_message_end(&trace->interned, mark);
    }
    return iid;
}

/* ---- tracks ---- */

void sbx_perfetto_process(struct sbx_perfetto *trace, uint64_t track, uint32_t pid, const char *name)
{
    packet_begin(trace);
    size_t descriptor = sbx_proto_message_begin(&trace->packet, PACKET_TRACK_DESCRIPTOR);
    sbx_proto_put_varint(&trace->packet, DESCRIPTOR_UUID, track);
    size_t process = sbx_proto_message_begin(&trace->packet, DESCRIPTOR_PROCESS);
    sbx_proto_put_varint(&trace->packet, PROCESS_PID, pid);
    sbx_proto_put_text(&trace->packet, PROCESS_NAME, name);
    sbx_proto_message_end(&trace->packet, process);
    sbx_proto_message_end(&trace->packet, descriptor);
    packet_end(trace);
}

void sbx_perfetto_thread(struct sbx_perfetto *trace, uint64_t track, uint64_t parent, uint32_t pid, uint32_t tid,
                         const char *name)
{
    packet_begin(trace);
    size_t descriptor = sbx_proto_message_begin(&trace->packet, PACKET_TRACK_DESCRIPTOR);
    sbx_proto_put_varint(&trace->packet, DESCRIPTOR_UUID, track);
    sbx_proto_put_varint(&trace->packet, DESCRIPTOR_PARENT, parent);
    size_t thread = sbx_proto_message_begin(&trace->packet, DESCRIPTOR_THREAD);
    sbx_proto_put_varint(&trace->packet, THREAD_PID, pid);
    sbx_proto_put_varint(&trace->packet, THREAD_TID, tid);
    sbx_proto_put_text(&trace->packet, THREAD_NAME, name);
    sbx_proto_message_end(&trace->packet, thread);
    sbx_proto_message_end(&trace->packet, descriptor);
    packet_end(trace);
}

static void put_track(struct sbx_perfetto *trace, uint64_t track, uint64_t parent, const char *name, const char *unit)
{
    packet_begin(trace);
    size_t descriptor = sbx_proto_message_begin(&trace->packet, PACKET_TRACK_DESCRIPTOR);
    sbx_proto_put_varint(&trace->packet, DESCRIPTOR_UUID, track);
    sbx_proto_put_text(&trace->packet, DESCRIPTOR_NAME, name);
    sbx_proto_put_varint(&trace->packet, DESCRIPTOR_PARENT, parent);
    if (unit != NULL) {
        size_t counter = sbx_proto_message_begin(&trace->packet, DESCRIPTOR_COUNTER);
        sbx_proto_put_text(&trace->packet, COUNTER_UNIT_NAME, unit);
        sbx_proto_message_end(&trace->packet, counter);
    }
    sbx_proto_message_end(&trace->packet, descriptor);
    packet_end(trace);
}

void sbx_perfetto_track(struct sbx_perfetto *trace, uint64_t track, uint64_t parent, const char *name)
{
    put_track(trace, track, parent, name, NULL);
}

void sbx_perfetto_counter(struct sbx_perfetto *trace, uint64_t track, uint64_t parent, const char *name,
                          const char *unit)
{
    put_track(trace, track, parent, name, unit);
}

/* ---- events ---- */

void sbx_perfetto_event_begin(struct sbx_perfetto *trace, enum sbx_perfetto_event type, uint64_t track, int64_t at_ns,
                              const char *name)
{
    uint64_t iid = name == NULL ? 0 : name_iid(trace, &trace->event_names, INTERNED_EVENT_NAME, name);
    packet_begin(trace);
    put_time(trace, at_ns);
    trace->event_mark = sbx_proto_message_begin(&trace->packet, PACKET_TRACK_EVENT);
    sbx_proto_put_varint(&trace->packet, EVENT_TYPE, type);
    sbx_proto_put_varint(&trace->packet, EVENT_TRACK, track);
    if (iid != 0) {
        sbx_proto_put_varint(&trace->packet, EVENT_NAME_IID, iid);
    }
}

void sbx_perfetto_event_name(struct sbx_perfetto *trace, const char *name)
{
    sbx_proto_put_text(&trace->packet, EVENT_NAME, name);
}

void sbx_perfetto_event_end(struct sbx_perfetto *trace)
{
    sbx_proto_message_end(&trace->packet, trace->event_mark);
    packet_end(trace);
}

void sbx_perfetto_flow(struct sbx_perfetto *trace, uint64_t flow, bool terminating)
{
    sbx_proto_put_fixed64(&trace->packet, terminating ? EVENT_TERMINATING_FLOW : EVENT_FLOW, flow);
}

void sbx_perfetto_callstack(struct sbx_perfetto *trace, uint32_t stack)
{
    if (stack != 0 && stack <= trace->report->stall->callstack_count) {
        sbx_proto_put_varint(&trace->packet, EVENT_CALLSTACK_IID, callstack_iid(trace, stack));
    }
}

static size_t note_begin(struct sbx_perfetto *trace, const char *name)
{
    uint64_t iid = name_iid(trace, &trace->annotation_names, INTERNED_ANNOTATION_NAME, name);
    size_t mark = sbx_proto_message_begin(&trace->packet, EVENT_ANNOTATION);
    sbx_proto_put_varint(&trace->packet, ANNOTATION_NAME_IID, iid);
    return mark;
}

void sbx_perfetto_note_text(struct sbx_perfetto *trace, const char *name, const char *text)
{
    size_t mark = note_begin(trace, name);
    sbx_proto_put_text(&trace->packet, ANNOTATION_STRING, text);
    sbx_proto_message_end(&trace->packet, mark);
}

void sbx_perfetto_note_number(struct sbx_perfetto *trace, const char *name, double value)
{
    size_t mark = note_begin(trace, name);
    sbx_proto_put_double(&trace->packet, ANNOTATION_DOUBLE, value);
    sbx_proto_message_end(&trace->packet, mark);
}

void sbx_perfetto_note_count(struct sbx_perfetto *trace, const char *name, int64_t value)
{
    size_t mark = note_begin(trace, name);
    sbx_proto_put_varint(&trace->packet, ANNOTATION_INT, (uint64_t)value);
    sbx_proto_message_end(&trace->packet, mark);
}

void sbx_perfetto_close(struct sbx_perfetto *trace, uint64_t track, int64_t at_ns)
{
    sbx_perfetto_event_begin(trace, SBX_PERFETTO_END, track, at_ns, NULL);
    sbx_perfetto_event_end(trace);
}

void sbx_perfetto_count(struct sbx_perfetto *trace, uint64_t track, int64_t at_ns, double value)
{
    sbx_perfetto_event_begin(trace, SBX_PERFETTO_COUNTER, track, at_ns, NULL);
    sbx_proto_put_double(&trace->packet, EVENT_DOUBLE_VALUE, value);
    sbx_perfetto_event_end(trace);
}

/* ---- samples ---- */

void sbx_perfetto_sample(struct sbx_perfetto *trace, uint32_t pid, uint32_t tid, int64_t at_ns, uint32_t stack)
{
    uint64_t iid = callstack_iid(trace, stack);
    packet_begin(trace);
    put_time(trace, at_ns);
    size_t mark = sbx_proto_message_begin(&trace->packet, PACKET_PERF_SAMPLE);
    sbx_proto_put_varint(&trace->packet, SAMPLE_PID, pid);
    sbx_proto_put_varint(&trace->packet, SAMPLE_TID, tid);
    sbx_proto_put_varint(&trace->packet, SAMPLE_CALLSTACK, iid);
    sbx_proto_put_varint(&trace->packet, SAMPLE_CPU_MODE, CPU_MODE_USER);
    sbx_proto_message_end(&trace->packet, mark);
    packet_end(trace);
}
