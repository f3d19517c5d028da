/* SPDX-License-Identifier: Apache-2.0 */
/* call_path.h - a callstack as the functions that a reader sees: outermost first, inlined calls included.
 *
 * Exporters compare stacks with each other, and names are not enough for this: two calls of f from different places of
 * g are two calls. So every frame has a `site`: the place in it from which the next inner function was called.
 *
 * Bounded whatever the payload has: a path has at most SBX_CALL_PATH_MAX frames. Deeper stacks keep both ends, with a
 * frame "[frames left out]" between them. Reading a path takes no more steps than this maximum. */
#ifndef SBX_CALL_PATH_H
#define SBX_CALL_PATH_H

#include <stdbool.h>

#include "report.h"

enum {
    SBX_CALL_PATH_MAX = 480
}; /* Perfetto draws 512 levels; the rest is for waits and marks */

struct sbx_path_frame {
    const struct sbx_location *location; /* never NULL */
    uint32_t frame; /* index into stall->frames; UINT32_MAX: "left out"; just below: sbx_call_path_queued() */
    uint64_t site;  /* equal in two frames of one function if they were at the same call */
};

struct sbx_call_paths;

/* Borrows the report until destroy. NULL if memory runs out. */
struct sbx_call_paths *sbx_call_paths_create(const struct sbx_report *report);
void sbx_call_paths_destroy(struct sbx_call_paths *paths);

/* The frames of callstack `stack`, outermost first; 0 for "no stack" and for ids the stall does not have. */
size_t sbx_call_path_read(const struct sbx_call_paths *paths, uint32_t stack,
                          struct sbx_path_frame out[SBX_CALL_PATH_MAX]);

/* The frame between the stack that queued a task by `op` (enum sbx_op) and the stack that ran it: "[g_idle_add]". */
struct sbx_path_frame sbx_call_path_queued(const struct sbx_call_paths *paths, uint8_t op);

/* How many outer frames of two paths are the same running calls: the functions are equal, and all but the last were at
 * the same call site. The last one may have moved on to another call. */
size_t sbx_call_path_shared(const struct sbx_path_frame *a, size_t a_count, const struct sbx_path_frame *b,
                            size_t b_count);

/* The length of the path without the innermost frames that are the wait in `op` itself. A look from outside at a
 * sleeping thread finds some frames inside nanosleep; a measurement by the thread itself has none. Without these frames
 * both look alike. */
size_t sbx_call_path_without_wait(const struct sbx_path_frame *path, size_t count, const char *op_name);

#endif
