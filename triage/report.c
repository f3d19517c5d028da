/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - a stall with names.
 *
 * Symbolizes each frame once, module by module, so that each symbol file is opened once however many modules a payload
 * names. */
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "build_id.h"
#include "names.h"
#include "symbol_places.h"
#include "symbolizer.h"

#define TEXT_BYTES_MAX ((size_t)128 << 20)
enum {
    LOCATIONS_MAX = 4 << 20
};

/* The state of one sbx_report_create(). */
struct naming {
    struct sbx_report *report;
    struct sbx_symbolizer *symbolizer;
    struct sbx_symbol_frame *found; /* NAMING_FRAMES entries */
    const char **module_names;      /* by module */
    struct sbx_location *locations; /* in the order in which they were found */
    uint32_t location_count, location_room;
    uint64_t *addresses; /* working memory for the frames of one module */
    uint32_t *first;     /* by frame: index of its first location in `locations` */
    uint32_t *counts;    /* by frame: number of its locations */
};
enum {
    NAMING_FRAMES = 64
};

static const char *intern(struct naming *naming, const char *text)
{
    return sbx_arena_intern(naming->report->arena, text);
}

static int add_location(struct naming *naming, struct sbx_location location)
{
    if (naming->location_count == naming->location_room) {
        uint32_t room = naming->location_room == 0 ? 1024 : naming->location_room * 2;
        struct sbx_location *grown =
            room > LOCATIONS_MAX ? NULL : realloc(naming->locations, room * sizeof *naming->locations);
        if (grown == NULL) {
            return -ENOMEM;
        }
        naming->locations = grown;
        naming->location_room = room;
    }
    if (location.function == NULL || location.module == NULL) {
        return -ENOMEM; /* the arena had no room for the text */
    }
    naming->locations[naming->location_count++] = location;
    return 0;
}

static const char *base_name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* The number of a runtime's provider: its build-id, 8 bytes in big endian. */
static uint64_t provider_of(const struct sbx_stall_module *module)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < 8; i++) {
        number = number << 8 | module->build_id[i];
    }
    return number;
}

/* The name of the module for people: from the table, from its file, or from its build-id. */
static const char *module_name(struct naming *naming, const struct sbx_stall_module *module, const char *path)
{
    char text[64], hex[2 * SBX_BUILD_ID_BYTES_MAX + 1];
    if (module->kind == SBX_MODULE_KIND_VDSO) {
        return intern(naming, "[vdso]");
    }
    if (module->name != NULL) {
        return intern(naming, module->name);
    }
    if (module->kind == SBX_MODULE_KIND_RUNTIME) {
        struct sbx_provider_map *map = sbx_symbolizer_providers(naming->symbolizer);
        const char *name = map == NULL ? NULL : sbx_provider_map_name(map, provider_of(module));
        snprintf(text, sizeof text, "runtime %016llx", (unsigned long long)provider_of(module));
        return intern(naming, name != NULL ? name : text);
    }
    if (path != NULL) {
        return intern(naming, base_name_of(path));
    }
    if (module->kind == SBX_MODULE_KIND_AGENT) {
        return intern(naming, "[stallbox]");
    }
    if (module->build_id_bytes == 0) {
        return intern(naming, module->kind == SBX_MODULE_KIND_OTHER ? "[hidden]" : "[unknown module]");
    }
    sbx_build_id_format(module->build_id, module->build_id_bytes, hex);
    snprintf(text, sizeof text, "build-id %.8s", hex);
    return intern(naming, text);
}

/* ---- frames ---- */

static int name_marker(struct naming *naming, const struct sbx_stall_frame *frame)
{
    char text[64];
    if (frame->kind == SBX_FRAME_GENERATED) {
        const char *name = intern(naming, "[generated]");
        return add_location(naming, (struct sbx_location){.function = name, .module = name});
    }
    if (frame->kind == SBX_FRAME_CUT) {
        return add_location(naming, (struct sbx_location){.function = intern(naming, "[... frames left out]"),
                                                          .module = intern(naming, "")});
    }
    snprintf(text, sizeof text, "[stack ends here: %s]",
             sbx_walk_end_name(frame->offset > UINT32_MAX ? UINT32_MAX : (uint32_t)frame->offset));
    return add_location(naming, (struct sbx_location){.function = intern(naming, text), .module = intern(naming, "")});
}

static const char no_source[] = "none";

/* A function of an embedded runtime. The line is the executed one if it is known, else that of the definition. */
static int name_logical(struct naming *naming, const struct sbx_stall_frame *frame)
{
    struct sbx_location location = {.module = naming->module_names[frame->module],
                                    .line = frame->line,
                                    .app = true,
                                    .logical = true,
                                    .source = no_source};
    struct sbx_provider_map *map = sbx_symbolizer_providers(naming->symbolizer);
    const struct sbx_stall_module *module = &naming->report->stall->modules[frame->module];
    const struct sbx_provider_function *found =
        map == NULL || frame->offset == 0 ? NULL : sbx_provider_map_find(map, provider_of(module), frame->offset);
    char unnamed[64];
    if (found != NULL) {
        location.named = true;
        location.source = "runtime";
        location.function = intern(naming, found->function);
        location.file = found->file[0] == '\0' ? NULL : intern(naming, found->file);
        location.line = sbx_provider_line(found, frame->line);
    } else if (frame->offset == 0) {
        location.function = intern(naming, "[unknown function]");
    } else {
        snprintf(unnamed, sizeof unnamed, "function %016llx", (unsigned long long)frame->offset);
        location.function = intern(naming, unnamed);
    }
    return add_location(naming, location);
}

/* The address of the frame's code. If the called function never returns, a return address may lie after the calling
 * function. So one byte before it is used, which is in the call. */
static uint64_t address_of(const struct sbx_stall_frame *frame)
{
    return frame->exact || frame->offset == 0 ? frame->offset : frame->offset - 1;
}

static int name_code(struct naming *naming, const struct sbx_stall_frame *frame, struct sbx_symbol_file *file)
{
    const struct sbx_stall_module *module = &naming->report->stall->modules[frame->module];
    struct sbx_location location = {
        .module = naming->module_names[frame->module], .app = module->kind == SBX_MODULE_KIND_APP, .source = no_source};
    uint64_t address = address_of(frame);
    char unnamed[SBX_NAME_BYTES_MAX];
    uint64_t place = frame->function != 0 ? frame->function : frame->offset; /* equal places of one function are one */
    snprintf(unnamed, sizeof unnamed, "%.200s+0x%llx", location.module, (unsigned long long)place);
    enum sbx_symbol_source source;
    size_t count = file == NULL ? 0 : sbx_symbol_file_find(file, address, naming->found, NAMING_FRAMES, &source);
    if (module->kind == SBX_MODULE_KIND_OTHER) {
        location.function = intern(naming, "[hidden]");
        return add_location(naming, location);
    }
    if (count == 0) {
        location.function = intern(naming, unnamed);
        return add_location(naming, location);
    }
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        const struct sbx_symbol_frame *found = &naming->found[i];
        location.named = found->function[0] != '\0';
        location.source = location.named ? sbx_symbol_source_name(source) : no_source;
        location.function = intern(naming, location.named ? found->function : unnamed);
        location.file = found->file == NULL ? NULL : intern(naming, found->file);
        location.line = found->line;
        location.inlined = found->inlined;
        result = add_location(naming, location);
    }
    return result;
}

static int name_frame(struct naming *naming, uint32_t index, struct sbx_symbol_file *file)
{
    const struct sbx_stall_frame *frame = &naming->report->stall->frames[index];
    naming->first[index] = naming->location_count;
    int result = frame->kind == SBX_FRAME_CODE      ? name_code(naming, frame, file)
                 : frame->kind == SBX_FRAME_LOGICAL ? name_logical(naming, frame)
                                                    : name_marker(naming, frame);
    naming->counts[index] = naming->location_count - naming->first[index];
    return result;
}

/* Sort the frames by module: `order_out` has frame_count entries, and those of module m are [begin_out[m], begin_out[m
 * + 1]). Markers come last, like a module after all others. */
static void order_by_module(const struct sbx_stall *stall, uint32_t *order_out, uint32_t *begin_out)
{
    memset(begin_out, 0, ((size_t)stall->module_count + 2) * sizeof *begin_out);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < stall->frame_count; i++) {
            const struct sbx_stall_frame *frame = &stall->frames[i];
            bool has_module = frame->kind == SBX_FRAME_CODE || frame->kind == SBX_FRAME_LOGICAL;
            uint32_t module = has_module ? frame->module : stall->module_count;
            if (pass == 0) {
                begin_out[module + 1]++;
            } else {
                order_out[begin_out[module]++] = i;
            }
        }
        if (pass == 0) { /* from counts to begins */
            for (uint32_t m = 1; m <= stall->module_count + 1; m++) {
                begin_out[m] += begin_out[m - 1];
            }
        }
    }
    memmove(begin_out + 1, begin_out, ((size_t)stall->module_count + 1) * sizeof *begin_out);
    begin_out[0] = 0;
}

static bool is_executable(const struct sbx_stall *stall, const struct sbx_stall_module *module)
{
    return stall->app_build_id_bytes > 0 && module->build_id_bytes == stall->app_build_id_bytes &&
           memcmp(module->build_id, stall->app_build_id, module->build_id_bytes) == 0;
}

/* Record the module if symbols of it would help. `begin` and `end`: its frames in `order`. */
static int note_gap(struct naming *naming, uint32_t m, const uint32_t *order, uint32_t begin, uint32_t end,
                    const struct sbx_symbol_file *file, const char *path)
{
    struct sbx_report *report = naming->report;
    const struct sbx_stall_module *module = &report->stall->modules[m];
    bool is_runtime = module->kind == SBX_MODULE_KIND_RUNTIME,
         has_dwarf = file != NULL && sbx_symbol_file_has_dwarf(file);
    if (module->build_id_bytes == 0 || begin == end ||
        (module->kind != SBX_MODULE_KIND_APP && module->kind != SBX_MODULE_KIND_SYSTEM && !is_runtime)) {
        return 0;
    }
    uint32_t unnamed = 0;
    for (uint32_t i = begin; i < end; i++) {
        uint32_t first = naming->first[order[i]];
        unnamed += !naming->locations[first].named && (!is_runtime || report->stall->frames[order[i]].offset != 0);
    }
    if (has_dwarf || (unnamed == 0 && module->kind != SBX_MODULE_KIND_APP)) {
        return 0;
    }
    if (report->gaps == NULL) {
        report->gaps = sbx_arena_take(report->arena, report->stall->module_count * sizeof *report->gaps);
        if (report->gaps == NULL) {
            return -ENOMEM;
        }
    }
    bool is_told =
        module->name != NULL || path != NULL || (is_runtime && strncmp(naming->module_names[m], "runtime ", 8) != 0);
    report->gaps[report->gap_count++] = (struct sbx_report_gap){
        .module = m, .name = is_told ? naming->module_names[m] : "", .unnamed = unnamed, .is_runtime = is_runtime};
    return 0;
}

static int name_modules(struct naming *naming, const uint32_t *order, const uint32_t *begin)
{
    const struct sbx_stall *stall = naming->report->stall;
    int result = 0;
    for (uint32_t m = 0; m < stall->module_count && result == 0; m++) {
        const struct sbx_stall_module *module = &stall->modules[m];
        const char *path = NULL;
        struct sbx_symbol_file *file = NULL;
        bool is_file = module->kind != SBX_MODULE_KIND_RUNTIME;
        if ((is_file && begin[m] < begin[m + 1]) || is_executable(stall, module)) {
            size_t count = begin[m + 1] - begin[m];
            for (size_t i = 0; i < count; i++) {
                naming->addresses[i] = address_of(&stall->frames[order[begin[m] + i]]);
            }
            file = sbx_symbolizer_file_for(naming->symbolizer, module->build_id, module->build_id_bytes, module->name,
                                           naming->addresses, count, &path);
        }
        naming->module_names[m] = module_name(naming, module, path);
        if (is_executable(stall, module) && path != NULL) {
            snprintf(naming->report->executable_name, sizeof naming->report->executable_name, "%s", base_name_of(path));
        }
        for (uint32_t i = begin[m]; i < begin[m + 1] && result == 0; i++) {
            result = name_frame(naming, order[i], file);
        }
        if (result == 0) {
            result = note_gap(naming, m, order, begin[m], begin[m + 1], file, path);
        }
    }
    for (uint32_t i = begin[stall->module_count]; i < stall->frame_count && result == 0; i++) {
        result = name_frame(naming, order[i], NULL);
    }
    return result;
}

/* From the order in which they were found to the order of frames. */
static int lay_out(struct naming *naming)
{
    struct sbx_report *report = naming->report;
    uint32_t frame_count = report->stall->frame_count, at = 0;
    report->locations = calloc((size_t)naming->location_count + 1, sizeof *report->locations);
    report->location_begin = calloc((size_t)frame_count + 1, sizeof *report->location_begin);
    if (report->locations == NULL || report->location_begin == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < frame_count; i++) {
        report->location_begin[i] = at;
        memcpy(&report->locations[at], &naming->locations[naming->first[i]],
               naming->counts[i] * sizeof *report->locations);
        at += naming->counts[i];
    }
    report->location_begin[frame_count] = at;
    return 0;
}

static int name_all(struct sbx_report *report, struct sbx_symbolizer *symbolizer)
{
    const struct sbx_stall *stall = report->stall;
    struct naming naming = {.report = report, .symbolizer = symbolizer};
    uint32_t *order = malloc(((size_t)stall->frame_count + 1) * sizeof *order);
    uint32_t *begin = malloc(((size_t)stall->module_count + 3) * sizeof *begin);
    naming.found = malloc(NAMING_FRAMES * sizeof *naming.found);
    naming.module_names = calloc((size_t)stall->module_count + 1, sizeof *naming.module_names);
    naming.addresses = malloc(((size_t)stall->frame_count + 1) * sizeof *naming.addresses);
    naming.first = calloc((size_t)stall->frame_count + 1, sizeof *naming.first);
    naming.counts = calloc((size_t)stall->frame_count + 1, sizeof *naming.counts);
    int result = -ENOMEM;
    if (order != NULL && begin != NULL && naming.found != NULL && naming.module_names != NULL &&
        naming.addresses != NULL && naming.first != NULL && naming.counts != NULL) {
        order_by_module(stall, order, begin);
        result = name_modules(&naming, order, begin);
    }
    if (result == 0) {
        result = lay_out(&naming);
    }
    free(order);
    free(begin);
    free(naming.found);
    free(naming.module_names);
    free(naming.addresses);
    free(naming.first);
    free(naming.counts);
    free(naming.locations);
    return result;
}

/* ---- the whole ---- */

/* The names of the watches, if they are known. */
static int name_watches(struct sbx_report *report, const struct sbx_symbolizer *symbolizer)
{
    const struct sbx_stall *stall = report->stall;
    report->watch_names = sbx_arena_take(report->arena, (stall->watch_count + 1) * sizeof *report->watch_names);
    if (report->watch_names == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < stall->watch_count && symbolizer != NULL; i++) {
        const char *name = sbx_symbolizer_watch_name(symbolizer, stall->watches[i].what);
        report->watch_names[i] = name != NULL ? sbx_arena_intern(report->arena, name) : NULL;
    }
    return 0;
}

/* The names of message kinds, and the kind of the judged message, from the trigger or from its record. */
static int name_kinds(struct sbx_report *report, const struct sbx_symbolizer *symbolizer)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_stall_thread *judged = &stall->threads[stall->trigger.thread];
    report->kind_names = sbx_arena_take(report->arena, SBX_OP_MAX * sizeof *report->kind_names);
    if (report->kind_names == NULL) {
        return -ENOMEM;
    }
    for (uint32_t kind = 1; kind < SBX_OP_MAX && symbolizer != NULL; kind++) {
        uint64_t what = sbx_message_kind_what(stall->app_build_id, stall->app_build_id_bytes, kind);
        const char *name = what != 0 ? sbx_symbolizer_watch_name(symbolizer, what) : NULL;
        report->kind_names[kind] = name != NULL ? sbx_arena_intern(report->arena, name) : NULL;
    }
    uint64_t scene_what = sbx_scene_what(stall->app_build_id, stall->app_build_id_bytes, stall->trigger.scene);
    const char *scene_name =
        symbolizer != NULL && scene_what != 0 ? sbx_symbolizer_watch_name(symbolizer, scene_what) : NULL;
    report->scene_name = scene_name != NULL ? sbx_arena_intern(report->arena, scene_name) : NULL;
    report->message_kind = stall->trigger.message_kind;
    for (size_t i = 0; i < judged->record_count && report->message_kind == 0 && stall->trigger.message != 0; i++) {
        const struct sbx_stall_record *record = &stall->records[judged->record_begin + i];
        if (record->kind == SBX_RECORD_MESSAGE && record->message == stall->trigger.message && record->amount <= 1) {
            report->message_kind = record->op < SBX_OP_MAX ? record->op : 0;
        }
    }
    return 0;
}

void sbx_report_scene_text(const struct sbx_report *report, char text_out[SBX_KIND_TEXT_BYTES])
{
    text_out[0] = '\0';
    if (report->scene_name != NULL) {
        snprintf(text_out, SBX_KIND_TEXT_BYTES, "%s", report->scene_name);
    } else if (report->stall->trigger.scene != 0) {
        snprintf(text_out, SBX_KIND_TEXT_BYTES, "scene %u", report->stall->trigger.scene);
    }
}

void sbx_report_kind_text(const struct sbx_report *report, uint32_t kind, char text_out[SBX_KIND_TEXT_BYTES])
{
    const char *name = kind < SBX_OP_MAX && report->kind_names != NULL ? report->kind_names[kind] : NULL;
    if (name != NULL) {
        snprintf(text_out, SBX_KIND_TEXT_BYTES, "\"%s\"", name);
    } else if (kind != 0) {
        snprintf(text_out, SBX_KIND_TEXT_BYTES, "of kind %u", kind);
    } else {
        text_out[0] = '\0';
    }
}

/* The number of the executable's name, if a file tells the name: the same number that the program itself would have
 * sent. A file with only debug information mostly has the name of the program with an extension. If no name is known,
 * `name_out` is "". */
static uint64_t program_of_file(const struct sbx_report *report, char name_out[64])
{
    snprintf(name_out, 64, "%s", report->executable_name);
    size_t bytes = strlen(name_out);
    if (bytes > 6 && strcmp(name_out + bytes - 6, ".debug") == 0) {
        name_out[bytes -= 6] = '\0';
        bool is_build_id = bytes >= 16 && strspn(name_out, "0123456789abcdef") == bytes; /* .build-id/xx/yyyy.debug */
        name_out[is_build_id ? 0 : bytes] = '\0';
    }
    return sbx_app_what(name_out);
}

/* The name of the application, and the number that identifies it: those that the payload tells, else those of the
 * executable. If the payload has a number whose name is not known here, the text includes the number, because the
 * executable may be that of python. The same is done if the program's file was found under another name. */
static void name_application(struct sbx_report *report, const struct sbx_symbolizer *symbolizer)
{
    const struct sbx_stall *stall = report->stall;
    char of_file[64] = "";
    uint64_t by_file = report->executable_name[0] != '\0' ? program_of_file(report, of_file) : 0;
    if (of_file[0] == '\0') {
        char hex[2 * SBX_BUILD_ID_BYTES_MAX + 1];
        sbx_build_id_format(stall->app_build_id, stall->app_build_id_bytes, hex);
        snprintf(report->executable_name, sizeof report->executable_name, "%s%.8s",
                 stall->app_build_id_bytes > 0 ? "build-id " : "unknown application", hex);
    }
    uint64_t told_id = stall->app_what != 0 ? stall->app_what : stall->program;
    const char *told = told_id != 0 && symbolizer != NULL ? sbx_symbolizer_watch_name(symbolizer, told_id) : NULL;
    report->app_id = told_id != 0 ? told_id : by_file;
    if (told != NULL) {
        snprintf(report->app_name, sizeof report->app_name, "%s", told);
    } else if (told_id == by_file || told_id == 0) {
        snprintf(report->app_name, sizeof report->app_name, "%s",
                 of_file[0] != '\0' ? of_file : report->executable_name);
    } else if (stall->app_what == 0 && of_file[0] == '\0') {
        snprintf(report->app_name, sizeof report->app_name, "program #%010llx", (unsigned long long)told_id);
    } else {
        snprintf(report->app_name, sizeof report->app_name, "%.40s #%010llx", report->executable_name,
                 (unsigned long long)told_id);
    }
}

int sbx_report_create(const struct sbx_stall *stall, struct sbx_symbolizer *symbolizer, struct sbx_report **report_out)
{
    if (sbx_stall_is_end(stall)) {
        return -EINVAL;
    }
    struct sbx_report *report = calloc(1, sizeof *report);
    if (report == NULL) {
        return -ENOMEM;
    }
    report->stall = stall;
    report->verdict =
        (struct sbx_verdict){.location = {.function = "", .module = ""}, .culprit_thread = -1, .culprit_function = ""};
    report->arena = sbx_arena_create(TEXT_BYTES_MAX);
    int result = report->arena == NULL ? -ENOMEM : name_all(report, symbolizer);
    if (result == 0) {
        result = name_watches(report, symbolizer);
    }
    if (result == 0) {
        result = name_kinds(report, symbolizer);
    }
    name_application(report, symbolizer);
    if (result != 0) {
        sbx_report_destroy(report);
        return result;
    }
    *report_out = report;
    return 0;
}

void sbx_report_destroy(struct sbx_report *report)
{
    if (report == NULL) {
        return;
    }
    free(report->locations);
    free(report->location_begin);
    sbx_arena_destroy(report->arena);
    free(report);
}

size_t sbx_report_callstack(const struct sbx_report *report, uint32_t stack, const struct sbx_location **out,
                            size_t max)
{
    const struct sbx_stall *stall = report->stall;
    size_t count = 0;
    for (uint32_t id = stack <= stall->callstack_count ? stack : 0; id != 0; id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        for (uint32_t at = report->location_begin[frame]; at < report->location_begin[frame + 1]; at++) {
            if (count == max) {
                return count;
            }
            out[count++] = &report->locations[at];
        }
    }
    return count;
}
