/* SPDX-License-Identifier: Apache-2.0 */
/* capture_record.h - makes a record of the calling thread: walks and interns its stack, and puts the record into the
 * ring.
 *
 * Samples at points, calls that blocked and the sample handler all use it. */
#ifndef SBX_CAPTURE_RECORD_H
#define SBX_CAPTURE_RECORD_H

#include <stdint.h>

#include "frame_walker.h"
#include "marks.h"
#include "recording_format.h"
#include "thread_block.h"

/* Walk the calling thread's stack from `start` and intern it; frames that have not changed since the last walk are
 * replayed. Returns the callstack id. The caller holds `inside`. */
SBX_SIGNAL_SAFE uint32_t sbx_capture_stack(struct sbx_thread *thread, const struct sbx_walk_registers *start);

/* The same without the stacks of runtimes, for callers that need only the native activations. What was noted of a
 * runtime stays. */
SBX_SIGNAL_SAFE uint32_t sbx_capture_native_stack(struct sbx_thread *thread, const struct sbx_walk_registers *start);

/* Fill the fields that every record of the calling thread has (thread, counters, message) and put the record into the
 * ring. A sample that repeats the one before it only makes the run longer. The caller has set kind, op, times and all
 * other known fields, and holds `inside`. */
SBX_SIGNAL_SAFE void sbx_capture_put(struct sbx_thread *thread, struct sbx_record *record);

/* Put a record whose stack and message are those of another thread, or of none. The record does not say where the
 * calling thread is. */
SBX_SIGNAL_SAFE void sbx_capture_put_of_others(struct sbx_thread *thread, struct sbx_record *record);

/* Put a record of the thread's run of equal samples, and end the run. The caller holds `inside`, or the thread is
 * gone. */
SBX_SIGNAL_SAFE void sbx_capture_end_run(struct sbx_thread *thread);

/* Write the faults and context switches of the calling thread into the record. One system call, some 250 ns. */
SBX_SIGNAL_SAFE void sbx_capture_read_usage(struct sbx_record *record);

/* The piece of a runtime's work that the thread was seen to run (seen_work.h) is over at `end_ns`. The caller holds
 * `inside`. */
SBX_SIGNAL_SAFE void sbx_capture_end_seen_work(struct sbx_thread *thread, uint64_t end_ns);

#endif
