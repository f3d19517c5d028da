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
#include "providers.h"
#include "thread_block.h"

/* A blocking call begins: remember the logical stack for who looks at the sleeper from outside, if its turn has come.
 * Before entry.call is released; not inside. */
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
