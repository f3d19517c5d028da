/* SPDX-License-Identifier: Apache-2.0 */
/* origin.c - which function queued the work that stalled. */
#include "origin.h"

#include <stdio.h>

#include "handover.h"
#include "names.h"
#include "submitters.h"
#include "verdict_words.h"

enum {
    HOPS_MAX = 3,    /* how far back a task is followed from queue to queue */
    FLOOD_TASKS = 8, /* fewer seen tasks do not show which function queued most of them */
};
#define TAKEN_AFTER_NS (INT64_C(5) * 1000 * 1000) /* a request is taken this soon after the wait for it */

static int64_t end_of(const struct sbx_stall_task *task)
{
    return task->runs ? INT64_MAX : task->ended_ns;
}

static int64_t common_ns(const struct sbx_stall_task *task, struct sbx_interval span)
{
    int64_t begin_ns = task->begun_ns > span.begin_ns ? task->begun_ns : span.begin_ns;
    int64_t end_ns = end_of(task) < span.end_ns ? end_of(task) : span.end_ns;
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

const struct sbx_stall_task *sbx_origin_in(const struct sbx_report *report, uint32_t thread, struct sbx_interval span)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_stall_task *found = NULL;
    int64_t longest_ns = 0;
    for (size_t i = 0; i < stall->task_count; i++) {
        const struct sbx_stall_task *task = &stall->tasks[i];
        int64_t ns =
            task->runner == (int32_t)thread && !sbx_blame_knows_no_submitter(report, task) ? common_ns(task, span) : 0;
        longest_ns = ns > longest_ns ? ns : longest_ns;
    }
    if (longest_ns == 0 || longest_ns * 2 < span.end_ns - span.begin_ns) {
        return NULL;
    }
    for (size_t i = 0; i < stall->task_count; i++) {
        const struct sbx_stall_task *task = &stall->tasks[i];
        if (task->runner == (int32_t)thread && common_ns(task, span) * 5 >= longest_ns * 4 &&
            (found == NULL || task->begun_ns > found->begun_ns) && !sbx_blame_knows_no_submitter(report, task)) {
            found = task;
        }
    }
    return found;
}

const struct sbx_stall_task *sbx_origin_at(const struct sbx_stall *stall, int32_t thread, int64_t at_ns)
{
    const struct sbx_stall_task *found = NULL;
    for (size_t i = 0; i < stall->task_count && thread >= 0; i++) {
        const struct sbx_stall_task *task = &stall->tasks[i];
        if (task->runner == thread && task->begun_ns <= at_ns && end_of(task) >= at_ns &&
            (found == NULL || task->begun_ns > found->begun_ns)) {
            found = task;
        }
    }
    return found;
}

static const char *submitter_text(const struct sbx_report *report, const struct sbx_stall_task *task,
                                  char out[SBX_SHORT_NAME_BYTES])
{
    return sbx_location_text(sbx_blame_task_submitter(report, task), out);
}

static void thread_text(const struct sbx_stall *stall, int32_t thread, char out[SBX_THREAD_TEXT_BYTES])
{
    if (thread >= 0) {
        sbx_thread_text(stall, (uint32_t)thread, out);
    } else {
        snprintf(out, SBX_THREAD_TEXT_BYTES, "a thread that is gone");
    }
}

static double lay_ns(const struct sbx_stall_task *task)
{
    return (double)(task->begun_ns - task->queued_ns);
}

bool sbx_origin_leads_on(const struct sbx_stall_task *task, const struct sbx_stall_task *outer)
{
    return outer != task && outer->stack != task->stack && outer->op != SBX_OP_G_TIMEOUT_ADD &&
           outer->op != SBX_OP_UV_TIMER_START && outer->op != SBX_OP_QT_TIMER && outer->op != SBX_OP_EVENT_ADD &&
           outer->op != SBX_OP_CALL_LATER && outer->op != SBX_OP_SET_TIMEOUT && outer->op != SBX_OP_SET_INTERVAL &&
           outer->op != SBX_OP_JS_CALLBACK && outer->op != SBX_OP_PTHREAD_CREATE;
}

/* The task in which the submitter of `task` queued it. NULL: none is known, or it does not lead further. */
static const struct sbx_stall_task *outer_of(const struct sbx_stall *stall, const struct sbx_stall_task *task)
{
    const struct sbx_stall_task *outer = sbx_origin_at(stall, task->from, task->queued_ns);
    return outer != NULL && sbx_origin_leads_on(task, outer) ? outer : NULL;
}

/* For a task that was queued by a task: who queued that one. */
static void tell_chain(struct sbx_report *report, const struct sbx_stall_task *task)
{
    const struct sbx_stall *stall = report->stall;
    for (int hop = 1; hop < HOPS_MAX; hop++) {
        const struct sbx_stall_task *outer = outer_of(stall, task);
        if (outer == NULL || outer->begun_ns > task->queued_ns) {
            return;
        }
        char function[SBX_SHORT_NAME_BYTES], by[SBX_SHORT_NAME_BYTES], thread[SBX_THREAD_TEXT_BYTES];
        char lay[SBX_DURATION_TEXT_BYTES];
        thread_text(stall, outer->from, thread);
        sbx_duration_text(lay_ns(outer), lay);
        sbx_evidence_add(&report->verdict, "queued_by", lay_ns(outer) / 1e6,
                         "%s did that in a task of its own, queued by %s on %s %s before that began",
                         submitter_text(report, task, function), submitter_text(report, outer, by), thread, lay);
        task = outer;
    }
}

/* The task whose submitter is to be named for `task`. That is `task` itself. If a library queued it (GIO queues the
 * answer of what its threads ran), it is the task in which it was queued. */
static const struct sbx_stall_task *named_for(const struct sbx_report *report, const struct sbx_stall_task *task)
{
    const struct sbx_stall_task *at = task;
    for (int hop = 0; hop < HOPS_MAX && at != NULL; hop++) {
        const struct sbx_location *location = sbx_blame_task_submitter(report, at);
        if (location != NULL && location->app && location->named) {
            return at;
        }
        at = outer_of(report->stall, at);
    }
    return task;
}

/* Tell who started the thread. Used if no task of a queue is known that it ran. */
static void tell_start(struct sbx_report *report, const struct sbx_stall_task *start, const char *whose)
{
    char function[SBX_SHORT_NAME_BYTES], thread[SBX_THREAD_TEXT_BYTES];
    thread_text(report->stall, start->from, thread);
    sbx_evidence_add(&report->verdict, "started_by", (double)-start->begun_ns / 1e6, "%s was started by %s on %s",
                     whose, submitter_text(report, start, function), thread);
}

/* From the wake-up to the moment in which the thread ran. */
static double handed_ns(const struct sbx_handover *handover)
{
    int64_t ns = handover->wait->end_ns - handover->wake->end_ns;
    return ns > 0 ? (double)ns : 0;
}

/* No queue is known, but the thread is known that woke the judged thread from its wait for work. */
static void tell_handover(struct sbx_report *report, const struct sbx_handover *handover)
{
    struct sbx_verdict *verdict = &report->verdict;
    char function[SBX_SHORT_NAME_BYTES], thread[SBX_THREAD_TEXT_BYTES], lay[SBX_DURATION_TEXT_BYTES];
    const struct sbx_location *location = sbx_blame_submitter(report, handover->wake->stack);
    double ns = handed_ns(handover);
    verdict->queued_by =
        (struct sbx_queued_by){.is_known = true, .thread = (int32_t)handover->wake->thread, .lay_ms = ns / 1e6};
    if (location != NULL) {
        verdict->queued_by.location = *location;
    }
    sbx_thread_text(report->stall, handover->wake->thread, thread);
    sbx_duration_text(ns, lay);
    sbx_evidence_add(verdict, "queued_by", ns / 1e6, "woken for it by %s on %s %s before it began (%s)",
                     sbx_location_text(location, function), thread, lay, sbx_op_name(handover->wake->op));
}

/* The same for the culprit's work. */
static void tell_others_handover(struct sbx_report *report, const struct sbx_handover *handover)
{
    char function[SBX_SHORT_NAME_BYTES], thread[SBX_THREAD_TEXT_BYTES], lay[SBX_DURATION_TEXT_BYTES];
    char culprit[SBX_THREAD_TEXT_BYTES];
    sbx_thread_text(report->stall, handover->wake->thread, thread);
    sbx_thread_text(report->stall, handover->wait->thread, culprit);
    sbx_duration_text(handed_ns(handover), lay);
    sbx_evidence_add(&report->verdict, "queued_by", handed_ns(handover) / 1e6,
                     "%s was woken for its work by %s on %s %s before (%s)", culprit,
                     sbx_location_text(sbx_blame_submitter(report, handover->wake->stack), function), thread, lay,
                     sbx_op_name(handover->wake->op));
}

/* The start of a thread tells less than the handing over of its work. */
static bool is_queued(const struct sbx_stall_task *task)
{
    return task != NULL && task->op != SBX_OP_PTHREAD_CREATE;
}

static void tell_task(struct sbx_report *report, const struct sbx_stall_task *task)
{
    struct sbx_verdict *verdict = &report->verdict;
    if (task->op == SBX_OP_PTHREAD_CREATE) {
        tell_start(report, task, "the thread");
        return;
    }
    char function[SBX_SHORT_NAME_BYTES], thread[SBX_THREAD_TEXT_BYTES], lay[SBX_DURATION_TEXT_BYTES], more[64] = "";
    const struct sbx_stall_task *named = named_for(report, task);
    const struct sbx_location *location = sbx_blame_task_submitter(report, named);
    double since_ns = (double)(task->begun_ns - named->queued_ns);
    verdict->queued_by = (struct sbx_queued_by){.is_known = true, .thread = named->from, .lay_ms = since_ns / 1e6};
    if (location != NULL) {
        verdict->queued_by.location = *location;
    }
    thread_text(report->stall, named->from, thread);
    sbx_duration_text(since_ns, lay);
    if (task->merged && task->before != 0) {
        snprintf(more, sizeof more, "; queued %llu more times meanwhile", (unsigned long long)task->before);
    } else if (task->before != 0) {
        snprintf(more, sizeof more, "; %llu lay in the queue before it", (unsigned long long)task->before);
    }
    if (named->op == SBX_OP_JS_CALLBACK) { /* the moment within the run is not known */
        sbx_evidence_add(verdict, "queued_by", since_ns / 1e6, "queued while %s ran on %s, about %s before it began",
                         sbx_location_text(location, function), thread, lay);
        return;
    }
    sbx_evidence_add(verdict, "queued_by", since_ns / 1e6, "queued by %s on %s %s before it began (%s)%s",
                     sbx_location_text(location, function), thread, lay, sbx_op_name(named->op),
                     more[0] == 0 && task->merged ? "; queued more than once meanwhile" : more);
    tell_chain(report, named);
}

/* Many tasks, none of which fills the span: did one function queue most of them? */
static void tell_flood(struct sbx_report *report, uint32_t thread, struct sbx_interval span)
{
    const struct sbx_stall *stall = report->stall;
    struct sbx_submitters submitters = {.count = 0};
    for (size_t i = 0; i < stall->task_count; i++) {
        const struct sbx_stall_task *task = &stall->tasks[i];
        const struct sbx_location *location = sbx_blame_task_submitter(report, task);
        if (task->runner != (int32_t)thread || common_ns(task, span) == 0 || location == NULL) {
            continue;
        }
        sbx_submitters_add(&submitters, location, task);
    }
    const struct sbx_submitter *most = &submitters.of[submitters.most];
    if (submitters.tasks < FLOOD_TASKS || most->tasks * 2 <= submitters.tasks) {
        return;
    }
    const struct sbx_stall_task *task = most->newest;
    char function[SBX_SHORT_NAME_BYTES], by[SBX_THREAD_TEXT_BYTES];
    thread_text(stall, task->from, by);
    report->verdict.queued_by = (struct sbx_queued_by){
        .is_known = true, .thread = task->from, .lay_ms = lay_ns(task) / 1e6, .location = *most->location};
    sbx_evidence_add(&report->verdict, "queued_by", (double)most->tasks,
                     "%zu of %zu tasks that were seen there were queued by %s on %s (%s)", most->tasks,
                     submitters.tasks, sbx_location_text(most->location, function), by, sbx_op_name(task->op));
}

/* The request whose completion the thread waited for. If the wait goes on: the last request that the thread submitted
 * and that still lies there. Else the request that it took when the wait was over. */
static const struct sbx_stall_task *request_of(const struct sbx_stall *stall, const struct sbx_wait *wait)
{
    const struct sbx_stall_task *found = NULL;
    for (size_t i = 0; i < stall->task_count; i++) {
        const struct sbx_stall_task *task = &stall->tasks[i];
        bool is_it = wait->open ? task->lies && task->from == (int32_t)stall->trigger.thread
                                : task->runner == (int32_t)stall->trigger.thread && task->begun_ns >= wait->end_ns &&
                                      task->begun_ns - wait->end_ns < TAKEN_AFTER_NS;
        if (task->op == SBX_OP_IO_URING_SUBMIT && is_it && task->queued_ns < wait->end_ns &&
            (found == NULL || task->queued_ns > found->queued_ns)) {
            found = task;
        }
    }
    return found;
}

static void tell_request(struct sbx_report *report, const struct sbx_judgement *judgement)
{
    struct sbx_verdict *verdict = &report->verdict;
    const struct sbx_stall_task *task =
        judgement->class_ == SBX_CLASS_OFF_CPU && judgement->wait.op == SBX_OP_IO_URING_WAIT
            ? request_of(report->stall, &judgement->wait)
            : NULL;
    if (task == NULL) {
        return;
    }
    char function[SBX_SHORT_NAME_BYTES], thread[SBX_THREAD_TEXT_BYTES], lay[SBX_DURATION_TEXT_BYTES];
    const struct sbx_location *location = sbx_blame_task_submitter(report, task);
    double since_ns = (double)(judgement->wait.end_ns - task->queued_ns);
    thread_text(report->stall, task->from, thread);
    sbx_duration_text(since_ns, lay);
    sbx_evidence_add(verdict, "queued_by", since_ns / 1e6, "what it %s was submitted by %s on %s %s before (%s)",
                     judgement->wait.open ? "waits for probably" : "waited for", sbx_location_text(location, function),
                     thread, lay, sbx_op_name(task->op));
    if (!verdict->queued_by.is_known) {
        verdict->queued_by = (struct sbx_queued_by){.is_known = true, .thread = task->from, .lay_ms = since_ns / 1e6};
        if (location != NULL) {
            verdict->queued_by.location = *location;
        }
    }
}

void sbx_origin_tell(struct sbx_report *report, const struct sbx_judgement *judgement)
{
    const struct sbx_stall *stall = report->stall;
    struct sbx_verdict *verdict = &report->verdict;
    struct sbx_interval span = judgement->split.interval;
    const struct sbx_stall_task *task = sbx_origin_in(report, stall->trigger.thread, span);
    struct sbx_handover handover;
    if (!is_queued(task) && sbx_handover_find(stall, stall->trigger.thread, span, &handover)) {
        tell_handover(report, &handover);
    } else if (task != NULL) {
        tell_task(report, task);
    } else {
        tell_flood(report, stall->trigger.thread, span);
    }
    tell_request(report, judgement);
    if (verdict->culprit_thread < 0 || judgement->class_ != SBX_CLASS_OFF_CPU) {
        return;
    }
    const struct sbx_stall_task *others = sbx_origin_in(report, (uint32_t)verdict->culprit_thread, judgement->waited);
    if (!is_queued(others) &&
        sbx_handover_find(stall, (uint32_t)verdict->culprit_thread, judgement->waited, &handover)) {
        tell_others_handover(report, &handover);
    } else if (others != NULL && others != task) {
        char function[SBX_SHORT_NAME_BYTES], thread[SBX_THREAD_TEXT_BYTES], lay[SBX_DURATION_TEXT_BYTES];
        char culprit[SBX_THREAD_TEXT_BYTES];
        thread_text(stall, others->from, thread);
        sbx_thread_text(stall, (uint32_t)verdict->culprit_thread, culprit);
        if (others->op == SBX_OP_PTHREAD_CREATE) {
            tell_start(report, others, culprit);
            return;
        }
        sbx_duration_text(lay_ns(others), lay);
        sbx_evidence_add(verdict, "queued_by", lay_ns(others) / 1e6,
                         "what %s did was queued by %s on %s %s before it began (%s)", culprit,
                         submitter_text(report, others, function), thread, lay, sbx_op_name(others->op));
        tell_chain(report, others);
    }
}
