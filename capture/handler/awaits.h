/* SPDX-License-Identifier: Apache-2.0 */
/* awaits.h - which functions of an embedded runtime await the task that a thread runs: functions that are suspended
 * until the task ends.
 *
 * They are not callers: no return address leads back to them, and the thread does not spend its time in them. So they
 * are not part of the sample's stack, which is used to merge samples, blame functions and group stalls. They get
 * records of their own (SBX_RECORD_AWAITED), which say from when to when which functions awaited this thread's task. A
 * provider (providers.h) is asked in the middle of a message that has lasted for a while. It is also asked when a call
 * begins that may block, for the watch thread that looks at the sleeping thread. */
#ifndef SBX_AWAITS_H
#define SBX_AWAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "await_span.h"
#include "marks.h"
#include "recording_format.h"
#include "thread_block.h"

struct sbx_walk_registers;

/* The calling thread's stack was just walked from `start`. `notes` says that a call begins that may block; then the
 * providers are asked even if the message is short. True: the caller has to put *record_out. The caller holds
 * `inside`. */
SBX_SIGNAL_SAFE bool sbx_awaits_ask(struct sbx_thread *thread, const struct sbx_walk_registers *start, bool notes,
                                    struct sbx_record *record_out);

/* The record, at `now_ns`, of what awaits the thread's task, if the thread still runs what was asked about last. false:
 * there is nothing to record. */
SBX_SIGNAL_SAFE bool sbx_awaits_tell(struct sbx_awaits *awaits, uint64_t now_ns, struct sbx_record *record_out);

#endif
