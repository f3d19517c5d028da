/* SPDX-License-Identifier: Apache-2.0 */
/* asyncio_module.h - the module _asyncio of this interpreter: its types, and the tasks that run.
 *
 * The module is searched in sys.modules after a coroutine was met. The search is repeated only when the number of
 * modules has changed. The module's types give the size of their objects. If these sizes are not those of the version's
 * layout, the module is not used, and is counted as unreadable. */
#ifndef ASYNCIO_MODULE_H
#define ASYNCIO_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#include "await_layout.h"
#include "cpython.h"

struct asyncio_module {
    const struct await_layout *layout;
    uint64_t task_type, future_type;
    uint64_t current_tasks; /* a dict: loop -> the task that runs in it */
};

/* Returns the module, or NULL if the program has not imported it or its layout is not known. `may_search`: the caller
 * is not a signal handler. Signal safe. */
const struct asyncio_module *asyncio_module_find(const struct cpython *cpython, bool may_search);

#endif
