/* SPDX-License-Identifier: Apache-2.0 */
/* module_thread.h - the thread that follows the loader: modules, unwind rows, hooks; orphans and consent besides. It may wait for
 * the loader's lock; nobody waits for it but stop, and that with a time-out. */
#ifndef SBX_MODULE_THREAD_H
#define SBX_MODULE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* Its body. */
void *sbx_module_main(void *unused);

/* The same in three parts, for a thread of ours that starts the recorder and is the module thread from then on: it becomes that thread (returns
 * whether it has a table of descriptors of its own), it opens the recording once capture is attached to it, and it does all the rest until it is
 * stopped. */
bool sbx_module_thread_become(void);
void sbx_module_thread_open(void);
void sbx_module_thread_go_on(void);

/* Ask it to bring the hooks to `points` and look at the modules again. Any thread. */
void sbx_module_thread_call(uint64_t points);

#endif
