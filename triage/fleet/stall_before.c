/* SPDX-License-Identifier: Apache-2.0 */
/* stall_before.c - the application's functions in which the judged thread was before its stall. */
#include "stall_before.h"

#include <stdlib.h>
#include <string.h>

#include "call_path.h"
#include "flame_tree.h"
#include "thread_spans.h"

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_US INT64_C(1000)

/* Functions, in the order in which they were found. */
struct found {
    struct sbx_stall_before rows[64]; /* the time of further functions is not counted */
    size_t count;
};

static void add_time(struct found *found, const char *function, int64_t ns)
{
    size_t at = 0;
    while (at < found->count && strcmp(found->rows[at].function, function) != 0) {
        at++;
    }
    if (at == sizeof found->rows / sizeof found->rows[0]) {
        return;
    }
    if (at == found->count) {
        memcpy(found->rows[found->count++].function, function, strlen(function) + 1);
    }
    found->rows[at].us += ns / NS_PER_US;
}

static bool is_main(const struct sbx_location *location)
{
    return !location->logical && strcmp(location->function, "main") == 0;
}

/* A node's own time belongs to the nearest function of the application: the node itself or a caller. */
static void add_nodes(const struct sbx_flame_tree *tree, struct found *found)
{
    for (uint32_t node = 1; node < tree->count; node++) {
        uint32_t own = tree->nodes[node].self_ns > 0 ? sbx_flame_tree_application(tree, node) : 0;
        const struct sbx_location *location = own != 0 ? tree->nodes[own].location : NULL;
        if (location != NULL && location->named && !is_main(location)) {
            char function[SBX_STABLE_NAME_BYTES];
            sbx_stable_name(location->function, function);
            add_time(found, function, tree->nodes[node].self_ns);
        }
    }
}

static int longer_first(const void *left, const void *right)
{
    const struct sbx_stall_before *a = left, *b = right;
    return a->us != b->us ? (a->us < b->us ? 1 : -1) : strcmp(a->function, b->function);
}

size_t sbx_stall_before(const struct sbx_report *report, struct sbx_stall_before rows_out[SBX_BEFORE_ROWS])
{
    struct sbx_thread_spans spans = {0};
    struct sbx_flame_tree tree = {0};
    const int64_t end_ns = report->verdict.interval_begin_ns;
    if (report->stall->trigger.thread >= report->stall->thread_count) {
        return 0;
    }
    struct found *found = calloc(1, sizeof *found);
    struct sbx_call_paths *paths = sbx_call_paths_create(report);
    size_t count = 0;
    if (found != NULL && paths != NULL && sbx_flame_tree_init(&tree) == 0 &&
        sbx_thread_spans_init(&spans, report->stall, report->stall->trigger.thread) == 0 &&
        sbx_flame_tree_add_thread(&tree, &spans, paths, end_ns - SBX_BEFORE_SECONDS * NS_PER_S, end_ns) == 0) {
        add_nodes(&tree, found);
        qsort(found->rows, found->count, sizeof found->rows[0], longer_first);
        while (count < found->count && count < SBX_BEFORE_ROWS &&
               found->rows[count].us >= SBX_BEFORE_MIN_MS * NS_PER_MS / NS_PER_US) {
            rows_out[count] = found->rows[count];
            count++;
        }
    }
    sbx_thread_spans_finish(&spans);
    sbx_flame_tree_finish(&tree);
    sbx_call_paths_destroy(paths);
    free(found);
    return count;
}
