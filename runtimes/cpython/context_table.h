/* SPDX-License-Identifier: Apache-2.0 */
/* context_table.h - contexts (PEP 567) that will run an item of a loop's queue, each with the item's id.
 *
 * asyncio copies a context for each callback and each task, and runs it in this copy. So the context's address names
 * the item while the item is queued. When a context is freed, the next context may get its address at once. So the code
 * that stores a context here must also report its end: it calls context_table_take() when the context is freed. Then an
 * item is never confused with an earlier one.
 *
 * Items of other queues may be in this table, too, if an address names them while they are queued. Their names have a
 * bit set that no context's address has (executor_queue.c).
 *
 *   CT1  Tasks may share a context, if the program asks for it. A task's item is taken out only for that task.
 *   CT2  A place holds one item. An item that is stored in an occupied place replaces the item there.
 *   CT3  The caller holds the interpreter lock. Two interpreters with their own locks may use a place at the same time.
 *        Then one of them finds nothing.
 *   CT4  A forked child begins with an empty table, because the ids belong to its parent's recording.
 *
 * The table allocates only once, and takes no lock. No function has a loop. */
#ifndef CONTEXT_TABLE_H
#define CONTEXT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CONTEXT_TABLE_ITEM =
        2, /* marks the name of a queue's item. Objects are at multiples of 16, so no context has this bit */
    CONTEXT_TABLE_PLACES =
        1024 /* half of the tasks that the recorder follows; the rest is for the program's other queues */
};

/* Call this once, before the other functions. Returns false if there is no memory, or if a forked child could not be
 * kept from it. */
bool context_table_prepare(void);

/* The item `id` (not 0) will run in `context`, for the task `task` (0: for no task). Returns the item that had this
 * place before and is removed from the table, with its context; id 0: there was none. If the result is `id` itself, the
 * item was not stored (CT3). */
struct context_item {
    uint64_t context, id;
};
struct context_item context_table_put(uint64_t context, uint64_t id, uint64_t task);

/* Does this context have an item? Callers ask this first, because it costs one load. The second function returns the
 * item's task; 0: it has none. */
bool context_table_has(uint64_t context);
uint64_t context_table_task(uint64_t context);

/* The item runs now, or its context is freed. Removes the item from the table and returns it; 0: none is known. */
uint64_t context_table_take(uint64_t context);

#endif
