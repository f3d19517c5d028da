/* SPDX-License-Identifier: Apache-2.0 */
/* v8.h - the V8 that was found, and the walk's interface to the agent. Private to the provider. */
#ifndef V8_H
#define V8_H

#include "js_function.h"
#include "js_numbers.h"
#include "js_paths.h"
#include "js_stack.h"

struct v8 {
    struct js_layout layout;
    struct js_isolates isolates;
    struct js_roots roots;
    struct js_numbers ids, definitions, lines, counted, code;
    struct stallbox_provider *provider;
    /* V8's own functions, which only return values */
    const char *(*version)(void);
    void *(*current_isolate)(void);
    const bool *has_isolates; /* 10.2: may current_isolate() be called? NULL: always */
    void (*code_range)(void *isolate, void **begin_out, size_t *bytes_out);
    const void *(*builtins)(void);
    uint32_t (*builtins_bytes)(void);
    struct js_code builtins_code; /* builtins only; an isolate's own range is added in each walk */
    uint32_t announces;           /* 1: a thread is announcing a range of code */
    uint64_t announced[8];
    uint64_t collector_id, builtin_id;
    uint64_t environment_mark; /* js_async_ids.h; 0: this is not node, and nothing is known about its loop */
    const void *clock_code;    /* the code that reads the clock for node's timers */
    size_t clock_code_bytes;
};
extern struct v8 the_v8;

/* Find V8's functions and layout in this process. On false, this V8 can never be used, and `why` says why. */
bool v8_find(char *why, size_t why_bytes);

/* As struct stallbox_provider_options defines them. */
void *v8_resolve(void);
size_t v8_walk_at(void *context, const struct stallbox_interrupted *interrupted, size_t first, uint64_t *functions,
                  uint32_t *lines, size_t max);

size_t v8_awaited_by(void *context, const struct stallbox_interrupted *interrupted, uint64_t *functions,
                     uint32_t *lines, size_t max);

int v8_queues(void *context, struct stallbox_queued_work *work_out);
int v8_runs(void *context, const struct stallbox_interrupted *interrupted, struct stallbox_running_work *work_out);

/* One function of a frame, as the walk finds it. It may be inlined. */
struct v8_told {
    struct js_function function;
    uint64_t positions; /* tagged: its source position table; 0: none */
    uint32_t offset;    /* of the current bytecode */
};

/* Gets the functions that a frame runs, leaf first, at most JS_INLINED_MAX. `code` is the isolate's. Returns their
 * number. 0: the frame is V8's own, or has no function. */
uint32_t v8_functions_of(struct js_pages *pages, uint64_t isolate, const struct js_code *code,
                         const struct js_frame *frame, struct v8_told *told);

/* Gets a function's id, which is made when the function is first met, and its current line; 0: not known. `budget`:
 * js_lines.h. */
void v8_tell(struct js_pages *pages, const struct v8_told *told, uint32_t *budget, uint64_t *id_out,
             uint32_t *line_out);

/* Returns the range of an isolate's code. */
struct js_code v8_code_of(void *isolate);

/* Returns the id of a function, which is the same on all machines. It is computed from the file name without the first
 * `skip` bytes, the position, and the start of the source text. Signal safe. */
uint64_t v8_id_of(const struct js_description *it, size_t skip);

#endif
