/* SPDX-License-Identifier: Apache-2.0 */
/* attribute.c - from what was recorded to a verdict.
 *
 * thread_judge.c finds class, cause and function from the judged thread. culprit.c finds, from the other threads, the
 * holder of the lock or the user of the CPU. This file refines the answer by what no single stack shows (messages,
 * faults), and computes how sure it is:
 *
 *   confidence = explained * directness * naming * culprit * loss, at most 0.99
 *     explained   1 - (1 - e)^2, where e is the share of the busy interval that the named cause and function account
 *                 for: the largest share of a half is right more often than not, nine tenths practically always
 *     directness  off the CPU: 1 measured, 0.9 concluded from samples. On the CPU: 0.8 if the time is concluded from
 *                 samples, times 0.7 if these lie only at the thread's own calls
 *     naming      1 the function has a name; 0.95 it is the nearest named caller; 0.6 nothing has a name
 *     culprit     1 told by the lock or the wait; 0.9 concluded from what threads did; 0.85 no culprit is known; 0.7
 *                 one of several candidates; times 0.75 if the only sign is that it worked, times 0.7 if what it did is
 *                 known only by samples at its own calls, times 0.75 if the wait goes on and is taken to be for a task
 *     loss        1 - lost / all records of the thread in the interval, times 1 - dropped / (2 * (dropped + records)),
 *                 times 0.9 if the stack was not followed to its first frame, times 0.9 if the stall is older than the
 *                 records that were kept of it
 *
 * Drop counters run since the process started, so most of what they count is older than the interval: hence the 2.
 * docs/ACCURACY.md compares confidence with how often verdicts were right. */
#include "attribute.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocated.h"
#include "awaited.h"
#include "cause.h"
#include "culprit.h"
#include "death.h"
#include "deoptimized.h"
#include "names.h"
#include "origin.h"
#include "record_kinds.h"
#include "runtime_stop.h"
#include "pressure.h"
#include "queue_wait.h"
#include "thread_judge.h"
#include "usage.h"
#include "verdict_words.h"

enum {
    MESSAGES_MANY = 50,
    MESSAGE_MEAN_NS = 30000000, /* if messages take longer on average, they are not small */
    ALLOCATIONS_PER_S_MANY = 50000,
    /* The first touch of a page costs 0.5 us without a hypervisor and some 2 us in a virtual machine (measured). So
     * this many faults per second of CPU time take a quarter to a half of it. */
    FAULTS_PER_CPU_S_MANY = 250000,
    TORN_CHUNK_RECORDS = 100
};
#define PIPE_CONFIDENCE   0.8 /* a pipe to an unknown process may lead to a thread of this one */
#define BIASED_CONFIDENCE 0.7 /* a loop that reads the clock seems to spend its time in that call: docs/ACCURACY.md */
#define CUT_CONFIDENCE    0.9 /* before the records begin, the thread mostly did the same, but not always */

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

/* ---- what the kernel counted ---- */

static void tell_usage(const struct sbx_usage *usage, struct sbx_verdict *verdict)
{
    char span[SBX_DURATION_TEXT_BYTES];
    if (!usage->is_known || usage->major + usage->minor + usage->voluntary + usage->involuntary == 0) {
        return;
    }
    sbx_duration_text((double)usage->span_ns, span);
    sbx_evidence_add(verdict, "usage", (double)usage->major,
                     "major faults %llu, minor %llu, context switches %llu voluntary, %llu not, in %s around it",
                     (unsigned long long)usage->major, (unsigned long long)usage->minor,
                     (unsigned long long)usage->voluntary, (unsigned long long)usage->involuntary, span);
}

/* ---- how sure ---- */

static double drops_of_records(const struct sbx_stall *stall)
{
    return (double)stall->drops[SBX_DROP_NO_CHUNK] + (double)stall->drops[SBX_DROP_BAD_RECORD] +
           (double)stall->drops[SBX_DROP_STALE_STACK] + (double)stall->drops[SBX_DROP_STACK_OVERFLOW] +
           (double)stall->drops[SBX_DROP_TORN_CHUNK] * TORN_CHUNK_RECORDS;
}

static double confidence_of(const struct sbx_report *report, const struct sbx_judgement *judgement, int source)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_verdict *verdict = &report->verdict;
    const struct sbx_time_split *split = &judgement->split;
    double busy_ns = split->wall_ns - split->idle_ns;
    if (verdict->cause == SBX_CAUSE_UNKNOWN || busy_ns <= 0) {
        return 0;
    }
    /* On the CPU: time in which the thread was ready but did not run counts for the function that it computed in. */
    double kept_ns = judgement->class_ == SBX_CLASS_ON_CPU ? split->runnable_ns * judgement->path.share : 0;
    double explained = (judgement->function_ns + kept_ns) / busy_ns;
    explained = explained > 1 ? 1 : explained;
    double confidence = 1 - (1 - explained) * (1 - explained);
    if (judgement->class_ == SBX_CLASS_OFF_CPU) {
        confidence *= judgement->is_exact ? 1 : 0.9;
    } else {
        confidence *= (split->cpu_measured ? 1 : 0.8) * (judgement->is_biased ? BIASED_CONFIDENCE : 1);
    }
    bool is_nearest = judgement->class_ != SBX_CLASS_OFF_CPU ? judgement->path.unnamed_share > 0.5
                                                             : judgement->unnamed_module != NULL;
    confidence *= judgement->location == NULL || !judgement->location->named ? 0.6 : is_nearest ? 0.95 : 1;
    if (verdict->cause == SBX_CAUSE_LOCK || verdict->cause == SBX_CAUSE_WAIT || verdict->cause == SBX_CAUSE_QUEUE) {
        bool is_one_of_several = sbx_has_evidence_value(verdict, "inferred");
        confidence *= source == SBX_CULPRIT_NAMED  ? 1
                      : source == SBX_CULPRIT_NONE ? 0.85
                      : is_one_of_several          ? 0.7
                                                   : 0.9;
        confidence *= verdict->culprit_certainty;
    }
    if (verdict->cause == SBX_CAUSE_IPC && judgement->wait.fd_class == SBX_FD_PIPE &&
        !sbx_stall_sees_processes(report->stall) && !sbx_culprit_is_told(judgement)) {
        confidence *= PIPE_CONFIDENCE;
    }
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

/* What was missing, if the cause is unknown. */
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

/* Many small messages, none of which is long enough to be noticed alone. */
static bool is_flood(const struct message_count *messages, double wall_ns)
{
    return messages->messages >= MESSAGES_MANY && (double)messages->busy_ns * 2 >= wall_ns &&
           (double)messages->longest_ns * 5 <= wall_ns &&
           messages->busy_ns / (int64_t)messages->messages <= MESSAGE_MEAN_NS;
}

/* CPU contention is the cause only if the thread was ready without running for longer than it computed. If threads of
 * the same process compete with it, the larger part decides. If other processes do, two thirds are needed: a busy
 * machine is common, and there the program can only improve its own work. */
static int settle_contention(struct sbx_report *report, struct sbx_judgement *judgement)
{
    double own_ns;
    if (judgement->collector != NULL && judgement->on_cpu_cause != SBX_CAUSE_DEOPTIMIZATION) {
        /* The rivals are the collector's own helpers, and the thread would be stopped without them as well. */
        report->verdict.cause = judgement->cause = SBX_CAUSE_GC;
        return 0;
    }
    int result = sbx_culprit_rivals_ns(report, judgement, &own_ns);
    const struct sbx_time_split *split = &judgement->split;
    if (result == 0 && judgement->on_cpu_cause == SBX_CAUSE_DEOPTIMIZATION && own_ns * 2 >= split->runnable_ns) {
        report->verdict.cause = judgement->cause =
            SBX_CAUSE_DEOPTIMIZATION; /* likewise: its rivals are the compilers */
        return 0;
    }
    if (result == 0 && own_ns * 2 < split->runnable_ns && split->runnable_ns < 2 * split->on_cpu_ns) {
        judgement->class_ = SBX_CLASS_ON_CPU;
        judgement->cause = judgement->on_cpu_cause;
        judgement->cause_ns = split->on_cpu_ns;
        judgement->function_ns = split->on_cpu_ns * judgement->path.share;
        report->verdict.cause = judgement->cause;
        report->verdict.class_ = judgement->class_;
    }
    return result;
}

enum {
    TIGHT_PLACES = 8,    /* a tight loop has its samples at this many instructions at most */
    TIGHT_LOOKS_MIN = 20 /* fewer samples say nothing */
};

/* Did the thread loop over a few instructions, or yield the processor again and again? Then it may wait for another
 * thread by spinning. This is evidence and no cause, because computing looks the same. */
static void tell_spinning(struct sbx_report *report, const struct sbx_judgement *judgement)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_stall_thread *thread = &stall->threads[stall->trigger.thread];
    uint32_t places[TIGHT_PLACES];
    uint64_t looks = 0, at_places = 0, yields = 0;
    size_t place_count = 0;
    for (size_t i = 0; i < thread->record_count; i++) {
        const struct sbx_stall_record *record = &stall->records[thread->record_begin + i];
        if (record->kind != SBX_RECORD_ASYNC || record->stack == 0 ||
            record->end_ns <= judgement->split.interval.begin_ns) {
            continue;
        }
        uint32_t leaf = stall->callstacks[record->stack].frame;
        const struct sbx_location *location = &report->locations[report->location_begin[leaf]];
        uint64_t here = sbx_record_looks(record);
        if (stall->frames[leaf].kind != SBX_FRAME_CODE) {
            return; /* all instructions of generated code are the same frame here */
        }
        looks += here;
        if (location->named && strstr(location->function, "sched_yield") != NULL) {
            yields += here;
            continue;
        }
        size_t at = 0;
        while (at < place_count && places[at] != leaf) {
            at++;
        }
        if (at == place_count && place_count < TIGHT_PLACES) {
            places[place_count++] = leaf;
        }
        at_places += at < place_count ? here : 0;
    }
    if (looks < TIGHT_LOOKS_MIN) {
        return;
    }
    if (yields * 5 >= looks) {
        sbx_evidence_add(&report->verdict, "spin", (double)yields,
                         "%llu of %llu looks met it in sched_yield: it spins until another thread has done something",
                         (unsigned long long)yields, (unsigned long long)looks);
    } else if (at_places * 10 >= looks * 9) {
        sbx_evidence_add(&report->verdict, "spin", (double)place_count,
                         "%llu of %llu looks lie at %zu instruction%s: a tight loop, which may wait for another thread",
                         (unsigned long long)at_places, (unsigned long long)looks, place_count,
                         place_count == 1 ? "" : "s");
    }
}

/* Refine the cause by what no single stack shows. */
static void refine_cause(struct sbx_report *report, struct sbx_judgement *judgement,
                         const struct message_count *messages, const struct sbx_usage *usage)
{
    struct sbx_verdict *verdict = &report->verdict;
    const struct sbx_time_split *split = &judgement->split;
    if (judgement->class_ != SBX_CLASS_ON_CPU && judgement->class_ != SBX_CLASS_RUNNABLE) {
        return;
    }
    if (is_flood(messages, split->wall_ns)) {
        verdict->cause = SBX_CAUSE_HIGH_FREQUENCY;
        sbx_evidence_add(verdict, "messages", (double)messages->messages,
                         "%llu messages, none longer than %.1f ms, fill %.0f %% of the interval",
                         (unsigned long long)messages->messages, (double)messages->longest_ns / 1e6,
                         100 * (double)messages->busy_ns / split->wall_ns);
        return;
    }
    if (!split->delay_known && sbx_usage_is_faulting(usage) && split->runnable_ns > split->on_cpu_ns) {
        /* The thread left the processor by itself, outside of any call, and a page was read each time. */
        verdict->cause = SBX_CAUSE_MEMORY;
        verdict->class_ = judgement->class_ = SBX_CLASS_OFF_CPU;
        judgement->cause = SBX_CAUSE_MEMORY;
        verdict->off_cpu_by_ms[SBX_CAUSE_MEMORY] += verdict->runnable_ms;
        verdict->off_cpu_ms += verdict->runnable_ms;
        verdict->runnable_ms = 0;
        sbx_evidence_add(verdict, "faults", (double)usage->major, "it waited for %llu pages to be read from a disk",
                         (unsigned long long)usage->major);
        return;
    }
    if (judgement->class_ != SBX_CLASS_ON_CPU || verdict->cause != SBX_CAUSE_CPU) {
        return;
    }
    if (judgement->allocator_share > 0.5 &&
        (double)judgement->alloc_count * 1e9 >= ALLOCATIONS_PER_S_MANY * split->on_cpu_ns) {
        verdict->cause = SBX_CAUSE_MEMORY;
        sbx_evidence_add(verdict, "allocator", judgement->allocator_share,
                         "%.0f %% of the asynchronous samples lie in the allocator", judgement->allocator_share * 100);
    } else if (usage->is_known && usage->cpu_ns > 0 &&
               (double)usage->minor * 1e9 >= FAULTS_PER_CPU_S_MANY * usage->cpu_ns) {
        verdict->cause = SBX_CAUSE_MEMORY;
        sbx_evidence_add(verdict, "faults", (double)usage->minor,
                         "%llu pages were touched for the first time, %.0f for "
                         "each millisecond of CPU time",
                         (unsigned long long)usage->minor, (double)usage->minor * 1e6 / usage->cpu_ns);
    } else if (judgement->cheap_calls > 0) {
        char function[SBX_SHORT_NAME_BYTES];
        verdict->cause = SBX_CAUSE_HIGH_FREQUENCY;
        sbx_evidence_add(
            verdict, "calls", judgement->cheap_calls,
            "%s is short, and was seen to be called again at least %.0f times: its samples and those of its "
            "caller mix as if drawn by lot",
            sbx_location_text(judgement->path.location, function), judgement->cheap_calls);
    }
}

static int name_culprit(struct sbx_report *report, struct sbx_judgement *judgement)
{
    switch (report->verdict.cause) {
    case SBX_CAUSE_LOCK:
    case SBX_CAUSE_WAIT:
        return sbx_culprit_of_wait(report, judgement);
    case SBX_CAUSE_CPU_CONTENTION:
        return sbx_culprit_of_contention(report, judgement);
    case SBX_CAUSE_QUEUE:
        return sbx_queue_wait_tell(report, judgement);
    case SBX_CAUSE_IO:
    case SBX_CAUSE_NETWORK:
        return sbx_culprit_is_told(judgement) ? sbx_culprit_of_wait(report, judgement) : 0;
    case SBX_CAUSE_IPC: {
        if (sbx_culprit_is_told(judgement)) {
            return sbx_culprit_of_wait(report, judgement);
        }
        bool may_be_own = judgement->class_ == SBX_CLASS_OFF_CPU && judgement->wait.fd_class == SBX_FD_PIPE &&
                          !sbx_stall_sees_processes(report->stall);
        return may_be_own ? sbx_culprit_perhaps(report, judgement) : 0;
    }
    case SBX_CAUSE_UNKNOWN:
        tell_missing(report, judgement, &report->verdict);
        return 0;
    default:
        return 0;
    }
}

static void fill_times(const struct sbx_time_split *split, struct sbx_verdict *verdict)
{
    verdict->on_cpu_ms = split->on_cpu_ns / 1e6;
    double kept = split->paused_ns > 0 ? 1 - split->delay_in_waits_ns / split->paused_ns : 1;
    verdict->off_cpu_ms = (split->paused_ns * kept + split->idle_ns + split->faulting_ns) / 1e6;
    verdict->runnable_ms = (split->runnable_ns + split->delay_in_waits_ns) / 1e6;
    verdict->runnable_is_counted = split->delay_known;
    verdict->unknown_ms = split->unknown_ns / 1e6;
    verdict->idle_ms = split->idle_ns / 1e6;
    for (size_t i = 0; i < split->pause_count; i++) {
        verdict->off_cpu_by_ms[split->pauses[i].wait.cause] += split->pauses[i].ns * kept / 1e6;
    }
    verdict->off_cpu_by_ms[SBX_CAUSE_MEMORY] += split->faulting_ns / 1e6;
}

/* Order by what a person asks first: how it ended, what the thread did, who else had a part in it. Then the numbers,
 * and last what was lost. */
static int rank_of_evidence(const char *kind)
{
    static const struct {
        const char *kind;
        int rank;
    } ranks[] = {{"signal", 0},    {"crash", 0},         {"blocked", 1},    {"samples", 1},        {"callers", 1},
                 {"cycle", 2},     {"holder", 2},        {"inferred", 2},   {"waker", 2},          {"peer", 2},
                 {"meanwhile", 2}, {"rival", 2},         {"external", 2},   {"operation", 2},      {"queued_by", 2},
                 {"allocator", 2}, {"direct_memory", 2}, {"started_by", 2}, {"awaited_by", 2},     {"queue", 1},
                 {"blocker", 2},   {"filled", 2},        {"rate", 2},       {"deoptimization", 1}, {"recompiled", 2},
                 {"given_up", 2},  {"loss", 4}};
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        if (strcmp(kind, ranks[i].kind) == 0) {
            return ranks[i].rank;
        }
    }
    return 3;
}

static void sort_evidence(struct sbx_verdict *verdict)
{
    for (size_t i = 1; i < verdict->evidence_count; i++) { /* few elements; equal ranks keep their order */
        struct sbx_evidence evidence = verdict->evidence[i];
        size_t at = i;
        for (; at > 0 && rank_of_evidence(verdict->evidence[at - 1].kind) > rank_of_evidence(evidence.kind); at--) {
            verdict->evidence[at] = verdict->evidence[at - 1];
        }
        verdict->evidence[at] = evidence;
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
    int64_t history_ns = stall->trigger.history_ns;
    bool is_cut = judgement.class_ == 0 && history_ns > 0 && history_ns < interval.end_ns - interval.begin_ns;
    if (is_cut) { /* the stall is older than the records that were kept of it: judge the recorded part */
        sbx_judgement_finish(&judgement);
        interval.begin_ns = -history_ns;
        result = sbx_judge_thread(report, stall->trigger.thread, interval, &judgement);
        if (result != 0) {
            return result;
        }
    }
    struct message_count messages = count_messages(stall, interval);
    struct sbx_usage usage = sbx_usage_of(stall, stall->trigger.thread, interval);
    *verdict = (struct sbx_verdict){
        .cause = judgement.cause,
        .class_ = judgement.class_,
        .location = {.function = "", .module = ""},
        .stack = judgement.stack,
        .culprit_thread = -1,
        .culprit_function = "",
        .culprit_certainty = 1,
        .interval_begin_ns = interval.begin_ns,
        .interval_end_ns = interval.end_ns,
        .messages = messages.messages,
    };
    fill_times(&judgement.split, verdict);
    if (judgement.location != NULL && judgement.cause != SBX_CAUSE_UNKNOWN) {
        verdict->location = *judgement.location;
    }
    bool is_deoptimized = sbx_deoptimized_judge(report, &judgement);
    result = judgement.cause == SBX_CAUSE_CPU_CONTENTION ? settle_contention(report, &judgement) : 0;
    sbx_death_tell(report);
    sbx_evidence_of_judgement(report, &judgement, verdict);
    sbx_allocated_tell(report, &judgement);
    if (!is_deoptimized) {
        refine_cause(report, &judgement, &messages, &usage);
    }
    if (verdict->cause == SBX_CAUSE_CPU) {
        tell_spinning(report, &judgement);
    }
    if (verdict->cause == SBX_CAUSE_GC) {
        sbx_runtime_stop_tell(report, interval);
    }
    if (!is_deoptimized) {
        (void)sbx_queue_wait_judge(report, &judgement);
    }
    int source = result == 0 ? name_culprit(report, &judgement) : result;
    sbx_origin_tell(report, &judgement);
    sbx_awaited_tell(report, interval);
    sbx_queue_tell_pending(report);
    sbx_pressure_tell(stall, &judgement, verdict);
    tell_usage(&usage, verdict);
    tell_losses(report, &judgement, verdict);
    if (is_cut) {
        char kept[SBX_DURATION_TEXT_BYTES], whole[SBX_DURATION_TEXT_BYTES];
        sbx_duration_text((double)history_ns, kept);
        sbx_duration_text((double)stall->trigger.duration_ns, whole);
        sbx_evidence_add(verdict, "loss", (double)history_ns / 1e6,
                         "the last %s of the stall's %s are judged: the records reach back no further", kept, whole);
    }
    verdict->confidence = confidence_of(report, &judgement, source) * (is_cut ? CUT_CONFIDENCE : 1);
    sort_evidence(verdict);
    sbx_headline_write(report, &judgement, verdict);
    sbx_death_judge(report);
    sbx_judgement_finish(&judgement);
    return source < 0 ? source : 0;
}
