/* SPDX-License-Identifier: Apache-2.0 */
/* logical_points.h - where embedded runtimes are asked besides the capture itself: as a call begins, and at their safepoints.
 *
 * handler/logical_stack.h says how, and who may be where at the same time. */
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

/* A blocking call begins at `begin_ns`: has the turn of its logical stack come, if the thread has one? */
SBX_HOOK_SAFE static inline bool sbx_logical_note_is_due(const struct sbx_thread *thread, uint64_t begin_ns)
{
    return sbx_load_relaxed(&sbx_the_capture.provider_count) != 0 && /* relaxed: a hint */
           thread->next_note_ns <= begin_ns;
}

/* It has: remember it for who looks at the sleeper from outside. Before entry.call is released; not inside. */
SBX_HOOK_SAFE void sbx_logical_note_call(struct sbx_thread *thread, const struct sbx_blocking *call);

/* Watch thread: put what was noted at the begin of the call that began at `call_begin_ns` on the native stack `native` of
 * the sleeper, interned in `epoch`. Returns `native` when nothing was, or the thread is not in that call any more. */
uint32_t sbx_logical_append_noted(const struct sbx_thread *thread, uint64_t call_begin_ns, uint32_t epoch,
                                  uint32_t native);

/* Watch thread: what is to be told at `now_ns` of who awaits what the sleeper runs, as it was noted then. false: nothing, or the
 * thread is not in that call any more. */
bool sbx_awaits_tell_noted(struct sbx_thread *thread, uint64_t call_begin_ns, uint64_t now_ns,
                           struct sbx_record *record_out);

/* At a safepoint of a runtime on this thread: take the sample that is wanted, if one is. */
SBX_HOOK_SAFE void sbx_logical_safepoint(void);

#endif
