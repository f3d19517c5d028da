/* SPDX-License-Identifier: Apache-2.0 */
/* task_table.h - tasks that lie in a queue or run, and how many went through each queue.
 *
 * Both tables lie in the recording (struct sbx_task_entry, struct sbx_queue_entry), so that a snapshot has what was
 * pending, also that of a process that died. They have a fixed size. A task that finds no entry near its place is not
 * followed, but counted.
 *
 * An entry is found by its id, which contains its index, or by a key that both sides of its queue know. A key is
 * searched at SBX_TASK_PROBES entries from the place that the key hashes to. Each arrow of enum sbx_task_state is one
 * compare-and-swap of `word`, which contains the hop's number. So when two threads begin, cancel or end the same task,
 * only one succeeds, and the id of a former task leads nowhere. The other fields are stored while FILLING. begun_ns and
 * runner are stored by the thread that is about to begin the task. That is one thread, unless the program has made a
 * mistake.
 *
 * Synchronization:  take, publish: any thread, an entry has one owner while FILLING. find, begin, release: any thread. */
#ifndef SBX_TASK_TABLE_H
#define SBX_TASK_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "recording_format.h"
#include "the_capture.h"

enum {
    SBX_TASK_PROBES = 16, /* entries where a task may lie: bounds the search */
    SBX_QUEUE_PROBES = 8,
};

/* Take an entry for a task with that key (0: none) and hop number (never 0). Its state is then FILLING. NULL: there is
 * none. When all places are taken, a task that has been queued or run for a minute is removed, because its end may
 * never be reported. */
SBX_HOOK_SAFE struct sbx_task_entry *sbx_task_take(uint64_t key, uint32_t hop, uint64_t now_ns);

/* Set what the task of an entry that is FILLING is found by; and, later, another match. */
SBX_HOOK_SAFE void sbx_task_name(const struct sbx_task_entry *entry, uint64_t key, uint64_t match);
SBX_HOOK_SAFE void sbx_task_name_match(const struct sbx_task_entry *entry, uint64_t match);
SBX_HOOK_SAFE uint64_t sbx_task_match(const struct sbx_task_entry *entry); /* 0: no key */

/* The entry is filled in, and becomes visible to all threads. Returns the task's id. */
SBX_HOOK_SAFE uint64_t sbx_task_publish(struct sbx_task_entry *entry, uint32_t hop);

/* The hop's number in an id. */
SBX_HOOK_SAFE static inline uint32_t sbx_task_hop_of_id(uint64_t id)
{
    return (uint32_t)(id >> 16);
}

/* The entry that an id leads to, whatever has happened to the task; NULL: it is not an id. */
SBX_HOOK_SAFE static inline struct sbx_task_entry *sbx_task_entry_of(uint64_t id)
{
    uint32_t mask = sbx_the_capture.task_mask, index = (uint32_t)id & 0xffff;
    return mask == 0 || index > mask || sbx_task_hop_of_id(id) == 0 ? NULL : &sbx_the_capture.tasks[index];
}

/* An entry will be taken with that key and hop number: prefetch its cache lines. */
SBX_HOOK_SAFE void sbx_task_expect(uint64_t key, uint32_t hop);

/* Id of the oldest queued task with that key (not 0) and match; 0: there is none. */
SBX_HOOK_SAFE uint64_t sbx_task_find(uint64_t key, uint64_t match);

/* Move a task from one state to another. False: it was not in that state, or the entry has another task by now. */
SBX_HOOK_SAFE bool sbx_task_move(struct sbx_task_entry *entry, uint32_t hop, enum sbx_task_state from,
                                 enum sbx_task_state to);

/* ---- queues ---- */

#define SBX_QUEUE_BUSY UINT64_MAX /* not a number of a queue: the entry is being given to another queue */

SBX_HOOK_SAFE static inline bool sbx_queue_is_one(uint64_t queue)
{
    return queue != 0 && queue != SBX_QUEUE_BUSY;
}

/* The entry of queue number `queue`, taken when it is new. NULL: there are too many queues. An entry is taken from a
 * queue that is empty, and that nothing came into or left for the time of a window. */
SBX_HOOK_SAFE struct sbx_queue_entry *sbx_queue_of(uint64_t queue, uint8_t op, uint64_t now_ns);

/* The same, when there is one already. NULL: nothing has come into that queue so far. */
SBX_HOOK_SAFE struct sbx_queue_entry *sbx_queue_known(uint64_t queue);

/* The same by its place in the table, which an entry of the queue's task has. NULL: another queue has the place by
 * now. */
SBX_HOOK_SAFE static inline struct sbx_queue_entry *sbx_queue_at(uint32_t place, uint64_t queue)
{
    struct sbx_queue_entry *entry = &sbx_the_capture.queues[place & sbx_the_capture.queue_mask];
    /* order: acquire queue.queue - the counts are this queue's */
    return sbx_queue_is_one(queue) && sbx_load_acquire(&entry->queue) == queue ? entry : NULL;
}

/* One of its tasks is about to begin: prefetch the line of its count while the task is searched. */
SBX_HOOK_SAFE void sbx_queue_expect(uint64_t queue);

/* The queue is gone: counts under its number from now on are another queue's. */
SBX_HOOK_SAFE void sbx_queue_ends(uint64_t queue);

/* A task comes in. The second function returns how many lay in the queue before it. */
SBX_HOOK_SAFE void sbx_queue_counts(struct sbx_queue_entry *queue, uint64_t now_ns);
SBX_HOOK_SAFE uint32_t sbx_queue_comes(struct sbx_queue_entry *queue, uint64_t now_ns);

/* A task begins to run, or is taken out. */
SBX_HOOK_SAFE void sbx_queue_goes(struct sbx_queue_entry *queue, uint64_t now_ns);
SBX_HOOK_SAFE void sbx_queue_loses(struct sbx_queue_entry *queue);

#endif
