/* SPDX-License-Identifier: Apache-2.0 */
/* capture_record.h - a record of the calling thread: its stack, walked and interned, and what is put into the ring.
 *
 * The same for a sample at a point, for a call that blocked and for the sample handler. */
#ifndef SBX_CAPTURE_RECORD_H
#define SBX_CAPTURE_RECORD_H

#include <stdint.h>

#include "frame_walker.h"
#include "marks.h"
#include "recording_format.h"
#include "thread_block.h"

/* Walk the calling thread's stack from `start` and intern it, replaying what has not changed; returns the callstack id.
 * The caller holds `inside`. */
SBX_SIGNAL_SAFE uint32_t sbx_capture_stack(struct sbx_thread *thread, const struct sbx_walk_registers *start);

/* The same without what runtimes tell of theirs: for who looks at activations alone. What was noted of a runtime stays. */
SBX_SIGNAL_SAFE uint32_t sbx_capture_native_stack(struct sbx_thread *thread, const struct sbx_walk_registers *start);

/* Fill the fields every record of the calling thread has (thread, counters, message) and put it into the ring; a sample
 * that repeats the one before it only lengthens its run. The caller has set kind, op, times and what else it knows, and
 * holds `inside`. */
SBX_SIGNAL_SAFE void sbx_capture_put(struct sbx_thread *thread, struct sbx_record *record);

/* Put a record whose stack and message are another thread's, or none's: it says nothing of where this thread is. */
SBX_SIGNAL_SAFE void sbx_capture_put_of_others(struct sbx_thread *thread, struct sbx_record *record);

/* Put what the thread's run of equal samples has to tell. The caller holds `inside`, or the thread is gone. */
SBX_SIGNAL_SAFE void sbx_capture_end_run(struct sbx_thread *thread);

/* Faults and context switches of the calling thread into the record. A system call: some 250 ns. */
SBX_SIGNAL_SAFE void sbx_capture_read_usage(struct sbx_record *record);

/* What the thread was seen to run of a runtime's work (seen_work.h) is over at `end_ns`. The caller holds `inside`. */
SBX_SIGNAL_SAFE void sbx_capture_end_seen_work(struct sbx_thread *thread, uint64_t end_ns);

#endif
