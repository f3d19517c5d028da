/* SPDX-License-Identifier: Apache-2.0 */
/* module_thread.h - the thread that follows the loader: modules, unwind rows, hooks; also orphans and consent. It may
 * wait for the loader's lock. No thread waits for it except a stop, which has a time-out. */
#ifndef SBX_MODULE_THREAD_H
#define SBX_MODULE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* The body of the thread. */
void *sbx_module_main(void *unused);

/* The same in three parts, for a thread of ours that starts the recorder and is the module thread from then on.
 * become() makes it that thread and returns whether it has a descriptor table of its own. open() opens the recording
 * when capture is attached to it. go_on() does all the rest until the recorder is stopped. */
bool sbx_module_thread_become(void);
void sbx_module_thread_open(void);
void sbx_module_thread_go_on(void);

/* Ask the module thread to change the hooks to `points` and to look at the modules again. Any thread. */
void sbx_module_thread_call(uint64_t points);

#endif
