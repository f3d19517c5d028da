/* SPDX-License-Identifier: Apache-2.0 */
/* task.h - work that passes from one thread to another: which thread queued a task and when, how long the task lay in
 * its queue, and which thread ran it.
 *
 * The thread that queues a task stores its stack, message and time in an entry of a table (threads/task_table.h). The
 * thread that runs the task finds the entry by the task's id or by a key. When the task ends after it ran or lay for
 * long, two records describe it, SBX_RECORD_HOP and SBX_RECORD_TASK; of short tasks one in ten intervals is recorded.
 * Tasks that run or lie in a queue when a snapshot is made are in the table.
 *
 * If a thread queues more than one task in 4 us for longer than a burst, only some of its tasks are followed. The
 * others are counted, and their ids lead only to their queue's counts. No function here allocates, takes a lock or
 * waits; errno is kept.
 *
 * A thread runs one task at a time, or one inside another (a nested loop). When a jump or an exception leaves a task,
 * its end is never reported. Such a task is over when its thread begins a task at the same place of its stack or
 * further out, ends a task that lay around it, or ends. */
#ifndef SBX_TASK_H
#define SBX_TASK_H

#include <stdint.h>

#include "marks.h"
#include "task_table.h"
#include "thread_block.h"

/* The generic cell rate algorithm (ITU-T I.371): one event each `every_ns`, and `burst` at once. `*next_ns` is when the
 * next one is due. */
SBX_HOOK_SAFE static inline bool sbx_take_turn(uint64_t *next_ns, uint64_t now_ns, uint64_t every_ns, uint64_t burst)
{
    if (*next_ns > now_ns) {
        return false;
    }
    *next_ns = (now_ns - *next_ns > burst * every_ns ? now_ns - burst * every_ns : *next_ns) + every_ns;
    return true;
}

/* The calling thread queues a task with the function `op` of point group `group` into queue number `queue` (0: the task
 * lies in no counted queue, like a timer). `key` and `match` are as in task_table.h. Returns the task's id; 0: it is
 * neither followed nor counted. */
SBX_HOOK_SAFE SBX_NOINLINE uint64_t sbx_task_queued(uint8_t group, uint8_t op, uint64_t queue, uint64_t key,
                                                    uint64_t match);

/* Would a task be followed if it were queued now? Callers ask before they prepare what sbx_task_queued() needs. A
 * thread that is not registered yet gets true. */
SBX_HOOK_SAFE bool sbx_task_is_due(void);

/* The same for a task that the calling thread queues on behalf of another task, `id`, which it runs. The new task takes
 * over the stack and the time of the thread that queued `id`. Returns 0 when the calling thread does not run `id`. */
SBX_HOOK_SAFE SBX_NOINLINE uint64_t sbx_task_passed_on(uint8_t group, uint8_t op, uint64_t id);

/* The calling thread begins to run the task, or has run it. Nothing happens when `id` is 0 or the task is not in the
 * matching state. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_task_begin(uint64_t id);
SBX_HOOK_SAFE SBX_NOINLINE void sbx_task_end(uint64_t id);

/* Like sbx_task_begin(), for a task that lasts for one turn of its loop: until the thread polls at `place` of its stack
 * again. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_task_begin_turn(uint64_t id, uint64_t place);

/* The loop of the calling thread turns at `place`. The task that began as such a turn there is over, and so are the
 * tasks that began inside it. Call it only when thread->has_turns says that there may be such a task. */
#define SBX_EVERY_TURN UINT64_C(0)
SBX_HOOK_SAFE SBX_NOINLINE void sbx_tasks_end_turn(struct sbx_thread *thread, uint64_t place);

/* The task has run and lies in its queue once more: a source that is called again and again. It counts as queued now by
 * the thread that queued it first. Returns its new id; 0: the calling thread did not run it. */
SBX_HOOK_SAFE SBX_NOINLINE uint64_t sbx_task_end_and_queue(uint64_t id);

/* The same where another thread does what follows: the task lies in no counted queue. */
SBX_HOOK_SAFE SBX_NOINLINE uint64_t sbx_task_end_and_follow(uint64_t id);

/* From now on the task is found by its key and `match`. */
SBX_HOOK_SAFE void sbx_task_set_match(uint64_t id, uint64_t match);

/* The task was taken out of its queue and will never run. Any thread may call it. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_task_cancelled(uint64_t id);

/* The task is not followed any longer, but it lies in its queue and is still counted. sbx_task_begin_uncounted() or
 * sbx_task_cancelled_uncounted() must be called when it leaves the queue. */
SBX_HOOK_SAFE void sbx_task_forget(uint64_t id);

/* The task was queued once more while it lay in its queue, and will run once for all these. */
SBX_HOOK_SAFE void sbx_task_merged(uint64_t id);

/* The same for a task that lies in no counted queue and was queued again `times` times so far (0: nothing happens). The
 * task's hop record contains that number. */
SBX_HOOK_SAFE void sbx_task_merged_by(uint64_t id, uint64_t times);

/* The callstack id of the calling thread, which is about to start a thread, and its number in *tid_out; 0: nothing is
 * recorded. */
SBX_HOOK_SAFE SBX_NOINLINE uint32_t sbx_task_stack_here(uint32_t *tid_out);

/* A task that is not followed and has no known id begins, or is taken out of its queue. Only its queue counts it. */
SBX_HOOK_SAFE void sbx_task_begin_uncounted(uint64_t queue);
SBX_HOOK_SAFE void sbx_task_cancelled_uncounted(uint64_t queue);

/* All tasks, in any queue, that were queued by `op` and have this match (not 0) were taken out. Looks at the whole
 * table. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_tasks_cancelled_by_match(uint8_t op, uint64_t match);

/* The queue (0: none) has ended, and the tasks in it will never run: the program released it, or makes another in its
 * place. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_task_queue_ends(uint64_t queue);

/* The thread ends, and so do its tasks. */
SBX_HOOK_SAFE void sbx_tasks_leave(struct sbx_thread *thread);

#endif
