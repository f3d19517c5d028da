/* SPDX-License-Identifier: Apache-2.0 */
/* executor_queue.h - follows the items that the threads of a pool run, to the code that queued them
 * (concurrent.futures.ThreadPoolExecutor, also as asyncio's run_in_executor()).
 *
 * A busy thread of a pool takes its next item without being woken, so a wake does not show who queued the item. But
 * items are in a SimpleQueue, whose methods are written in C and are called through pointers (method_word.h). Three of
 * these pointers lead to a function here. This function calls the original method with the same arguments and returns
 * its result.
 *
 *   put               an item is queued, if the frames show that submit() queues it (queuing_frames.h)
 *   get, get_nowait   an item was taken. If a pool's thread took it, it begins, and it ends when this thread asks for
 *                     the next item
 *
 *   EQ1  An item's address is its name while it is queued. When a queue is freed, its items get no end here. A new item
 *        may then have the address of such an item. So a put into any of these queues first ends the item that had this
 *        address before.
 *   EQ2  An item that needs an occupied place of the table replaces the item there, which is counted and no longer
 *        followed (CT2). A thread that needs an occupied place does not replace the other thread: its item is counted
 *        and not followed.
 *   EQ3  A forked child begins with empty tables, because the ids belong to its parent's recording.
 *
 * Everything here runs with the interpreter lock held. */
#ifndef EXECUTOR_QUEUE_H
#define EXECUTOR_QUEUE_H

#include <stddef.h>
#include <stdint.h>

/* Call this once, before the other functions, where memory may be allocated. Without it, no item is followed. */
void executor_queue_prepare(void);

/* Notes that a function of this file was met on a stack. Signal safe. */
void executor_queue_meets(const char *file, size_t file_bytes);

/* Installs the hooks if a pool was met since. The calling thread holds the interpreter lock, and is not in a signal
 * handler. Costs one load otherwise. */
void executor_queue_look(uint64_t thread);

#endif
