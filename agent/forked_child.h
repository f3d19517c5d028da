/* SPDX-License-Identifier: Apache-2.0 */
/* forked_child.h - a child of fork() that does not call exec is recorded like its parent, as soon as it shows that it
 * will live.
 *
 * Nearly all children call exec or end at once, so the fork itself starts nothing: the child unmaps its parent's
 * recording and is PENDING. Hooks, the module map and its unwind rows are inherited from the parent, and still valid.
 * The recorder of the child starts
 *
 *   - at its first call of the poll family that has time to wait, accept() or pause(): it waits for work;
 *   - at another wait, a read or write of a file, or a load of a module, once it is 20 ms old or has used 5 ms of
 *     processor time;
 *   - when its code asks for memory, reads a clock or prints, once it has used 5 ms of processor time: it computes;
 *   - before it drops privileges or changes its root, because it could create no recording afterwards.
 *
 *   RECORDED (or PENDING) --fork--> PENDING --a sign of life, and a seat--> STARTING --> DONE: RECORDED
 *                                     |  ^----- no seat: asks again a second later
 *                                     `--> OFF: a sandbox
 *
 * A program whose own recorder has not started yet (late_start.h) can fork as well: a shell, or a server that has just
 * replaced itself by a new version. Its children are recorded like those of a recorded program, but they inherit no map
 * and no rows, and only the hooks of waits.
 *
 * The child takes its orders from inherited memory, because a worker may have no environment any more. Its recording is
 * an eighth of a program's size, and it takes one of the family's seats (family.h). A child whose parent has ended is a
 * daemon, and is recorded like a program. */
#ifndef SBX_FORKED_CHILD_H
#define SBX_FORKED_CHILD_H

#include <stdbool.h>

#include "preload.h"

/* The recorder of this process has started: from here on its children are to be recorded. */
void sbx_forked_child_look_out(void);

/* The recorder of this process has not started, but its settings are known; its children are to be recorded all the
 * same. All arguments are copied. `is_untouched` says in a child that no start had begun at the fork: a start under way
 * leaves half-initialized data that the child cannot use. For this reason a fork waits for the end of such a start, for
 * `wait_ms` at most. Called before main(). */
void sbx_forked_child_look_out_unstarted(const char *folder, const char *spool, const struct sbx_preload_orders *orders,
                                         bool (*is_untouched)(uint32_t wait_ms));

/* Start now, because the calling thread asks for it: stallbox_start() in a child. Returns 0; -ESRCH: this process is no
 * child of a recorded one; -EALREADY; -ENOTSUP: it is not to be recorded, or has no seat; -ETIMEDOUT: the start takes
 * longer. */
int sbx_forked_child_start(void);

/* Is this process a forked child whose recorder has not started but still may? Any thread. */
bool sbx_forked_child_is_to_come(void);

/* The process exits: if its recorder is just starting, wait until it has started, for some milliseconds at most. */
void sbx_forked_child_settle_at_exit(void);

#endif
