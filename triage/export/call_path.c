/* SPDX-License-Identifier: Apache-2.0 */
/* call_path.c - a callstack as the functions that a reader sees: outermost first, inlined calls included. */
#include "call_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

enum {
    OUTER_MAX = 360,  /* frames kept at the outer end of a path that is too deep */
    WAIT_FRAMES = 6,  /* how far inside a blocking function of the C library its system call may lie */
    END_REASONS = 16, /* enum sbx_walk_end; unknown values use the last entry */
};

struct sbx_call_paths {
    const struct sbx_report *report;
    uint32_t *depth; /* by callstack: number of logical frames from the outermost to here; saturates */
    uint32_t *outer; /* by callstack: the deepest of it and its callers that has at most OUTER_MAX frames; 0 none */
    struct sbx_location ends[END_REASONS]; /* shown in place of the outermost frame of a stack that is not whole */
    char end_names[END_REASONS][48];
    struct sbx_location queued[SBX_OP_MAX]; /* shown between a submitter's stack and the runner's, by call */
    char queued_names[SBX_OP_MAX][48];
    struct sbx_location left_out, nameless;
};

static uint32_t add_saturated(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

/* How many functions frame `frame` stands for. At least one is always shown. */
static uint32_t location_count(const struct sbx_report *report, uint32_t frame)
{
    if (report->stall->frames[frame].kind == SBX_FRAME_END) {
        return 1;
    }
    uint32_t count = report->location_begin[frame + 1] - report->location_begin[frame];
    return count == 0 ? 1 : count;
}

/* The i-th of these functions, innermost first. */
static const struct sbx_location *location_at(const struct sbx_call_paths *paths, uint32_t frame, uint32_t i)
{
    const struct sbx_report *report = paths->report;
    if (report->stall->frames[frame].kind == SBX_FRAME_END) {
        uint64_t reason = report->stall->frames[frame].offset;
        return &paths->ends[reason < END_REASONS ? reason : END_REASONS - 1];
    }
    if (report->location_begin[frame] == report->location_begin[frame + 1]) {
        return &paths->nameless;
    }
    return &report->locations[report->location_begin[frame] + i];
}

struct sbx_call_paths *sbx_call_paths_create(const struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    struct sbx_call_paths *paths = calloc(1, sizeof *paths);
    if (paths == NULL) {
        return NULL;
    }
    paths->report = report;
    paths->depth = calloc((size_t)stall->callstack_count + 1, sizeof *paths->depth);
    paths->outer = calloc((size_t)stall->callstack_count + 1, sizeof *paths->outer);
    if (paths->depth == NULL || paths->outer == NULL) {
        sbx_call_paths_destroy(paths);
        return NULL;
    }
    for (uint32_t id = 1; id <= stall->callstack_count; id++) { /* parents have smaller ids: one pass is enough */
        uint32_t parent = stall->callstacks[id].parent;
        paths->depth[id] = add_saturated(paths->depth[parent], location_count(report, stall->callstacks[id].frame));
        paths->outer[id] = paths->depth[id] <= OUTER_MAX ? id : paths->outer[parent];
    }
    for (uint32_t reason = 0; reason < END_REASONS; reason++) {
        snprintf(paths->end_names[reason], sizeof paths->end_names[reason], "[stack not whole: %s]",
                 sbx_walk_end_name(reason));
        paths->ends[reason] = (struct sbx_location){.function = paths->end_names[reason], .module = ""};
    }
    for (uint32_t op = 0; op < SBX_OP_MAX; op++) {
        snprintf(paths->queued_names[op], sizeof paths->queued_names[op], "[%s]", sbx_op_name(op));
        paths->queued[op] = (struct sbx_location){.function = paths->queued_names[op], .module = ""};
    }
    paths->left_out = (struct sbx_location){.function = "[frames left out]", .module = ""};
    paths->nameless = (struct sbx_location){.function = "[no name]", .module = ""};
    return paths;
}

void sbx_call_paths_destroy(struct sbx_call_paths *paths)
{
    if (paths == NULL) {
        return;
    }
    free(paths->depth);
    free(paths->outer);
    free(paths);
}

struct sbx_path_frame sbx_call_path_queued(const struct sbx_call_paths *paths, uint8_t op)
{
    uint32_t call = op < SBX_OP_MAX ? op : 0;
    return (struct sbx_path_frame){
        .location = &paths->queued[call], .frame = UINT32_MAX - SBX_OP_MAX + call, .site = call};
}

/* Write the functions of `frame`: the innermost to *at, the others to lower indexes. *at is then the next index for the
 * caller's frame. Stops at `floor`: functions that do not fit above it are left out. */
static void put_frame(const struct sbx_call_paths *paths, uint32_t frame, struct sbx_path_frame *out, size_t *at,
                      size_t floor)
{
    uint32_t count = location_count(paths->report, frame);
    for (uint32_t i = 0; *at > floor && i < count; i++) {
        const struct sbx_location *location = location_at(paths, frame, i);
        /* The call site of the innermost function of a frame is the address, which the frame's index names. An outer
         * function was left through an inlined call, so its call site is the line of that call. The top bit separates
         * the two kinds. */
        uint64_t site = i == 0 ? frame : UINT64_C(1) << 63 | location->line;
        out[--*at] = (struct sbx_path_frame){.location = location, .frame = frame, .site = site};
    }
}

size_t sbx_call_path_read(const struct sbx_call_paths *paths, uint32_t stack,
                          struct sbx_path_frame out[SBX_CALL_PATH_MAX])
{
    const struct sbx_stall *stall = paths->report->stall;
    if (stack == 0 || stack > stall->callstack_count) {
        return 0;
    }
    size_t count = paths->depth[stack] < SBX_CALL_PATH_MAX ? paths->depth[stack] : SBX_CALL_PATH_MAX;
    uint32_t outer = stack;
    size_t at = count;
    if (paths->depth[stack] > SBX_CALL_PATH_MAX) {
        outer = paths->outer[stack];
        size_t outer_count = paths->depth[outer]; /* depth[0] is 0: no outer frame fits */
        for (uint32_t id = stack; id != outer && at > outer_count + 1; id = stall->callstacks[id].parent) {
            put_frame(paths, stall->callstacks[id].frame, out, &at, outer_count + 1);
        }
        at = outer_count;
        out[at] = (struct sbx_path_frame){.location = &paths->left_out, .frame = UINT32_MAX};
    }
    for (uint32_t id = outer; id != 0; id = stall->callstacks[id].parent) {
        put_frame(paths, stall->callstacks[id].frame, out, &at, 0);
    }
    return count;
}

static bool same_function(const struct sbx_location *a, const struct sbx_location *b)
{
    return a == b || (strcmp(a->function, b->function) == 0 && strcmp(a->module, b->module) == 0);
}

size_t sbx_call_path_shared(const struct sbx_path_frame *a, size_t a_count, const struct sbx_path_frame *b,
                            size_t b_count)
{
    size_t count = a_count < b_count ? a_count : b_count;
    for (size_t i = 0; i < count; i++) {
        if (!same_function(a[i].location, b[i].location)) {
            return i;
        }
        if (a[i].site != b[i].site) {
            return i + 1;
        }
    }
    return count;
}

/* A reader knows "__GI___clock_nanosleep@@GLIBC_2.17" as clock_nanosleep, and "___pthread_cond_timedwait64" as
 * pthread_cond_timedwait. */
static bool is_called(const char *function, const char *op_name)
{
    while (*function == '_' || strncmp(function, "GI_", 3) == 0) {
        function += *function == '_' ? 1 : 3;
    }
    if (strncmp(function, "libc_", 5) == 0) {
        function += 5;
    }
    size_t length = strlen(op_name);
    if (strncmp(function, op_name, length) != 0) {
        return false;
    }
    function += length;
    function += strncmp(function, "64", 2) == 0 ? 2 : 0;
    return *function == '\0' || *function == '@';
}

size_t sbx_call_path_without_wait(const struct sbx_path_frame *path, size_t count, const char *op_name)
{
    for (size_t i = count; i > 0 && count - i < WAIT_FRAMES; i--) {
        if (is_called(path[i - 1].location->function, op_name)) {
            return i - 1;
        }
    }
    return count;
}
