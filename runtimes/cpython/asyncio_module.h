/* SPDX-License-Identifier: Apache-2.0 */
/* asyncio_module.h - the module _asyncio of this interpreter: which objects are its tasks, and which of them run.
 *
 * It is looked for in sys.modules when a coroutine was met, and once more only when a module came or went. Its types say how large
 * they are: if that is not what the version's layout has, the module is left alone, and counted as unreadable. */
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

/* The module; NULL: the program has not imported it, or its layout is not known. `may_search`: in no handler. Signal safe. */
const struct asyncio_module *asyncio_module_find(const struct cpython *cpython, bool may_search);

#endif
