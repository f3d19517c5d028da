/* SPDX-License-Identifier: Apache-2.0 */
/* task_reader.c - turns tasks that were queued or running when a recording was copied into records. */
#include "task_reader.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "chunk_reader.h"

/* The moment of the snapshot: tasks that were open at that moment are open in the records. */
static uint64_t now_of(const struct sbx_snapshot *snapshot)
{
    const struct sbx_recording_header *header = &snapshot->header;
    return header->trigger.end_ns != 0 ? header->trigger.end_ns : header->snapshot_ns;
}

/* The living thread with that tid, or the last one that had it; UINT32_MAX: none. */
static uint32_t thread_of(const struct sbx_snapshot *snapshot, uint32_t tid)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < snapshot->thread_count && tid != 0; i++) {
        const struct sbx_thread_entry *entry = &snapshot->threads[i].entry;
        if (entry->tid == tid && (found == UINT32_MAX || entry->state == SBX_THREAD_LIVE)) {
            found = i;
        }
    }
    return found;
}

static int compare_hops(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Tasks in no queue come last: they are timers that wait for their time, and there are many. */
static int by_age(const void *left, const void *right)
{
    const struct sbx_task_entry *a = left, *b = right;
    if ((a->queue == 0) != (b->queue == 0)) {
        return a->queue == 0 ? 1 : -1;
    }
    return (a->queued_ns > b->queued_ns) - (a->queued_ns < b->queued_ns);
}

/* The numbers of the hops that are in the records; *hops_out is given: free. */
static int told_hops(const struct sbx_snapshot *snapshot, uint32_t **hops_out, size_t *count_out)
{
    size_t count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        count += snapshot->records[i].kind == SBX_RECORD_HOP;
    }
    uint32_t *hops = calloc(count + 1, sizeof *hops);
    if (hops == NULL) {
        return -ENOMEM;
    }
    count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        if (snapshot->records[i].kind == SBX_RECORD_HOP) {
            hops[count++] = snapshot->records[i].wait;
        }
    }
    qsort(hops, count, sizeof *hops, compare_hops);
    *hops_out = hops;
    *count_out = count;
    return 0;
}

/* Is the task valid, and did it not begin after the moment of the snapshot? */
static bool is_sound(const struct sbx_task_entry *task, uint64_t now_ns)
{
    enum sbx_task_state state = sbx_task_state_of(task->word);
    return (state == SBX_TASK_QUEUED || state == SBX_TASK_RUNNING) && sbx_task_hop_of(task->word) != 0 &&
           task->op < SBX_OP_MAX && task->queued_ns <= now_ns &&
           (state == SBX_TASK_QUEUED || (task->begun_ns >= task->queued_ns && task->begun_ns <= now_ns));
}

/* Adds a task's records. There is room for them. */
static void add_task(struct sbx_snapshot *snapshot, const struct sbx_task_entry *task, uint64_t now_ns)
{
    bool runs = sbx_task_state_of(task->word) == SBX_TASK_RUNNING;
    uint32_t thread = thread_of(snapshot, runs ? task->runner : task->tid);
    if (thread == UINT32_MAX) {
        snapshot->drops[SBX_DROP_NO_THREAD]++;
        return;
    }
    const struct sbx_record hop = {.kind = SBX_RECORD_HOP,
                                   .op = task->op,
                                   .flags = (uint8_t)((task->flags & SBX_FLAG_MERGED) | (runs ? 0 : SBX_FLAG_OPEN)),
                                   .begin_ns = task->queued_ns,
                                   .end_ns = runs ? task->begun_ns : now_ns,
                                   .thread = thread,
                                   .stack = runs ? SBX_STACK_NONE : task->stack,
                                   .peer = task->tid,
                                   .message = task->message,
                                   .object = task->queue,
                                   .amount = task->before,
                                   .wait = sbx_task_hop_of(task->word)};
    const struct sbx_record ran = {.kind = SBX_RECORD_TASK,
                                   .op = task->op,
                                   .flags = SBX_FLAG_OPEN,
                                   .begin_ns = task->begun_ns,
                                   .end_ns = now_ns,
                                   .thread = thread,
                                   .stack = task->stack,
                                   .message = snapshot->threads[thread].entry.message,
                                   .object = task->queue,
                                   .wait = hop.wait};
    snapshot->records[snapshot->record_count++] = hop;
    if (runs) {
        snapshot->records[snapshot->record_count++] = ran;
    }
}

/* Adds the starter of each living thread, as a hop without a queue: the task is the thread itself. There is room for
 * the records. */
static void add_starts(struct sbx_snapshot *snapshot, uint64_t now_ns)
{
    for (uint32_t i = 0; i < snapshot->header.thread_count && i < SBX_STARTS_MAX; i++) {
        const struct sbx_thread_entry *entry = &snapshot->threads[i].entry;
        if (entry->state == SBX_THREAD_LIVE && entry->starter_stack != SBX_STACK_NONE && entry->starter_tid != 0 &&
            entry->born_ns <= now_ns) {
            const uint32_t hop = SBX_START_HOPS + i; /* larger than any number of a wait or hop of a process */
            const struct sbx_record start = {.kind = SBX_RECORD_HOP,
                                             .op = SBX_OP_PTHREAD_CREATE,
                                             .begin_ns = entry->born_ns,
                                             .end_ns = entry->born_ns,
                                             .thread = i,
                                             .peer = entry->starter_tid,
                                             .wait = hop};
            const struct sbx_record runs = {.kind = SBX_RECORD_TASK,
                                            .op = SBX_OP_PTHREAD_CREATE,
                                            .flags = SBX_FLAG_OPEN,
                                            .begin_ns = entry->born_ns,
                                            .end_ns = now_ns,
                                            .thread = i,
                                            .stack = entry->starter_stack,
                                            .wait = hop};
            snapshot->records[snapshot->record_count++] = start;
            snapshot->records[snapshot->record_count++] = runs;
        }
    }
}

static int read_queues(struct sbx_snapshot *snapshot, const uint8_t *queues)
{
    uint32_t count = snapshot->header.queues.count;
    snapshot->queues = calloc((size_t)count + 1, sizeof *snapshot->queues);
    if (snapshot->queues == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct sbx_queue_entry *queue = &snapshot->queues[snapshot->queue_count];
        memcpy(queue, queues + (size_t)i * sizeof *queue, sizeof *queue);
        queue->op = queue->op < SBX_OP_MAX ? queue->op : SBX_OP_NONE;
        snapshot->queue_count += queue->queue != 0 && queue->queue != UINT64_MAX && queue->queued != 0;
    }
    return 0;
}

int sbx_tasks_read(struct sbx_snapshot *snapshot, const uint8_t *tasks, const uint8_t *queues)
{
    uint32_t count = snapshot->header.tasks.count, kept = 0, pending = 0;
    uint64_t now_ns = now_of(snapshot);
    uint32_t *hops = NULL;
    size_t hop_count = 0;
    struct sbx_task_entry *open = calloc((size_t)count + 1, sizeof *open);
    int error = open != NULL ? told_hops(snapshot, &hops, &hop_count) : -ENOMEM;
    for (uint32_t i = 0; i < count && error == 0; i++) {
        memcpy(&open[kept], tasks + (size_t)i * sizeof *open, sizeof *open);
        uint32_t hop = sbx_task_hop_of(open[kept].word);
        kept += is_sound(&open[kept], now_ns) && bsearch(&hop, hops, hop_count, sizeof hop, compare_hops) == NULL;
    }
    if (error == 0) {
        struct sbx_record *grown = realloc(
            snapshot->records, (snapshot->record_count + 2 * (size_t)kept + 2 * SBX_STARTS_MAX) * sizeof *grown);
        error = grown == NULL ? -ENOMEM : 0;
        snapshot->records = grown != NULL ? grown : snapshot->records;
        qsort(open, kept, sizeof *open, by_age);
    }
    for (uint32_t i = 0; i < kept && error == 0; i++) {
        bool lies = sbx_task_state_of(open[i].word) == SBX_TASK_QUEUED;
        pending += lies;
        if (!lies || pending <= SBX_PENDING_TASKS_MAX) {
            add_task(snapshot, &open[i], now_ns);
        }
    }
    free(hops);
    free(open);
    if (error == 0) {
        add_starts(snapshot, now_ns);
        error = sbx_records_sort(snapshot);
    }
    return error == 0 ? read_queues(snapshot, queues) : error;
}
