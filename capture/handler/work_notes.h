/* SPDX-License-Identifier: Apache-2.0 */
/* work_notes.h - pieces of work that a runtime numbers itself (stallbox.h, struct stallbox_queued_work): who queued them, and which were seen to run.
 *
 * They are no tasks yet (threads/task_table.h): nobody tells when one begins, ends or is given up, and most run for so short a time that no
 * capture meets them. So each keeps a place here until another one needs it, and becomes a task when it is seen to run (seen_work.h).
 *
 *   WN1  A note is found by a key of its queue's and its item's number and of this process's recording: a forked child finds none of its parent's.
 *   WN2  A key has WORK_PROBES places; the oldest of them makes room. So a flood of timers drives out others', and then nothing is told.
 *   WN3  A place that is being written is no note: whoever meets it goes on. No loop waits.
 *
 * Synchronization:  put, find: any thread, and its handler. carry: the watch thread. */
#ifndef SBX_WORK_NOTES_H
#define SBX_WORK_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

struct sbx_work_note {
    uint64_t at_ns;   /* when it was queued, or seen to run */
    uint64_t message; /* the one in which it was; 0: in none */
    uint32_t stack;   /* callstack id: who queued it, or what ran */
    uint32_t tid;     /* of the thread that did */
    uint8_t op, group;
};

/* WN1. Never 0. */
SBX_SIGNAL_SAFE uint64_t sbx_work_key(uint64_t queue, uint64_t item);

/* It was queued. */
SBX_SIGNAL_SAFE void sbx_work_note_queued(uint64_t key, const struct sbx_work_note *note);
SBX_SIGNAL_SAFE bool sbx_work_find_queued(uint64_t key, struct sbx_work_note *note_out);

/* It was seen to run: the newest look counts. */
SBX_SIGNAL_SAFE void sbx_work_note_run(uint64_t key, const struct sbx_work_note *note);
SBX_SIGNAL_SAFE bool sbx_work_find_run(uint64_t key, struct sbx_work_note *note_out);

/* The callstack table's epoch has turned: carry the stacks over. Watch thread. */
void sbx_work_notes_carry(uint32_t epoch);

#endif
