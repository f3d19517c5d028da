/* SPDX-License-Identifier: Apache-2.0 */
/* task.c - work that passes from one thread to another: the side that queues it and the side that runs it. */
#include "task.h"

#include <errno.h>

#include "cache_line.h"
#include "capture_record.h"
#include "clock.h"
#include "left_code.h"
#include "providers.h"
#include "registers.h"
#include "the_capture.h"
#include "thread_registry.h"
#include "thread_stack.h"
#include "waiter_table.h"

#define RAN_LONG_NS UINT64_C(1000000)  /* always recorded */
#define LAY_LONG_NS UINT64_C(10000000) /* recorded once an interval, and in bursts: behind a slow task all lie long */

enum {
    SHORT_EVERY = 10, /* intervals; one task that neither ran nor lay long is recorded in that time */
    BURST = 64,
    HOPS_AT_ONCE = 64,
};

/* How many tasks of a thread are followed when tasks come in quick succession. The limit is per interval of their
 * group, as for samples, and the governor may make the interval longer. Where the interval is shorter than the default,
 * the number per unit of time does not grow. */
enum {
    FOLLOWED_AN_INTERVAL = 250, /* a walk and an entry are 0.1 to 0.2 us: 3 to 5 % of a thread that does nothing else */
    FOLLOW_EVERY_NS = 4000,
    SCRIPTS_AN_INTERVAL = 10, /* a script's frames cost ten thousand instructions, some 3 us (bench_asyncio) */
    FOLLOW_SCRIPTS_EVERY_NS = 100000,
};

/* The id of a task that is counted but not followed has no hop (bits 16 to 47). It contains the index of its queue's
 * entry and the turn of that entry. */
#define ID_COUNTED    (UINT64_C(1) << 63)
#define ID_TURN_SHIFT 48
#define ID_TURN_MASK  UINT64_C(0x7fff)
#define ID_INDEX_MASK UINT64_C(0xffff)

static bool is_wanted(uint8_t group)
{
    return sbx_capture_is_open() && (sbx_load_relaxed(&sbx_the_capture.control->in_force.points) &
                                     SBX_POINT_BIT(group)) != 0; /* relaxed: a hint */
}

/* The calling thread if it may record; NULL: it may not, or the agent's own code runs on it. */
static struct sbx_thread *find_self(void)
{
    struct sbx_thread *thread = sbx_self;
    if (SBX_UNLIKELY(thread == NULL) && sbx_capture_is_open()) {
        thread = sbx_thread_register_self();
    }
    return sbx_thread_is_registered(thread) && !sbx_thread_is_inside(thread) ? thread : NULL;
}

static uint64_t counted_id(const struct sbx_queue_entry *queue)
{
    return ID_COUNTED | (sbx_load_relaxed(&queue->turn) & ID_TURN_MASK) << ID_TURN_SHIFT |
           (uint64_t)(queue - sbx_the_capture.queues);
}

/* The queue of a counted id. NULL: the queue has ended, or `id` has no valid queue. */
static struct sbx_queue_entry *queue_of_counted(uint64_t id)
{
    uint64_t index = id & ID_INDEX_MASK;
    if (index >= sbx_the_capture.header->queues.count) {
        return NULL;
    }
    struct sbx_queue_entry *queue = &sbx_the_capture.queues[index];
    uint64_t number = sbx_load_acquire(&queue->queue); /* order: acquire queue.queue - as its turn */
    return sbx_queue_is_one(number) && counted_id(queue) == id ? queue : NULL;
}

/* The queue in which the task lies. NULL: the task lies in no counted queue, or the queue has ended. */
static struct sbx_queue_entry *queue_of(const struct sbx_task_entry *entry)
{
    return sbx_queue_at(entry->queue_at, entry->queue);
}

static uint8_t place_of_queue(const struct sbx_queue_entry *counts)
{
    return counts != NULL ? (uint8_t)(counts - sbx_the_capture.queues) : 0;
}

/* `thread` may be NULL, because a thread may have no seat. */
static uint64_t now_for(struct sbx_thread *thread)
{
    return thread != NULL ? sbx_thread_wall_ns(thread) : sbx_now_ns();
}

static bool take_turn(uint64_t *next_ns, uint64_t now_ns, uint64_t every_ns)
{
    return sbx_take_turn(next_ns, now_ns, every_ns, BURST);
}

/* How long after one task the next one is followed. When bytes in a pipe wake a runtime's loop, one byte comes for each
 * thing that the loop has to look at. Of these, one an interval is enough. */
static uint64_t follow_every_ns(uint8_t group)
{
    /* relaxed: numbers of their own; hints */
    uint64_t interval_ns = sbx_load_relaxed(&sbx_the_capture.leaf_interval_ns[group]);
    bool is_script = sbx_load_relaxed(&sbx_the_capture.provider_count) != 0 && sbx_provider_is_entered();
    if (is_script && group == SBX_GROUP_SELF_PIPE) {
        return interval_ns;
    }
    uint64_t least_ns = is_script ? FOLLOW_SCRIPTS_EVERY_NS : FOLLOW_EVERY_NS;
    uint64_t every_ns = interval_ns / (is_script ? SCRIPTS_AN_INTERVAL : FOLLOWED_AN_INTERVAL);
    return every_ns > least_ns ? every_ns : least_ns;
}

/* Reads an entry word by word, because the watch thread may carry its stack over at the same time. */
static struct sbx_task_entry read_entry(const struct sbx_task_entry *entry)
{
    return (struct sbx_task_entry){.queue = sbx_load_relaxed(&entry->queue),
                                   .queued_ns = sbx_load_relaxed(&entry->queued_ns),
                                   .begun_ns = sbx_load_relaxed(&entry->begun_ns),
                                   .message = sbx_load_relaxed(&entry->message),
                                   .stack = sbx_load_relaxed(&entry->stack),
                                   .tid = sbx_load_relaxed(&entry->tid),
                                   .before = sbx_load_relaxed(&entry->before),
                                   .op = entry->op,
                                   .flags = sbx_load_relaxed(&entry->flags),
                                   .group = entry->group,
                                   .queue_at = entry->queue_at};
}

/* ---- the side that queues ---- */

/* Waits and hops take their numbers from the same source, so a hop is never taken for a wait. A thread takes several
 * numbers at a time, because all threads take them from one shared word. Call it inside, so that no signal handler
 * takes the same number. */
static uint32_t new_hop(struct sbx_thread *thread)
{
    uint32_t hop;
    do {
        if (thread->tasks.hops_left == 0) {
            thread->tasks.next_hop = sbx_waiter_new_ids(HOPS_AT_ONCE);
            thread->tasks.hops_left = HOPS_AT_ONCE;
        }
        hop = thread->tasks.next_hop++;
        thread->tasks.hops_left--;
    } while (SBX_UNLIKELY(hop == 0));
    return hop;
}

/* The task that was queued, for follow(). */
struct queued {
    uint64_t key, match, queue, now_ns;
    struct sbx_queue_entry *counts; /* NULL: the task lies in no counted queue */
    uint8_t group, op;
};

/* The walk comes first: meanwhile the cache lines arrive that other threads have written. */
static uint64_t follow(struct sbx_thread *thread, const struct queued *what)
{
    sbx_thread_enter(thread);
    uint64_t begin_ns = sbx_cost_begin(thread, SBX_COST_LEAF);
    uint32_t hop = new_hop(thread);
    sbx_task_expect(what->key, hop);
    if (SBX_UNLIKELY(thread->stack_high == 0)) {
        sbx_thread_find_stack(thread);
    }
    struct sbx_walk_registers here;
    sbx_registers_here(&here);
    uint32_t stack = sbx_capture_stack(thread, &here);
    uint32_t before = what->counts != NULL ? sbx_queue_comes(what->counts, what->now_ns) : 0;
    struct sbx_task_entry *entry = sbx_task_take(what->key, hop, what->now_ns);
    if (entry == NULL) {
        sbx_thread_leave(thread);
        sbx_count_drop(SBX_DROP_NO_TASK);
        return 0;
    }
    sbx_task_name(entry, what->key, what->match);
    sbx_store_relaxed(&entry->queue, what->queue);
    sbx_store_relaxed(&entry->queued_ns, what->now_ns);
    sbx_store_relaxed(&entry->begun_ns, 0);
    sbx_store_relaxed(&entry->message, thread->entry->message_begin_ns != 0 ? thread->entry->message : 0);
    sbx_store_relaxed(&entry->stack, stack);
    sbx_store_relaxed(&entry->tid, thread->tid);
    sbx_store_relaxed(&entry->runner, 0);
    sbx_store_relaxed(&entry->before, before);
    entry->op = what->op;
    entry->group = what->group;
    entry->queue_at = place_of_queue(what->counts);
    sbx_store_relaxed(&entry->flags, 0);
    uint64_t id = sbx_task_publish(entry, hop);
    if (what->key == 0) { /* such tasks have entries one after another: prefetch the next one's line */
        sbx_task_expect(0, hop + 1);
    }
    sbx_store_relaxed(&thread->cost.group[what->group].captures, thread->cost.group[what->group].captures + 1);
    sbx_cost_end(thread, SBX_COST_LEAF, begin_ns);
    sbx_thread_leave(thread);
    return id;
}

SBX_HOOK_SAFE SBX_NOINLINE uint64_t sbx_task_queued(uint8_t group, uint8_t op, uint64_t queue, uint64_t key,
                                                    uint64_t match)
{
    struct sbx_thread *thread;
    if (!is_wanted(group) || (thread = find_self()) == NULL) {
        return 0;
    }
    int saved_errno = errno;
    uint64_t now_ns = sbx_thread_wall_ns(thread), id = 0;
    bool is_followed =
        thread->tasks.follow_ns <= now_ns && take_turn(&thread->tasks.follow_ns, now_ns, follow_every_ns(group));
    struct sbx_queue_entry *counts = queue != 0 ? sbx_queue_of(queue, op, now_ns) : NULL;
    if (SBX_UNLIKELY(queue != 0 && counts == NULL)) {
        sbx_count_drop(SBX_DROP_NO_QUEUE);
        queue = 0; /* so it will not be counted as leaving either */
    }
    if (counts != NULL) {
        sbx_line_to_write(&counts->queued);
    }
    if (is_followed) {
        if (counts != NULL) {
            sbx_line_to_read(&counts->begun);
        }
        struct queued what = {key, match, queue, now_ns, counts, group, op};
        id = follow(thread, &what);
    } else if (counts != NULL) {
        sbx_queue_counts(counts, now_ns);
    }
    errno = saved_errno;
    return id != 0 || counts == NULL ? id : counted_id(counts);
}

SBX_HOOK_SAFE bool sbx_task_is_due(void)
{
    struct sbx_thread *thread = sbx_self;
    return !sbx_thread_is_registered(thread) || thread->tasks.follow_ns <= sbx_thread_wall_ns(thread);
}

static bool is_open_on(const struct sbx_thread *thread, uint64_t id)
{
    for (uint32_t i = 0; i < thread->tasks.depth; i++) {
        if (thread->tasks.open[i].id == id) {
            return true;
        }
    }
    return false;
}

SBX_HOOK_SAFE SBX_NOINLINE uint64_t sbx_task_passed_on(uint8_t group, uint8_t op, uint64_t id)
{
    struct sbx_thread *thread = id != 0 && is_wanted(group) ? find_self() : NULL;
    const struct sbx_task_entry *running = thread != NULL && is_open_on(thread, id) ? sbx_task_entry_of(id) : NULL;
    if (running == NULL ||
        sbx_load_acquire(&running->word) != sbx_task_word(sbx_task_hop_of_id(id), SBX_TASK_RUNNING)) {
        return 0; /* order: acquire task.word - its fields are whole, and it is this thread that ends it */
    }
    int saved_errno = errno;
    uint64_t next = 0;
    sbx_thread_enter(thread);
    struct sbx_task_entry his = read_entry(running);
    uint32_t hop = new_hop(thread);
    struct sbx_task_entry *entry = sbx_task_take(0, hop, sbx_thread_wall_ns(thread));
    if (entry == NULL) {
        sbx_count_drop(SBX_DROP_NO_TASK);
    } else {
        sbx_task_name(entry, 0, 0);
        sbx_store_relaxed(&entry->queue, 0);
        sbx_store_relaxed(&entry->queued_ns, his.queued_ns);
        sbx_store_relaxed(&entry->begun_ns, 0);
        sbx_store_relaxed(&entry->message, his.message);
        sbx_store_relaxed(&entry->stack, his.stack);
        sbx_store_relaxed(&entry->tid, his.tid);
        sbx_store_relaxed(&entry->runner, 0);
        sbx_store_relaxed(&entry->before, 0);
        entry->op = op;
        entry->group = group;
        entry->queue_at = place_of_queue(NULL);
        sbx_store_relaxed(&entry->flags, 0);
        next = sbx_task_publish(entry, hop);
    }
    sbx_thread_leave(thread);
    errno = saved_errno;
    return next;
}

SBX_HOOK_SAFE void sbx_task_merged(uint64_t id)
{
    struct sbx_task_entry *entry = (id & ID_COUNTED) == 0 && sbx_capture_is_ours() ? sbx_task_entry_of(id) : NULL;
    if (entry != NULL && sbx_load_acquire(&entry->word) == /* order: acquire task.word - it is that task */
                             sbx_task_word(sbx_task_hop_of_id(id), SBX_TASK_QUEUED)) {
        sbx_store_relaxed(&entry->flags, SBX_FLAG_MERGED); /* relaxed: recorded with the task, or one merge is missed */
    }
}

SBX_HOOK_SAFE void sbx_task_merged_by(uint64_t id, uint64_t times)
{
    struct sbx_task_entry *entry = (id & ID_COUNTED) == 0 && sbx_capture_is_ours() ? sbx_task_entry_of(id) : NULL;
    if (times != 0 && entry != NULL &&
        sbx_load_acquire(&entry->word) == sbx_task_word(sbx_task_hop_of_id(id), SBX_TASK_QUEUED)) {
        /* order: acquire task.word - it is that task. relaxed: as above; the thread that takes the task out counts
         * last */
        sbx_store_relaxed(&entry->before, times < UINT32_MAX ? (uint32_t)times : UINT32_MAX);
        sbx_store_relaxed(&entry->flags, SBX_FLAG_MERGED);
    }
}

/* ---- what is recorded ---- */

/* Is this task recorded? `thread` is the caller. */
static bool is_told(struct sbx_thread *thread, uint64_t lay_ns, uint64_t ran_ns, uint64_t now_ns)
{
    uint64_t interval_ns = sbx_load_relaxed(&sbx_the_capture.interval_ns);
    bool is_due = lay_ns >= LAY_LONG_NS ? take_turn(&thread->tasks.lay_ns, now_ns, interval_ns)
                                        : now_ns - thread->tasks.told_ns >= SHORT_EVERY * interval_ns;
    if (ran_ns < RAN_LONG_NS && !is_due) {
        return false;
    }
    thread->tasks.told_ns = now_ns;
    return true;
}

/* Put the records of a task that has left the table. `end_ns` 0: the task never ran. */
static void tell(struct sbx_thread *thread, const struct sbx_task_entry *task, uint32_t hop, uint64_t end_ns)
{
    bool has_run = end_ns != 0;
    int saved_errno = errno; /* elsewhere only a walk may change errno */
    sbx_thread_enter(thread);
    struct sbx_times now = sbx_thread_times(thread);
    struct sbx_record lay = {.kind = SBX_RECORD_HOP,
                             .op = task->op,
                             .flags = (uint8_t)(task->flags | (has_run ? 0 : SBX_FLAG_CANCELLED)),
                             .begin_ns = task->queued_ns,
                             .end_ns = has_run ? task->begun_ns : now.wall_ns,
                             .stack = has_run ? SBX_STACK_NONE : task->stack,
                             .peer = task->tid,
                             .message = task->message,
                             .object = task->queue,
                             .amount = task->before,
                             .wait = hop};
    struct sbx_record ran = {.kind = SBX_RECORD_TASK,
                             .op = task->op,
                             .begin_ns = task->begun_ns,
                             .end_ns = end_ns,
                             .cpu_ns = now.cpu_ns,
                             .stack = task->stack, /* here too: the id is judged by the time of this record */
                             .message = thread->entry->message,
                             .object = task->queue,
                             .wait = hop};
    sbx_capture_put_of_others(thread, &lay);
    if (has_run) {
        sbx_capture_put_of_others(thread, &ran);
    }
    sbx_store_relaxed(&thread->cost.group[task->group].captures, thread->cost.group[task->group].captures + 1);
    if (SBX_UNLIKELY(sbx_cost_capture(&thread->cost, SBX_COST_CALL))) {
        sbx_cost_timed(&thread->cost, SBX_COST_CALL, sbx_thread_times(thread).cpu_ns - now.cpu_ns);
    }
    sbx_thread_leave(thread);
    if (sbx_load_relaxed(&sbx_the_capture.resting) == SBX_RESTS) {
        sbx_capture_ring_bell();
    }
    errno = saved_errno;
}

/* ---- the side that runs ---- */

/* Is the end of a task recorded, whose entry is still in the table? Most are not, and of those only the times are
 * read. */
static bool is_end_told(struct sbx_thread *thread, const struct sbx_task_entry *entry, uint64_t end_ns)
{
    uint64_t begun_ns = sbx_load_relaxed(&entry->begun_ns), queued_ns = sbx_load_relaxed(&entry->queued_ns);
    return sbx_capture_is_open() && is_told(thread, begun_ns > queued_ns ? begun_ns - queued_ns : 0,
                                            end_ns > begun_ns ? end_ns - begun_ns : 0, end_ns);
}

/* Record the end of a task that has left the table, or whose entry is used anew. */
static void tell_end(struct sbx_thread *thread, struct sbx_task_entry *copy, uint32_t hop, uint64_t end_ns)
{
    copy->queued_ns = copy->queued_ns < copy->begun_ns ? copy->queued_ns : copy->begun_ns;
    tell(thread, copy, hop, end_ns > copy->begun_ns ? end_ns : copy->begun_ns);
}

/* The task is over. `thread` NULL: it is not recorded. */
static void finish(struct sbx_thread *thread, uint64_t id)
{
    struct sbx_task_entry *entry = sbx_task_entry_of(id), copy;
    uint32_t hop = sbx_task_hop_of_id(id);
    if (entry == NULL || sbx_load_acquire(&entry->word) != sbx_task_word(hop, SBX_TASK_RUNNING)) {
        return; /* order: acquire task.word - its fields are whole */
    }
    uint64_t end_ns = thread != NULL ? sbx_thread_wall_ns(thread) : 0;
    bool tells = thread != NULL && is_end_told(thread, entry, end_ns);
    if (SBX_UNLIKELY(tells)) {
        copy = read_entry(entry);
    }
    if (sbx_task_move(entry, hop, SBX_TASK_RUNNING, SBX_TASK_FREE) && SBX_UNLIKELY(tells)) {
        tell_end(thread, &copy, hop, end_ns);
    }
}

/* Tasks that did not begin further out on the stack than `here` were left without an end. For another stack (a
 * coroutine's) this is not known. */
static void forget_left(struct sbx_thread *thread, uint64_t here)
{
    struct sbx_thread_tasks *tasks = &thread->tasks;
    while (tasks->depth != 0 && !tasks->open[tasks->depth - 1].is_turn && /* the loop may poll from a helper's frame */
           tasks->open[tasks->depth - 1].place <= here && sbx_thread_is_on_own_stack(thread, here) &&
           sbx_thread_is_on_own_stack(thread, tasks->open[tasks->depth - 1].place)) {
        finish(thread, tasks->open[--tasks->depth].id);
    }
}

/* `here`: the stack address at which the task has begun. */
static void begin(uint64_t id, uint64_t here, bool is_turn)
{
    if (id == 0 || !sbx_capture_is_ours() || sbx_the_capture.tasks == NULL) {
        return;
    }
    struct sbx_task_entry *entry = sbx_task_entry_of(id);
    if (SBX_LIKELY(entry != NULL)) {
        sbx_line_to_write(entry);
    }
    struct sbx_thread *thread = find_self();
    if ((id & ID_COUNTED) != 0) {
        struct sbx_queue_entry *counts = queue_of_counted(id);
        if (counts != NULL) {
            sbx_queue_goes(counts, now_for(thread));
        }
        return;
    }
    uint32_t hop = sbx_task_hop_of_id(id);
    if (entry == NULL || sbx_load_acquire(&entry->word) != sbx_task_word(hop, SBX_TASK_QUEUED)) {
        return; /* order: acquire task.word - its fields are whole */
    }
    struct sbx_queue_entry *counts = queue_of(entry);
    if (counts != NULL) {
        sbx_line_to_write(&counts->begun);
    }
    if (thread == NULL || !sbx_capture_is_open()) {
        if (sbx_task_move(entry, hop, SBX_TASK_QUEUED, SBX_TASK_FREE) && counts != NULL) {
            sbx_queue_goes(counts, now_for(thread));
        }
        return;
    }
    struct sbx_thread_tasks *tasks = &thread->tasks;
    forget_left(thread, here);
    uint64_t now_ns = sbx_thread_wall_ns(thread);
    bool has_room = tasks->depth < SBX_TASKS_NESTED;
    sbx_store_relaxed(&entry->begun_ns, now_ns);
    sbx_store_relaxed(&entry->runner, thread->tid);
    if (sbx_task_move(entry, hop, SBX_TASK_QUEUED, has_room ? SBX_TASK_RUNNING : SBX_TASK_FREE)) {
        if (counts != NULL) {
            sbx_queue_goes(counts, now_ns);
        }
        if (has_room) {
            tasks->open[tasks->depth++] = (struct sbx_open_task){.id = id, .place = here, .is_turn = is_turn};
            thread->has_turns |= is_turn;
        } else {
            sbx_count_drop(SBX_DROP_NO_TASK);
        }
    }
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_task_begin(uint64_t id)
{
    begin(id, (uint64_t)__builtin_dwarf_cfa(), false);
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_task_begin_turn(uint64_t id, uint64_t place)
{
    begin(id, place, true);
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_tasks_end_turn(struct sbx_thread *thread, uint64_t place)
{
    struct sbx_thread_tasks *tasks = &thread->tasks;
    thread->has_turns = false;
    for (uint32_t i = 0; i < tasks->depth; i++) {
        if (!tasks->open[i].is_turn) {
            continue;
        }
        if (place == SBX_EVERY_TURN || tasks->open[i].place == place) {
            while (tasks->depth > i) {
                finish(thread, tasks->open[--tasks->depth].id);
            }
            break;
        }
        thread->has_turns = true; /* this turn lies around the one that ended */
    }
}

/* The task's index in the thread's list, + 1; 0: the thread does not run it. Tasks that began inside it are over. */
static uint32_t uncover(struct sbx_thread *thread, uint64_t id)
{
    uint32_t depth = thread != NULL ? thread->tasks.depth : 0;
    while (depth != 0 && thread->tasks.open[depth - 1].id != id) {
        depth--;
    }
    while (depth != 0 && thread->tasks.depth > depth) {
        finish(thread, thread->tasks.open[--thread->tasks.depth].id);
    }
    return depth;
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_task_end(uint64_t id)
{
    if (id == 0 || (id & ID_COUNTED) != 0 || !sbx_capture_is_ours() || sbx_the_capture.tasks == NULL) {
        return;
    }
    struct sbx_thread *thread = find_self();
    if (uncover(thread, id) != 0) {
        thread->tasks.depth--;
        finish(thread, id);
    } else {
        finish(NULL, id); /* another thread began it, so it is not known how long it ran there */
    }
}

static uint64_t end_and_queue(uint64_t id, bool stays_counted)
{
    struct sbx_thread *thread = sbx_capture_is_ours() && sbx_the_capture.tasks != NULL ? find_self() : NULL;
    struct sbx_task_entry *entry = sbx_task_entry_of(id), copy;
    uint32_t hop = sbx_task_hop_of_id(id);
    if (thread == NULL || entry == NULL || (id & ID_COUNTED) != 0 || uncover(thread, id) == 0) {
        return 0;
    }
    thread->tasks.depth--;
    sbx_thread_enter(thread);
    uint32_t next_hop = new_hop(thread);
    sbx_thread_leave(thread);
    uint64_t word = sbx_task_word(hop, SBX_TASK_RUNNING), now_ns = sbx_thread_wall_ns(thread);
    bool tells = sbx_load_acquire(&entry->word) == word && /* order: acquire task.word - its fields are whole */
                 is_end_told(thread, entry, now_ns);
    if (SBX_UNLIKELY(tells)) {
        copy = read_entry(entry);
    }
    uint64_t queue = stays_counted ? sbx_load_relaxed(&entry->queue) : 0;
    /* order: acq_rel task.word - no other thread moves it until it is whole again */
    if (!sbx_cas_acq_rel(&entry->word, &word, sbx_task_word(next_hop, SBX_TASK_FILLING))) {
        return 0;
    }
    struct sbx_queue_entry *counts = queue != 0 ? sbx_queue_of(queue, entry->op, now_ns) : NULL;
    if (counts == NULL) {
        sbx_store_relaxed(&entry->queue, 0);
    }
    entry->queue_at = place_of_queue(counts);
    sbx_store_relaxed(&entry->queued_ns, now_ns);
    sbx_store_relaxed(&entry->begun_ns, 0);
    sbx_store_relaxed(&entry->before, counts != NULL ? sbx_queue_comes(counts, now_ns) : 0);
    sbx_store_relaxed(&entry->flags, 0);
    uint64_t next = sbx_task_publish(entry, next_hop);
    if (SBX_UNLIKELY(tells)) {
        tell_end(thread, &copy, hop, now_ns);
    }
    return next;
}

SBX_HOOK_SAFE SBX_NOINLINE uint64_t sbx_task_end_and_queue(uint64_t id)
{
    return end_and_queue(id, true);
}

SBX_HOOK_SAFE SBX_NOINLINE uint64_t sbx_task_end_and_follow(uint64_t id)
{
    return end_and_queue(id, false);
}

SBX_HOOK_SAFE void sbx_task_set_match(uint64_t id, uint64_t match)
{
    struct sbx_task_entry *entry = (id & ID_COUNTED) == 0 ? sbx_task_entry_of(id) : NULL;
    uint64_t word = entry != NULL ? sbx_load_acquire(&entry->word) : 0; /* order: acquire task.word - it is that task */
    if (word >> 8 == sbx_task_hop_of_id(id) && sbx_task_state_of(word) >= SBX_TASK_QUEUED) {
        sbx_task_name_match(entry, match);
    }
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_task_cancelled(uint64_t id)
{
    if (id == 0 || !sbx_capture_is_ours() || sbx_the_capture.tasks == NULL) {
        return;
    }
    if ((id & ID_COUNTED) != 0) {
        struct sbx_queue_entry *counts = queue_of_counted(id);
        if (counts != NULL) {
            sbx_queue_loses(counts);
        }
        return;
    }
    struct sbx_task_entry *entry = sbx_task_entry_of(id), copy;
    if (entry == NULL) {
        return;
    }
    copy = read_entry(entry);
    if (!sbx_task_move(entry, sbx_task_hop_of_id(id), SBX_TASK_QUEUED, SBX_TASK_FREE)) {
        return;
    }
    int saved_errno = errno;
    struct sbx_thread *thread = find_self();
    struct sbx_queue_entry *counts = queue_of(&copy);
    if (counts != NULL) {
        sbx_queue_loses(counts);
    }
    if (thread != NULL && is_wanted(copy.group)) {
        uint64_t now_ns = sbx_thread_wall_ns(thread);
        copy.queued_ns = copy.queued_ns < now_ns ? copy.queued_ns : now_ns;
        if (is_told(thread, now_ns - copy.queued_ns, 0, now_ns)) {
            tell(thread, &copy, sbx_task_hop_of_id(id), 0);
        }
    }
    errno = saved_errno;
}

SBX_HOOK_SAFE SBX_NOINLINE uint32_t sbx_task_stack_here(uint32_t *tid_out)
{
    struct sbx_thread *thread = is_wanted(SBX_GROUP_TASK) ? find_self() : NULL;
    struct sbx_walk_registers here;
    *tid_out = 0;
    if (thread == NULL) {
        return SBX_STACK_NONE;
    }
    int saved_errno = errno;
    sbx_thread_enter(thread);
    if (SBX_UNLIKELY(thread->stack_high == 0)) {
        sbx_thread_find_stack(thread);
    }
    sbx_registers_here(&here);
    uint32_t stack = sbx_capture_stack(thread, &here);
    *tid_out = thread->tid;
    sbx_thread_leave(thread);
    errno = saved_errno;
    return stack;
}

SBX_HOOK_SAFE void sbx_task_begin_uncounted(uint64_t queue)
{
    struct sbx_queue_entry *counts = sbx_capture_is_open() ? sbx_queue_known(queue) : NULL;
    if (counts != NULL) {
        struct sbx_thread *thread = sbx_self;
        sbx_queue_goes(counts, now_for(sbx_thread_is_registered(thread) ? thread : NULL));
    }
}

SBX_HOOK_SAFE void sbx_task_cancelled_uncounted(uint64_t queue)
{
    struct sbx_queue_entry *counts = sbx_capture_is_open() ? sbx_queue_known(queue) : NULL;
    if (counts != NULL) {
        sbx_queue_loses(counts);
    }
}

SBX_HOOK_SAFE void sbx_task_forget(uint64_t id)
{
    struct sbx_task_entry *entry =
        sbx_capture_is_ours() && sbx_the_capture.tasks != NULL ? sbx_task_entry_of(id) : NULL;
    if (entry != NULL && sbx_task_move(entry, sbx_task_hop_of_id(id), SBX_TASK_QUEUED, SBX_TASK_FREE)) {
        sbx_count_drop(SBX_DROP_NO_TASK);
    }
}

/* Cancel the queued tasks with that operation, queue and match. SBX_OP_NONE or 0 means any. */
static void cancel_all(uint8_t op, uint64_t queue, uint64_t match)
{
    uint32_t count = sbx_capture_is_ours() && sbx_the_capture.tasks != NULL ? sbx_the_capture.header->tasks.count : 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct sbx_task_entry *entry = &sbx_the_capture.tasks[i];
        uint64_t word = sbx_load_acquire(&entry->word); /* order: acquire task.word - its fields are whole */
        if (sbx_task_state_of(word) == SBX_TASK_QUEUED && (queue == 0 || sbx_load_relaxed(&entry->queue) == queue) &&
            (match == 0 || sbx_task_match(entry) == match) && (op == SBX_OP_NONE || entry->op == op)) {
            sbx_task_cancelled((uint64_t)sbx_task_hop_of(word) << 16 | i); /* no effect if it is another by now */
        }
    }
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_tasks_cancelled_by_match(uint8_t op, uint64_t match)
{
    cancel_all(op, 0, match);
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_task_queue_ends(uint64_t queue)
{
    if (queue == 0 || !sbx_capture_is_ours() || sbx_the_capture.tasks == NULL || sbx_queue_known(queue) == NULL) {
        return;
    }
    int saved_errno = errno;
    cancel_all(SBX_OP_NONE, queue, 0);
    sbx_queue_ends(queue);
    errno = saved_errno;
}

SBX_HOOK_SAFE void sbx_tasks_leave(struct sbx_thread *thread)
{
    while (thread->tasks.depth != 0) {
        finish(thread, thread->tasks.open[--thread->tasks.depth].id);
    }
}
