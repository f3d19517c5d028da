/* SPDX-License-Identifier: Apache-2.0 */
/* thread_judge.c - what one thread did in an interval, and which function stands for it.
 *
 * Class first, by the largest share of time; then the cause within the class; then the function within the cause. A
 * function that slept 2 s is not outvoted by ten that computed 0.1 s each. */
#include "thread_judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record_kinds.h"

static bool is_stack_sample(const struct sbx_stall_record *record)
{
    return sbx_kind_is_running_sample(record->kind);
}

/* ---- counters ---- */

static void count_records(const struct sbx_stall *stall, uint32_t thread_index, struct sbx_judgement *judgement)
{
    const struct sbx_stall_thread *thread = &stall->threads[thread_index];
    const struct sbx_stall_record *before = NULL, *last = NULL;
    for (size_t i = 0; i < thread->record_count; i++) {
        const struct sbx_stall_record *record = &stall->records[thread->record_begin + i];
        if (record->end_ns <= judgement->split.interval.begin_ns) {
            before = record;
            continue;
        }
        if (record->begin_ns >= judgement->split.interval.end_ns && record->begin_ns > 0) {
            break;
        }
        before = before == NULL ? record : before;
        last = record;
        judgement->samples += record->stack != 0;
        judgement->stacks_lost += record->stack_lost;
    }
    bool known = last != NULL && before != last && last->alloc_count >= before->alloc_count &&
                 last->alloc_bytes >= before->alloc_bytes;
    judgement->alloc_count = known ? last->alloc_count - before->alloc_count : -1;
    judgement->alloc_bytes = known ? last->alloc_bytes - before->alloc_bytes : -1;
}

/* ---- on_cpu ---- */

static int64_t middle_of(int64_t a, int64_t b)
{
    return a + (b - a) / 2;
}

enum {
    ENOUGH_BY_SIGNAL = 10, /* samples at any instruction, to go by them alone */
};

/* Samples that a thread took of itself lie at its own calls: one in a thousand loops may get all of them. Those taken by
 * signal lie anywhere. Where there are enough of these in the interval, time is shared out among them alone. */
static bool goes_by_signal(const struct sbx_stall_thread *thread, const struct sbx_stall_record *records,
                           const struct sbx_interval *interval)
{
    uint32_t count = 0;
    for (size_t i = 0; i < thread->record_count; i++) {
        count += records[i].kind == SBX_RECORD_ASYNC && records[i].stack != 0 &&
                 records[i].end_ns > interval->begin_ns && records[i].end_ns <= interval->end_ns;
    }
    return count >= ENOUGH_BY_SIGNAL;
}

/* The record next to number `at` in direction `step` that shares its time; NULL: none. */
static const struct sbx_stall_record *neighbour(const struct sbx_stall_thread *thread,
                                                const struct sbx_stall_record *records, size_t at, int step,
                                                bool by_signal)
{
    for (size_t i = at + (size_t)step; i < thread->record_count; i += (size_t)step) { /* below 0 wraps: beyond */
        if (!by_signal || records[i].kind == SBX_RECORD_ASYNC) {
            return &records[i];
        }
    }
    return NULL;
}

/* Each sample stands for the time without a wait that lies nearer to it than to its neighbours, which may be records of
 * any kind unless it goes by signals alone. Fills `weights` by callstack. */
static void weigh_samples(const struct sbx_stall *stall, uint32_t thread_index, const struct sbx_time_split *split,
                          double *weights, struct sbx_judgement *judgement, const struct sbx_report *report)
{
    const struct sbx_stall_thread *thread = &stall->threads[thread_index];
    const struct sbx_stall_record *records = stall->records + thread->record_begin;
    bool by_signal = goes_by_signal(thread, records, &split->interval);
    double async_ns = 0, allocator_ns = 0;
    for (size_t i = 0; i < thread->record_count; i++) {
        const struct sbx_stall_record *record = &records[i];
        if (!is_stack_sample(record) || record->stack == 0 || (by_signal && record->kind != SBX_RECORD_ASYNC)) {
            continue;
        }
        const struct sbx_stall_record *before = neighbour(thread, records, i, -1, by_signal);
        const struct sbx_stall_record *next = neighbour(thread, records, i, 1, by_signal);
        int64_t from_ns = before != NULL && before->end_ns < record->begin_ns
                              ? middle_of(before->end_ns, record->begin_ns)
                              : record->begin_ns;
        int64_t to_ns = split->interval.end_ns;
        if (next != NULL) { /* a run that follows was there from its begin on */
            int64_t seen_ns = sbx_kind_is_sample(next->kind) ? next->begin_ns : next->end_ns;
            to_ns = seen_ns > record->end_ns ? middle_of(record->end_ns, seen_ns) : record->end_ns;
        }
        from_ns = from_ns > split->interval.begin_ns ? from_ns : split->interval.begin_ns;
        to_ns = to_ns < split->interval.end_ns ? to_ns : split->interval.end_ns;
        double ns = (double)sbx_waits_free_ns(split->waits, split->wait_count, from_ns, to_ns);
        weights[record->stack] += ns;
        if (record->kind == SBX_RECORD_ASYNC) { /* samples at allocations would prove only themselves */
            async_ns += ns;
            allocator_ns += sbx_blame_is_allocator(report, record->stack) ? ns : 0;
        }
    }
    judgement->allocator_share = async_ns > 0 ? allocator_ns / async_ns : 0;
}

static int judge_on_cpu(const struct sbx_report *report, uint32_t thread, struct sbx_judgement *judgement)
{
    double *weights = calloc((size_t)report->stall->callstack_count + 1, sizeof *weights);
    if (weights == NULL) {
        return -ENOMEM;
    }
    weigh_samples(report->stall, thread, &judgement->split, weights, judgement, report);
    int result = sbx_blame_heaviest(report, weights, &judgement->path);
    free(weights);
    judgement->cause = SBX_CAUSE_CPU;
    judgement->cause_ns = judgement->split.on_cpu_ns;
    judgement->location = judgement->path.location;
    judgement->stack = judgement->path.stack;
    judgement->function_ns = judgement->split.on_cpu_ns * judgement->path.share;
    return result;
}

/* ---- off_cpu ---- */

/* A pause and the function that stands for it. */
struct blamed_pause {
    const struct sbx_pause *pause;
    const struct sbx_location *location; /* NULL none */
};

static int compare_pointers(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x < y ? -1 : x > y;
}

static int compare_functions(const struct blamed_pause *x, const struct blamed_pause *y)
{
    if (x->location == NULL || y->location == NULL) {
        return (x->location == NULL) - (y->location == NULL);
    }
    int order = compare_pointers(x->location->function, y->location->function);
    return order != 0 ? order : compare_pointers(x->location->module, y->location->module);
}

static int by_function(const void *a, const void *b)
{
    const struct blamed_pause *x = a, *y = b;
    int order = compare_functions(x, y);
    if (order != 0) {
        return order;
    }
    return x->pause->wait.begin_ns < y->pause->wait.begin_ns ? -1 : x->pause->wait.begin_ns > y->pause->wait.begin_ns;
}

static bool moves_bytes(const struct sbx_wait *wait)
{
    return wait->kind == SBX_RECORD_FILE || wait->kind == SBX_RECORD_SOCKET;
}

/* The function with the most time among the pauses `blamed`, which are sorted by function. */
static void pick_function(const struct blamed_pause *blamed, size_t count, struct sbx_judgement *judgement)
{
    for (size_t begin = 0, end; begin < count; begin = end) {
        double ns = 0;
        uint64_t bytes = 0;
        bool is_exact = true;
        const struct sbx_pause *longest = blamed[begin].pause;
        for (end = begin; end < count && compare_functions(&blamed[begin], &blamed[end]) == 0; end++) {
            const struct sbx_pause *pause = blamed[end].pause;
            ns += pause->ns;
            bytes += moves_bytes(&pause->wait) ? pause->wait.amount : 0;
            is_exact = is_exact && pause->exact;
            longest = pause->ns > longest->ns ? pause : longest;
        }
        if (ns > judgement->function_ns) {
            judgement->function_ns = ns;
            judgement->location = blamed[begin].location;
            judgement->wait = longest->wait;
            judgement->stack = longest->wait.stack;
            judgement->calls = end - begin;
            judgement->bytes = bytes;
            judgement->is_exact = is_exact;
        }
    }
}

static int judge_off_cpu(const struct sbx_report *report, struct sbx_judgement *judgement)
{
    const struct sbx_time_split *split = &judgement->split;
    double by_cause[SBX_CAUSE_CPU_CONTENTION + 1] = {0};
    for (size_t i = 0; i < split->pause_count; i++) {
        by_cause[split->pauses[i].wait.cause] += split->pauses[i].ns;
    }
    int cause = SBX_CAUSE_UNKNOWN;
    for (int i = 0; i <= SBX_CAUSE_CPU_CONTENTION; i++) {
        cause = by_cause[i] > by_cause[cause] ? i : cause;
    }
    judgement->cause = (enum sbx_cause)cause;
    judgement->cause_ns = by_cause[cause];
    struct blamed_pause *blamed = malloc((split->pause_count + 1) * sizeof *blamed);
    if (blamed == NULL) {
        return -ENOMEM;
    }
    size_t count = 0;
    for (size_t i = 0; i < split->pause_count; i++) {
        if (split->pauses[i].wait.cause == judgement->cause) {
            blamed[count++] =
                (struct blamed_pause){&split->pauses[i], sbx_blame_leaf(report, split->pauses[i].wait.stack)};
        }
    }
    qsort(blamed, count, sizeof *blamed, by_function);
    pick_function(blamed, count, judgement);
    free(blamed);
    return 0;
}

/* ---- the whole ---- */

static void pick_class(struct sbx_judgement *judgement)
{
    const struct sbx_time_split *split = &judgement->split;
    double known_ns = split->on_cpu_ns + split->paused_ns + split->runnable_ns;
    if (known_ns <= 0 || split->idle_ns * 2 >= split->wall_ns || known_ns * 2 < split->wall_ns - split->idle_ns) {
        return;
    }
    judgement->class_ = SBX_CLASS_ON_CPU;
    judgement->class_ns = split->on_cpu_ns;
    if (split->paused_ns > judgement->class_ns) {
        judgement->class_ = SBX_CLASS_OFF_CPU;
        judgement->class_ns = split->paused_ns;
    }
    if (split->runnable_ns > judgement->class_ns) {
        judgement->class_ = SBX_CLASS_RUNNABLE;
        judgement->class_ns = split->runnable_ns;
    }
}

int sbx_judge_thread(const struct sbx_report *report, uint32_t thread, struct sbx_interval interval,
                     struct sbx_judgement *judgement_out)
{
    *judgement_out = (struct sbx_judgement){0};
    int result = sbx_time_split_make(report->stall, thread, interval, &judgement_out->split);
    if (result != 0) {
        return result;
    }
    count_records(report->stall, thread, judgement_out);
    pick_class(judgement_out);
    if (judgement_out->class_ == SBX_CLASS_OFF_CPU) {
        result = judge_off_cpu(report, judgement_out);
    } else if (judgement_out->class_ != 0) {
        result = judge_on_cpu(report, thread, judgement_out); /* where it was kept from running counts for both */
        if (judgement_out->class_ == SBX_CLASS_RUNNABLE) {
            judgement_out->cause = SBX_CAUSE_CPU_CONTENTION;
            judgement_out->cause_ns = judgement_out->split.runnable_ns;
            judgement_out->function_ns = judgement_out->split.runnable_ns;
        }
    }
    if (result != 0) {
        sbx_judgement_finish(judgement_out);
    }
    return result;
}

void sbx_judgement_finish(struct sbx_judgement *judgement)
{
    sbx_time_split_finish(&judgement->split);
}
