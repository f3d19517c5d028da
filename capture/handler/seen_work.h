/* SPDX-License-Identifier: Apache-2.0 */
/* seen_work.h - work of an embedded runtime that is seen to run: nobody tells when it begins and ends.
 *
 * A runtime may give each piece of work a number, and know which one runs (stallbox.h, `runs`). It is asked at each capture. A piece that is seen for
 * the first time, and of which it is noted who queued it (work_notes.h), becomes a task. It is taken to have begun when the message did, or when another one, or
 * none, was seen last: too early by less than one gap between two samples. When another one is seen it was over when it was seen last; when the thread waits for
 * work, it is over now.
 *
 * A piece that nobody noted may have been queued while another one ran that was seen itself. Then that one's stack is told, for what it ran as a whole:
 * its outermost function of the program (triage/verdict/blame.c). Only for what runs in the same message or the next, because what runs again
 * and again, like a socket, may have run something else since.
 *
 * The caller holds `inside`, and puts the records. */
#ifndef SBX_SEEN_WORK_H
#define SBX_SEEN_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "recording_format.h"
#include "thread_block.h"

struct sbx_walk_registers;

/* What is to be told of a piece that is over: how long it lay, and that it ran. 0 or 2 records. */
struct sbx_seen_records {
    uint32_t count;
    struct sbx_record records[2];
};

/* The calling thread was just walked from `start`, and its stack is `stack`. */
SBX_SIGNAL_SAFE void sbx_seen_work_ask(struct sbx_thread *thread, const struct sbx_walk_registers *start,
                                       uint32_t stack, struct sbx_seen_records *told);

/* What the thread ran is over at `end_ns`. */
SBX_SIGNAL_SAFE void sbx_seen_work_end(struct sbx_thread *thread, uint64_t end_ns, struct sbx_seen_records *told);

/* The calling thread is about to wait: does it so in the middle of what it was seen to run? */
SBX_SIGNAL_SAFE bool sbx_seen_work_goes_on(struct sbx_thread *thread);

#endif
