/* SPDX-License-Identifier: Apache-2.0 */
/* awaits.h - who awaits what a thread runs: functions of an embedded runtime that are suspended until its task ends.
 *
 * They are no callers: nothing goes back to them by a return address, and the thread's time is not theirs. So they are no part of
 * the sample's stack, by which samples are merged, functions blamed and stalls grouped, but records of their own (SBX_RECORD_AWAITED): from when to
 * when whom this thread's task was awaited by. A provider (providers.h) is asked in the middle of a message that has lasted for a
 * while, and as a call begins that may block, for the watch thread that looks at the sleeper. */
#ifndef SBX_AWAITS_H
#define SBX_AWAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "await_span.h"
#include "marks.h"
#include "recording_format.h"
#include "thread_block.h"

struct sbx_walk_registers;

/* The calling thread was just walked from `start`. With `notes` a call begins that may block: it is asked however short the
 * message is. True: *record_out is to be put. The caller holds `inside`. */
SBX_SIGNAL_SAFE bool sbx_awaits_ask(struct sbx_thread *thread, const struct sbx_walk_registers *start, bool notes,
                                    struct sbx_record *record_out);

/* What is to be told of the thread at `now_ns`, if it still runs what was asked about then. false: nothing. */
SBX_SIGNAL_SAFE bool sbx_awaits_tell(struct sbx_awaits *awaits, uint64_t now_ns, struct sbx_record *record_out);

#endif
