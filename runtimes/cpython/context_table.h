/* SPDX-License-Identifier: Apache-2.0 */
/* context_table.h - contexts (PEP 567) in which something will be run that lies in a queue of a loop: whose they are.
 *
 * asyncio copies a context for each callback and for each task that it is given, and runs them in it. So the context's address is the
 * item's name while it lies there. The address of a context that is freed goes to the next one at once: so whoever puts one in here
 * has to tell of its end, too (context_table_take() when it is freed), and then no item is ever taken for a former one.
 *
 * What lies in another queue, and has an address that is its name there, may be here as well, under a name that is no context's (executor_queue.c).
 *
 *   CT1  A context may be shared by tasks, where the program says so: a task's item is to be taken out for that task alone.
 *   CT2  A place has one item. What comes to a place that is taken replaces what was there.
 *   CT3  Whoever has the interpreter's lock calls; two interpreters with locks of their own may meet here: then one of them finds nothing.
 *   CT4  A forked child begins with nothing: ids are of its parent's recording.
 *
 * No allocation but once, no lock, no loop. */
#ifndef CONTEXT_TABLE_H
#define CONTEXT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CONTEXT_TABLE_ITEM =
        2, /* in a name: that of an item of a queue. Objects lie at multiples of 16, so it is no context's */
    CONTEXT_TABLE_PLACES =
        1024 /* half of the tasks that the recorder follows: the program's other queues keep the rest */
};

/* Once, before the rest. false: there is no memory, or a forked child could not be kept from it. */
bool context_table_prepare(void);

/* The item `id` (not 0) will be run in `context`, by the task `task` (0: by no task). Returns what had its place, which is known
 * here no longer, and of which context it was; 0: nothing. Where that is `id` itself, it has found no place (CT3). */
struct context_item {
    uint64_t context, id;
};
struct context_item context_table_put(uint64_t context, uint64_t id, uint64_t task);

/* Has it an item? What is asked first: one load. And of which task, if it has one; 0: of none. */
bool context_table_has(uint64_t context);
uint64_t context_table_task(uint64_t context);

/* It is run now, or is freed. Returns the item, which is out of the table; 0: none is known. */
uint64_t context_table_take(uint64_t context);

#endif
