/* SPDX-License-Identifier: Apache-2.0 */
/* queue_wait.c - a wait for the result of a queued task.
 *
 * A thread that waits for a result has mostly queued the task that makes it. If the wait has ended, the thread that
 * ended it ran that task at that moment, or ran a task that was queued in it. If the wait goes on, the task still runs
 * or still lies in its queue. No record tells which of the waiter's tasks it is. Three kinds of tasks are excluded: a
 * task that the waiter itself would run, a task that waits for its time and not for its turn, and a task of a queue
 * without a sign that another thread runs it. */
#include "queue_wait.h"

#include <stdio.h>

#include "culprit.h"
#include "names.h"
#include "origin.h"
#include "submitters.h"
#include "verdict_words.h"

enum {
    HOPS_MAX = 4,
    PENDING_MIN = 2 /* any queue has one task at times */
};
#define ASKED_BEFORE_NS (INT64_C(50) * 1000 * 1000) /* limit between queueing a task and waiting for it */
#define WOKE_AFTER_NS   (INT64_C(5) * 1000 * 1000)
#define PENDING_OLD_NS  (INT64_C(100) * 1000 * 1000)
#define OPEN_CERTAINTY  0.75 /* the last task that was queued is perhaps not the awaited one */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The task that `thread` itself queued after `from_ns`: `task`, or one of those in which it was queued in turn. */
static const struct sbx_stall_task *asked_by(const struct sbx_stall *stall, const struct sbx_stall_task *task,
                                             int32_t thread, int64_t from_ns)
{
    for (int hop = 0; hop < HOPS_MAX && task != NULL; hop++) {
        if (task->from == thread && task->queued_ns >= from_ns) {
            return task;
        }
        const struct sbx_stall_task *outer = sbx_origin_at(stall, task->from, task->queued_ns);
        task = outer != task ? outer : NULL;
    }
    return NULL;
}

/* The task that the thread which ended the wait ran at that moment. */
static const struct sbx_stall_task *of_waker(const struct sbx_stall *stall, uint32_t wait, int32_t waiter,
                                             int64_t from_ns)
{
    for (size_t i = 0; i < stall->record_count && wait != 0; i++) {
        const struct sbx_stall_record *record = &stall->records[i];
        if (record->kind != SBX_RECORD_WAKE || record->wait != wait) {
            continue;
        }
        const struct sbx_stall_task *found = NULL, *over = NULL;
        for (size_t k = 0; k < stall->task_count; k++) { /* the innermost task that leads to the waiter */
            const struct sbx_stall_task *task = &stall->tasks[k];
            bool runs = task->runner == (int32_t)record->thread && task->begun_ns <= record->end_ns &&
                        (task->runs || task->ended_ns >= record->end_ns);
            const struct sbx_stall_task *asked = runs ? asked_by(stall, task, waiter, from_ns) : NULL;
            found = asked != NULL && (found == NULL || task->begun_ns > found->begun_ns) ? asked : found;
            bool was_last = !runs && !task->runs && task->runner == (int32_t)record->thread &&
                            task->ended_ns <= record->end_ns && record->end_ns - task->ended_ns < WOKE_AFTER_NS &&
                            (over == NULL || task->ended_ns > over->ended_ns);
            over = was_last && !task->cancelled ? task : over;
        }
        /* Qt's queues wake the waiter when the task is over. Then no task runs any more: take the last one. */
        return found != NULL || over == NULL || over->from != waiter || over->queued_ns < from_ns ? found : over;
    }
    return NULL;
}

/* Are both tasks in one queue? If privacy rules hide the queues, it is enough that they are of one sort. */
static bool is_same_queue(const struct sbx_stall_task *one, const struct sbx_stall_task *other)
{
    return one->queue == other->queue && (one->queue != 0 || one->op == other->op);
}

/* Is the task's queue known? If privacy rules hide it, the payload has a queue of that sort. */
static bool is_in_known_queue(const struct sbx_stall *stall, const struct sbx_stall_task *task)
{
    for (uint32_t i = 0; i < stall->queue_count && task->queue == 0; i++) {
        if (stall->queues[i].op == task->op && stall->queues[i].object == 0) {
            return true;
        }
    }
    return task->queue != 0;
}

/* Does the task wait for its turn? Other tasks wait for their time, for a file, for another process, or for a thread to
 * begin. */
static bool waits_for_turn(const struct sbx_stall *stall, const struct sbx_stall_task *task)
{
    switch (task->op) {
    case SBX_OP_G_TIMEOUT_ADD:
    case SBX_OP_UV_TIMER_START:
    case SBX_OP_QT_TIMER:
    case SBX_OP_EVENT_ADD:
    case SBX_OP_CALL_LATER:
    case SBX_OP_SET_TIMEOUT:
    case SBX_OP_SET_INTERVAL:
    case SBX_OP_UV_FS:
    case SBX_OP_G_DBUS_CALL:
    case SBX_OP_IO_URING_SUBMIT:
    case SBX_OP_PTHREAD_CREATE:
        return false;
    case SBX_OP_G_SOURCE_ATTACH: /* a timed source is in no queue */
        return is_in_known_queue(stall, task);
    default:
        return true;
    }
}

/* Is there a sign that another thread than `waiter` runs what lies in that queue, and no sign that `waiter` does? */
static bool is_run_by_another(const struct sbx_stall *stall, const struct sbx_stall_task *task, int32_t waiter)
{
    bool has_other = false;
    for (size_t i = 0; i < stall->task_count && task->runner < 0; i++) {
        const struct sbx_stall_task *run = &stall->tasks[i];
        if (run->runner < 0 || !is_same_queue(run, task)) {
            continue;
        }
        if (run->runner == waiter) {
            return false;
        }
        has_other = true;
    }
    return task->runner >= 0 ? task->runner != waiter : has_other;
}

/* For a wait that goes on: of the tasks that still lie or run and may end it, the last one that the thread queued
 * before the wait. */
static const struct sbx_stall_task *of_open_wait(const struct sbx_stall *stall, int32_t waiter, int64_t begin_ns,
                                                 int64_t from_ns)
{
    const struct sbx_stall_task *found = NULL;
    for (size_t i = 0; i < stall->task_count; i++) {
        const struct sbx_stall_task *task = &stall->tasks[i];
        if ((task->lies || task->runs) && task->from == waiter && task->queued_ns >= from_ns &&
            task->queued_ns <= begin_ns + ASKED_BEFORE_NS && (found == NULL || task->queued_ns > found->queued_ns) &&
            waits_for_turn(stall, task) && is_in_known_queue(stall, task) && is_run_by_another(stall, task, waiter)) {
            found = task;
        }
    }
    return found;
}

struct waited {
    const struct sbx_stall_task *task;
    struct sbx_interval lay; /* the part of the wait in which the task lay in its queue */
};

/* What was waited for. task NULL: not a task, or not a known one. */
static struct waited find_waited(const struct sbx_report *report, const struct sbx_judgement *judgement)
{
    const struct sbx_stall *stall = report->stall;
    struct sbx_interval wait = judgement->waited;
    int32_t waiter = (int32_t)stall->trigger.thread;
    int64_t from_ns = earlier(judgement->split.interval.begin_ns, wait.begin_ns) - ASKED_BEFORE_NS;
    struct waited it = {.task = judgement->wait.open ? of_open_wait(stall, waiter, wait.begin_ns, from_ns)
                                                     : of_waker(stall, judgement->wait.waker, waiter, from_ns)};
    if (it.task != NULL) {
        it.lay.begin_ns = later(it.task->queued_ns, wait.begin_ns);
        it.lay.end_ns = it.task->lies ? wait.end_ns : earlier(it.task->begun_ns, wait.end_ns);
    }
    return it;
}

bool sbx_queue_wait_judge(struct sbx_report *report, const struct sbx_judgement *judgement)
{
    struct sbx_verdict *verdict = &report->verdict;
    if (verdict->cause != SBX_CAUSE_WAIT || judgement->class_ != SBX_CLASS_OFF_CPU) {
        return false;
    }
    struct waited it = find_waited(report, judgement);
    if (it.task == NULL || !waits_for_turn(report->stall, it.task) ||
        (it.lay.end_ns - it.lay.begin_ns) * 2 <= judgement->waited.end_ns - judgement->waited.begin_ns) {
        return false;
    }
    verdict->cause = SBX_CAUSE_QUEUE;
    verdict->lay_ns = (double)(it.lay.end_ns - it.lay.begin_ns);
    return true;
}

static int64_t common_ns(const struct sbx_stall_task *task, struct sbx_interval span)
{
    int64_t end_ns = task->runs ? span.end_ns : earlier(task->ended_ns, span.end_ns);
    return task->runner >= 0 ? end_ns - later(task->begun_ns, span.begin_ns) : 0;
}

/* The task of the same queue that ran for the longest time while this task lay there. Tasks of the thread that waited
 * do not count, because the awaited task was not to run there. */
static const struct sbx_stall_task *find_blocker(const struct sbx_stall *stall, const struct waited *it)
{
    const struct sbx_stall_task *found = NULL;
    for (size_t i = 0; i < stall->task_count; i++) {
        const struct sbx_stall_task *task = &stall->tasks[i];
        if (task != it->task && is_same_queue(task, it->task) && task->runner != (int32_t)stall->trigger.thread &&
            common_ns(task, it->lay) > 0 && (found == NULL || common_ns(task, it->lay) > common_ns(found, it->lay))) {
            found = task;
        }
    }
    return found;
}

/* Tell which function queued most of the tasks before it, of those that were seen. */
static void tell_filler(struct sbx_report *report, const struct waited *it)
{
    const struct sbx_stall *stall = report->stall;
    struct sbx_submitters submitters = {.count = 0};
    for (size_t i = 0; i < stall->task_count; i++) {
        const struct sbx_stall_task *task = &stall->tasks[i];
        const struct sbx_location *location = sbx_blame_task_submitter(report, task);
        bool is_before = task != it->task && is_same_queue(task, it->task) && task->queued_ns <= it->task->queued_ns &&
                         !task->cancelled && (task->lies || task->runs || task->ended_ns > it->task->queued_ns);
        if (is_before && location != NULL) {
            sbx_submitters_add(&submitters, location, task);
        }
    }
    if (submitters.tasks == 0) {
        return;
    }
    const struct sbx_submitter *most = &submitters.of[submitters.most];
    char function[SBX_SHORT_NAME_BYTES], thread[SBX_THREAD_TEXT_BYTES] = "a thread that is gone";
    if (most->first->from >= 0) {
        sbx_thread_text(stall, (uint32_t)most->first->from, thread);
    }
    sbx_evidence_add(&report->verdict, "filled", (double)most->tasks,
                     "%zu of %zu tasks that were seen before it were queued by %s on %s", most->tasks, submitters.tasks,
                     sbx_location_text(most->location, function), thread);
}

/* The queue in which a task lay. If privacy rules hide it, the only queue of its sort. */
static const struct sbx_stall_queue *queue_of(const struct sbx_stall *stall, const struct sbx_stall_task *task)
{
    const struct sbx_stall_queue *found = NULL;
    for (uint32_t i = 0; i < stall->queue_count; i++) {
        const struct sbx_stall_queue *queue = &stall->queues[i];
        if (queue->object == task->queue && (task->queue != 0 || queue->op == task->op)) {
            if (found != NULL) {
                return NULL;
            }
            found = queue;
        }
    }
    return found;
}

static void tell_rate(struct sbx_report *report, const struct sbx_stall_queue *queue)
{
    if (queue == NULL || queue->window_ms == 0) {
        return;
    }
    sbx_evidence_add(&report->verdict, "rate", (double)queue->queued - (double)queue->begun,
                     "in the last %.1f s %llu tasks came into that queue, and %llu were begun", queue->window_ms / 1e3,
                     (unsigned long long)queue->queued, (unsigned long long)queue->begun);
}

/* Tell what kept the task in the queue: the task that ran for the longest time meanwhile. If none is known (few of a
 * busy queue's tasks are followed): the thread that ran the task in the end, because it did something else until then.
 * Returns enum sbx_culprit_source or -ENOMEM. */
static int tell_blocker(struct sbx_report *report, const struct waited *it)
{
    const struct sbx_stall *stall = report->stall;
    struct sbx_verdict *verdict = &report->verdict;
    const struct sbx_stall_task *blocker = find_blocker(stall, it);
    int32_t runner = blocker != NULL ? blocker->runner : it->task->runner;
    if (runner < 0 || runner == (int32_t)stall->trigger.thread) {
        return SBX_CULPRIT_NONE;
    }
    char ran[SBX_DURATION_TEXT_BYTES], by[SBX_SHORT_NAME_BYTES], function[SBX_SHORT_NAME_BYTES];
    char thread[SBX_THREAD_TEXT_BYTES];
    struct sbx_judgement other;
    int result = sbx_judge_thread(report, (uint32_t)runner, it->lay, &other);
    if (result != 0) {
        return result;
    }
    sbx_culprit_name(verdict, (uint32_t)runner, other.location);
    snprintf(verdict->culprit_doing, sizeof verdict->culprit_doing, "%s",
             other.class_ == SBX_CLASS_ON_CPU ? "computed" : "");
    sbx_thread_text(stall, (uint32_t)runner, thread);
    int64_t for_ns = blocker != NULL ? common_ns(blocker, it->lay) : it->lay.end_ns - it->lay.begin_ns;
    sbx_duration_text((double)for_ns, ran);
    if (blocker != NULL) {
        sbx_evidence_add(verdict, "blocker", (double)for_ns / 1e6,
                         "meanwhile %s ran one task for %s, in %s; queued by %s", thread, ran,
                         sbx_location_text(other.location, function),
                         sbx_location_text(sbx_blame_task_submitter(report, blocker), by));
    } else {
        verdict->culprit_certainty *= OPEN_CERTAINTY;
        sbx_evidence_add(verdict, "blocker", (double)for_ns / 1e6,
                         "for these %s %s, which ran it then, was in %s; which task that was is not known", ran, thread,
                         sbx_location_text(other.location, function));
    }
    sbx_judgement_finish(&other);
    return SBX_CULPRIT_NAMED;
}

int sbx_queue_wait_tell(struct sbx_report *report, const struct sbx_judgement *judgement)
{
    const struct sbx_stall *stall = report->stall;
    struct sbx_verdict *verdict = &report->verdict;
    struct waited it = find_waited(report, judgement);
    if (it.task == NULL) {
        return SBX_CULPRIT_NONE;
    }
    bool is_open = judgement->wait.open;
    char lay[SBX_DURATION_TEXT_BYTES], function[SBX_SHORT_NAME_BYTES];
    sbx_duration_text((double)(it.lay.end_ns - it.lay.begin_ns), lay);
    sbx_evidence_add(verdict, "queue", (double)(it.lay.end_ns - it.lay.begin_ns) / 1e6,
                     "what it %s a task that it had queued itself in %s (%s): it lay there for %s%s, %llu before it",
                     is_open ? "waits for is probably" : "waited for is",
                     sbx_location_text(sbx_blame_task_submitter(report, it.task), function), sbx_op_name(it.task->op),
                     lay, it.task->lies ? " so far" : "", (unsigned long long)it.task->before);
    verdict->culprit_certainty = is_open ? OPEN_CERTAINTY : 1;
    int source = tell_blocker(report, &it);
    if (source < 0) {
        return source;
    }
    tell_filler(report, &it);
    tell_rate(report, queue_of(stall, it.task));
    return source;
}

void sbx_queue_tell_pending(struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_stall_queue *fullest = NULL;
    const struct sbx_stall_task *oldest = NULL;
    for (uint32_t i = 0; i < stall->queue_count; i++) {
        const struct sbx_stall_queue *queue = &stall->queues[i];
        fullest = fullest == NULL || queue->pending > fullest->pending ? queue : fullest;
    }
    for (size_t i = 0; i < stall->task_count && fullest != NULL; i++) {
        const struct sbx_stall_task *task = &stall->tasks[i];
        bool is_there = task->queue == fullest->object && (task->queue != 0 || task->op == fullest->op);
        if (task->lies && is_there && (oldest == NULL || task->queued_ns < oldest->queued_ns)) {
            oldest = task;
        }
    }
    if (fullest == NULL || fullest->pending < PENDING_MIN || oldest == NULL || -oldest->queued_ns < PENDING_OLD_NS) {
        return;
    }
    char age[SBX_DURATION_TEXT_BYTES], function[SBX_SHORT_NAME_BYTES];
    sbx_duration_text((double)-oldest->queued_ns, age);
    sbx_evidence_add(&report->verdict, "pending", (double)fullest->pending,
                     "%llu tasks lay in one queue at the trigger (%s), the oldest for %s, queued by %s",
                     (unsigned long long)fullest->pending, sbx_op_name(fullest->op), age,
                     sbx_location_text(sbx_blame_task_submitter(report, oldest), function));
}
