/* SPDX-License-Identifier: Apache-2.0 */
/* seen_work.h - work of an embedded runtime that is seen to run: nothing reports when it begins and ends.
 *
 * A runtime may give each piece of work a number and know which piece runs (stallbox.h, `runs`). It is asked at each
 * capture. A piece becomes a task when it is seen for the first time and a note says which thread queued it
 * (work_notes.h). Its begin is taken to be the begin of the message, or the time when another piece, or none, was seen
 * last. That is too early by less than one gap between two samples. When another piece is seen, the first one was over
 * when it was seen last. When the thread waits for work, it is over now.
 *
 * A piece without a note may have been queued while another piece ran that was itself seen. Then the stack of that
 * other piece is recorded, and it stands for the whole run of that piece: its outermost function of the program
 * (triage/verdict/blame.c). This is done only for pieces that run in the same message or the next one. A piece that
 * runs again and again, like a socket, may have run other code since.
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

/* The records of a piece that is over: how long it lay, and that it ran. 0 or 2 records. */
struct sbx_seen_records {
    uint32_t count;
    struct sbx_record records[2];
};

/* The calling thread's stack was just walked from `start`; the result is `stack`. */
SBX_SIGNAL_SAFE void sbx_seen_work_ask(struct sbx_thread *thread, const struct sbx_walk_registers *start,
                                       uint32_t stack, struct sbx_seen_records *told);

/* The piece that the thread ran is over at `end_ns`. */
SBX_SIGNAL_SAFE void sbx_seen_work_end(struct sbx_thread *thread, uint64_t end_ns, struct sbx_seen_records *told);

/* The calling thread is about to wait. Does it wait in the middle of the piece that it was seen to run? */
SBX_SIGNAL_SAFE bool sbx_seen_work_goes_on(struct sbx_thread *thread);

#endif
