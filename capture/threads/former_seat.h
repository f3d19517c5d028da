/* SPDX-License-Identifier: Apache-2.0 */
/* former_seat.h - the seat that a thread gave back for the time of a wait, and how the thread gets a seat again.
 *
 * calls/seat_turns.h says when a thread gives its seat back, and has the rules (T1 to T5). */
#ifndef SBX_FORMER_SEAT_H
#define SBX_FORMER_SEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "thread_block.h"

enum {
    SBX_TASKS_KEPT = 2 /* only the innermost, because these words use TLS of each thread of the host */
};

/* What a thread without a seat keeps. In its TLS, and used by this thread only. */
struct sbx_former_seat {
    uint32_t life;    /* number of its life, for all its seats; 0: it never had one */
    uint32_t place;   /* index + 1 of the seat it gave back; 0: there is none to return to */
    uint64_t next_ns; /* T5: when the last time it gave its seat back is paid for */
    uint64_t stack_low, stack_high;
    /* The counts of its former entry. The next entry continues from them. */
    uint64_t alloc_count, alloc_bytes, free_count, map_count, map_bytes;
    struct sbx_open_task tasks[SBX_TASKS_KEPT]; /* the tasks that it runs, innermost last; id 0: none */
    uint64_t popped, popped_from;               /* as in struct sbx_thread_tasks */
};
extern __thread struct sbx_former_seat sbx_former_seat;

/* May the calling thread, which has no seat, take one now? Not in a signal handler, because the end of the handler
 * would remove the alternate stack that comes with the seat. */
SBX_HOOK_SAFE bool sbx_seat_may_be_taken(void);

/* Take the calling thread's former seat, as it left it. NULL: another thread has it, or had it meanwhile. Signals are
 * blocked. */
SBX_HOOK_SAFE struct sbx_thread *sbx_seat_resume(uint32_t tid);

/* Remember the tasks that the calling thread runs, before it gives its seat back; and continue them on another seat. */
SBX_HOOK_SAFE void sbx_former_note_tasks(const struct sbx_thread_tasks *tasks);
SBX_HOOK_SAFE void sbx_former_resume_tasks(struct sbx_thread *thread);

/* The calling thread ends without a seat. The seat it gave back becomes that of a dead thread, and the tasks that it
 * ran are over. */
SBX_HOOK_SAFE void sbx_seat_forget(uint32_t tid);

#endif
