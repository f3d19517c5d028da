/* SPDX-License-Identifier: Apache-2.0 */
/* late_start.h - the recorder of a program that was started by a recorded program: it starts only when this is worth
 * it.
 *
 * LD_PRELOAD is inherited, and most of the programs that a program starts live for milliseconds: `make` and the shell
 * start thousands. A start costs 3 to 10 ms of threads and memory, so the recorder of a child starts only when the
 * child waits: at its first call of the poll family, or at another wait when it is 20 ms old. Until then it has only
 * the hooks of the waits, which cost a seventh of a millisecond, and neither a thread nor a file. What it did before is
 * not recorded. A child that loads a module gets a thread of ours, which sleeps until the child is 20 ms old and then
 * starts the recorder, because the waits of that module have no hooks yet.
 *
 *   OFF --arm--> ARMED --a wait-----------> STARTING (a thread that blocks all signals) --> DONE
 *                 | ^ |                        ^
 *                 | |  `--dlopen--> ASLEEP ----' 20 ms old
 *                 | `-----------------' the program wants to be of one thread
 *                 `--> OFF: a sandbox, another root
 *
 * At first the agent checks whether any module of the program calls such a function at all. If not, it leaves the
 * program alone.
 *
 * The thread is created with pthread_create() by a thread of the program that is about to wait. This allocates, so it
 * must not happen in a signal handler that interrupted malloc (handler_above.h detects this), nor below an allocator's
 * lock. Only waits start the thread: no program waits for a descriptor, a child or a timer while its allocator is
 * locked. */
#ifndef SBX_LATE_START_H
#define SBX_LATE_START_H

#include "preload.h"

/* Does any module of the program call a function that could start the recorder, or one that could load such a module?
 * If not, the program is never recorded, and nothing has to be prepared. Most short-lived programs are like that.
 * Called before main(), and before anything else is done. */
bool sbx_late_start_may_come(void);

/* Prepare the late start, before main(): `orders` and both paths are copied. Returns false when this is impossible:
 * then there is no recorder. */
bool sbx_late_start_arm(const char *recordings_folder, const char *spool_path, const struct sbx_preload_orders *orders);

/* The process exits: if the recorder is just starting, wait until it has started, for some milliseconds at most. */
void sbx_late_start_settle_at_exit(void);

#endif
