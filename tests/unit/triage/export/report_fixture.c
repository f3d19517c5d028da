/* SPDX-License-Identifier: Apache-2.0 */
/* report_fixture.c - reports built by hand in the form that exporters get: symbolized and attributed. */
#include "report_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRAMES_MAX = 8192,
    CALLSTACKS_MAX = 65536,
    MODULES_MAX = 8,
    THREADS_MAX = 64,
    STRINGS_MAX = 32768
};
static const uint64_t FUNCTION_BYTES = 0x1000; /* distance between functions; the line is the offset inside */

struct thread_rows {
    struct sbx_stall_record *records;
    size_t count, capacity;
};

struct report_fixture {
    struct sbx_stall stall;
    struct sbx_report report;
    struct sbx_stall_module modules[MODULES_MAX];
    struct sbx_stall_thread threads[THREADS_MAX];
    struct thread_rows rows[THREADS_MAX];
    struct sbx_stall_frame frames[FRAMES_MAX];
    char *frame_texts[FRAMES_MAX];
    struct sbx_stall_callstack callstacks[CALLSTACKS_MAX + 1];
    struct sbx_location *locations;
    uint32_t location_count, location_capacity;
    uint32_t location_begin[FRAMES_MAX + 1];
    char *strings[STRINGS_MAX];
    size_t string_count;
};

static void require(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "report_fixture: %s\n", what);
        abort();
    }
}

/* Store one copy of each distinct text, for as long as the fixture lives. */
static const char *keep(struct report_fixture *fixture, const char *text, size_t length)
{
    for (size_t i = 0; i < fixture->string_count; i++) {
        if (strlen(fixture->strings[i]) == length && memcmp(fixture->strings[i], text, length) == 0) {
            return fixture->strings[i];
        }
    }
    require(fixture->string_count < STRINGS_MAX, "too many strings");
    char *copy = strndup(text, length);
    require(copy != NULL, "no memory");
    fixture->strings[fixture->string_count++] = copy;
    return copy;
}

static uint32_t module_of(struct report_fixture *fixture, const char *name, size_t length)
{
    const char *kept = keep(fixture, name, length);
    for (uint32_t i = 0; i < fixture->stall.module_count; i++) {
        if (fixture->modules[i].name == kept) {
            return i;
        }
    }
    uint32_t module = fixture->stall.module_count++;
    require(module < MODULES_MAX, "too many modules");
    fixture->modules[module] = (struct sbx_stall_module){
        .kind = module == 0 ? SBX_MODULE_KIND_APP : SBX_MODULE_KIND_SYSTEM, .build_id_bytes = 20, .name = kept};
    memset(fixture->modules[module].build_id, 0x10 + (int)module, 20);
    return module;
}

struct report_fixture *report_fixture_create(void)
{
    struct report_fixture *fixture = calloc(1, sizeof *fixture);
    require(fixture != NULL, "no memory");
    module_of(fixture, "redis-server", strlen("redis-server"));
    memset(fixture->stall.payload_id, 0xab, sizeof fixture->stall.payload_id);
    memset(fixture->stall.payload_id_text, 'a', 32);
    fixture->stall.created_day = 20000;
    memset(fixture->stall.app_build_id, 0x10, 20);
    fixture->stall.app_build_id_bytes = 20;
    fixture->stall.policy.interval_us = 1000;
    fixture->stall.policy.gap_us = 5000;
    fixture->stall.policy.async_interval_us = 5000;
    fixture->stall.trigger.kind = SBX_TRIGGER_SLOW_MESSAGE;
    fixture->stall.trigger.threshold_ms = 500;
    snprintf(fixture->report.app_name, sizeof fixture->report.app_name, "redis-server");
    fixture->report.verdict.culprit_thread = -1;
    fixture->report.verdict.culprit_function = "";
    fixture->report.verdict.location.function = "";
    fixture->report.verdict.location.module = "";
    fixture->report.verdict.class_ = SBX_CLASS_OFF_CPU;
    fixture->report.verdict.runnable_ms = -1;
    return fixture;
}

void report_fixture_destroy(struct report_fixture *fixture)
{
    if (fixture == NULL) {
        return;
    }
    for (uint32_t i = 0; i < fixture->stall.frame_count; i++) {
        free(fixture->frame_texts[i]);
    }
    for (size_t i = 0; i < fixture->string_count; i++) {
        free(fixture->strings[i]);
    }
    for (uint32_t i = 0; i < THREADS_MAX; i++) {
        free(fixture->rows[i].records);
    }
    free(fixture->locations);
    free(fixture->stall.records);
    free(fixture);
}

struct sbx_stall *report_fixture_stall(struct report_fixture *fixture)
{
    return &fixture->stall;
}

struct sbx_verdict *report_fixture_verdict(struct report_fixture *fixture)
{
    return &fixture->report.verdict;
}

uint32_t report_fixture_thread(struct report_fixture *fixture, const char *name, bool is_main)
{
    uint32_t thread = fixture->stall.thread_count++;
    require(thread < THREADS_MAX, "too many threads");
    fixture->threads[thread] = (struct sbx_stall_thread){
        .name = is_main ? "main" : name, .is_main = is_main, .runs_loop = is_main, .call_peer = -1};
    return thread;
}

struct sbx_stall_thread *report_fixture_thread_at(struct report_fixture *fixture, uint32_t thread)
{
    return &fixture->threads[thread];
}

static void add_location(struct report_fixture *fixture, struct sbx_location location)
{
    if (fixture->location_count == fixture->location_capacity) {
        fixture->location_capacity = fixture->location_capacity == 0 ? 256 : 2 * fixture->location_capacity;
        fixture->locations = realloc(fixture->locations, fixture->location_capacity * sizeof *fixture->locations);
        require(fixture->locations != NULL, "no memory");
    }
    fixture->locations[fixture->location_count++] = location;
}

/* The functions of "module!outer@3>inner", innermost first, as the symbolizer returns them. */
static void add_locations(struct report_fixture *fixture, char *text, uint32_t *module_out, uint32_t *line_out)
{
    char *name = strchr(text, '!');
    *module_out = name == NULL ? 0 : module_of(fixture, text, (size_t)(name - text));
    name = name == NULL ? text : name + 1;
    char *functions[16];
    size_t count = 0;
    for (char *function = strtok(name, ">"); function != NULL; function = strtok(NULL, ">")) {
        require(count < 16, "too many inlined calls");
        functions[count++] = function;
    }
    *line_out = 0;
    for (size_t i = count; i > 0; i--) {
        char *line_text = strchr(functions[i - 1], '@');
        uint32_t line = line_text == NULL ? 0 : (uint32_t)atoi(line_text + 1);
        size_t length = line_text == NULL ? strlen(functions[i - 1]) : (size_t)(line_text - functions[i - 1]);
        char file[256];
        snprintf(file, sizeof file, "%.*s.c", (int)length, functions[i - 1]);
        add_location(fixture, (struct sbx_location){.function = keep(fixture, functions[i - 1], length),
                                                    .module = fixture->modules[*module_out].name,
                                                    .file = line == 0 ? NULL : keep(fixture, file, strlen(file)),
                                                    .line = line,
                                                    .inlined = i > 1,
                                                    .named = strstr(functions[i - 1], "+0x") == NULL,
                                                    .app = *module_out == 0});
        *line_out = *line_out * 97 + line;
    }
}

static uint32_t frame_of(struct report_fixture *fixture, const char *text, size_t length)
{
    for (uint32_t i = 0; i < fixture->stall.frame_count; i++) {
        if (strlen(fixture->frame_texts[i]) == length && memcmp(fixture->frame_texts[i], text, length) == 0) {
            return i;
        }
    }
    uint32_t frame = fixture->stall.frame_count++;
    require(frame < FRAMES_MAX, "too many frames");
    fixture->frame_texts[frame] = strndup(text, length);
    require(fixture->frame_texts[frame] != NULL, "no memory");
    fixture->location_begin[frame] = fixture->location_count;
    if (strncmp(fixture->frame_texts[frame], "[end:", 5) == 0) {
        fixture->frames[frame] =
            (struct sbx_stall_frame){.kind = SBX_FRAME_END, .offset = (uint64_t)atoi(fixture->frame_texts[frame] + 5)};
    } else if (strcmp(fixture->frame_texts[frame], "[cut]") == 0) {
        fixture->frames[frame] = (struct sbx_stall_frame){.kind = SBX_FRAME_CUT};
        add_location(fixture,
                     (struct sbx_location){.function = keep(fixture, "[... frames left out]", 21), .module = ""});
    } else {
        char *copy = strndup(text, length);
        require(copy != NULL, "no memory");
        uint32_t module, line;
        add_locations(fixture, copy, &module, &line);
        free(copy);
        fixture->frames[frame] = (struct sbx_stall_frame){
            .kind = SBX_FRAME_CODE, .module = module, .offset = FUNCTION_BYTES * (frame + 1) + line};
    }
    fixture->location_begin[frame + 1] = fixture->location_count;
    return frame;
}

uint32_t report_fixture_stack(struct report_fixture *fixture, const char *text)
{
    uint32_t parent = 0;
    while (*text != '\0') {
        size_t length = strcspn(text, ";");
        uint32_t frame = frame_of(fixture, text, length), found = 0;
        for (uint32_t id = parent + 1; id <= fixture->stall.callstack_count && found == 0; id++) {
            if (fixture->callstacks[id].parent == parent && fixture->callstacks[id].frame == frame) {
                found = id;
            }
        }
        if (found == 0) {
            found = ++fixture->stall.callstack_count;
            require(found <= CALLSTACKS_MAX, "too many callstacks");
            fixture->callstacks[found] = (struct sbx_stall_callstack){.frame = frame, .parent = parent};
        }
        parent = found;
        text += length + (text[length] == ';');
    }
    return parent;
}

void report_fixture_record(struct report_fixture *fixture, struct sbx_stall_record record)
{
    require(record.thread < fixture->stall.thread_count, "no such thread");
    struct thread_rows *rows = &fixture->rows[record.thread];
    require(rows->count == 0 || record.end_ns >= rows->records[rows->count - 1].end_ns, "records are ordered by end");
    if (rows->count == rows->capacity) {
        rows->capacity = rows->capacity == 0 ? 64 : 2 * rows->capacity;
        rows->records = realloc(rows->records, rows->capacity * sizeof *rows->records);
        require(rows->records != NULL, "no memory");
    }
    rows->records[rows->count++] = record;
}

static struct sbx_stall_record new_record(uint32_t thread, enum sbx_record_kind kind, double begin_ms, double end_ms)
{
    return (struct sbx_stall_record){.thread = thread,
                                     .kind = (uint8_t)kind,
                                     .begin_ns = ms_to_ns(begin_ms),
                                     .end_ns = ms_to_ns(end_ms),
                                     .cpu_ns = -1,
                                     .peer = -1};
}

void report_fixture_sample(struct report_fixture *fixture, uint32_t thread, double at_ms, uint64_t message,
                           double cpu_ms, const char *stack)
{
    struct sbx_stall_record record = new_record(thread, SBX_RECORD_ASYNC, at_ms, at_ms);
    record.message = message;
    record.cpu_ns = cpu_ms < 0 ? -1 : ms_to_ns(cpu_ms);
    record.stack = report_fixture_stack(fixture, stack);
    report_fixture_record(fixture, record);
}

void report_fixture_wait(struct report_fixture *fixture, uint32_t thread, enum sbx_record_kind kind, enum sbx_op op,
                         double begin_ms, double end_ms, uint64_t message, double cpu_ms, const char *stack)
{
    struct sbx_stall_record record = new_record(thread, kind, begin_ms, end_ms);
    record.op = (uint8_t)op;
    record.message = message;
    record.cpu_ns = cpu_ms < 0 ? -1 : ms_to_ns(cpu_ms);
    record.stack = report_fixture_stack(fixture, stack);
    report_fixture_record(fixture, record);
}

void report_fixture_idle(struct report_fixture *fixture, uint32_t thread, double begin_ms, double end_ms)
{
    struct sbx_stall_record record = new_record(thread, SBX_RECORD_IDLE, begin_ms, end_ms);
    record.op = SBX_OP_EPOLL_WAIT;
    report_fixture_record(fixture, record);
}

void report_fixture_message(struct report_fixture *fixture, uint32_t thread, double begin_ms, double end_ms,
                            uint64_t message, uint64_t merged)
{
    struct sbx_stall_record record = new_record(thread, SBX_RECORD_MESSAGE, begin_ms, end_ms);
    record.message = message;
    record.amount = merged;
    report_fixture_record(fixture, record);
}

const struct sbx_report *report_fixture_report(struct report_fixture *fixture)
{
    struct sbx_stall *stall = &fixture->stall;
    free(stall->records);
    stall->record_count = 0;
    for (uint32_t thread = 0; thread < stall->thread_count; thread++) {
        fixture->threads[thread].record_begin = stall->record_count;
        fixture->threads[thread].record_count = fixture->rows[thread].count;
        stall->record_count += fixture->rows[thread].count;
    }
    stall->records = calloc(stall->record_count + 1, sizeof *stall->records);
    require(stall->records != NULL, "no memory");
    for (uint32_t thread = 0; thread < stall->thread_count; thread++) {
        if (fixture->rows[thread].count > 0) {
            memcpy(stall->records + fixture->threads[thread].record_begin, fixture->rows[thread].records,
                   fixture->rows[thread].count * sizeof *stall->records);
        }
    }
    stall->modules = fixture->modules;
    stall->threads = fixture->threads;
    stall->frames = fixture->frames;
    stall->callstacks = fixture->callstacks;
    fixture->report.stall = stall;
    fixture->report.locations = fixture->locations;
    fixture->report.location_begin = fixture->location_begin;
    return &fixture->report;
}

int report_fixture_begin(void **state)
{
    struct report_fixture *fixture = report_fixture_create();
    report_fixture_thread(fixture, "main", true);
    *state = fixture;
    return 0;
}

int report_fixture_end(void **state)
{
    report_fixture_destroy(*state);
    return 0;
}
