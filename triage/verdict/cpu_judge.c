/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_judge.c - for a thread that computed, or was ready and did not run: what it computed, and which function stands
 * for it.
 *
 * Each sample is weighted by the time it stands for. The heaviest function is blamed. */
#include "cpu_judge.h"

#include <errno.h>
#include <stdlib.h>

#include "cause.h"
#include "known_names.h"
#include "look_stack.h"
#include "record_kinds.h"

enum {
    CAUSES = SBX_CAUSE_COUNT,
};

static int64_t middle_of(int64_t a, int64_t b)
{
    return a + (b - a) / 2;
}

/* Samples that a thread takes of itself lie at its own calls, so one loop of a thousand may get all of them. Looks by
 * the clock lie anywhere. If the interval has enough of these, only they share the time. */
static bool goes_unbiased(const struct sbx_stall_thread *thread, const struct sbx_stall_record *records,
                          const struct sbx_interval *interval)
{
    uint64_t count = 0;
    for (size_t i = 0; i < thread->record_count; i++) {
        if (sbx_record_is_unbiased(&records[i]) && records[i].end_ns > interval->begin_ns &&
            records[i].end_ns <= interval->end_ns) {
            count += sbx_record_looks(&records[i]);
        }
    }
    return count >= SBX_UNBIASED_ENOUGH;
}

/* The next record from number `at` in direction `step` that shares the time; NULL: none. */
static const struct sbx_stall_record *neighbour(const struct sbx_stall_thread *thread,
                                                const struct sbx_stall_record *records, size_t at, int step,
                                                bool unbiased)
{
    for (size_t i = at + (size_t)step; i < thread->record_count; i += (size_t)step) { /* below 0 i wraps: ends */
        if (!unbiased || sbx_record_is_unbiased(&records[i])) {
            return &records[i];
        }
    }
    return NULL;
}

/* What a stack tells, computed once per stack. */
struct stack_traits {
    const char *collector; /* the run-time whose collector has a function on it */
    enum sbx_cause kernel; /* what its leaf, a function of libc, asked the kernel to do */
    bool is_known;
};

static const struct stack_traits *traits_of_stack(const struct sbx_report *report, struct stack_traits *memo,
                                                  uint32_t stack)
{
    struct stack_traits *traits = &memo[stack];
    if (traits->is_known || stack == 0) {
        return traits;
    }
    const struct sbx_stall *stall = report->stall;
    traits->is_known = true;
    for (uint32_t id = stack; id != 0 && traits->collector == NULL; id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        for (uint32_t at = report->location_begin[frame]; at < report->location_begin[frame + 1]; at++) {
            const struct sbx_location *location = &report->locations[at];
            if (location->named && traits->collector == NULL) {
                traits->collector = sbx_collector_of(location->function);
            }
        }
    }
    uint32_t leaf = stall->callstacks[stack].frame;
    const struct sbx_location *location = &report->locations[report->location_begin[leaf]];
    if (stall->frames[leaf].kind == SBX_FRAME_CODE && location->named &&
        sbx_is_base_module(&stall->modules[stall->frames[leaf].module], location->module)) {
        traits->kernel = sbx_cause_of_libc_function(location->function);
    }
    return traits;
}

/* What was found while weighing. */
struct weighing {
    double *weights;           /* indexed by callstack */
    struct stack_traits *memo; /* indexed by callstack */
    double all_ns, unbiased_ns, allocator_ns, collector_ns;
    double by_kernel[CAUSES]; /* of unbiased_ns: time in the kernel, for this cause */
    const char *collector;
};

static void weigh_look(const struct sbx_report *report, const struct sbx_stall_record *record, uint32_t stack,
                       double ns, struct weighing *weighing)
{
    const struct stack_traits *traits = traits_of_stack(report, weighing->memo, stack);
    weighing->weights[stack] += stack != 0 ? ns : 0;
    weighing->all_ns += ns;
    if (traits->collector != NULL) {
        weighing->collector_ns += ns;
        weighing->collector = traits->collector;
    }
    if (!sbx_record_is_unbiased(record)) { /* samples at allocations or reads prove only themselves */
        return;
    }
    enum sbx_cause kernel = record->kind == SBX_RECORD_BLOCKED
                                ? sbx_cause_of_call(record->kind, record->op, record->fd_class, record->amount)
                                : traits->kernel;
    weighing->unbiased_ns += ns;
    weighing->by_kernel[kernel] += ns;
    weighing->allocator_ns += sbx_blame_is_allocator(report, stack) ? ns : 0;
}

/* Each sample stands for the time without a wait that is nearer to it than to its neighbours. The neighbours are
 * records of any kind, or unbiased looks only if there are enough of them. `only`: weigh only samples of this cause;
 * UNKNOWN: all. */
static void weigh_samples(const struct sbx_report *report, uint32_t thread_index, const struct sbx_time_split *split,
                          enum sbx_cause only, struct weighing *weighing)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_stall_thread *thread = &stall->threads[thread_index];
    const struct sbx_stall_record *records = stall->records + thread->record_begin;
    bool unbiased = goes_unbiased(thread, records, &split->interval);
    for (size_t i = 0; i < thread->record_count; i++) {
        const struct sbx_stall_record *record = &records[i];
        if (!(sbx_kind_is_running_sample(record->kind) || sbx_record_is_unbiased(record)) ||
            (unbiased && !sbx_record_is_unbiased(record))) {
            continue;
        }
        uint32_t stack = sbx_look_stack(stall, thread, i);
        if (only != SBX_CAUSE_UNKNOWN &&
            (record->kind == SBX_RECORD_BLOCKED
                 ? sbx_cause_of_call(record->kind, record->op, record->fd_class, record->amount)
                 : traits_of_stack(report, weighing->memo, stack)->kernel) != only) {
            continue;
        }
        const struct sbx_stall_record *before = neighbour(thread, records, i, -1, unbiased);
        const struct sbx_stall_record *next = neighbour(thread, records, i, 1, unbiased);
        int64_t from_ns = before != NULL && before->end_ns < record->begin_ns
                              ? middle_of(before->end_ns, record->begin_ns)
                              : record->begin_ns;
        int64_t to_ns = split->interval.end_ns;
        if (next != NULL) { /* a run of looks counts from its begin */
            int64_t seen_ns = sbx_kind_is_sample(next->kind) ? next->begin_ns : next->end_ns;
            to_ns = seen_ns > record->end_ns ? middle_of(record->end_ns, seen_ns) : record->end_ns;
        }
        from_ns = from_ns > split->interval.begin_ns ? from_ns : split->interval.begin_ns;
        to_ns = to_ns < split->interval.end_ns ? to_ns : split->interval.end_ns;
        weigh_look(report, record, stack, (double)sbx_waits_free_ns(split->waits, split->wait_count, from_ns, to_ns),
                   weighing);
    }
}

/* Does a stack pass through the function more than once, with others in between? Then two functions call each other. */
static bool is_recursive(const struct sbx_report *report, uint32_t stack, const struct sbx_location *function)
{
    const struct sbx_stall *stall = report->stall;
    unsigned count = 0;
    for (uint32_t id = stack <= stall->callstack_count ? stack : 0; id != 0; id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        for (uint32_t at = report->location_begin[frame]; at < report->location_begin[frame + 1]; at++) {
            count += report->locations[at].named && report->locations[at].function == function->function;
        }
    }
    return count > 1;
}

/* Is the blamed function cheap and called again and again? Then its samples and those of its caller are mixed in random
 * order. If it were called a few times for long, its samples would come in long runs (the runs test of Wald and
 * Wolfowitz, 1940). The test holds only for one loop: the function calls nothing of the application, and one other
 * function calls it, into which the compiler did not inline it. If either is recursive, the two may call each other,
 * and a tail call hides one half of that. Returns the number of calls that could be told apart, 0 if the answer is
 * no. */
static double count_cheap_calls(const struct sbx_report *report, uint32_t thread_index,
                                const struct sbx_interval *interval, const struct sbx_blame_path *path)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_stall_thread *thread = &stall->threads[thread_index];
    const struct sbx_location *function = path->location, *caller = path->callers[0];
    double in = 0, out = 0, others = 0, runs = 0, recursive = 0, inlined = 0;
    bool was_in = false;
    if (function == NULL || caller == NULL || caller->function == function->function) {
        return 0;
    }
    for (size_t i = 0; i < thread->record_count; i++) {
        const struct sbx_stall_record *record = &stall->records[thread->record_begin + i];
        if (record->kind != SBX_RECORD_ASYNC || record->stack == 0 || record->end_ns < interval->begin_ns) {
            continue;
        }
        const struct sbx_location *leaf = sbx_blame_leaf(report, record->stack);
        bool is_in = leaf != NULL && leaf->function == function->function;
        if (leaf == NULL || (!is_in && leaf->function != caller->function)) {
            others++;
            continue;
        }
        double looks = (double)sbx_record_looks(record);
        runs += runs == 0 || is_in != was_in;
        *(is_in ? &in : &out) += looks;
        inlined += is_in && leaf->inlined ? looks : 0;
        recursive +=
            is_recursive(report, record->stack, function) || is_recursive(report, record->stack, caller) ? looks : 0;
        was_in = is_in;
    }
    double all = in + out;
    double by_lot = all > 0 ? 1 + 2 * in * out / all : 0;
    bool is_called = others * 20 <= all && recursive * 10 <= all && inlined * 2 <= in;
    return is_called && in > out && out >= 4 && runs >= 0.6 * by_lot ? (runs + 1) / 2 : 0;
}

static enum sbx_cause main_kernel_cause(const struct weighing *weighing)
{
    for (int cause = SBX_CAUSE_UNKNOWN + 1; cause < CAUSES; cause++) {
        bool is_work =
            cause == SBX_CAUSE_IO || cause == SBX_CAUSE_NETWORK || cause == SBX_CAUSE_MEMORY || cause == SBX_CAUSE_IPC;
        if (is_work && weighing->by_kernel[cause] * 2 > weighing->unbiased_ns) {
            return (enum sbx_cause)cause;
        }
    }
    return SBX_CAUSE_UNKNOWN;
}

int sbx_judge_cpu(const struct sbx_report *report, uint32_t thread, struct sbx_judgement *judgement)
{
    size_t stacks = (size_t)report->stall->callstack_count + 1;
    struct weighing weighing = {.weights = calloc(stacks, sizeof *weighing.weights),
                                .memo = calloc(stacks, sizeof *weighing.memo)};
    int result = -ENOMEM;
    if (weighing.weights == NULL || weighing.memo == NULL) {
        goto free_weighing;
    }
    weigh_samples(report, thread, &judgement->split, SBX_CAUSE_UNKNOWN, &weighing);
    enum sbx_cause kernel = main_kernel_cause(&weighing);
    const struct sbx_stall_thread *self = &report->stall->threads[thread];
    judgement->is_biased =
        !goes_unbiased(self, report->stall->records + self->record_begin, &judgement->split.interval);
    judgement->allocator_share = weighing.unbiased_ns > 0 ? weighing.allocator_ns / weighing.unbiased_ns : 0;
    if (weighing.collector_ns * 2 > weighing.all_ns) {
        judgement->collector = weighing.collector;
    }
    if (kernel != SBX_CAUSE_UNKNOWN) { /* blame what called the kernel */
        struct weighing of_calls = {.weights = calloc(stacks, sizeof *of_calls.weights), .memo = weighing.memo};
        if (of_calls.weights == NULL) {
            goto free_weighing;
        }
        weigh_samples(report, thread, &judgement->split, kernel, &of_calls);
        free(weighing.weights);
        weighing.weights = of_calls.weights;
    }
    result = sbx_blame_heaviest(report, weighing.weights, &judgement->path);
    judgement->cause = judgement->collector != NULL  ? SBX_CAUSE_GC
                       : kernel != SBX_CAUSE_UNKNOWN ? kernel
                                                     : SBX_CAUSE_CPU;
    judgement->on_cpu_cause = judgement->cause;
    judgement->cause_ns = judgement->split.on_cpu_ns;
    judgement->location = judgement->path.location;
    judgement->stack = judgement->path.stack;
    judgement->function_ns = judgement->split.on_cpu_ns * judgement->path.share;
    if (judgement->cause == SBX_CAUSE_CPU) {
        judgement->cheap_calls = count_cheap_calls(report, thread, &judgement->split.interval, &judgement->path);
    }

free_weighing:
    free(weighing.weights);
    free(weighing.memo);
    return result;
}
