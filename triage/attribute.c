/* SPDX-License-Identifier: Apache-2.0 */
/* attribute.c - from what was recorded to a verdict.
 *
 * The judged thread gives class, cause and function (thread_judge.c); here the other threads are asked (who held the
 * lock, who used the CPU), and it is said how sure the answer is:
 *
 *   confidence = explained * directness * naming * loss, at most 0.99
 *     explained   share of the interval that the named cause and function account for
 *     directness  1 measured; 0.9 pauses concluded from samples; 0.8 CPU time concluded from samples
 *     naming      1 the function has a name; 0.95 it is the nearest named caller; 0.6 nothing has a name
 *     loss        1 - lost / all records of the thread in the interval, times 1 - dropped / (2 * (dropped + records)),
 *                 times 0.9 when the stack was not followed to its first frame
 *
 * Drop counters run since the process started, hence the half: most of what they count is older than the interval. */
#include "attribute.h"

#include <errno.h>
#include <stdlib.h>

#include "cause.h"
#include "names.h"
#include "thread_judge.h"
#include "verdict_words.h"

enum {
    MESSAGES_MANY = 20,
    ALLOCATIONS_PER_S_MANY = 50000,
    CYCLE_MAX = 64,
    TORN_CHUNK_RECORDS = 100
};

/* ---- messages ---- */

struct message_count {
    uint64_t messages;
    int64_t busy_ns, longest_ns;
};

static struct message_count count_messages(const struct sbx_stall *stall, struct sbx_interval interval)
{
    const struct sbx_stall_thread *thread = &stall->threads[stall->trigger.thread];
    struct message_count count = {0};
    for (size_t i = 0; i < thread->record_count; i++) {
        const struct sbx_stall_record *record = &stall->records[thread->record_begin + i];
        if (record->kind != SBX_RECORD_MESSAGE || record->end_ns <= interval.begin_ns) {
            continue;
        }
        uint64_t merged = record->amount == 0 ? 1 : record->amount;
        int64_t begin_ns = record->begin_ns > interval.begin_ns ? record->begin_ns : interval.begin_ns;
        int64_t end_ns = record->end_ns < interval.end_ns ? record->end_ns : interval.end_ns;
        int64_t ns = end_ns > begin_ns ? end_ns - begin_ns : 0;
        count.messages += merged;
        count.busy_ns += ns;
        int64_t one_ns = merged == 1 ? ns : ns / (int64_t)(merged > INT64_MAX ? INT64_MAX : merged);
        count.longest_ns = one_ns > count.longest_ns ? one_ns : count.longest_ns;
    }
    count.messages += stall->trigger.in_progress && stall->trigger.message != 0;
    return count;
}

/* ---- faults and switches ---- */

/* The readings around the interval: the newest before its begin; the oldest at its end or later, else, of a stall that
 * has not ended, the newest in its last tenth. Says nothing when there are none. */
static void tell_usage(const struct sbx_stall *stall, struct sbx_interval interval, struct sbx_verdict *verdict)
{
    const struct sbx_stall_thread *thread = &stall->threads[stall->trigger.thread];
    const struct sbx_stall_record *before = NULL, *after = NULL;
    int64_t late_ns = interval.end_ns - (interval.end_ns - interval.begin_ns) / 10;
    for (size_t i = 0; i < thread->record_count; i++) {
        const struct sbx_stall_record *record = &stall->records[thread->record_begin + i];
        if ((record->flags & SBX_FLAG_USAGE) == 0) {
            continue;
        }
        if (record->end_ns <= interval.begin_ns) {
            before = record;
        } else if (record->end_ns >= late_ns && (after == NULL || after->end_ns < interval.end_ns)) {
            after = record;
        }
    }
    if (before == NULL || after == NULL) {
        return;
    }
    uint64_t major = after->major_faults - before->major_faults, minor = after->minor_faults - before->minor_faults;
    char span[SBX_DURATION_TEXT_BYTES];
    sbx_duration_text((double)(after->end_ns - before->end_ns), span);
    sbx_evidence_add(verdict, "usage", (double)major,
                     "major faults %llu, minor %llu, context switches %llu voluntary, %llu not, in %s around it",
                     (unsigned long long)major, (unsigned long long)minor,
                     (unsigned long long)(after->voluntary_switches - before->voluntary_switches),
                     (unsigned long long)(after->involuntary_switches - before->involuntary_switches), span);
}

/* ---- other threads ---- */

/* The record of the thread that ended wait `wait`; NULL when nobody is known to have. */
static const struct sbx_stall_record *find_wake(const struct sbx_stall *stall, uint32_t wait)
{
    for (size_t i = 0; i < stall->record_count && wait != 0; i++) {
        if (stall->records[i].kind == SBX_RECORD_WAKE && stall->records[i].wait == wait) {
            return &stall->records[i];
        }
    }
    return NULL;
}

/* What the culprit of a wait did with what was waited for: a lock's holder held it, another one came late to wake. */
static const char *part_of(const struct sbx_judgement *judgement)
{
    return judgement->wait.peer >= 0 ? "held it" : "ended the wait";
}

static void name_culprit(struct sbx_report *report, const struct sbx_judgement *judgement)
{
    struct sbx_verdict *verdict = &report->verdict;
    const struct sbx_stall *stall = report->stall;
    const struct sbx_stall_record *wake = find_wake(stall, judgement->wait.waker);
    if (wake != NULL) {
        const struct sbx_location *let_go = sbx_blame_leaf(report, wake->stack);
        char waker[SBX_THREAD_TEXT_BYTES];
        sbx_thread_text(stall, wake->thread, waker);
        sbx_evidence_add(verdict, "waker", wake->thread, "let it go: %s in %.120s", waker,
                         let_go == NULL ? "an unknown function" : let_go->function);
    }
    if (judgement->wait.peer < 0 && wake == NULL) {
        return;
    }
    uint32_t peer = judgement->wait.peer >= 0 ? (uint32_t)judgement->wait.peer : wake->thread;
    const char *part = part_of(judgement);
    struct sbx_interval waited = {judgement->wait.begin_ns, judgement->wait.end_ns};
    struct sbx_judgement holder;
    char thread[SBX_THREAD_TEXT_BYTES];
    if (sbx_judge_thread(report, peer, waited, &holder) != 0) {
        return; /* without memory the holder stays without a function */
    }
    const struct sbx_location *location = holder.location;
    if (location == NULL && judgement->wait.peer < 0) {
        location = sbx_blame_leaf(report, wake->stack);
    }
    if (location == NULL) {
        location = sbx_blame_leaf(report, stall->threads[peer].last_stack);
    }
    verdict->culprit_thread = (int32_t)peer;
    verdict->culprit_function = location == NULL ? "" : location->function;
    sbx_thread_text(stall, peer, thread);
    if (location == NULL) {
        sbx_evidence_add(verdict, "holder", peer, "%s %s; what it was doing is not known", thread, part);
    } else if (holder.class_ == SBX_CLASS_OFF_CPU) {
        char call[48];
        sbx_call_name(holder.wait.kind, holder.wait.op, holder.wait.amount, call, sizeof call);
        sbx_evidence_add(verdict, "holder", peer, "%s %s and was itself in %s, called by %.100s", thread, part,
                         call, location->function);
    } else if (holder.class_ == SBX_CLASS_ON_CPU) {
        sbx_evidence_add(verdict, "holder", peer, "%s %s and computed in %.120s", thread, part,
                         location->function);
    } else {
        sbx_evidence_add(verdict, "holder", peer, "%s %s and was last seen in %.120s", thread, part,
                         location->function);
    }
    sbx_judgement_finish(&holder);
}

/* Whether the judged thread's open lock wait leads back to a thread that was passed already: the threads of the cycle,
 * in order, in cycle_out. Returns how many, 0 for none. */
static size_t find_cycle(const struct sbx_stall *stall, uint32_t cycle_out[CYCLE_MAX])
{
    uint32_t way[CYCLE_MAX];
    size_t length = 0;
    uint32_t at = stall->trigger.thread;
    while (length < CYCLE_MAX && stall->threads[at].call_kind == SBX_RECORD_LOCK && stall->threads[at].call_peer >= 0) {
        for (size_t i = 0; i < length; i++) {
            if (way[i] == at) {
                for (size_t j = i; j < length; j++) {
                    cycle_out[j - i] = way[j];
                }
                return length - i;
            }
        }
        way[length++] = at;
        at = (uint32_t)stall->threads[at].call_peer;
    }
    return 0;
}

static void tell_deadlock(struct sbx_report *report)
{
    struct sbx_verdict *verdict = &report->verdict;
    const struct sbx_stall *stall = report->stall;
    uint32_t cycle[CYCLE_MAX];
    size_t count = find_cycle(stall, cycle);
    if (count == 0 || verdict->cause != SBX_CAUSE_LOCK) {
        return;
    }
    verdict->cause = SBX_CAUSE_DEADLOCK;
    for (size_t i = 0; i < count; i++) {
        char waiter[SBX_THREAD_TEXT_BYTES], holder[SBX_THREAD_TEXT_BYTES];
        const struct sbx_stall_thread *thread = &stall->threads[cycle[i]];
        const struct sbx_location *location = sbx_blame_leaf(report, thread->last_stack);
        sbx_thread_text(stall, cycle[i], waiter);
        sbx_thread_text(stall, (uint32_t)thread->call_peer, holder);
        sbx_evidence_add(verdict, "cycle", cycle[i], "%s waits in %.80s for lock %u, which %s holds", waiter,
                         location == NULL ? "an unknown function" : location->function, thread->call_object, holder);
    }
}

/* Which thread of this process used the CPU while the judged one was kept from it. */
static int find_rival(struct sbx_report *report, const struct sbx_judgement *judgement)
{
    struct sbx_verdict *verdict = &report->verdict;
    const struct sbx_stall *stall = report->stall;
    double most_ns = 0;
    uint32_t rival = 0;
    for (uint32_t thread = 0; thread < stall->thread_count; thread++) {
        struct sbx_time_split split;
        if (thread == stall->trigger.thread || stall->threads[thread].record_count == 0) {
            continue;
        }
        int result = sbx_time_split_make(stall, thread, judgement->split.interval, &split);
        if (result != 0) {
            return result;
        }
        if (split.on_cpu_ns > most_ns) {
            most_ns = split.on_cpu_ns;
            rival = thread;
        }
        sbx_time_split_finish(&split);
    }
    char duration[SBX_DURATION_TEXT_BYTES], name[SBX_THREAD_TEXT_BYTES];
    sbx_duration_text(most_ns, duration);
    if (most_ns * 2 < judgement->split.runnable_ns) {
        verdict->culprit_function = "external";
        sbx_evidence_add(verdict, "external", most_ns / 1e6,
                         "no other thread of this process used more than %s of CPU meanwhile: the rival is outside",
                         duration);
        return 0;
    }
    struct sbx_judgement other;
    int result = sbx_judge_thread(report, rival, judgement->split.interval, &other);
    if (result != 0) {
        return result;
    }
    sbx_thread_text(stall, rival, name);
    verdict->culprit_thread = (int32_t)rival;
    verdict->culprit_function = other.location == NULL ? "" : other.location->function;
    sbx_evidence_add(verdict, "rival", most_ns / 1e6, "%s used %s of CPU meanwhile, in %.100s", name, duration,
                     other.location == NULL ? "an unknown function" : other.location->function);
    sbx_judgement_finish(&other);
    return 0;
}

/* ---- how sure ---- */

static double drops_of_records(const struct sbx_stall *stall)
{
    return (double)stall->drops[SBX_DROP_NO_CHUNK] + (double)stall->drops[SBX_DROP_BAD_RECORD] +
           (double)stall->drops[SBX_DROP_STALE_STACK] + (double)stall->drops[SBX_DROP_STACK_OVERFLOW] +
           (double)stall->drops[SBX_DROP_TORN_CHUNK] * TORN_CHUNK_RECORDS;
}

static double confidence_of(const struct sbx_report *report, const struct sbx_judgement *judgement)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_verdict *verdict = &report->verdict;
    if (verdict->cause == SBX_CAUSE_UNKNOWN || judgement->split.wall_ns <= 0) {
        return 0;
    }
    double confidence = judgement->function_ns / judgement->split.wall_ns;
    confidence = confidence > 1 ? 1 : confidence;
    if (judgement->class_ == SBX_CLASS_OFF_CPU) {
        confidence *= judgement->is_exact ? 1 : 0.9;
    } else {
        confidence *= judgement->split.cpu_measured ? 1 : 0.8;
    }
    bool is_nearest = judgement->class_ != SBX_CLASS_OFF_CPU && judgement->path.unnamed_share > 0.5;
    confidence *= judgement->location == NULL || !judgement->location->named ? 0.6 : is_nearest ? 0.95 : 1;
    size_t all = judgement->samples + judgement->stacks_lost;
    confidence *= all == 0 ? 1 : (double)judgement->samples / (double)all;
    double dropped = drops_of_records(stall);
    confidence *= 1 - dropped / (2 * (dropped + (double)stall->record_count + 1));
    confidence *= judgement->stack == 0 || sbx_blame_is_whole(report, judgement->stack) ? 1 : 0.9;
    return confidence > 0.99 ? 0.99 : confidence;
}

static void tell_losses(const struct sbx_report *report, const struct sbx_judgement *judgement,
                        struct sbx_verdict *verdict)
{
    const struct sbx_stall *stall = report->stall;
    double dropped = drops_of_records(stall);
    if (dropped > 0) {
        sbx_evidence_add(verdict, "loss", dropped, "about %.0f records were lost since the process started", dropped);
    }
    if (judgement->stacks_lost > 0) {
        sbx_evidence_add(verdict, "loss", (double)judgement->stacks_lost,
                         "%zu records of the interval lost their stack to a full table", judgement->stacks_lost);
    }
    if (judgement->stack != 0 && !sbx_blame_is_whole(report, judgement->stack)) {
        sbx_evidence_add(verdict, "loss", 0, "the stack could not be followed to the thread's first frame");
    }
    if (stall->trigger.history_ns > 0 && stall->trigger.history_ns < -judgement->split.interval.begin_ns) {
        char recorded[SBX_DURATION_TEXT_BYTES];
        sbx_duration_text((double)stall->trigger.history_ns, recorded);
        sbx_evidence_add(verdict, "loss", (double)stall->trigger.history_ns / 1e6,
                         "records reach back %s only, not to the begin of the interval", recorded);
    }
}

/* What an unknown cause would have needed. */
static void tell_missing(const struct sbx_report *report, const struct sbx_judgement *judgement,
                         struct sbx_verdict *verdict)
{
    const struct sbx_time_split *split = &judgement->split;
    char unknown[SBX_DURATION_TEXT_BYTES];
    sbx_duration_text(split->unknown_ns, unknown);
    if (split->wall_ns <= 0) {
        sbx_evidence_add(verdict, "missing", 0, "nothing was recorded before the trigger");
    } else if (split->idle_ns * 2 >= split->wall_ns) {
        sbx_evidence_add(verdict, "idle", split->idle_ns / 1e6, "the loop waited for work for %.0f %% of the interval",
                         100 * split->idle_ns / split->wall_ns);
    } else if (judgement->class_ == 0) {
        sbx_evidence_add(verdict, "missing", split->unknown_ns / 1e6,
                         "nothing tells what happened in %s of the interval: %s", unknown,
                         judgement->samples == 0 ? "there are no samples in it" : "too few samples and CPU readings");
    } else {
        sbx_evidence_add(verdict, "missing", judgement->cause_ns / 1e6, "the call it was in has no known meaning");
    }
    if ((report->stall->policy.points & 0x80) == 0) {
        sbx_evidence_add(verdict, "missing", 0, "asynchronous samples were off (policy)");
    }
}

/* ---- the whole ---- */

static void refine_cause(struct sbx_report *report, const struct sbx_judgement *judgement,
                         const struct message_count *messages)
{
    struct sbx_verdict *verdict = &report->verdict;
    double wall_ns = judgement->split.wall_ns;
    if (judgement->class_ != SBX_CLASS_ON_CPU) {
        return;
    }
    if (messages->messages >= MESSAGES_MANY && (double)messages->busy_ns * 2 >= wall_ns &&
        (double)messages->longest_ns * 5 <= wall_ns) {
        verdict->cause = SBX_CAUSE_HIGH_FREQUENCY;
        sbx_evidence_add(verdict, "messages", (double)messages->messages,
                         "%llu messages, none longer than %.1f ms, fill %.0f %% of the interval",
                         (unsigned long long)messages->messages, (double)messages->longest_ns / 1e6,
                         100 * (double)messages->busy_ns / wall_ns);
    } else if (judgement->allocator_share > 0.5 &&
               (double)judgement->alloc_count * 1e9 >= ALLOCATIONS_PER_S_MANY * wall_ns) {
        verdict->cause = SBX_CAUSE_MEMORY;
        sbx_evidence_add(verdict, "allocator", judgement->allocator_share,
                         "%.0f %% of the asynchronous samples lie in the allocator", judgement->allocator_share * 100);
    }
}

int sbx_attribute(struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    struct sbx_verdict *verdict = &report->verdict;
    struct sbx_interval interval = sbx_interval_judged(stall);
    struct sbx_judgement judgement;
    int result = sbx_judge_thread(report, stall->trigger.thread, interval, &judgement);
    if (result != 0) {
        return result;
    }
    struct message_count messages = count_messages(stall, interval);
    *verdict = (struct sbx_verdict){
        .cause = judgement.cause,
        .class_ = judgement.class_,
        .location = {.function = "", .module = ""},
        .stack = judgement.stack,
        .culprit_thread = -1,
        .culprit_function = "",
        .interval_begin_ns = interval.begin_ns,
        .interval_end_ns = interval.end_ns,
        .on_cpu_ms = judgement.split.on_cpu_ns / 1e6,
        .off_cpu_ms = (judgement.split.paused_ns + judgement.split.idle_ns) / 1e6,
        .runnable_ms = judgement.split.cpu_measured ? judgement.split.runnable_ns / 1e6 : -1,
        .messages = messages.messages,
    };
    if (judgement.location != NULL && judgement.cause != SBX_CAUSE_UNKNOWN) {
        verdict->location = *judgement.location;
    }
    sbx_evidence_of_judgement(report, &judgement, verdict);
    refine_cause(report, &judgement, &messages);
    if (verdict->cause == SBX_CAUSE_LOCK || verdict->cause == SBX_CAUSE_WAIT) {
        name_culprit(report, &judgement);
        tell_deadlock(report);
    } else if (verdict->cause == SBX_CAUSE_CPU_CONTENTION) {
        result = find_rival(report, &judgement);
    } else if (verdict->cause == SBX_CAUSE_UNKNOWN) {
        tell_missing(report, &judgement, verdict);
    }
    tell_usage(stall, interval, verdict);
    tell_losses(report, &judgement, verdict);
    verdict->confidence = confidence_of(report, &judgement);
    sbx_headline_write(report, &judgement, verdict);
    sbx_judgement_finish(&judgement);
    return result;
}
