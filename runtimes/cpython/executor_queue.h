/* SPDX-License-Identifier: Apache-2.0 */
/* executor_queue.h - who queued what the threads of a pool run (concurrent.futures.ThreadPoolExecutor, also as asyncio's run_in_executor()).
 *
 * A thread of a pool that is busy is woken by nobody for the next item, so a wake cannot tell. But items lie in a SimpleQueue, whose methods are written in C
 * and are called by words (method_word.h). Three of them lead to a function here, which calls the former one with the same arguments and returns what
 * that returned:
 *
 *   put               an item comes, if the frames say that submit() puts it there (queuing_frames.h)
 *   get, get_nowait   it was taken; it begins, if a pool's thread took it, and ends when that thread asks for the next one
 *
 *   EQ1  An item's address is its name while it lies there. What lies in a queue that is freed has no end here: its address may be a
 *        new item's, so whatever is put into any such queue ends what its address named before.
 *   EQ2  Of items more than the table has places for, the later ones are counted and not followed. The same is so of threads.
 *   EQ3  A forked child begins with nothing: ids are of its parent's recording.
 *
 * Everything here runs with the interpreter's lock. */
#ifndef EXECUTOR_QUEUE_H
#define EXECUTOR_QUEUE_H

#include <stddef.h>
#include <stdint.h>

/* Once, before the rest, where memory may be had. Without, nobody is followed. */
void executor_queue_prepare(void);

/* A function of that file was met on a stack. Signal safe. */
void executor_queue_meets(const char *file, size_t file_bytes);

/* Put the words in, when a pool was met since: on a thread with the interpreter's lock, which no signal interrupted. One load otherwise. */
void executor_queue_look(uint64_t thread);

#endif
