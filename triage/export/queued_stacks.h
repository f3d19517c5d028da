/* SPDX-License-Identifier: Apache-2.0 */
/* queued_stacks.h - asynchronous stacks: under the frames of a task, the stack that queued it.
 *
 *   submitter's outermost;...;submitter's leaf;[g_idle_add];runner's outermost;...;runner's leaf
 *
 * A frame with the call that queued the task lies between the two stacks. If the submitter queued it in a task of its
 * own, the stack that queued that task lies under it, and so on, SBX_TASK_HOPS_MAX times (task_chain.h). A piece in
 * which a task begins or ends is cut there. Of nested tasks, the innermost counts. Time outside of known tasks keeps
 * its stack. Paths have at most SBX_CALL_PATH_MAX frames: the submitter's outermost frames are dropped first. */
#ifndef SBX_QUEUED_STACKS_H
#define SBX_QUEUED_STACKS_H

#include "span_pieces.h"

/* As sbx_span_pieces_visit(), for the spans of `thread`. */
int sbx_queued_pieces_visit(const struct sbx_report *report, uint32_t thread, const struct sbx_thread_spans *spans,
                            const struct sbx_call_paths *paths, sbx_piece_visitor visitor, void *context);

#endif
