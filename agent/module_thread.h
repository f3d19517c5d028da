/* SPDX-License-Identifier: Apache-2.0 */
/* module_thread.h - the thread that follows the loader: modules, unwind rows, hooks; orphans and consent besides. It may wait for
 * the loader's lock; nobody waits for it but stop, and that with a time-out. */
#ifndef SBX_MODULE_THREAD_H
#define SBX_MODULE_THREAD_H

#include <stdint.h>

/* Its body. */
void *sbx_module_main(void *unused);

/* Ask it to bring the hooks to `points` and look at the modules again. Any thread. */
void sbx_module_thread_call(uint64_t points);

#endif
