/* SPDX-License-Identifier: Apache-2.0 */
/* forked_child.h - a child of fork() that calls no exec is recorded like its parent, from when it begins to matter.
 *
 * Nearly all children call exec or end at once, so fork itself makes nothing: the child shuts its parent's recording out of its
 * memory and is PENDING. Hooks, the map of the code and its unwind rows are its parent's, and true. It starts
 *
 *   - at its first call of the poll family that has time to wait, accept() or pause(): it waits for work;
 *   - at another wait, a read or write of a file, or a load of a module, once it is 20 ms old or has used 5 ms of processor time;
 *   - before it gives up rights or changes its root, because it could make no recording afterwards.
 *
 *   RECORDED (or PENDING) --fork--> PENDING --a sign of life, and a seat--> STARTING --> DONE: RECORDED
 *                                     |  ^----- no seat: asks again a second later
 *                                     `--> OFF: a sandbox
 *
 * A program whose own recorder has not begun yet (late_start.h) can fork as well: a shell, a server that has just put another version of itself in its
 * place. Its children are recorded like those of a recorded one, but have nothing to inherit: no map, no rows, hooks of the waits alone.
 *
 * Orders come from memory: a worker may have no environment any more. Its recording is an eighth of a program's, its seat is one
 * of its family's (family.h). One whose parent has ended is a daemon, and recorded as the program that it is. */
#ifndef SBX_FORKED_CHILD_H
#define SBX_FORKED_CHILD_H

#include <stdbool.h>

#include "preload.h"

/* The recorder of this process has started: from here on its children are to be recorded. */
void sbx_forked_child_look_out(void);

/* The recorder of this process has not started, and has what it will start with; its children are to be recorded all the same. All is
 * copied. `is_untouched` says in a child whether the start had not begun at the fork: one that had been under way leaves nothing that could be
 * relied on. So before a fork it waits for the end of one, for `wait_ms` at most. Before main(). */
void sbx_forked_child_look_out_unstarted(const char *folder, const char *spool, const struct sbx_preload_orders *orders,
                                         bool (*is_untouched)(uint32_t wait_ms));

/* Begin now, by the calling thread's wish: stallbox_start() in a child. Returns 0; -ESRCH where this process is no child of a
 * recorded one; -EALREADY; -ENOTSUP where it is not to be recorded, or has no seat; -ETIMEDOUT where it takes its time. */
int sbx_forked_child_start(void);

/* Is this process a forked child whose recorder has not begun, and may yet? Any thread. */
bool sbx_forked_child_is_to_come(void);

/* The process exits: when its recorder is just starting, wait until it has, for some milliseconds at most. */
void sbx_forked_child_settle_at_exit(void);

#endif
