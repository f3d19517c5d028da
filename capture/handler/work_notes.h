/* SPDX-License-Identifier: Apache-2.0 */
/* work_notes.h - pieces of work that a runtime numbers itself (stallbox.h, struct stallbox_queued_work): which thread
 * queued them, and which were seen to run.
 *
 * They are not tasks yet (threads/task_table.h): nothing reports when a piece begins, ends or is given up, and most run
 * for so short a time that no capture meets them. So each piece keeps a place here until another one needs the place.
 * It becomes a task when it is seen to run (seen_work.h).
 *
 *   WN1  A note is found by a key made of its queue's number, its item's number and this process's recording. So a
 *        forked child finds no notes of its parent.
 *   WN2  A key has WORK_PROBES places, and a new note replaces the oldest of them. So a flood of timers drives out the
 *        notes of other work, and then that work is not recorded.
 *   WN3  A place that is being written is no note: a thread that meets one goes on. No loop waits.
 *
 * Synchronization:  put, find: any thread, and its signal handler. carry: the watch thread. */
#ifndef SBX_WORK_NOTES_H
#define SBX_WORK_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

struct sbx_work_note {
    uint64_t at_ns;   /* when it was queued, or seen to run */
    uint64_t message; /* the message in which it was; 0: none */
    uint32_t stack;   /* callstack id: of the thread that queued it, or of what ran */
    uint32_t tid;     /* of that thread */
    uint8_t op, group;
};

/* WN1. Never 0. */
SBX_SIGNAL_SAFE uint64_t sbx_work_key(uint64_t queue, uint64_t item);

/* The piece was queued. */
SBX_SIGNAL_SAFE void sbx_work_note_queued(uint64_t key, const struct sbx_work_note *note);
SBX_SIGNAL_SAFE bool sbx_work_find_queued(uint64_t key, struct sbx_work_note *note_out);

/* The piece was seen to run. A newer note replaces an older one. */
SBX_SIGNAL_SAFE void sbx_work_note_run(uint64_t key, const struct sbx_work_note *note);
SBX_SIGNAL_SAFE bool sbx_work_find_run(uint64_t key, struct sbx_work_note *note_out);

/* The callstack table has a new epoch: carry the stacks over. Watch thread. */
void sbx_work_notes_carry(uint32_t epoch);

#endif
