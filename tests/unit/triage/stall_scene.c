/* SPDX-License-Identifier: Apache-2.0 */
/* stall_scene.c - a stall with names that the test chooses, judged without any symbol file. */
#include "stall_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "attribute.h"

enum {
    NAMES_MAX = 256,
    NAME_BYTES = 256,
    DEPTH_MAX = 200,
    THREADS_MAX = 64
};
enum {
    APP,
    LIBC,
    JEMALLOC,
    AGENT,
    SQLITE, /* a library that is neither the application's nor a base library */
    GLIB,
    MODULES
};

/* A function is at offset (index + 1) * 16 of its module, which is how a frame gets its name back. */
struct sbx_stall_scene {
    struct sbx_payload_builder *builder;
    int32_t modules[MODULES];
    char names[NAMES_MAX][NAME_BYTES];
    size_t name_count;
    int64_t cpu_us[THREADS_MAX], last_us[THREADS_MAX]; /* of sbx_scene_samples() */
    struct sbx_stall *stall;
    struct sbx_report *report;
};

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "stall_scene: %s\n", what);
        abort();
    }
}

struct sbx_stall_scene *sbx_scene_create(uint32_t thread_count, uint32_t trigger_kind, uint64_t duration_us)
{
    static const uint8_t ids[MODULES][20] = {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}};
    struct sbx_stall_scene *scene = calloc(1, sizeof *scene);
    require(scene != NULL && thread_count <= THREADS_MAX, "memory");
    scene->builder = sbx_payload_builder_create(42);
    scene->modules[APP] = sbx_builder_module(scene->builder, SBX_MODULE_KIND_APP, ids[APP], 20, NULL);
    scene->modules[LIBC] = sbx_builder_module(scene->builder, SBX_MODULE_KIND_SYSTEM, ids[LIBC], 20, "libc.so.6");
    scene->modules[JEMALLOC] =
        sbx_builder_module(scene->builder, SBX_MODULE_KIND_SYSTEM, ids[JEMALLOC], 20, "libjemalloc.so.2");
    scene->modules[AGENT] = sbx_builder_module(scene->builder, SBX_MODULE_KIND_AGENT, ids[AGENT], 20, NULL);
    scene->modules[SQLITE] = sbx_builder_module(scene->builder, SBX_MODULE_KIND_SYSTEM, ids[SQLITE], 20, NULL);
    scene->modules[GLIB] = sbx_builder_module(scene->builder, SBX_MODULE_KIND_SYSTEM, ids[GLIB], 20, NULL);
    for (uint32_t i = 0; i < thread_count; i++) {
        sbx_builder_thread(scene->builder, i == 0 ? "main" : "worker", i == 0 ? 3 : 0);
        scene->cpu_us[i] = 1000;
        scene->last_us[i] = INT64_MIN;
    }
    Stallbox__V1__Trigger *trigger = sbx_builder_payload(scene->builder)->trigger;
    trigger->kind = trigger_kind;
    trigger->duration_us = duration_us;
    trigger->history_us = 10000000;
    trigger->message = 1;
    return scene;
}

void sbx_scene_destroy(struct sbx_stall_scene *scene)
{
    if (scene == NULL) {
        return;
    }
    sbx_report_destroy(scene->report);
    sbx_stall_destroy(scene->stall);
    sbx_payload_builder_destroy(scene->builder);
    free(scene);
}

static uint64_t offset_of(struct sbx_stall_scene *scene, const char *name)
{
    for (size_t i = 0; i < scene->name_count; i++) {
        if (strcmp(scene->names[i], name) == 0) {
            return (i + 1) * 16;
        }
    }
    require(scene->name_count < NAMES_MAX && strlen(name) < NAME_BYTES, "names");
    strcpy(scene->names[scene->name_count++], name);
    return scene->name_count * 16;
}

static struct sbx_build_frame frame_of(struct sbx_stall_scene *scene, const char *name)
{
    static const struct {
        const char *prefix;
        int module;
    } prefixes[] = {{"libc:", LIBC}, {"jemalloc:", JEMALLOC}, {"agent:", AGENT}, {"sqlite:", SQLITE}, {"glib:", GLIB}};
    if (strncmp(name, "gen:", 4) == 0) {
        return (struct sbx_build_frame){SBX_BUILD_GENERATED, 0, false};
    }
    if (strncmp(name, "cut:", 4) == 0) {
        return (struct sbx_build_frame){SBX_BUILD_CUT, 0, false};
    }
    if (strncmp(name, "end:", 4) == 0) {
        return (struct sbx_build_frame){SBX_BUILD_END, SBX_WALK_NO_ROW, false};
    }
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t bytes = strlen(prefixes[i].prefix);
        if (strncmp(name, prefixes[i].prefix, bytes) == 0) {
            return (struct sbx_build_frame){scene->modules[prefixes[i].module], offset_of(scene, name + bytes), false};
        }
    }
    return (struct sbx_build_frame){scene->modules[APP], offset_of(scene, name), false};
}

uint32_t sbx_scene_stack(struct sbx_stall_scene *scene, const char *stack)
{
    struct sbx_build_frame frames[DEPTH_MAX];
    size_t count = 0;
    while (*stack != '\0') {
        char name[NAME_BYTES];
        const char *end = strstr(stack, " < ");
        size_t bytes = end == NULL ? strlen(stack) : (size_t)(end - stack);
        require(bytes < sizeof name && count < DEPTH_MAX, "stack");
        memcpy(name, stack, bytes);
        name[bytes] = '\0';
        frames[count++] = frame_of(scene, name);
        stack += bytes + (end == NULL ? 0 : 3);
    }
    return sbx_builder_stack(scene->builder, frames, count);
}

void sbx_scene_record(struct sbx_stall_scene *scene, struct sbx_build_record record)
{
    sbx_builder_record(scene->builder, record);
}

void sbx_scene_runtime(struct sbx_stall_scene *scene, uint32_t kind, uint32_t state, uint32_t major, uint32_t minor)
{
    sbx_builder_runtime(scene->builder, kind, state, major, minor);
}

uint32_t sbx_scene_make_process(struct sbx_stall_scene *scene, uint32_t role)
{
    return sbx_builder_process(scene->builder, role);
}

void sbx_scene_set_process(struct sbx_stall_scene *scene, uint32_t thread, uint32_t process)
{
    sbx_builder_thread_process(scene->builder, thread, process);
}

void sbx_scene_forget_stack(struct sbx_stall_scene *scene, uint32_t thread)
{
    sbx_builder_forget_stack(scene->builder, thread);
}

void sbx_scene_call(struct sbx_stall_scene *scene, uint32_t thread, struct sbx_build_call call)
{
    sbx_builder_thread_call(scene->builder, thread, call);
}

Stallbox__V1__Payload *sbx_scene_payload(struct sbx_stall_scene *scene)
{
    return sbx_builder_payload(scene->builder);
}

void sbx_scene_samples(struct sbx_stall_scene *scene, uint32_t thread, uint8_t kind, const char *stack, int64_t from_us,
                       int64_t to_us, int64_t step_us, int64_t cpu_permille)
{
    uint32_t id = sbx_scene_stack(scene, stack);
    for (int64_t at_us = from_us; at_us < to_us; at_us += step_us) {
        if (scene->last_us[thread] != INT64_MIN) {
            scene->cpu_us[thread] += (at_us - scene->last_us[thread]) * cpu_permille / 1000;
        }
        scene->last_us[thread] = at_us;
        sbx_builder_record(scene->builder, (struct sbx_build_record){.thread = thread,
                                                                     .kind = kind,
                                                                     .begin_us = at_us,
                                                                     .end_us = at_us,
                                                                     .stack = id,
                                                                     .message = 1,
                                                                     .cpu_us = scene->cpu_us[thread]});
    }
}

const struct sbx_stall *sbx_scene_stall(struct sbx_stall_scene *scene)
{
    if (scene->stall == NULL) {
        uint8_t *envelope;
        size_t bytes;
        char why[160];
        sbx_builder_envelope(scene->builder, &envelope, &bytes);
        int result = sbx_stall_decode(envelope, bytes, &scene->stall, why, sizeof why);
        free(envelope);
        require(result == 0, why);
    }
    return scene->stall;
}

static struct sbx_location location_of(struct sbx_stall_scene *scene, const struct sbx_stall_frame *frame)
{
    static const char *const modules[MODULES] = {
        "app", "libc.so.6", "libjemalloc.so.2", "libstallbox.so", "libsqlite3.so.0", "libglib-2.0.so.0"};
    struct sbx_arena *arena = scene->report->arena;
    if (frame->kind != SBX_FRAME_CODE) {
        const char *name = sbx_arena_intern(arena, frame->kind == SBX_FRAME_END   ? "[end]"
                                                   : frame->kind == SBX_FRAME_CUT ? "[... frames left out]"
                                                                                  : "[generated]");
        return (struct sbx_location){.function = name, .module = name};
    }
    const char *name = scene->names[frame->offset / 16 - 1];
    static const char inlined[] = "inlined:";
    bool is_inlined = strncmp(name, inlined, sizeof inlined - 1) == 0;
    name += is_inlined ? sizeof inlined - 1 : 0;
    bool named = name[0] != '?';
    const char *place = strchr(name, '#'), *colon = place != NULL ? strrchr(place, ':') : NULL;
    if (colon != NULL) {
        char function[NAME_BYTES], file[NAME_BYTES];
        snprintf(function, sizeof function, "%.*s", (int)(place - name), name);
        snprintf(file, sizeof file, "%.*s", (int)(colon - place - 1), place + 1);
        return (struct sbx_location){.function = sbx_arena_intern(arena, function),
                                     .module = strncmp(file, "node:", 5) == 0 || strstr(file, ".js") != NULL
                                                   ? "javascript"
                                               : strstr(file, ".java") != NULL ? "java"
                                                                               : "python",
                                     .file = sbx_arena_intern(arena, file),
                                     .line = (uint32_t)strtoul(colon + 1, NULL, 10),
                                     .named = true,
                                     .logical = true,
                                     .app = true};
    }
    return (struct sbx_location){.function = sbx_arena_intern(arena, name),
                                 .module = modules[frame->module],
                                 .named = named,
                                 .inlined = is_inlined,
                                 .app = frame->module == APP};
}

const struct sbx_report *sbx_scene_report(struct sbx_stall_scene *scene)
{
    if (scene->report != NULL) {
        return scene->report;
    }
    const struct sbx_stall *stall = sbx_scene_stall(scene);
    struct sbx_report *report = calloc(1, sizeof *report);
    require(report != NULL, "memory");
    scene->report = report;
    report->stall = stall;
    report->arena = sbx_arena_create(1 << 20);
    report->locations = calloc(stall->frame_count + 1, sizeof *report->locations);
    report->location_begin = calloc(stall->frame_count + 1, sizeof *report->location_begin);
    require(report->arena != NULL && report->locations != NULL && report->location_begin != NULL, "memory");
    strcpy(report->app_name, "app");
    strcpy(report->executable_name, "app");
    for (uint32_t i = 0; i < stall->frame_count; i++) {
        report->locations[i] = location_of(scene, &stall->frames[i]);
        report->location_begin[i + 1] = i + 1;
    }
    require(sbx_attribute(report) == 0, "attribute");
    return report;
}

const char *sbx_scene_evidence(const struct sbx_report *report, const char *kind)
{
    for (size_t i = 0; i < report->verdict.evidence_count; i++) {
        if (strcmp(report->verdict.evidence[i].kind, kind) == 0) {
            return report->verdict.evidence[i].text;
        }
    }
    return NULL;
}
