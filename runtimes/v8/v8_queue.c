/* SPDX-License-Identifier: Apache-2.0 */
/* v8_queue.c - node's timers when they are set, and the item that its event loop runs.
 *
 * setTimeout() makes an object, which gets the next id. Then it asks libuv for the time, to store when the timer was
 * made. So if the clock is read below these two functions of node's own scripts, the newest id is the timer's:
 *
 *     clock_gettime <- libuv <- [getLibuvNow] <- insert (node:internal/timers)
 *         <- setTimeout or setInterval (node:timers) <- the code that sets the timer
 *
 * If insert() is called for a timer that is set again (refresh()), or for one of node's own timers, nothing is
 * reported. */
#include <errno.h>
#include <string.h>

#include "js_async_ids.h"
#include "js_inlined.h"
#include "v8.h"

static struct js_environments the_environments;

/* ---- node's own functions ---- */

/* Values in a js_numbers table, so none is 0. */
enum part {
    PART_OTHER = 1,
    PART_INSERT,
    PART_SET_TIMEOUT,
    PART_SET_INTERVAL,
};

static struct js_numbers the_parts;

static bool is(const char *text, size_t bytes, const char *wanted)
{
    return bytes == strlen(wanted) && memcmp(text, wanted, bytes) == 0;
}

static __attribute__((noinline)) enum part look_at(struct js_pages *pages, const struct js_function *function)
{
    static const struct {
        const char *file, *name;
        enum part part;
    } parts[] = {
        {"node:internal/timers", "insert", PART_INSERT},
        {"node:timers", "setTimeout", PART_SET_TIMEOUT},
        {"node:timers", "setInterval", PART_SET_INTERVAL},
    };
    struct js_description it;
    if (!js_function_describe(pages, &the_v8.layout, function, &it)) {
        return PART_OTHER;
    }
    enum part part = PART_OTHER;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (is(it.file, it.file_bytes, parts[i].file) && is(it.name, it.name_bytes, parts[i].name)) {
            part = parts[i].part;
        }
    }
    js_numbers_put(&the_parts, function->key, part);
    return part;
}

static enum part part_of(struct js_pages *pages, const struct js_function *function)
{
    uint64_t known = js_numbers_find(&the_parts, function->key);
    return known != 0 ? (enum part)known : look_at(pages, function);
}

/* ---- the innermost frames ---- */

enum {
    LEAVES = 2
};

struct leaves {
    struct js_pages *pages;
    uint64_t isolate;
    const struct js_code *code;
    uint64_t context; /* of the innermost frame, tagged; 0: there is none */
    uint32_t wanted, count;
    struct js_function functions[LEAVES];
};

static bool add_leaf(void *to, const struct js_frame *frame)
{
    struct leaves *leaves = to;
    if (frame->function == 0) {
        return false; /* native code called JavaScript here */
    }
    if (leaves->context == 0) {
        leaves->context = js_word_at(frame->fp + (uint64_t)(int64_t)JS_FRAME_CONTEXT);
    }
    if (leaves->wanted == 0) {
        return false;
    }
    struct v8_told told[JS_INLINED_MAX];
    uint32_t count = v8_functions_of(leaves->pages, leaves->isolate, leaves->code, frame, told);
    for (uint32_t i = 0; i < count && leaves->count < leaves->wanted; i++) {
        leaves->functions[leaves->count++] = told[i].function;
    }
    return leaves->count < leaves->wanted;
}

/* Finds the leaf functions of the calling thread, in isolate `context`. Returns false if it runs no JavaScript, or if
 * functions are wanted during a garbage collection. */
static bool find_leaves(void *context, const struct stallbox_interrupted *interrupted, struct leaves *leaves)
{
    struct js_begin begin = {.sp = (uint64_t)(uintptr_t)__builtin_frame_address(0)};
    if (interrupted != NULL) {
        begin = (struct js_begin){interrupted->pc, interrupted->sp, interrupted->fp};
    }
    leaves->isolate = (uint64_t)(uintptr_t)context;
    uint64_t top = js_isolate_top(&the_v8.isolates, &the_v8.layout, leaves->pages, leaves->isolate, begin.sp);
    if (top == 0) {
        return false;
    }
    /* A thread queues nothing during a garbage collection, though V8 reads clocks there. And its frames may refer to
     * chunks that are gone. */
    if (leaves->wanted != 0 && js_half_at(top + JS_TOP_STATE) == JS_STATE_COLLECTS) {
        return false;
    }
    struct js_code code = v8_code_of(context);
    leaves->code = &code;
    (void)js_stack_walk(&the_v8.layout, leaves->pages, leaves->isolate, top, &begin, &code, add_leaf, leaves);
    leaves->code = NULL;
    return leaves->context != 0;
}

static bool read_ids(const struct leaves *leaves, struct js_async_ids *ids_out)
{
    return js_async_ids_read(&the_environments, &the_v8.layout, leaves->pages, leaves->isolate, leaves->context,
                             the_v8.environment_mark, ids_out);
}

/* ---- calls of the agent ---- */

int v8_queues(void *context, struct stallbox_queued_work *work_out)
{
    struct js_pages pages = {.known = {0}};
    struct leaves leaves = {.pages = &pages, .wanted = LEAVES};
    struct js_async_ids ids;
    int saved_errno = errno, is_queued = 0;
    if (find_leaves(context, NULL, &leaves) && leaves.count == LEAVES &&
        part_of(&pages, &leaves.functions[0]) == PART_INSERT) {
        enum part by = part_of(&pages, &leaves.functions[1]);
        if ((by == PART_SET_TIMEOUT || by == PART_SET_INTERVAL) && read_ids(&leaves, &ids)) {
            *work_out = (struct stallbox_queued_work){ids.environment, ids.newest,
                                                      by == PART_SET_TIMEOUT ? STALLBOX_WORK_SET_TIMEOUT
                                                                             : STALLBOX_WORK_SET_INTERVAL};
            is_queued = 1;
        }
    }
    errno = saved_errno;
    return is_queued;
}

int v8_runs(void *context, const struct stallbox_interrupted *interrupted, struct stallbox_running_work *work_out)
{
    struct js_pages pages = {.known = {0}};
    struct leaves leaves = {.pages = &pages};
    struct js_async_ids ids;
    int saved_errno = errno, is_known = 0;
    if (find_leaves(context, interrupted, &leaves) && read_ids(&leaves, &ids) && ids.running > 1) {
        *work_out = (struct stallbox_running_work){ids.environment, ids.running, ids.queued_in};
        is_known = 1;
    }
    errno = saved_errno;
    return is_known;
}
