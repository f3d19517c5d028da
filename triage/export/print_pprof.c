/* SPDX-License-Identifier: Apache-2.0 */
/* print_pprof.c - a report as a profile that pprof, Speedscope, Parca, Pyroscope and others read (profile.proto, gzip).
 *
 * All threads over the history (thread_spans.h), without idle time. Each sample has three values: how often it was
 * observed, and its time on and off the CPU in microseconds. Unmeasured time is split by the thread's CPU clock. Time
 * of which nothing is known counts in neither. Labels: thread, state, kind (what made the observation). A wait is one
 * more frame. */
#include "exporters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "call_path.h"
#include "clean_text.h"
#include "gzip_stream.h"
#include "names.h"
#include "proto_writer.h"
#include "queued_stacks.h"
#include "report.h"
#include "span_pieces.h"
#include "text_table.h"
#include "thread_spans.h"

/* Field numbers of profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NS = 9,
    PROFILE_DURATION_NS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14,
    TYPE_TYPE = 1,
    TYPE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_TEXT = 2,
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILES = 8,
    MAPPING_HAS_LINES = 9,
    MAPPING_HAS_INLINES = 10,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_FILE = 4,
};

enum {
    CHAINS_MAX = 1 << 17, /* distinct stack prefixes; after that, time of deeper frames goes to the last chain */
    MODULE_SHIFT = 48,    /* each module has an address range of its own: offsets have 47 bits */
    NS_PER_US = 1000,
    BUILD_ID_TEXT_BYTES = 65,
};
#define NS_PER_DAY (INT64_C(86400) * 1000000000)

struct values {
    uint64_t observations;
    double on_cpu_ns, off_cpu_ns; /* exact enough: 2^53 ns are 104 days */
};

struct profile {
    const struct sbx_report *report;
    struct sbx_proto_writer out;
    struct sbx_text_table strings;   /* number i is string i - 1; the first string must be "" */
    struct sbx_text_table functions; /* (name, string of the file) */
    struct sbx_text_table mappings;  /* module index */
    struct sbx_text_table locations; /* frame and number of its functions; waits by name */
    struct sbx_text_table chains;    /* (outer chain or 0, location): the chain of a leaf is a stack */
    struct sbx_text_table samples;   /* chain and thread; kind and state */
    struct values *values;           /* by sample */
    size_t values_capacity;
    char (*labels)[128];                    /* by thread; borrowed by `strings` */
    char (*build_ids)[BUILD_ID_TEXT_BYTES]; /* by module, likewise */
    uint32_t thread;                        /* the thread whose pieces are being added */
    int64_t history_begin_ns;               /* earlier time is not counted */
    bool is_async;                          /* with the stacks of submitters under the work of tasks */
    bool failed;
};

static uint32_t number_of(struct profile *profile, struct sbx_text_table *table, const char *text, uint64_t a,
                          uint64_t b, bool *is_new)
{
    uint32_t number = sbx_text_table_number(table, text, a, b, is_new);
    profile->failed |= number == 0;
    return number;
}

/* The index of `text` (borrowed until the end) in the string table. */
static uint64_t string_of(struct profile *profile, const char *text)
{
    bool is_new;
    uint32_t number = number_of(profile, &profile->strings, text == NULL ? "" : text, 0, 0, &is_new);
    return number == 0 ? 0 : number - 1;
}

static uint64_t function_of(struct profile *profile, const char *name, const char *file)
{
    uint64_t file_string = string_of(profile, file);
    bool is_new;
    uint32_t id = number_of(profile, &profile->functions, name, file_string, 0, &is_new);
    if (is_new) {
        size_t mark = sbx_proto_message_begin(&profile->out, PROFILE_FUNCTION);
        sbx_proto_put_varint(&profile->out, FUNCTION_ID, id);
        sbx_proto_put_varint(&profile->out, FUNCTION_NAME, string_of(profile, name));
        sbx_proto_put_varint(&profile->out, FUNCTION_FILE, file_string);
        sbx_proto_message_end(&profile->out, mark);
    }
    return id;
}

static const char *build_id_text(struct profile *profile, uint32_t module)
{
    const struct sbx_stall_module *self = &profile->report->stall->modules[module];
    char *text = profile->build_ids[module];
    for (uint32_t i = 0; i < self->build_id_bytes && i < sizeof self->build_id; i++) {
        snprintf(text + 2 * i, 3, "%02x", self->build_id[i]);
    }
    return text;
}

static uint64_t mapping_of(struct profile *profile, uint32_t module, const char *name)
{
    uint64_t name_string = string_of(profile, name);
    bool is_new;
    uint32_t id = number_of(profile, &profile->mappings, NULL, module, 0, &is_new);
    if (is_new) {
        struct sbx_proto_writer *out = &profile->out;
        uint64_t start = ((uint64_t)module + 1) << MODULE_SHIFT;
        size_t mark = sbx_proto_message_begin(out, PROFILE_MAPPING);
        sbx_proto_put_varint(out, MAPPING_ID, id);
        sbx_proto_put_varint(out, MAPPING_START, start);
        sbx_proto_put_varint(out, MAPPING_LIMIT, start + (UINT64_C(1) << MODULE_SHIFT) - 1);
        sbx_proto_put_varint(out, MAPPING_FILE, name_string);
        sbx_proto_put_varint(out, MAPPING_BUILD_ID, string_of(profile, build_id_text(profile, module)));
        /* Already symbolized: a consumer must not look for the file and try again. */
        sbx_proto_put_varint(out, MAPPING_HAS_FUNCTIONS, true);
        sbx_proto_put_varint(out, MAPPING_HAS_FILES, true);
        sbx_proto_put_varint(out, MAPPING_HAS_LINES, true);
        sbx_proto_put_varint(out, MAPPING_HAS_INLINES, true);
        sbx_proto_message_end(out, mark);
    }
    return id;
}

/* By the format's convention, the first mapping is the program. */
static void put_main_mapping(struct profile *profile)
{
    const struct sbx_stall *stall = profile->report->stall;
    for (uint32_t module = 0; module < stall->module_count && module < UINT16_MAX; module++) {
        const struct sbx_stall_module *self = &stall->modules[module];
        bool is_program = self->build_id_bytes > 0 && self->build_id_bytes == stall->app_build_id_bytes &&
                          memcmp(self->build_id, stall->app_build_id, self->build_id_bytes) == 0;
        if (is_program) {
            mapping_of(profile, module, profile->report->app_name);
            return;
        }
    }
}

static void put_line(struct profile *profile, uint64_t function, uint32_t line)
{
    size_t mark = sbx_proto_message_begin(&profile->out, LOCATION_LINE);
    sbx_proto_put_varint(&profile->out, LINE_FUNCTION, function);
    sbx_proto_put_varint(&profile->out, LINE_LINE, line);
    sbx_proto_message_end(&profile->out, mark);
}

/* `count` functions of one address, outermost first. A location lists them innermost first. */
static uint32_t location_of(struct profile *profile, const struct sbx_path_frame *path, size_t count)
{
    const struct sbx_stall *stall = profile->report->stall;
    bool is_new;
    uint32_t id = number_of(profile, &profile->locations, NULL, path[0].frame, count, &is_new);
    if (!is_new) {
        return id;
    }
    bool is_code = path[0].frame < stall->frame_count && stall->frames[path[0].frame].kind == SBX_FRAME_CODE;
    const struct sbx_stall_frame *frame = is_code ? &stall->frames[path[0].frame] : NULL;
    bool is_mapped = is_code && frame->module < stall->module_count && frame->module < UINT16_MAX;
    uint64_t mapping = is_mapped ? mapping_of(profile, frame->module, path[0].location->module) : 0;
    uint64_t functions[SBX_CALL_PATH_MAX];
    for (size_t i = 0; i < count; i++) {
        functions[i] = function_of(profile, path[i].location->function, path[i].location->file);
    }
    size_t mark = sbx_proto_message_begin(&profile->out, PROFILE_LOCATION);
    sbx_proto_put_varint(&profile->out, LOCATION_ID, id);
    if (is_mapped) {
        uint64_t offset = frame->offset & ((UINT64_C(1) << MODULE_SHIFT) - 1);
        sbx_proto_put_varint(&profile->out, LOCATION_MAPPING, mapping);
        sbx_proto_put_varint(&profile->out, LOCATION_ADDRESS, (((uint64_t)frame->module + 1) << MODULE_SHIFT) + offset);
    }
    for (size_t i = count; i > 0; i--) {
        put_line(profile, functions[i - 1], path[i - 1].location->line);
    }
    sbx_proto_message_end(&profile->out, mark);
    return id;
}

static uint32_t location_of_wait(struct profile *profile, const char *name)
{
    bool is_new;
    uint32_t id = number_of(profile, &profile->locations, name, UINT64_MAX, 0, &is_new);
    if (is_new) {
        uint64_t function = function_of(profile, name, NULL);
        size_t mark = sbx_proto_message_begin(&profile->out, PROFILE_LOCATION);
        sbx_proto_put_varint(&profile->out, LOCATION_ID, id);
        put_line(profile, function, 0);
        sbx_proto_message_end(&profile->out, mark);
    }
    return id;
}

/* One location further in. The chain stays the same if no more chains may be made. */
static uint32_t step_in(struct profile *profile, uint32_t chain, uint32_t location)
{
    bool is_new;
    return profile->chains.count >= CHAINS_MAX ? chain
                                               : number_of(profile, &profile->chains, NULL, chain, location, &is_new);
}

static uint32_t chain_of(struct profile *profile, const struct sbx_piece *piece)
{
    uint32_t chain = 0;
    for (size_t i = 0; i < piece->path_count;) {
        size_t count = 1;
        while (i + count < piece->path_count && piece->path[i + count].frame == piece->path[i].frame &&
               piece->path[i + count].location->inlined) {
            count++;
        }
        chain = step_in(profile, chain, location_of(profile, &piece->path[i], count));
        i += count;
    }
    return piece->wait == NULL ? chain : step_in(profile, chain, location_of_wait(profile, piece->wait));
}

static int add_piece(void *context, const struct sbx_piece *piece)
{
    struct profile *profile = context;
    int64_t begin_ns = piece->begin_ns > profile->history_begin_ns ? piece->begin_ns : profile->history_begin_ns;
    bool counts = piece->is_evidence ? piece->end_ns >= begin_ns : piece->end_ns > begin_ns;
    if (piece->state == SBX_SPAN_IDLE || !counts || (piece->path_count == 0 && piece->wait == NULL)) {
        return 0;
    }
    uint32_t chain = chain_of(profile, piece);
    bool is_new;
    uint32_t sample = number_of(profile, &profile->samples, NULL, (uint64_t)chain << 32 | profile->thread,
                                (uint64_t)piece->span->kind << 8 | piece->state, &is_new);
    if (sample > profile->values_capacity) {
        size_t capacity = profile->values_capacity == 0 ? 256 : profile->values_capacity * 2;
        struct values *grown = realloc(profile->values, capacity * sizeof *grown);
        if (grown == NULL) {
            return -ENOMEM;
        }
        profile->values = grown;
        profile->values_capacity = capacity;
    }
    if (profile->failed) {
        return -ENOMEM;
    }
    struct values *values = &profile->values[sample - 1];
    if (is_new) {
        *values = (struct values){0};
    }
    double length_ns = (double)(piece->end_ns - begin_ns);
    double share = piece->cpu_share >= 0 ? piece->cpu_share : piece->state == SBX_SPAN_ON_CPU ? 1 : 0;
    bool known = piece->cpu_share >= 0 || piece->state != SBX_SPAN_UNKNOWN;
    values->observations += piece->looks;
    values->on_cpu_ns += known ? share * length_ns : 0;
    values->off_cpu_ns += known ? (1 - share) * length_ns : 0;
    return 0;
}

static int add_thread(struct profile *profile, const struct sbx_call_paths *paths, uint32_t thread)
{
    struct sbx_thread_spans spans;
    int result = sbx_thread_spans_init(&spans, profile->report->stall, thread);
    if (result != 0) {
        return result;
    }
    profile->thread = thread;
    result = profile->is_async ? sbx_queued_pieces_visit(profile->report, thread, &spans, paths, add_piece, profile)
                               : sbx_span_pieces_visit(&spans, paths, add_piece, profile);
    sbx_thread_spans_finish(&spans);
    return result;
}

static void put_type(struct profile *profile, uint32_t field, const char *type, const char *unit)
{
    uint64_t type_string = string_of(profile, type), unit_string = string_of(profile, unit);
    size_t mark = sbx_proto_message_begin(&profile->out, field);
    sbx_proto_put_varint(&profile->out, TYPE_TYPE, type_string);
    sbx_proto_put_varint(&profile->out, TYPE_UNIT, unit_string);
    sbx_proto_message_end(&profile->out, mark);
}

static void put_label(struct profile *profile, const char *key, const char *text)
{
    uint64_t key_string = string_of(profile, key), text_string = string_of(profile, text);
    size_t mark = sbx_proto_message_begin(&profile->out, SAMPLE_LABEL);
    sbx_proto_put_varint(&profile->out, LABEL_KEY, key_string);
    sbx_proto_put_varint(&profile->out, LABEL_TEXT, text_string);
    sbx_proto_message_end(&profile->out, mark);
}

static void put_sample(struct profile *profile, uint32_t number)
{
    struct sbx_proto_writer *out = &profile->out;
    const struct sbx_text_entry key = profile->samples.entries[number - 1];
    const struct values *values = &profile->values[number - 1];
    size_t mark = sbx_proto_message_begin(out, PROFILE_SAMPLE);
    size_t packed = sbx_proto_message_begin(out, SAMPLE_LOCATION);
    for (uint64_t chain = key.a >> 32; chain != 0; chain = profile->chains.entries[chain - 1].a) {
        sbx_proto_put_packed(out, profile->chains.entries[chain - 1].b); /* leaf first, as the format requires */
    }
    sbx_proto_message_end(out, packed);
    packed = sbx_proto_message_begin(out, SAMPLE_VALUE);
    sbx_proto_put_packed(out, values->observations);
    sbx_proto_put_packed(out, (uint64_t)(values->on_cpu_ns / NS_PER_US + 0.5));
    sbx_proto_put_packed(out, (uint64_t)(values->off_cpu_ns / NS_PER_US + 0.5));
    sbx_proto_message_end(out, packed);
    put_label(profile, "thread", profile->labels[(uint32_t)key.a]);
    put_label(profile, "kind", sbx_record_name((uint32_t)(key.b >> 8)));
    put_label(profile, "state", sbx_span_state_name((enum sbx_span_state)(key.b & 0xff)));
    sbx_proto_message_end(out, mark);
}

static void put_all(struct profile *profile)
{
    struct sbx_proto_writer *out = &profile->out;
    const struct sbx_report *report = profile->report;
    put_type(profile, PROFILE_SAMPLE_TYPE, "samples", "count");
    put_type(profile, PROFILE_SAMPLE_TYPE, "on_cpu", "microseconds");
    put_type(profile, PROFILE_SAMPLE_TYPE, "off_cpu", "microseconds");
    for (uint32_t number = 1; number <= profile->samples.count; number++) {
        put_sample(profile, number);
    }
    sbx_proto_put_varint(out, PROFILE_TIME_NS, (uint64_t)(report->stall->created_day * NS_PER_DAY));
    sbx_proto_put_varint(out, PROFILE_DURATION_NS, (uint64_t)report->stall->trigger.history_ns);
    put_type(profile, PROFILE_PERIOD_TYPE, "wall", "microseconds");
    sbx_proto_put_varint(out, PROFILE_PERIOD, report->stall->policy.interval_us);
    sbx_proto_put_varint(out, PROFILE_COMMENT, string_of(profile, report->app_name));
    sbx_proto_put_varint(out, PROFILE_COMMENT, string_of(profile, report->verdict.headline));
    bool is_busy = report->verdict.class_ == SBX_CLASS_ON_CPU;
    sbx_proto_put_varint(out, PROFILE_DEFAULT_TYPE, string_of(profile, is_busy ? "on_cpu" : "off_cpu"));
    for (uint32_t i = 0; i < profile->strings.count; i++) { /* last, when all numbers are assigned */
        sbx_proto_put_text(out, PROFILE_STRING, profile->strings.entries[i].text);
    }
}

static int print_pprof(const struct sbx_report *report, FILE *out, bool is_async)
{
    const struct sbx_stall *stall = report->stall;
    struct profile profile = {.report = report, .is_async = is_async};
    struct sbx_text_table *const tables[] = {&profile.strings,   &profile.functions, &profile.mappings,
                                             &profile.locations, &profile.chains,    &profile.samples};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        sbx_text_table_init(tables[i]);
    }
    sbx_proto_writer_init(&profile.out);
    int result = -ENOMEM;
    profile.labels = calloc((size_t)stall->thread_count + 1, sizeof *profile.labels);
    profile.build_ids = calloc((size_t)stall->module_count + 1, sizeof *profile.build_ids);
    struct sbx_call_paths *paths = sbx_call_paths_create(report);
    if (profile.labels == NULL || profile.build_ids == NULL || paths == NULL) {
        goto free_all;
    }
    profile.history_begin_ns = sbx_history_begin_ns(stall, report->verdict.interval_begin_ns);
    string_of(&profile, ""); /* index 0 must be the empty string */
    put_main_mapping(&profile);
    result = 0;
    for (uint32_t thread = 0; thread < stall->thread_count && result == 0; thread++) {
        sbx_thread_label(stall, thread, profile.labels[thread], sizeof profile.labels[thread]);
        result = add_thread(&profile, paths, thread);
    }
    if (result != 0) {
        goto free_all;
    }
    put_all(&profile);
    if (profile.failed || profile.out.failed) {
        result = -ENOMEM;
        goto free_all;
    }
    result = sbx_gzip_write(profile.out.bytes, profile.out.count, out);
    if (result == 0 && fflush(out) != 0) {
        result = -errno;
    }
free_all:
    sbx_call_paths_destroy(paths);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        sbx_text_table_finish(tables[i]);
    }
    sbx_proto_writer_finish(&profile.out);
    free(profile.values);
    free(profile.labels);
    free(profile.build_ids);
    return result;
}

int sbx_print_pprof(const struct sbx_report *report, FILE *out)
{
    return print_pprof(report, out, false);
}

int sbx_print_async_pprof(const struct sbx_report *report, FILE *out)
{
    return print_pprof(report, out, true);
}
