/* SPDX-License-Identifier: Apache-2.0 */
/* grouping.c - the path to the function to blame, and the key of that path. */
#include "grouping.h"

#include <stdio.h>
#include <string.h>

#include "blame.h"
#include "names.h"

enum {
    PATH_MAX_STEPS = 64, /* the outermost steps of a deeper path are ignored; it is recursion */
    TRUSTED_PERCENT = 50 /* a holder that is less certain is not part of the key */
};

struct path {
    char steps[PATH_MAX_STEPS][SBX_STABLE_NAME_BYTES]; /* leaf first */
    uint32_t count;
    bool is_named;
};

/* ---- one function ---- */

static void print_hex(const uint8_t *bytes, size_t count, char *out)
{
    for (size_t i = 0; i < count; i++) {
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    }
    out[2 * count] = '\0';
}

/* A function without a name is identified by its build and its begin; if the begin is not known, by the address
 * itself. */
static void name_by_place(const struct sbx_report *report, const struct sbx_stall_frame *frame,
                          char out[SBX_STABLE_NAME_BYTES])
{
    const struct sbx_stall_module *module = &report->stall->modules[frame->module];
    char build_id[2 * sizeof module->build_id + 1];
    print_hex(module->build_id, module->build_id_bytes, build_id);
    uint64_t place = frame->function != 0 ? frame->function : frame->offset;
    snprintf(out, SBX_STABLE_NAME_BYTES, "#%s+%llx", build_id, (unsigned long long)place);
}

static const char *base_name_of(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    return slash != NULL ? slash + 1 : path != NULL ? path : "";
}

/* Returns whether the function has a name. */
static bool name_step(const struct sbx_report *report, uint32_t frame_index, const struct sbx_location *location,
                      char out[SBX_STABLE_NAME_BYTES])
{
    const struct sbx_stall_frame *frame = &report->stall->frames[frame_index];
    bool has_place = frame->kind == SBX_FRAME_CODE || frame->kind == SBX_FRAME_LOGICAL;
    if (location->named && location->logical) { /* "main" of one script differs from that of another */
        snprintf(out, SBX_STABLE_NAME_BYTES, "%.60s:%.130s", base_name_of(location->file), location->function);
    } else if (location->named) {
        sbx_stable_name(location->function, out);
    } else if (has_place) {
        name_by_place(report, frame, out);
    } else {
        snprintf(out, SBX_STABLE_NAME_BYTES, "%s", location->function);
    }
    return location->named;
}

/* ---- the path ---- */

static bool is_main(const struct sbx_location *location)
{
    return location->named && strcmp(location->function, "main") == 0;
}

static bool has_step(const struct path *path, const char *step)
{
    for (uint32_t i = 0; i < path->count; i++) {
        if (strcmp(path->steps[i], step) == 0) {
            return true;
        }
    }
    return false;
}

/* Recursion, direct or through others, and a lambda that runs in the function that it was written in: one step. */
static void add_step(struct path *path, const char *step, bool is_named)
{
    if (path->count < PATH_MAX_STEPS && !has_step(path, step)) {
        snprintf(path->steps[path->count++], SBX_STABLE_NAME_BYTES, "%s", step);
        path->is_named = path->is_named && is_named;
    }
}

/* Which frames count: those of the filter that found the function to blame. */
static enum sbx_blame_filter filter_of(const struct sbx_report *report, uint32_t frame,
                                       const struct sbx_location *location)
{
    for (int filter = SBX_BLAME_OWN; filter < SBX_BLAME_ANY; filter++) {
        if (sbx_blame_counts(report, frame, location, (enum sbx_blame_filter)filter)) {
            return (enum sbx_blame_filter)filter;
        }
    }
    return SBX_BLAME_ANY;
}

static void walk_path(const struct sbx_report *report, uint32_t stack, const struct sbx_location *blamed,
                      struct path *path)
{
    const struct sbx_stall *stall = report->stall;
    enum sbx_blame_filter filter = SBX_BLAME_ANY;
    bool has_begun = false;
    for (uint32_t id = stack <= stall->callstack_count ? stack : 0; id != 0; id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        for (uint32_t at = report->location_begin[frame]; at < report->location_begin[frame + 1]; at++) {
            const struct sbx_location *location = &report->locations[at];
            if (!has_begun && location->function == blamed->function && location->module == blamed->module) {
                has_begun = true;
                filter = filter_of(report, frame, location);
            } else if (!has_begun || is_main(location)) {
                continue;
            }
            if (path->count > 0 && sbx_blame_hides_callers(report, frame, location)) {
                return;
            }
            bool may_count = location->named || path->count == 0 || !path->is_named || filter == SBX_BLAME_CODE;
            if (may_count && sbx_blame_counts(report, frame, location, filter)) {
                char step[SBX_STABLE_NAME_BYTES];
                bool is_named = name_step(report, frame, location, step);
                add_step(path, step, is_named);
            }
        }
    }
}

static void keep_steps(const struct path *path, struct sbx_grouping *grouping)
{
    grouping->step_count = path->count < SBX_GROUPING_STEPS ? path->count : SBX_GROUPING_STEPS;
    for (uint32_t i = 0; i < grouping->step_count; i++) { /* outermost first */
        uint32_t from_leaf = i == 0 ? path->count - 1 : grouping->step_count - 1 - i;
        memcpy(grouping->steps[i], path->steps[from_leaf], SBX_STABLE_NAME_BYTES);
    }
    grouping->is_named = path->count > 0 && path->is_named;
}

/* ---- the holder that was waited for ---- */

/* Only if the function is certain and has a name. Else one bug would be two issues, depending on what was seen of
 * it. */
static void name_holder(const struct sbx_verdict *verdict, char out[SBX_STABLE_NAME_BYTES])
{
    bool is_wait = verdict->cause == SBX_CAUSE_LOCK || verdict->cause == SBX_CAUSE_DEADLOCK;
    out[0] = '\0';
    if (is_wait && verdict->culprit_thread >= 0 && verdict->culprit_certainty * 100 >= TRUSTED_PERCENT &&
        verdict->culprit_function[0] != '\0' && verdict->culprit_function[0] != '[' &&
        strstr(verdict->culprit_function, "+0x") == NULL) {
        sbx_stable_name(verdict->culprit_function, out);
    }
}

/* ---- the key ---- */

/* FNV-1a, 128 bits. A cryptographic hash is not needed: an attacker who could make a collision could also send the same
 * stall. */
static unsigned __int128 hash_bytes(unsigned __int128 hash, const void *bytes, size_t count)
{
    const unsigned __int128 prime = (unsigned __int128)1 << 88 | 0x13b;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * prime;
    }
    return (hash ^ 0xff) * prime; /* this byte is in no UTF-8 text, so "ab","c" differs from "a","bc" */
}

static void make_key(const struct sbx_report *report, struct sbx_grouping *grouping)
{
    unsigned __int128 hash = (unsigned __int128)0x6c62272e07bb0142ull << 64 | 0x62b821756295c58dull;
    uint64_t app_id = report->app_id;
    uint8_t app[8];
    for (unsigned i = 0; i < sizeof app; i++) {
        app[i] = (uint8_t)(app_id >> 8 * i);
    }
    hash = app_id != 0 ? hash_bytes(hash, app, sizeof app)
                       : hash_bytes(hash, report->stall->app_build_id, report->stall->app_build_id_bytes);
    hash = hash_bytes(hash, grouping->is_crash ? "crash" : "stall", 5);
    for (uint32_t i = 0; i < grouping->step_count; i++) {
        hash = hash_bytes(hash, grouping->steps[i], strlen(grouping->steps[i]));
    }
    hash = hash_bytes(hash, "", 0); /* so that "f > g" differs from f held by g */
    hash = hash_bytes(hash, grouping->holder, strlen(grouping->holder));
    for (size_t i = 0; i < SBX_GROUPING_KEY_BYTES; i++) {
        grouping->key[i] = (uint8_t)(hash >> (8 * (SBX_GROUPING_KEY_BYTES - 1 - i)));
    }
}

static void print_text(struct sbx_grouping *grouping)
{
    size_t used = 0;
    for (uint32_t i = 0; i < grouping->step_count; i++) {
        used += (size_t)snprintf(grouping->text + used, sizeof grouping->text - used, "%s%s", i == 0 ? "" : " > ",
                                 grouping->steps[i]);
    }
    if (grouping->holder[0] != '\0') {
        snprintf(grouping->text + used, sizeof grouping->text - used, ", held by %s", grouping->holder);
    }
}

void sbx_grouping_make(const struct sbx_report *report, struct sbx_grouping *grouping_out)
{
    const struct sbx_verdict *verdict = &report->verdict;
    struct path path = {.is_named = true};
    *grouping_out = (struct sbx_grouping){.is_crash = verdict->cause == SBX_CAUSE_CRASH ||
                                                      report->stall->trigger.kind == SBX_TRIGGER_CRASH};
    /* An unknown cause names no function, but the stack may. */
    const struct sbx_location *blamed =
        verdict->location.function[0] != '\0' ? &verdict->location : sbx_blame_leaf(report, verdict->stack);
    if (blamed != NULL) {
        walk_path(report, verdict->stack, blamed, &path);
    }
    if (path.count == 0 && blamed != NULL) { /* it is the name of a message, which is on no stack */
        char step[SBX_STABLE_NAME_BYTES];
        sbx_stable_name(blamed->function, step);
        add_step(&path, step, blamed->named);
    }
    keep_steps(&path, grouping_out);
    name_holder(verdict, grouping_out->holder);
    make_key(report, grouping_out);
    print_text(grouping_out);
}
