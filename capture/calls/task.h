/* SPDX-License-Identifier: Apache-2.0 */
/* task.h - work that changes hands: who queued a task, when, how long it lay, who ran it.
 *
 * Whoever queues a task leaves his stack, message and time in an entry of a table (threads/task_table.h); whoever runs it finds
 * them by the task's id, or by a key. At its end two records tell of it, SBX_RECORD_HOP and SBX_RECORD_TASK, when it ran
 * or lay for long, and one short task in ten intervals. What runs or lies there when a snapshot is made stands in the table.
 *
 * A thread that queues faster than one task in 4 us for longer than a burst has some of them followed only: the others are counted, and
 * their ids lead to their queue's counts alone. No call here allocates, takes a lock or waits; errno is kept.
 *
 * A thread runs one task at a time, or one inside another (a nested loop). Where a task is left by a jump or an exception its end never
 * comes: it is over when the thread begins a task at the same place of its stack, or further out, ends one that lay around it, or ends itself. */
#ifndef SBX_TASK_H
#define SBX_TASK_H

#include <stdint.h>

#include "marks.h"
#include "task_table.h"
#include "thread_block.h"

/* The generic cell rate algorithm (ITU-T I.371): one each `every_ns`, and `burst` at once. `*next_ns`: when the next one is due. */
SBX_HOOK_SAFE static inline bool sbx_take_turn(uint64_t *next_ns, uint64_t now_ns, uint64_t every_ns, uint64_t burst)
{
    if (*next_ns > now_ns) {
        return false;
    }
    *next_ns = (now_ns - *next_ns > burst * every_ns ? now_ns - burst * every_ns : *next_ns) + every_ns;
    return true;
}

/* The calling thread queues a task, by the function `op` of point group `group`, into queue number `queue` (0: in none that is counted, as a
 * timer). `key` and `match` as in task_table.h. Returns its id; 0: not followed, not counted. */
SBX_HOOK_SAFE SBX_NOINLINE uint64_t sbx_task_queued(uint8_t group, uint8_t op, uint64_t queue, uint64_t key,
                                                    uint64_t match);

/* Would it be followed? A look before what it costs to say so; a thread that is not registered yet may be. */
SBX_HOOK_SAFE bool sbx_task_is_due(void);

/* The same of a task that the calling thread queues on behalf of whoever queued the task `id`, which it runs: his stack and his time. 0: it
 * does not run it. */
SBX_HOOK_SAFE SBX_NOINLINE uint64_t sbx_task_passed_on(uint8_t group, uint8_t op, uint64_t id);

/* The calling thread begins to run it, has run it. Nothing happens for an id of 0, or of a task that is not in that state. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_task_begin(uint64_t id);
SBX_HOOK_SAFE SBX_NOINLINE void sbx_task_end(uint64_t id);

/* The same of a task that lasts until its loop turns: until the thread polls at `place` of its stack again. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_task_begin_turn(uint64_t id, uint64_t place);

/* The loop of the calling thread turns at `place`: what has begun as such a turn there is over, and what began inside of that. Only where
 * thread->tasks.turns says that there may be any. */
#define SBX_EVERY_TURN UINT64_C(0)
SBX_HOOK_SAFE SBX_NOINLINE void sbx_tasks_end_turn(struct sbx_thread *thread, uint64_t place);

/* It has run, and lies in its queue once more, queued now by who queued it first: a source that is called again and again. Returns its new id;
 * 0: the calling thread did not run it. */
SBX_HOOK_SAFE SBX_NOINLINE uint64_t sbx_task_end_and_queue(uint64_t id);

/* The same, where what follows is another thread's: it lies in no queue that is counted. */
SBX_HOOK_SAFE SBX_NOINLINE uint64_t sbx_task_end_and_follow(uint64_t id);

/* From now on it is found by its key and this. */
SBX_HOOK_SAFE void sbx_task_set_match(uint64_t id, uint64_t match);

/* It was taken out of its queue, and never will run. Any thread. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_task_cancelled(uint64_t id);

/* It is followed no longer, and counted still: it lies in its queue, and sbx_task_begin_uncounted() or sbx_task_cancelled_uncounted() will tell when not. */
SBX_HOOK_SAFE void sbx_task_forget(uint64_t id);

/* It was queued once more while it lay there, and will run once for all. */
SBX_HOOK_SAFE void sbx_task_merged(uint64_t id);

/* The same, so many times so far (0: nothing happens): of a task that lies in no queue that is counted, whose hop tells how often. */
SBX_HOOK_SAFE void sbx_task_merged_by(uint64_t id, uint64_t times);

/* Callstack id of the calling thread, for who is about to start a thread, and its number; 0: nothing is recorded. */
SBX_HOOK_SAFE SBX_NOINLINE uint32_t sbx_task_stack_here(uint32_t *tid_out);

/* A task that is not followed, and whose id nobody has, begins, or is taken out of its queue: it is counted where the queue is. */
SBX_HOOK_SAFE void sbx_task_begin_uncounted(uint64_t queue);
SBX_HOOK_SAFE void sbx_task_cancelled_uncounted(uint64_t queue);

/* All that lie anywhere, were queued by `op` and have this match (not 0), were taken out. Looks at the whole table. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_tasks_cancelled_by_match(uint8_t op, uint64_t match);

/* The queue (0: none) is no more, and what lay there never will run: it was let go of, or another is made in its place. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_task_queue_ends(uint64_t queue);

/* The thread ends: so do its tasks. */
SBX_HOOK_SAFE void sbx_tasks_leave(struct sbx_thread *thread);

#endif
