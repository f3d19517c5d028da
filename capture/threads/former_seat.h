/* SPDX-License-Identifier: Apache-2.0 */
/* former_seat.h - the seat that a thread gave back for the time of a wait, and how it comes by one again.
 *
 * calls/seat_turns.h says when it gives one back, and has the rules (T1 to T5). */
#ifndef SBX_FORMER_SEAT_H
#define SBX_FORMER_SEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "thread_block.h"

enum {
    SBX_TASKS_KEPT = 2 /* the innermost: these words lie in the TLS of each thread of the host */
};

/* What a thread keeps of itself while it has no seat. In its TLS, and its own. */
struct sbx_former_seat {
    uint32_t life;    /* its number, for all its seats; 0: it never had one */
    uint32_t place;   /* index + 1 of the seat it gave back; 0: there is none to come back to */
    uint64_t next_ns; /* T5: when it has paid for the last time it gave */
    uint64_t stack_low, stack_high;
    uint64_t alloc_count, alloc_bytes, free_count, map_count,
        map_bytes;                              /* its entry's, which a next one goes on from */
    struct sbx_open_task tasks[SBX_TASKS_KEPT]; /* that it runs, the innermost last; id 0: none */
    uint64_t popped, popped_from;               /* as in struct sbx_thread_tasks */
};
extern __thread struct sbx_former_seat sbx_former_seat;

/* May the calling thread, which has none, take a seat now? Not in a handler, whose end would take its alternate stack away again. */
SBX_HOOK_SAFE bool sbx_seat_may_be_taken(void);

/* The calling thread's former seat, as it left it; NULL: it is another's, or was. Signals are blocked. */
SBX_HOOK_SAFE struct sbx_thread *sbx_seat_resume(uint32_t tid);

/* Note the tasks that the calling thread runs, before it gives its seat back; and let it go on with them on another seat than that. */
SBX_HOOK_SAFE void sbx_former_note_tasks(const struct sbx_thread_tasks *tasks);
SBX_HOOK_SAFE void sbx_former_resume_tasks(struct sbx_thread_tasks *tasks);

/* The calling thread ends without a seat: the one it gave back is that of a dead thread, and the tasks that it ran are over. */
SBX_HOOK_SAFE void sbx_seat_forget(uint32_t tid);

#endif
