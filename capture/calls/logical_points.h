/* SPDX-License-Identifier: Apache-2.0 */
/* logical_points.h - two more places where embedded runtimes are asked for their stacks: when a call begins, and at
 * safepoints.
 *
 * handler/logical_stack.h says how they are asked, and which threads may run which part at the same time. */
#ifndef SBX_LOGICAL_POINTS_H
#define SBX_LOGICAL_POINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "open_calls.h"
#include "order.h"
#include "providers.h"
#include "the_capture.h"
#include "thread_block.h"

/* A blocking call begins at `begin_ns`: is a note of the thread's logical stack due? */
SBX_HOOK_SAFE static inline bool sbx_logical_note_is_due(const struct sbx_thread *thread, uint64_t begin_ns)
{
    return sbx_load_relaxed(&sbx_the_capture.provider_count) != 0 && /* relaxed: a hint */
           thread->next_note_ns <= begin_ns;
}

/* It is due: note the logical stack, for the watch thread that looks at the sleeping thread. Call it before entry.call
 * is released, and not inside. */
SBX_HOOK_SAFE void sbx_logical_note_call(struct sbx_thread *thread, const struct sbx_blocking *call);

/* Watch thread: append what was noted at the begin of the call that began at `call_begin_ns` to the native stack
 * `native` of the sleeping thread, interned in `epoch`. Returns `native` when nothing was noted, or when the thread is
 * not in that call any more. */
uint32_t sbx_logical_append_noted(const struct sbx_thread *thread, uint64_t call_begin_ns, uint32_t epoch,
                                  uint32_t native);

/* Watch thread: the record, at `now_ns`, of what awaits the code that the sleeping thread runs, as it was noted at the
 * begin of the call. false: there is nothing to record, or the thread is not in that call any more. */
bool sbx_awaits_tell_noted(struct sbx_thread *thread, uint64_t call_begin_ns, uint64_t now_ns,
                           struct sbx_record *record_out);

/* At a safepoint of a runtime on this thread: take a sample if one is wanted. */
SBX_HOOK_SAFE void sbx_logical_safepoint(void);

#endif
