/* SPDX-License-Identifier: Apache-2.0 */
/* seen_work.c - asks which piece of work runs, compares it with the last one seen, and makes it a task. */
#include "seen_work.h"

#include "frame_walker.h"
#include "providers.h"
#include "task_table.h"
#include "the_capture.h"
#include "waiter_table.h"
#include "work_notes.h"

#define RAN_LONG_NS UINT64_C(1000000) /* work that ran for a shorter time is not recorded */

enum {
    MESSAGES_APART = 1 /* between a run and the run of work that it queued */
};

/* The key of the work that the calling thread runs; 0: it is not known. `start` NULL: the thread is in a call of its
 * own. */
static uint64_t ask_all(const struct sbx_walk_registers *start, struct sbx_running_work *work_out)
{
    uint32_t count = sbx_load_acquire(&sbx_the_capture.provider_count); /* order: acquire providers */
    for (uint32_t i = 0; i < count; i++) {
        const struct sbx_provider *provider = &sbx_the_providers[i];
        void *context = provider->runs != NULL && provider->is_signal_safe ? sbx_provider_context(i) : NULL;
        if (context == NULL) {
            continue;
        }
        bool is_interrupted = start != NULL && start->context != NULL;
        const struct sbx_interrupted interrupted = {is_interrupted ? start->pc : 0, is_interrupted ? start->sp : 0,
                                                    is_interrupted ? start->fp : 0,
                                                    is_interrupted ? start->context : NULL};
        if (provider->runs(context, is_interrupted ? &interrupted : NULL, work_out) != 0 && work_out->item != 0) {
            return sbx_work_key(work_out->queue, work_out->item);
        }
    }
    return 0;
}

/* ---- begin ---- */

/* Which thread queued the work, if a note says so. false: it is not known. */
static bool find_submitter(const struct sbx_thread *thread, const struct sbx_running_work *work, uint64_t key,
                           struct sbx_work_note *note_out)
{
    if (sbx_work_find_queued(key, note_out)) {
        return true;
    }
    uint64_t message = thread->entry->message;
    return work->queued_in != 0 && sbx_work_find_run(sbx_work_key(work->queue, work->queued_in), note_out) &&
           note_out->tid == thread->tid && message - note_out->message <= MESSAGES_APART;
}

/* `inside` keeps a signal handler from taking the same number (calls/task.c). */
static uint32_t new_hop(void)
{
    uint32_t hop;
    do {
        hop = sbx_waiter_new_ids(1);
    } while (SBX_UNLIKELY(hop == 0));
    return hop;
}

/* The earliest time when the work can have begun. When it runs for long, most of the gap before its first sample
 * belongs to it. */
static uint64_t earliest_ns(const struct sbx_thread *thread, uint64_t queued_ns, uint64_t now_ns)
{
    const struct sbx_seen_work *seen = &thread->seen_work;
    uint64_t message_ns = thread->entry->message_begin_ns;
    uint64_t ns = message_ns != 0 ? message_ns : now_ns;
    ns = seen->last_ns > ns ? seen->last_ns : ns;
    ns = seen->none_ns > ns ? seen->none_ns : ns;
    ns = queued_ns > ns ? queued_ns : ns;
    return ns < now_ns ? ns : now_ns;
}

/* Makes the work a task and returns the task's id; 0: there is none. */
static uint64_t begin(const struct sbx_thread *thread, const struct sbx_work_note *note, uint64_t now_ns)
{
    uint32_t hop = new_hop();
    uint64_t begun_ns = earliest_ns(thread, note->at_ns, now_ns);
    struct sbx_task_entry *entry = sbx_task_take(0, hop, now_ns);
    if (entry == NULL) {
        sbx_count_drop(SBX_DROP_NO_TASK);
        return 0;
    }
    sbx_task_name(entry, 0, 0);
    sbx_store_relaxed(&entry->queue, 0);
    sbx_store_relaxed(&entry->queued_ns, note->at_ns < begun_ns ? note->at_ns : begun_ns);
    sbx_store_relaxed(&entry->begun_ns, begun_ns);
    sbx_store_relaxed(&entry->message, note->message);
    sbx_store_relaxed(&entry->stack, note->stack);
    sbx_store_relaxed(&entry->tid, note->tid);
    sbx_store_relaxed(&entry->runner, thread->tid);
    sbx_store_relaxed(&entry->before, 0);
    entry->op = note->op;
    entry->group = note->group;
    entry->queue_at = 0;
    sbx_store_relaxed(&entry->flags, 0);
    (void)sbx_task_move(entry, hop, SBX_TASK_FILLING, SBX_TASK_RUNNING);
    return (uint64_t)hop << 16 | (uint64_t)(entry - sbx_the_capture.tasks);
}

/* ---- end ---- */

static void tell(const struct sbx_thread *thread, const struct sbx_task_entry *task, uint32_t hop, uint64_t end_ns,
                 struct sbx_seen_records *told)
{
    told->records[0] = (struct sbx_record){.kind = SBX_RECORD_HOP,
                                           .op = task->op,
                                           .begin_ns = task->queued_ns,
                                           .end_ns = task->begun_ns,
                                           .stack = SBX_STACK_NONE,
                                           .peer = task->tid,
                                           .message = task->message,
                                           .wait = hop};
    told->records[1] = (struct sbx_record){.kind = SBX_RECORD_TASK,
                                           .op = task->op,
                                           .begin_ns = task->begun_ns,
                                           .end_ns = end_ns,
                                           .cpu_ns = thread->entry->last_cpu_ns,
                                           .stack = task->stack, /* the id is judged by the time of this record */
                                           .message = thread->entry->message,
                                           .wait = hop};
    told->count = 2;
}

SBX_SIGNAL_SAFE void sbx_seen_work_end(struct sbx_thread *thread, uint64_t end_ns, struct sbx_seen_records *told)
{
    uint64_t id = thread->seen_work.id;
    struct sbx_task_entry *entry = sbx_task_entry_of(id);
    uint32_t hop = sbx_task_hop_of_id(id);
    told->count = 0;
    thread->seen_work.key = thread->seen_work.id = 0;
    /* order: acquire task.word - its fields are whole */
    if (id == 0 || entry == NULL || sbx_load_acquire(&entry->word) != sbx_task_word(hop, SBX_TASK_RUNNING)) {
        return;
    }
    struct sbx_task_entry copy = {.queued_ns = sbx_load_relaxed(&entry->queued_ns),
                                  .begun_ns = sbx_load_relaxed(&entry->begun_ns),
                                  .message = sbx_load_relaxed(&entry->message),
                                  .stack = sbx_load_relaxed(&entry->stack),
                                  .tid = sbx_load_relaxed(&entry->tid),
                                  .op = entry->op};
    if (sbx_task_move(entry, hop, SBX_TASK_RUNNING, SBX_TASK_FREE) && sbx_capture_is_open() && end_ns > copy.begun_ns &&
        end_ns - copy.begun_ns >= RAN_LONG_NS) {
        tell(thread, &copy, hop, end_ns, told);
    }
}

/* ---- which work is seen ---- */

SBX_SIGNAL_SAFE void sbx_seen_work_ask(struct sbx_thread *thread, const struct sbx_walk_registers *start,
                                       uint32_t stack, struct sbx_seen_records *told)
{
    struct sbx_running_work work;
    told->count = 0;
    if (sbx_load_relaxed(&sbx_the_capture.has_runs) == 0) { /* relaxed: once set, it stays set */
        return;
    }
    uint64_t key = ask_all(start, &work), now_ns = sbx_thread_wall_ns(thread);
    struct sbx_seen_work *seen = &thread->seen_work;
    if (key == 0) { /* the last work may go on; it is over at a wait */
        seen->none_ns = now_ns;
        return;
    }
    struct sbx_work_note note;
    if (key != seen->key) {
        sbx_seen_work_end(thread, seen->last_ns, told);
        seen->key = key;
        seen->id = find_submitter(thread, &work, key, &note) ? begin(thread, &note, now_ns) : 0;
    }
    seen->last_ns = now_ns;
    if (stack != SBX_STACK_NONE && stack != SBX_STACK_OVERFLOW) {
        note = (struct sbx_work_note){.at_ns = now_ns,
                                      .message = thread->entry->message,
                                      .stack = stack,
                                      .tid = thread->tid,
                                      .op = SBX_OP_JS_CALLBACK,
                                      .group = SBX_GROUP_JAVASCRIPT};
        sbx_work_note_run(key, &note);
    }
}

SBX_SIGNAL_SAFE bool sbx_seen_work_goes_on(struct sbx_thread *thread)
{
    struct sbx_running_work work;
    sbx_page_probe_begin(&thread->probe);
    return ask_all(NULL, &work) == thread->seen_work.key;
}
