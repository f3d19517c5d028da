/* SPDX-License-Identifier: Apache-2.0 */
/* payload_verify.c - walks once over the bytes, and then makes the checks that need two columns.
 *
 * It shares only the table of fields with the encoder. It does not use protobuf-c, because it must also find what
 * protobuf-c would skip. */
#include "payload_verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "envelope_format.h"
#include "name_tables.h"
#include "payload_numbers.h"
#include "recording_format.h"

enum {
    WIRE_VARINT = 0,
    WIRE_LENGTH = 2,
    VARINT_BYTES_MAX = 10
};
enum {
    KIND_OTHER = 5,
    KIND_RUNTIME = 6
}; /* Modules.kind */

struct walk {
    struct sbx_payload_survey *survey;
    char *why;
    size_t why_bytes;
};

struct bytes {
    const uint8_t *at, *end;
};

/* Writes the reason and refuses. */
__attribute__((format(printf, 2, 3))) static int refuse(const struct walk *walk, const char *format, ...)
{
    if (walk->why_bytes != 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(walk->why, walk->why_bytes, format, arguments);
        va_end(arguments);
    }
    return -EPERM;
}

static int refuse_field(const struct walk *walk, const struct sbx_payload_field *field, const char *reason)
{
    return refuse(walk, "field %s.%s: %s", sbx_payload_message_name(field->message), field->name, reason);
}

/* Reads the next varint, which must be in its shortest form. A longer form of the same number could carry hidden
 * data. */
static bool take_varint(struct bytes *bytes, uint64_t *value_out)
{
    uint64_t value = 0;
    for (int i = 0; i < VARINT_BYTES_MAX && bytes->at < bytes->end; i++) {
        uint8_t byte = *bytes->at++;
        if (i == VARINT_BYTES_MAX - 1 && byte > 1) {
            return false; /* more than 64 bits */
        }
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0) {
            *value_out = value;
            return i == 0 || byte != 0;
        }
    }
    return false;
}

static int64_t unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static int check_number(const struct walk *walk, const struct sbx_payload_field *field, uint64_t raw,
                        struct sbx_field_survey *survey)
{
    int64_t value;
    uint64_t size;
    if (field->type == SBX_FIELD_SINT) {
        value = unzigzag(raw);
        size = value < 0 ? (uint64_t) - (value + 1) + 1 : (uint64_t)value;
    } else {
        value = raw > INT64_MAX ? INT64_MAX : (int64_t)raw;
        size = raw;
    }
    /* A delta is the difference of two values within the bounds. */
    uint64_t max = field->type == SBX_FIELD_SINT ? 2 * field->max : field->max;
    if (size > max || size >> 41 != 0) {
        return refuse(walk, "field %s.%s: value %s%" PRIu64 " is over %" PRIu64 "%s",
                      sbx_payload_message_name(field->message), field->name, value < 0 ? "-" : "", size, max,
                      size >> 40 != 0 ? " and could be an address" : "");
    }
    if (survey->values == 0 || value < survey->min) {
        survey->min = value;
    }
    if (survey->values == 0 || value > survey->max) {
        survey->max = value;
    }
    survey->values++;
    return 0;
}

static int check_packed(const struct walk *walk, const struct sbx_payload_field *field, struct bytes content,
                        struct sbx_field_survey *survey)
{
    while (content.at < content.end) {
        uint64_t raw;
        if (!take_varint(&content, &raw)) {
            return refuse_field(walk, field, "a number is cut off or not in its shortest form");
        }
        int result = check_number(walk, field, raw, survey);
        if (result != 0) {
            return result;
        }
    }
    return 0;
}

static int check_identifier(const struct walk *walk, const struct sbx_payload_field *field, size_t bytes,
                            struct sbx_field_survey *survey)
{
    bool right = field->type == SBX_FIELD_ID         ? bytes == SBX_PAYLOAD_ID_BYTES || (bytes == 0 && field->repeated)
                 : field->type == SBX_FIELD_FUNCTION ? bytes == 8
                                                     : (bytes >= 8 && bytes <= 32) || (bytes == 0 && field->repeated);
    if (!right) {
        return refuse(walk, "field %s.%s: %zu bytes are no identifier", sbx_payload_message_name(field->message),
                      field->name, bytes);
    }
    survey->values++;
    return 0;
}

static int walk_message(const struct walk *walk, enum sbx_payload_message message, struct bytes bytes);

/* Checks one field. Its tag was read already; `begin` is where the tag began. */
static int walk_field(const struct walk *walk, const struct sbx_payload_field *field, uint64_t wire,
                      const uint8_t *begin, struct bytes *bytes)
{
    struct sbx_field_survey *survey = &walk->survey->fields[field - sbx_payload_fields];
    bool may_come_again = field->repeated && field->type >= SBX_FIELD_ID && field->type <= SBX_FIELD_FUNCTION;
    if (survey->at != NULL && !may_come_again) {
        return refuse_field(walk, field, "is there twice");
    }
    bool has_length = field->repeated || field->type >= SBX_FIELD_ID;
    if (wire != (has_length ? WIRE_LENGTH : WIRE_VARINT)) {
        return refuse(walk, "field %s.%s: wire type %" PRIu64 " is not its own",
                      sbx_payload_message_name(field->message), field->name, wire);
    }
    uint64_t number; /* the value, or a length */
    if (!take_varint(bytes, &number)) {
        return refuse_field(walk, field, "is cut off or not in its shortest form");
    }
    int result;
    if (!has_length) {
        survey->at = begin;
        survey->at_bytes = (size_t)(bytes->at - begin);
        result = check_number(walk, field, number, survey);
    } else {
        if (number > (uint64_t)(bytes->end - bytes->at)) {
            return refuse_field(walk, field, "is longer than what holds it");
        }
        struct bytes content = {bytes->at, bytes->at + number};
        survey->at = content.at;
        survey->at_bytes = (size_t)number;
        if (field->type == SBX_FIELD_MESSAGE) {
            survey->values = 1;
            survey->bytes = (uint64_t)(content.at - begin);
            walk->survey->bytes += survey->bytes;
            bytes->at = content.end;
            return walk_message(walk, field->child, content);
        }
        bytes->at = content.end;
        result = field->type >= SBX_FIELD_ID ? check_identifier(walk, field, (size_t)number, survey)
                                             : check_packed(walk, field, content, survey);
    }
    survey->bytes += (uint64_t)(bytes->at - begin);
    walk->survey->bytes += (uint64_t)(bytes->at - begin);
    return result;
}

/* The schema has two levels, so this recurses once. */
static int walk_message(const struct walk *walk, enum sbx_payload_message message, struct bytes bytes)
{
    while (bytes.at < bytes.end) {
        const uint8_t *begin = bytes.at;
        uint64_t tag;
        if (!take_varint(&bytes, &tag)) {
            return refuse(walk, "%s: a field's tag is cut off or not in its shortest form",
                          sbx_payload_message_name(message));
        }
        int index = sbx_payload_field_find(message, tag >> 3);
        if (index < 0) {
            return refuse(walk, "field %s.#%" PRIu64 ": is not in the list of what may leave",
                          sbx_payload_message_name(message), tag >> 3);
        }
        int result = walk_field(walk, &sbx_payload_fields[index], tag & 7, begin, &bytes);
        if (result != 0) {
            return result;
        }
    }
    return 0;
}

/* ---- the checks that need two columns ---- */

static const struct sbx_field_survey *survey_of(const struct walk *walk, enum sbx_payload_message message,
                                                uint64_t number)
{
    return &walk->survey->fields[sbx_payload_field_find(message, number)];
}

/* Returns a column as a stream. It was checked by the walk, so its numbers are valid. After its end it gives zeros. */
static struct bytes column(const struct walk *walk, enum sbx_payload_message message, uint64_t number)
{
    const struct sbx_field_survey *survey = survey_of(walk, message, number);
    return survey->at == NULL ? (struct bytes){NULL, NULL} : (struct bytes){survey->at, survey->at + survey->at_bytes};
}

static uint64_t next(struct bytes *stream)
{
    uint64_t value = 0;
    return stream->at < stream->end && take_varint(stream, &value) ? value : 0;
}

/* V4: counts the rows of a table. */
static int count_rows(const struct walk *walk, enum sbx_payload_message message, uint64_t *rows_out)
{
    bool first = true;
    uint64_t rows = 0;
    for (size_t i = 0; i < sbx_payload_field_count; i++) {
        if (sbx_payload_fields[i].message != message || !sbx_payload_fields[i].row) {
            continue;
        }
        uint64_t values = walk->survey->fields[i].values;
        if (!first && values != rows) {
            return refuse(walk, "field %s.%s: %" PRIu64 " values in a table of %" PRIu64 " rows",
                          sbx_payload_message_name(message), sbx_payload_fields[i].name, values, rows);
        }
        rows = values;
        first = false;
    }
    *rows_out = rows;
    return 0;
}

/* V5: checks that no value of the field is above `limit`. */
static int check_reference(const struct walk *walk, enum sbx_payload_message message, uint64_t number, uint64_t limit)
{
    int index = sbx_payload_field_find(message, number);
    const struct sbx_field_survey *survey = &walk->survey->fields[index];
    if (survey->values != 0 && (uint64_t)survey->max > limit) {
        return refuse(walk, "field %s.%s: %" PRId64 " refers to nothing (%" PRIu64 " at most)",
                      sbx_payload_message_name(message), sbx_payload_fields[index].name, survey->max, limit);
    }
    return 0;
}

struct rows {
    uint64_t modules, threads, frames, callstacks, records, watches, functions, processes, queues, runtimes;
};

static int check_references(const struct walk *walk, const struct rows *rows)
{
    const uint64_t objects =
        rows->records + rows->threads + rows->queues; /* no more objects than places that can refer to one */
    const struct {
        uint8_t message, number;
        uint64_t limit;
    } references[] = {
        {SBX_IN_TRIGGER, 2, rows->threads == 0 ? 0 : rows->threads - 1},
        {SBX_IN_TRIGGER, 10, rows->watches},
        {SBX_IN_WATCHES, 3, rows->threads},
        {SBX_IN_THREADS, 6, rows->threads},
        {SBX_IN_THREADS, 7, objects},
        {SBX_IN_THREADS, 8, rows->callstacks},
        {SBX_IN_THREADS, 9, rows->processes},
        {SBX_IN_FRAMES, 1, rows->modules + 2},
        {SBX_IN_CALLSTACKS, 1, rows->frames == 0 ? 0 : rows->frames - 1},
        {SBX_IN_QUEUES, 1, objects},
        {SBX_IN_RECORDS, 11, rows->callstacks + 1},
        {SBX_IN_RECORDS, 13, objects},
        {SBX_IN_RECORDS, 15, rows->threads},
        {SBX_IN_RECORDS, 17, rows->records},
    };
    for (size_t i = 0; i < sizeof references / sizeof references[0]; i++) {
        int result = check_reference(walk, references[i].message, references[i].number, references[i].limit);
        if (result != 0) {
            return result;
        }
    }
    return 0;
}

/* V5 and V6 for modules and thread names. */
static int check_names(const struct walk *walk)
{
    struct bytes names = column(walk, SBX_IN_MODULES, 3);
    while (names.at < names.end) {
        uint64_t name = next(&names);
        if (name != 0 && sbx_system_module_name((uint32_t)name) == NULL) {
            return refuse(walk, "field modules.name: %" PRIu64 " is not in the table", name);
        }
    }
    names = column(walk, SBX_IN_THREADS, 1);
    while (names.at < names.end) {
        uint64_t name = next(&names);
        if (name != 0 && sbx_thread_name_pattern((uint32_t)name) == sbx_thread_name_pattern(0)) {
            return refuse(walk, "field threads.name: %" PRIu64 " is not in the table", name);
        }
    }
    return 0;
}

/* V6: build-ids are single entries between the columns of the message, in the order of the rows. */
static int check_modules(const struct walk *walk)
{
    struct bytes message = column(walk, SBX_IN_PAYLOAD, 10);
    struct bytes kinds = column(walk, SBX_IN_MODULES, 1), names = column(walk, SBX_IN_MODULES, 3);
    while (message.at < message.end) {
        uint64_t tag = next(&message), length = next(&message);
        message.at += length;
        if (tag >> 3 != 2) {
            continue;
        }
        uint64_t kind = next(&kinds), name = next(&names);
        if (kind == 0) {
            return refuse(walk, "field modules.kind: 0 is none");
        }
        if (kind == KIND_OTHER && (length != 0 || name != 0)) {
            return refuse(walk, "field modules.%s: a hidden module has one", length != 0 ? "build_id" : "name");
        }
        if (kind == KIND_RUNTIME && (length != 8 || name != 0)) {
            return refuse(walk, "field modules.%s: not that of a runtime", length != 8 ? "build_id" : "name");
        }
    }
    return 0;
}

/* V5 and V6 for the starts of functions. They must not be in a hidden module, and not before the file's start. "Like
 * the row before" is allowed only if that row is in the same module and has a function. `told` is the value, `before`
 * that of the row before in the same module. */
static bool is_function_sound(uint64_t told, uint64_t before, uint8_t kind, int64_t offset)
{
    bool has_code = kind != KIND_OTHER && kind != KIND_RUNTIME;
    return told == SBX_FUNCTION_UNKNOWN ||
           (has_code && (told == SBX_FUNCTION_SAME ? before != SBX_FUNCTION_UNKNOWN
                                                   : told - SBX_FUNCTION_BEGINS <= (uint64_t)offset));
}

/* V2 and V6 for frames: offsets are sums of deltas. */
static int check_frames(const struct walk *walk, const struct rows *rows)
{
    struct bytes modules = column(walk, SBX_IN_FRAMES, 1), offsets = column(walk, SBX_IN_FRAMES, 2);
    const uint64_t offset_max = sbx_payload_fields[sbx_payload_field_find(SBX_IN_FRAMES, 2)].max;
    struct bytes kind_column = column(walk, SBX_IN_MODULES, 1);
    uint8_t kinds[SBX_MODULES_MAX + 1];
    if (rows->modules > sizeof kinds) {
        return refuse(walk, "modules: %" PRIu64 " of them, which no recording has", rows->modules);
    }
    for (uint64_t i = 0; i < rows->modules; i++) {
        kinds[i] = (uint8_t)next(&kind_column);
    }
    uint64_t told = survey_of(walk, SBX_IN_FRAMES, 4)->values, before = SBX_FUNCTION_UNKNOWN, last_module = UINT64_MAX;
    if (told != 0 && told != rows->frames) {
        return refuse(walk, "field frames.function: %" PRIu64 " values for %" PRIu64 " frames", told, rows->frames);
    }
    struct bytes functions = column(walk, SBX_IN_FRAMES, 4);
    int64_t offset = 0;
    for (uint64_t i = 0; i < rows->frames; i++) {
        uint64_t module = next(&modules), function = next(&functions);
        offset += unzigzag(next(&offsets));
        if (offset < 0 || (uint64_t)offset > offset_max) {
            return refuse(walk, "field frames.offset: row %" PRIu64 " is %" PRId64 ", no place in a file", i, offset);
        }
        uint8_t kind = module < rows->modules ? kinds[module] : KIND_OTHER;
        int64_t limit = module == rows->modules ? 15 : 0; /* in the end marker, this is the reason */
        if (kind == KIND_OTHER && offset > limit) {
            return refuse(walk, "field frames.offset: row %" PRIu64 " tells a place in a hidden module", i);
        }
        if (kind == KIND_RUNTIME && (uint64_t)offset >> SBX_LOGICAL_LINE_BITS > rows->functions) {
            return refuse(walk, "field frames.offset: row %" PRIu64 " tells a function that is not there", i);
        }
        if (!is_function_sound(function, module == last_module ? before : SBX_FUNCTION_UNKNOWN, kind, offset)) {
            return refuse(walk, "field frames.function: row %" PRIu64 " tells no function of its module", i);
        }
        before = function;
        last_module = module;
    }
    return 0;
}

/* The process is given either for all threads or for none. A process without records has no number. */
static int check_processes(const struct walk *walk, const struct rows *rows)
{
    uint64_t told = survey_of(walk, SBX_IN_THREADS, 9)->values;
    if (told != (rows->processes != 0 ? rows->threads : 0)) {
        return refuse(walk, "field threads.process: %" PRIu64 " values for %" PRIu64 " threads", told, rows->threads);
    }
    struct bytes message = column(walk, SBX_IN_PAYLOAD, 29), roles = column(walk, SBX_IN_PROCESSES, 1);
    while (message.at < message.end) {
        uint64_t tag = next(&message), length = next(&message);
        message.at += length;
        if (tag >> 3 == 2 && (next(&roles) != 0) != (length != 0)) {
            return refuse(walk, "field processes.session_id: is there without a recording, or not with one");
        }
    }
    return 0;
}

static int check_callstacks(const struct walk *walk, const struct rows *rows)
{
    struct bytes parents = column(walk, SBX_IN_CALLSTACKS, 2);
    for (uint64_t i = 0; i < rows->callstacks; i++) {
        if (next(&parents) > i) {
            return refuse(walk, "field callstacks.parent: row %" PRIu64 " points before the first", i);
        }
    }
    return 0;
}

/* V2 for a delta column of the records: the sums begin again at each thread. */
static int check_sums(const struct walk *walk, uint64_t number)
{
    const struct sbx_payload_field *field = &sbx_payload_fields[sbx_payload_field_find(SBX_IN_RECORDS, number)];
    struct bytes thread_rows = column(walk, SBX_IN_RECORDS, 1), deltas = column(walk, SBX_IN_RECORDS, number);
    while (thread_rows.at < thread_rows.end) {
        int64_t sum = 0;
        for (uint64_t left = next(&thread_rows); left > 0; left--) {
            sum += unzigzag(next(&deltas));
            if (sum > (int64_t)field->max || sum < -(int64_t)field->max) {
                return refuse(walk, "field records.%s: deltas add up to %" PRId64 ", which is out of bounds",
                              field->name, sum);
            }
        }
    }
    return 0;
}

/* Counts the rows whose flags say that they have faults and switches. */
static uint64_t count_readings(const struct walk *walk)
{
    struct bytes flags = column(walk, SBX_IN_RECORDS, 4);
    uint64_t count = 0;
    while (flags.at < flags.end) {
        count += (next(&flags) & SBX_FLAG_USAGE) != 0;
    }
    return count;
}

static int check_records(const struct walk *walk, const struct rows *rows)
{
    struct bytes thread_rows = column(walk, SBX_IN_RECORDS, 1);
    uint64_t sum = 0;
    while (thread_rows.at < thread_rows.end) {
        sum += next(&thread_rows);
    }
    if (sum != rows->records || survey_of(walk, SBX_IN_RECORDS, 1)->values != rows->threads) {
        return refuse(walk, "field records.thread_rows: does not add up to %" PRIu64 " records of %" PRIu64 " threads",
                      rows->records, rows->threads);
    }
    uint64_t readings = count_readings(walk);
    for (uint64_t number = 18; number <= 21; number++) {
        if (survey_of(walk, SBX_IN_RECORDS, number)->values != readings) {
            return refuse(walk, "field records.%s: %" PRIu64 " values for %" PRIu64 " rows that have one",
                          sbx_payload_fields[sbx_payload_field_find(SBX_IN_RECORDS, number)].name,
                          survey_of(walk, SBX_IN_RECORDS, number)->values, readings);
        }
    }
    for (uint64_t number = 1; number <= 17; number++) {
        if (sbx_payload_fields[sbx_payload_field_find(SBX_IN_RECORDS, number)].type == SBX_FIELD_SINT) {
            int result = check_sums(walk, number);
            if (result != 0) {
                return result;
            }
        }
    }
    return 0;
}

/* V7: the end of a stall refers to the stall, says how it ended, and contains nothing else. No other payload refers to
 * one. */
static int check_end(const struct walk *walk, const struct rows *rows)
{
    bool is_end = survey_of(walk, SBX_IN_TRIGGER, 1)->max == SBX_TRIGGER_END;
    if (is_end != (survey_of(walk, SBX_IN_PAYLOAD, 22)->values != 0) ||
        is_end != (survey_of(walk, SBX_IN_TRIGGER, 14)->max > SBX_END_NONE)) {
        return refuse(walk, "field payload.completes: is there without the end of a stall, or not with one");
    }
    if (is_end &&
        (rows->modules > 1 || rows->threads + rows->frames + rows->callstacks + rows->records + rows->watches +
                                      rows->functions + rows->processes + rows->queues + rows->runtimes !=
                                  0)) {
        return refuse(walk, "payload: the end of a stall tells more than that");
    }
    return 0;
}

static int check_whole(const struct walk *walk)
{
    struct rows rows = {.modules = 0};
    const struct {
        enum sbx_payload_message message;
        uint64_t *rows_out;
    } tables[] = {
        {SBX_IN_MODULES, &rows.modules},       {SBX_IN_THREADS, &rows.threads},     {SBX_IN_FRAMES, &rows.frames},
        {SBX_IN_CALLSTACKS, &rows.callstacks}, {SBX_IN_RECORDS, &rows.records},     {SBX_IN_WATCHES, &rows.watches},
        {SBX_IN_FUNCTIONS, &rows.functions},   {SBX_IN_PROCESSES, &rows.processes}, {SBX_IN_QUEUES, &rows.queues},
        {SBX_IN_RUNTIMES, &rows.runtimes},
    };
    int result = 0;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0] && result == 0; i++) {
        result = count_rows(walk, tables[i].message, tables[i].rows_out);
    }
    if (result != 0) {
        return result;
    }
    if (survey_of(walk, SBX_IN_PAYLOAD, 1)->max != 1 || survey_of(walk, SBX_IN_PAYLOAD, 2)->values == 0 ||
        survey_of(walk, SBX_IN_PAYLOAD, 3)->values == 0) {
        return refuse(walk, "payload: format 1 and both ids are not there");
    }
    for (size_t i = 0; i < sbx_payload_field_count; i++) {
        uint8_t child = sbx_payload_fields[i].child;
        bool is_needed = sbx_payload_fields[i].type == SBX_FIELD_MESSAGE && child != SBX_IN_FUNCTIONS &&
                         child != SBX_IN_SAMPLING && child != SBX_IN_PROCESSES && child != SBX_IN_QUEUES &&
                         child != SBX_IN_RUNTIMES; /* not in every payload */
        if (is_needed && walk->survey->fields[i].at == NULL) {
            return refuse_field(walk, &sbx_payload_fields[i], "is not there");
        }
    }
    if (survey_of(walk, SBX_IN_PAYLOAD, 15)->values > SBX_DROP_COUNT) {
        return refuse(walk, "field payload.drops: more counters than there are kinds");
    }
    if (survey_of(walk, SBX_IN_PAYLOAD, 17)->values > 3) {
        return refuse(walk, "field payload.app_version: more than three numbers");
    }
    if ((result = check_end(walk, &rows)) != 0 || (result = check_references(walk, &rows)) != 0 ||
        (result = check_names(walk)) != 0 || (result = check_processes(walk, &rows)) != 0 ||
        (result = check_modules(walk)) != 0 || (result = check_frames(walk, &rows)) != 0 ||
        (result = check_callstacks(walk, &rows)) != 0) {
        return result;
    }
    return check_records(walk, &rows);
}

int sbx_payload_verify(const void *payload, size_t bytes, struct sbx_payload_survey *survey_out, char *why,
                       size_t why_bytes)
{
    struct sbx_payload_survey own;
    struct walk walk = {
        .survey = survey_out != NULL ? survey_out : &own, .why = why, .why_bytes = why == NULL ? 0 : why_bytes};
    memset(walk.survey, 0, sizeof *walk.survey);
    if (bytes == 0) {
        return refuse(&walk, "payload: is empty");
    }
    if (bytes > SBX_PAYLOAD_BYTES_MAX) {
        return refuse(&walk, "payload: %zu bytes are over %d", bytes, SBX_PAYLOAD_BYTES_MAX);
    }
    int result = walk_message(&walk, SBX_IN_PAYLOAD, (struct bytes){payload, (const uint8_t *)payload + bytes});
    return result != 0 ? result : check_whole(&walk);
}
