/* SPDX-License-Identifier: Apache-2.0 */
/* blame.c - which function of a stack a person should look at. */
#include "blame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "known_names.h"
#include "node_handlers.h"

enum {
    MERGED_MAX = 1 << 20
};

/* ---- whose frames count ---- */

static bool is_own_code(const struct sbx_report *report, const struct sbx_location *location)
{
    return location->named && location->app && !sbx_is_interpreter(report->executable_name);
}

/* main() calls everything, so main is the answer only if no library's function lies below it. A script's function named
 * "main" counts like any other: the library below it may be the interpreter. */
static bool is_no_answer(const struct sbx_location *location, enum sbx_blame_filter filter)
{
    return filter == SBX_BLAME_OWN && !location->logical && strcmp(location->function, "main") == 0;
}

bool sbx_blame_counts(const struct sbx_report *report, uint32_t frame_index, const struct sbx_location *location,
                      enum sbx_blame_filter filter)
{
    const struct sbx_stall_frame *frame = &report->stall->frames[frame_index];
    if (location->logical) { /* application code; it is known by its id if it has no name */
        return filter > SBX_BLAME_OWN || !sbx_is_runtime_library(location);
    }
    if (frame->kind != SBX_FRAME_CODE) {
        return frame->kind == SBX_FRAME_GENERATED && filter != SBX_BLAME_NAMED && filter != SBX_BLAME_OWN;
    }
    if (filter == SBX_BLAME_ANY) {
        return true;
    }
    bool is_base = sbx_is_base_module(&report->stall->modules[frame->module], location->module) ||
                   (location->named && sbx_is_base_function(location));
    return !is_base && (filter == SBX_BLAME_CODE || location->named) &&
           (filter != SBX_BLAME_OWN || is_own_code(report, location));
}

/* Do the callers of this function have no part in what runs below it? This is true for an event loop, and for an
 * interpreter in a library: its scripts do not belong to the application that calls it. A web server that runs scripts
 * only waits for them. */
bool sbx_blame_hides_callers(const struct sbx_report *report, uint32_t frame, const struct sbx_location *location)
{
    return location->named &&
           (sbx_is_loop_function(location->function) || (sbx_script_language_of(location->function) != NULL &&
                                                         !sbx_blame_counts(report, frame, location, SBX_BLAME_OWN)));
}

/* Is callstack `id` inside of a second, outer loop? Then a handler runs the loop at `id` to wait for something: a child
 * process, an answer. Its caller is that handler, unless code of the handler's own lies below. */
static bool is_nested_loop(const struct sbx_report *report, uint32_t id, const struct sbx_location *loop)
{
    const struct sbx_stall *stall = report->stall;
    if (!loop->named || !sbx_is_loop_function(loop->function)) {
        return false;
    }
    for (id = stall->callstacks[id].parent; id != 0; id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        for (uint32_t at = report->location_begin[frame]; at < report->location_begin[frame + 1]; at++) {
            const struct sbx_location *location = &report->locations[at];
            if (location->named && location->function == loop->function) {
                return true;
            }
        }
    }
    return false;
}

static bool is_same_function(const struct sbx_location *a, const struct sbx_location *b)
{
    return a->function == b->function && a->module == b->module; /* interned: equal texts are one pointer */
}

/* ---- the leaf ---- */

const struct sbx_location *sbx_blame_leaf(const struct sbx_report *report, uint32_t stack)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_location *found[SBX_BLAME_FILTERS] = {NULL};
    bool in_loop = true;
    for (uint32_t id = stack <= stall->callstack_count ? stack : 0; id != 0; id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        for (uint32_t at = report->location_begin[frame]; at < report->location_begin[frame + 1]; at++) {
            const struct sbx_location *location = &report->locations[at];
            in_loop =
                in_loop && (!sbx_blame_hides_callers(report, frame, location) || is_nested_loop(report, id, location));
            for (int filter = in_loop ? SBX_BLAME_OWN : SBX_BLAME_NAMED; filter < SBX_BLAME_FILTERS; filter++) {
                if (found[filter] == NULL && !is_no_answer(location, (enum sbx_blame_filter)filter) &&
                    sbx_blame_counts(report, frame, location, (enum sbx_blame_filter)filter)) {
                    found[filter] = location;
                }
            }
            if (found[SBX_BLAME_OWN] != NULL) {
                return found[SBX_BLAME_OWN];
            }
        }
    }
    for (int filter = SBX_BLAME_NAMED; filter < SBX_BLAME_FILTERS; filter++) {
        if (found[filter] != NULL) {
            return found[filter];
        }
    }
    return NULL;
}

/* Used in a runtime's library if no function of the application is on the stack: the caller of the functions that hand
 * work over. NULL: the runtime has no named function there. */
static const struct sbx_location *runtime_submitter(const struct sbx_report *report, uint32_t stack)
{
    const struct sbx_stall *stall = report->stall;
    for (uint32_t id = stack <= stall->callstack_count ? stack : 0; id != 0; id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        const struct sbx_location *location = &report->locations[report->location_begin[frame]];
        if (location->logical && location->named && !sbx_is_handing_library(location)) {
            return location;
        }
    }
    return NULL;
}

static const struct sbx_location *any_submitter(const struct sbx_report *report, uint32_t stack)
{
    const struct sbx_location *leaf = sbx_blame_leaf(report, stack);
    const struct sbx_location *managed = leaf == NULL || !leaf->app ? runtime_submitter(report, stack) : NULL;
    return managed != NULL ? managed : leaf;
}

const struct sbx_location *sbx_blame_submitter(const struct sbx_report *report, uint32_t stack)
{
    const struct sbx_stall *stall = report->stall;
    bool in_loop = true;
    for (uint32_t id = stack <= stall->callstack_count ? stack : 0; id != 0 && in_loop;
         id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        for (uint32_t at = report->location_begin[frame]; at < report->location_begin[frame + 1]; at++) {
            const struct sbx_location *location = &report->locations[at];
            in_loop =
                in_loop && (!sbx_blame_hides_callers(report, frame, location) || is_nested_loop(report, id, location));
            if (in_loop && !is_no_answer(location, SBX_BLAME_OWN) &&
                sbx_blame_counts(report, frame, location, SBX_BLAME_OWN) && !sbx_only_queues(location->function)) {
                return strcmp(location->function, "main") != 0 ? location : any_submitter(report, stack);
            }
        }
    }
    return any_submitter(report, stack);
}

/* The innermost function of the program in the runtime's language. Native code may lie below it. NULL: there is none,
 * or a function without a name lies below it. */
static const struct sbx_location *logical_submitter(const struct sbx_report *report, uint32_t stack)
{
    const struct sbx_stall *stall = report->stall;
    for (uint32_t id = stack <= stall->callstack_count ? stack : 0; id != 0; id = stall->callstacks[id].parent) {
        const struct sbx_location *location = &report->locations[report->location_begin[stall->callstacks[id].frame]];
        if (location->logical && !sbx_is_runtime_library(location)) {
            return location->named ? location : NULL;
        }
    }
    return NULL;
}

/* For a task that was queued in a run whose stack was seen: the function that node's loop called in that run. It is not
 * known which of the functions below it queued the task. NULL: the loop may have called other functions in that run. */
static const struct sbx_location *called_by_loop(const struct sbx_report *report, uint32_t stack)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_location *outermost = NULL;
    for (uint32_t id = stack <= stall->callstack_count ? stack : 0; id != 0; id = stall->callstacks[id].parent) {
        const struct sbx_location *location = &report->locations[report->location_begin[stall->callstacks[id].frame]];
        if (sbx_node_handler_of(location) != NULL) {
            return outermost != NULL && outermost->named && sbx_node_runs_once(location) ? outermost : NULL;
        }
        outermost = location->logical && !sbx_is_runtime_library(location) ? location : outermost;
    }
    return NULL;
}

/* node uses one timer of libuv for all of its own timers. So the function that started libuv's timer did not set the
 * timer that runs. */
static bool has_node(const struct sbx_stall *stall)
{
    for (uint32_t i = 0; i < stall->runtime_count; i++) {
        if (stall->runtimes[i].kind == SBX_RUNTIME_JAVASCRIPT && stall->runtimes[i].state != SBX_RUNTIME_NONE) {
            return true;
        }
    }
    return false;
}

bool sbx_blame_knows_no_submitter(const struct sbx_report *report, const struct sbx_stall_task *task)
{
    return task->op == SBX_OP_JS_CALLBACK ? called_by_loop(report, task->stack) == NULL
                                          : task->op == SBX_OP_UV_TIMER_START && has_node(report->stall);
}

const struct sbx_location *sbx_blame_task_submitter(const struct sbx_report *report, const struct sbx_stall_task *task)
{
    const struct sbx_location *found = NULL;
    switch (task->op) {
    case SBX_OP_CALL_SOON:
    case SBX_OP_CALL_LATER:
    case SBX_OP_CREATE_TASK:
    case SBX_OP_TO_THREAD:
    case SBX_OP_SUBMIT:
    case SBX_OP_SET_TIMEOUT:
    case SBX_OP_SET_INTERVAL:
        found = logical_submitter(report, task->stack);
        break;
    case SBX_OP_JS_CALLBACK:
        return called_by_loop(report, task->stack);
    default:
        break;
    }
    return found != NULL ? found : sbx_blame_submitter(report, task->stack);
}

const char *sbx_blame_unnamed_below(const struct sbx_report *report, uint32_t stack,
                                    const struct sbx_location *location)
{
    const struct sbx_stall *stall = report->stall;
    const char *module = NULL;
    for (uint32_t id = stack <= stall->callstack_count ? stack : 0; id != 0; id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        for (uint32_t at = report->location_begin[frame]; at < report->location_begin[frame + 1]; at++) {
            const struct sbx_location *here = &report->locations[at];
            if (location != NULL && is_same_function(here, location)) {
                return module;
            }
            if (!sbx_blame_counts(report, frame, here, SBX_BLAME_CODE)) {
                continue;
            }
            if (here->named) {
                return NULL; /* this named function is nearer: the answer was chosen for another reason */
            }
            module = module != NULL ? module : here->module;
        }
    }
    return NULL;
}

bool sbx_blame_is_whole(const struct sbx_report *report, uint32_t stack)
{
    const struct sbx_stall *stall = report->stall;
    for (uint32_t id = stack <= stall->callstack_count ? stack : 0; id != 0; id = stall->callstacks[id].parent) {
        if (stall->frames[stall->callstacks[id].frame].kind == SBX_FRAME_END) {
            return false;
        }
    }
    return true;
}

static bool begins_with_one(const char *name, const char *const *prefixes)
{
    for (; name != NULL && *prefixes != NULL; prefixes++) {
        if (strncmp(name, *prefixes, strlen(*prefixes)) == 0) {
            return true;
        }
    }
    return false;
}

bool sbx_blame_is_allocator(const struct sbx_report *report, uint32_t stack)
{
    static const char *const modules[] = {"libjemalloc.so", "libtcmalloc", "libmimalloc.so", "libtbbmalloc.so", NULL};
    static const char *const functions[] = {"malloc",        "calloc",
                                            "realloc",       "free",
                                            "cfree",         "_int_malloc",
                                            "_int_free",     "__libc_malloc",
                                            "__libc_free",   "malloc_consolidate",
                                            "operator new",  "operator delete",
                                            "je_",           "posix_memalign",
                                            "aligned_alloc", NULL};
    const struct sbx_stall *stall = report->stall;
    if (stack == 0 || stack > stall->callstack_count) {
        return false;
    }
    uint32_t index = stall->callstacks[stack].frame;
    const struct sbx_stall_frame *frame = &stall->frames[index];
    if (frame->kind != SBX_FRAME_CODE) {
        return false;
    }
    const struct sbx_location *location = &report->locations[report->location_begin[index]];
    return begins_with_one(stall->modules[frame->module].name, modules) ||
           (location->named && sbx_is_base_module(&stall->modules[frame->module], location->module) &&
            begins_with_one(location->function, functions));
}

/* ---- the heaviest path ---- */

/* Stacks merged by function: one node for all callstacks that go through the same functions, whatever lines the calls
 * are at. Parents have smaller indexes than children. Node 0 is above every outermost function. */
struct merged {
    const struct sbx_location *location;
    uint32_t parent;
    uint32_t next; /* the next node in the hash chain; 0 ends it */
    double weight; /* first its own weight, later with the weight of all below it */
};

struct merger {
    const struct sbx_report *report;
    enum sbx_blame_filter filter;
    struct merged *nodes;
    uint32_t node_count, node_room;
    uint32_t *buckets;     /* node by hash; 0 empty */
    uint32_t bucket_count; /* a power of two */
    uint32_t *node_of;     /* by callstack id */
};

/* A lambda counts as part of the function it was written in if that function (perhaps through a library) runs it: a
 * comparison handed to std::sort(). A lambda written in main does not, because main is no answer. */
static bool is_part_of(const struct sbx_location *inner, const struct sbx_location *outer)
{
    return is_same_function(inner, outer) ||
           (inner->named && outer->named && inner->module == outer->module && strcmp(outer->function, "main") != 0 &&
            strncmp(outer->function, "main(", 5) != 0 && sbx_is_lambda_of(inner->function, outer->function));
}

/* The child node of `parent` for that function. The parent itself for direct recursion, for its own lambdas, and if
 * there is no room for more nodes. */
static uint32_t child_of(struct merger *merger, uint32_t parent, const struct sbx_location *location)
{
    if (parent != 0 && is_part_of(location, merger->nodes[parent].location)) {
        return parent;
    }
    uint64_t hash = ((uint64_t)(uintptr_t)location->function >> 4) * UINT64_C(0x9e3779b97f4a7c15) +
                    parent * UINT64_C(0xc2b2ae3d27d4eb4f);
    uint32_t *bucket = &merger->buckets[(hash ^ hash >> 29) & (merger->bucket_count - 1)];
    for (uint32_t node = *bucket; node != 0; node = merger->nodes[node].next) {
        if (merger->nodes[node].parent == parent && is_same_function(merger->nodes[node].location, location)) {
            return node;
        }
    }
    if (merger->node_count == merger->node_room) {
        return parent;
    }
    uint32_t node = merger->node_count++;
    merger->nodes[node] = (struct merged){.location = location, .parent = parent, .next = *bucket};
    *bucket = node;
    return node;
}

/* Give a node to each callstack that has weight itself or has children with weight, and give the nodes their weight. */
static void merge(struct merger *merger, const double *weights, const double *through)
{
    const struct sbx_report *report = merger->report;
    const struct sbx_stall *stall = report->stall;
    for (uint32_t id = 1; id <= stall->callstack_count; id++) { /* parents come first */
        if (through[id] <= 0) {
            continue;
        }
        uint32_t node = merger->node_of[stall->callstacks[id].parent];
        uint32_t frame = stall->callstacks[id].frame;
        for (uint32_t at = report->location_begin[frame + 1]; at-- > report->location_begin[frame];) {
            const struct sbx_location *location = &report->locations[at];
            if (merger->filter == SBX_BLAME_OWN && sbx_blame_hides_callers(report, frame, location)) {
                node = 0;
            } else if (sbx_blame_counts(report, frame, location, merger->filter)) {
                node = child_of(merger, node, &report->locations[at]);
            }
        }
        merger->node_of[id] = node;
        merger->nodes[node].weight += weights[id];
    }
    for (uint32_t node = merger->node_count; node-- > 1;) {
        merger->nodes[merger->nodes[node].parent].weight += merger->nodes[node].weight;
    }
}

/* The deepest node with more than half of the weight of `top`. At most one child of a node has more than half, and
 * children come after their parents, so one pass is enough. */
static uint32_t deepest_majority(const struct merger *merger, uint32_t top)
{
    uint32_t found = top;
    for (uint32_t node = top + 1; node < merger->node_count; node++) {
        if (merger->nodes[node].parent == found && merger->nodes[node].weight > merger->nodes[top].weight * 0.5) {
            found = node;
        }
    }
    return found;
}

/* Used if no function has a majority: the outermost function with the most weight; 0 if there is none. */
static uint32_t heaviest_root(const struct merger *merger)
{
    uint32_t found = 0;
    for (uint32_t node = 1; node < merger->node_count; node++) {
        if (merger->nodes[node].parent == 0 &&
            (found == 0 || merger->nodes[node].weight > merger->nodes[found].weight)) {
            found = node;
        }
    }
    return found;
}

static bool is_below(const struct merger *merger, uint32_t node, uint32_t above)
{
    while (node > above) {
        node = merger->nodes[node].parent;
    }
    return node == above;
}

static void describe(const struct merger *merger, const double *weights, uint32_t node, struct sbx_blame_path *path)
{
    const struct merged *nodes = merger->nodes;
    double heaviest = 0, unnamed = 0;
    path->location = nodes[node].location;
    path->share = nodes[node].weight / nodes[0].weight;
    uint32_t caller = nodes[node].parent;
    for (int i = 0; i < 2 && caller != 0; i++, caller = nodes[caller].parent) {
        path->callers[i] = nodes[caller].location;
    }
    for (uint32_t id = 1; id <= merger->report->stall->callstack_count; id++) {
        if (weights[id] <= 0 || !is_below(merger, merger->node_of[id], node)) {
            continue;
        }
        if (weights[id] > heaviest) {
            heaviest = weights[id];
            path->stack = id;
        }
        const char *module =
            merger->filter <= SBX_BLAME_NAMED ? sbx_blame_unnamed_below(merger->report, id, path->location) : NULL;
        if (module != NULL) {
            unnamed += weights[id];
            path->unnamed_module = module;
        }
    }
    path->unnamed_share = unnamed / nodes[node].weight;
}

/* A callstack that passes through a function: at which location, and with how much weight. */
struct passage {
    const struct sbx_location *location;
    double weight;
};

/* The location nearest to the leaf at which the callstack passes through the function; NULL: none. */
static const struct sbx_location *passage_through(const struct sbx_report *report, uint32_t stack,
                                                  const struct sbx_location *function)
{
    const struct sbx_stall *stall = report->stall;
    for (uint32_t id = stack; id != 0; id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        for (uint32_t at = report->location_begin[frame]; at < report->location_begin[frame + 1]; at++) {
            if (is_same_function(&report->locations[at], function)) {
                return &report->locations[at];
            }
        }
    }
    return NULL;
}

static int compare_lines(const void *left, const void *right)
{
    uint32_t a = ((const struct passage *)left)->location->line, b = ((const struct passage *)right)->location->line;
    return (a > b) - (a < b);
}

/* The passage through the line with the most weight. The passages are sorted by line. */
static const struct sbx_location *heaviest_line(const struct passage *passages, size_t count)
{
    const struct sbx_location *found = NULL;
    double heaviest = 0;
    for (size_t first = 0, next; first < count; first = next) {
        double weight = 0;
        for (next = first; next < count && passages[next].location->line == passages[first].location->line; next++) {
            weight += passages[next].weight;
        }
        if (weight > heaviest) {
            heaviest = weight;
            found = passages[first].location;
        }
    }
    return found;
}

/* A node has the location at which its function was found first. Another line of the function may have most of the
 * time. */
static int choose_line(const struct merger *merger, const double *weights, uint32_t node, struct sbx_blame_path *path)
{
    uint32_t stacks = merger->report->stall->callstack_count;
    struct passage *passages = malloc(((size_t)stacks + 1) * sizeof *passages);
    size_t count = 0;
    if (passages == NULL) {
        return -ENOMEM;
    }
    for (uint32_t id = 1; id <= stacks; id++) {
        if (weights[id] > 0 && is_below(merger, merger->node_of[id], node)) {
            passages[count] = (struct passage){passage_through(merger->report, id, path->location), weights[id]};
            count += passages[count].location != NULL;
        }
    }
    qsort(passages, count, sizeof *passages, compare_lines);
    const struct sbx_location *line = heaviest_line(passages, count);
    path->location = line != NULL ? line : path->location;
    free(passages);
    return 0;
}

int sbx_blame_heaviest(const struct sbx_report *report, const double *weights, struct sbx_blame_path *path_out)
{
    const struct sbx_stall *stall = report->stall;
    uint32_t count = stall->callstack_count;
    *path_out = (struct sbx_blame_path){0};
    struct merger merger = {.report = report};
    double *through = calloc((size_t)count + 1, sizeof *through);
    size_t locations = 1;
    int result = -ENOMEM;
    if (through == NULL) {
        return -ENOMEM;
    }
    for (uint32_t id = count; id > 0; id--) { /* children come last: each adds to its parent when it is complete */
        through[id] += weights[id];
        through[stall->callstacks[id].parent] += through[id];
        uint32_t frame = stall->callstacks[id].frame;
        locations += through[id] > 0 ? report->location_begin[frame + 1] - report->location_begin[frame] : 0;
    }
    if (through[0] <= 0) {
        result = 0;
        goto free_through;
    }
    merger.node_room = (uint32_t)(locations > MERGED_MAX ? MERGED_MAX : locations);
    for (merger.bucket_count = 64; merger.bucket_count < merger.node_room; merger.bucket_count *= 2) {
    }
    merger.nodes = malloc(merger.node_room * sizeof *merger.nodes);
    merger.buckets = malloc(merger.bucket_count * sizeof *merger.buckets);
    merger.node_of = malloc(((size_t)count + 1) * sizeof *merger.node_of);
    if (merger.nodes == NULL || merger.buckets == NULL || merger.node_of == NULL) {
        goto free_merger;
    }
    /* A majority by any filter is better than the largest minority by the best one. */
    for (int round = 0; round < 2 * SBX_BLAME_FILTERS; round++) {
        merger.filter = (enum sbx_blame_filter)(round % SBX_BLAME_FILTERS);
        merger.nodes[0] = (struct merged){0};
        merger.node_count = 1;
        memset(merger.buckets, 0, merger.bucket_count * sizeof *merger.buckets);
        memset(merger.node_of, 0, ((size_t)count + 1) * sizeof *merger.node_of);
        merge(&merger, weights, through);
        uint32_t top = round < SBX_BLAME_FILTERS ? 0 : heaviest_root(&merger);
        uint32_t node = deepest_majority(&merger, top);
        if (node != 0 && !is_no_answer(merger.nodes[node].location, merger.filter)) {
            describe(&merger, weights, node, path_out);
            result = choose_line(&merger, weights, node, path_out);
            goto free_merger;
        }
    }
    result = 0;

free_merger:
    free(merger.nodes);
    free(merger.buckets);
    free(merger.node_of);
free_through:
    free(through);
    return result;
}
