/* SPDX-License-Identifier: Apache-2.0 */
/* late_start.h - the recorder of a program that a recorded one has started: it begins when that matters.
 *
 * LD_PRELOAD is handed down, and most of what a program starts lives for milliseconds: `make` and the shell start thousands.
 * A start costs 3 to 10 ms of threads and memory, so a child does without until it is seen to wait: at its first call of the
 * poll family, or at another wait when it is 20 ms old. Until then it has the hooks of the waits, which is a seventh of a
 * millisecond, and neither a thread nor a file. What it did before is not recorded. One that loads a module gets a thread that
 * sleeps until it is 20 ms old and starts the recorder then: the waits of that module have no hooks yet.
 *
 *   OFF --arm--> ARMED --a wait-----------> STARTING (a thread that blocks all signals) --> DONE
 *                 | ^ |                        ^
 *                 | |  `--dlopen--> ASLEEP ----' 20 ms old
 *                 | `-----------------' the program wants to be of one thread
 *                 `--> OFF: a sandbox, another root
 *
 * A program of milliseconds asks first whether anybody in it calls such a function at all, and is left alone if not.
 *
 * The thread is made with pthread_create(), on a thread of the program's that is about to wait. That allocates, and so must
 * not happen in a signal handler that interrupted malloc (handler_above.h tells), nor below an allocator's lock: only waits
 * ask, and nobody waits for a descriptor, a child or a timer with his allocator locked. */
#ifndef SBX_LATE_START_H
#define SBX_LATE_START_H

#include "preload.h"

/* Does any module of the program call a function that could begin the recorder, or one that could load such a module? If not,
 * the program is never recorded, and nothing has to be prepared. Most programs of milliseconds are like that. Before main(), and
 * before anything else is done. */
bool sbx_late_start_may_come(void);

/* Be ready, before main(): `orders` and both paths are copied. Returns false when that cannot be: there is no recorder. */
bool sbx_late_start_arm(const char *recordings_folder, const char *spool_path, const struct sbx_preload_orders *orders);

/* The process exits: when the recorder is just starting, wait until it has, for some milliseconds at most. */
void sbx_late_start_settle_at_exit(void);

#endif
