/* SPDX-License-Identifier: Apache-2.0 */
/* thread_judge.c - what one thread did in an interval, and which function stands for it.
 *
 * Class first, by the largest share of time; then the cause within the class; then the function within the cause. A
 * function that slept 2 s is not outvoted by ten that computed 0.1 s each. */
#include "thread_judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cause.h"
#include "known_names.h"
#include "record_kinds.h"

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
    CAUSES = SBX_CAUSE_COUNT,
};
#define SAME_CALLER_NS (INT64_C(50) * 1000 * 1000)

/* Samples that a thread took of itself lie at its own calls: one in a thousand loops may get all of them. Looks by the
 * clock lie anywhere. Where there are enough of these in the interval, time is shared out among them alone. */
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

/* The record next to number `at` in direction `step` that shares its time; NULL: none. */
static const struct sbx_stall_record *neighbour(const struct sbx_stall_thread *thread,
                                                const struct sbx_stall_record *records, size_t at, int step,
                                                bool unbiased)
{
    for (size_t i = at + (size_t)step; i < thread->record_count; i += (size_t)step) { /* below 0 wraps: beyond */
        if (!unbiased || sbx_record_is_unbiased(&records[i])) {
            return &records[i];
        }
    }
    return NULL;
}

/* The stack of a look. One at a short call that was over before its stack was read takes that of a record of the same
 * call from nearby. 0: none. */
static uint32_t stack_of_look(const struct sbx_stall_thread *thread, const struct sbx_stall_record *records, size_t at)
{
    const struct sbx_stall_record *look = &records[at];
    if (look->stack != 0 || look->kind != SBX_RECORD_BLOCKED) {
        return look->stack;
    }
    for (size_t distance = 1; distance < thread->record_count; distance++) {
        bool near = false;
        for (int side = 0; side < 2; side++) {
            size_t i = side == 0 ? at - distance : at + distance; /* below 0 wraps: beyond */
            if (i >= thread->record_count) {
                continue;
            }
            int64_t apart_ns = records[i].end_ns - look->end_ns;
            near |= apart_ns < SAME_CALLER_NS && apart_ns > -SAME_CALLER_NS;
            if (near && records[i].op == look->op && records[i].stack != 0) {
                return records[i].stack;
            }
        }
        if (!near) {
            break;
        }
    }
    return 0;
}

/* What a stack says of itself, asked once a stack. */
struct stack_traits {
    const char *collector; /* the run-time whose collector is on it */
    enum sbx_cause kernel; /* what its leaf, a function of libc, had the kernel do */
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
    double *weights;           /* by callstack */
    struct stack_traits *memo; /* by callstack */
    double all_ns, unbiased_ns, allocator_ns, collector_ns;
    double by_kernel[CAUSES]; /* of unbiased_ns: in the kernel's hands, for this */
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
    if (!sbx_record_is_unbiased(record)) { /* samples at allocations or reads would prove only themselves */
        return;
    }
    enum sbx_cause kernel = record->kind == SBX_RECORD_BLOCKED
                                ? sbx_cause_of_call(record->kind, record->op, record->fd_class, record->amount)
                                : traits->kernel;
    weighing->unbiased_ns += ns;
    weighing->by_kernel[kernel] += ns;
    weighing->allocator_ns += sbx_blame_is_allocator(report, stack) ? ns : 0;
}

/* Each sample stands for the time without a wait that lies nearer to it than to its neighbours, which may be records of
 * any kind unless it goes by the unbiased alone. `only`: of these, or UNKNOWN for all. */
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
        uint32_t stack = stack_of_look(thread, records, i);
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
        if (next != NULL) { /* a run that follows was there from its begin on */
            int64_t seen_ns = sbx_kind_is_sample(next->kind) ? next->begin_ns : next->end_ns;
            to_ns = seen_ns > record->end_ns ? middle_of(record->end_ns, seen_ns) : record->end_ns;
        }
        from_ns = from_ns > split->interval.begin_ns ? from_ns : split->interval.begin_ns;
        to_ns = to_ns < split->interval.end_ns ? to_ns : split->interval.end_ns;
        weigh_look(report, record, stack, (double)sbx_waits_free_ns(split->waits, split->wait_count, from_ns, to_ns),
                   weighing);
    }
}

/* Does a stack pass through the function more than once, through others in between: two functions that call each other? */
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

/* Whether the blamed function is cheap and called again and again: its samples and those of its caller mix as if drawn
 * by lot. Were it called a few times for long, its samples would come in long runs (the test of runs of Wald and
 * Wolfowitz, 1940). Only for a function that calls nothing of the application and is called by one other, not put into it by the compiler: that
 * is one loop; where either is recursive the two may call each other, of which a tail call shows the one half only. Returns the calls that were told apart, 0 when it is not so. */
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

static int judge_on_cpu(const struct sbx_report *report, uint32_t thread, struct sbx_judgement *judgement)
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
    if (kernel != SBX_CAUSE_UNKNOWN) { /* whose calls they were, not who computed between them */
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

/* ---- off_cpu ---- */

enum {
    PEERS_MAX = 64
};

/* What the call alone does not tell, the stack may: a bare futex is a lock or a wait, a socket may lead to a bus or a
 * name server, a poll to a child, and a collector waits for its helpers. */
static enum sbx_cause cause_of_pause(const struct sbx_report *report, const struct sbx_wait *wait)
{
    const struct sbx_stall *stall = report->stall;
    bool is_bare_futex =
        wait->peer < 0 &&
        (wait->op == SBX_OP_FUTEX_WAIT ||
         (wait->cause == SBX_CAUSE_WAIT && wait->op == SBX_OP_SYSCALL && wait->kind == SBX_RECORD_BLOCKED));
    enum sbx_cause futex = SBX_CAUSE_UNKNOWN, runtime = SBX_CAUSE_UNKNOWN;
    bool is_nearest = true, is_below_own = true;
    uint32_t stack = wait->stack <= stall->callstack_count ? wait->stack : 0;
    for (uint32_t id = stack; id != 0; id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        for (uint32_t at = report->location_begin[frame]; at < report->location_begin[frame + 1]; at++) {
            const struct sbx_location *location = &report->locations[at];
            if (!location->named) {
                continue;
            }
            if (sbx_collector_of(location->function) != NULL) {
                return SBX_CAUSE_GC;
            }
            if (is_nearest && sbx_blame_counts(report, frame, location, SBX_BLAME_NAMED)) {
                if (wait->cause == SBX_CAUSE_WAIT && sbx_interpreter_lock_of(location->function) != NULL) {
                    return SBX_CAUSE_LOCK; /* made of a condition and a mutex, and a lock all the same */
                }
                is_nearest = false;
            }
            is_below_own = is_below_own && !sbx_blame_counts(report, frame, location, SBX_BLAME_OWN);
            if (is_below_own && wait->cause == SBX_CAUSE_WAIT) { /* the last that says so: a latch is made of a lock */
                enum sbx_cause said = sbx_cause_of_runtime_wait(location->function);
                runtime = said != SBX_CAUSE_UNKNOWN ? said : runtime;
            }
            if (sbx_is_bus_function(location->function) || sbx_is_child_function(location->function)) {
                return SBX_CAUSE_IPC;
            }
            if (sbx_is_lookup_function(location->function)) {
                return SBX_CAUSE_NETWORK;
            }
            /* The first that says one or the other, up to the first function of the application. */
            if (is_bare_futex && stall->frames[frame].kind == SBX_FRAME_CODE &&
                stall->modules[stall->frames[frame].module].kind != SBX_MODULE_KIND_AGENT) {
                futex = sbx_cause_of_futex_user(location->function);
                is_bare_futex = futex == SBX_CAUSE_UNKNOWN && !sbx_blame_counts(report, frame, location, SBX_BLAME_OWN);
            }
        }
    }
    return runtime != SBX_CAUSE_UNKNOWN ? runtime : futex != SBX_CAUSE_UNKNOWN ? futex : wait->cause;
}

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

/* Of pauses in one function: which thread was waited for most, and the longest such pause. Bounded: past some dozens of
 * threads who is met first counts. */
static void pick_peer(const struct blamed_pause *blamed, size_t count, struct sbx_judgement *judgement)
{
    struct {
        int32_t peer;
        double ns;
        const struct sbx_pause *longest;
        struct sbx_interval span;
    } peers[PEERS_MAX];
    size_t found = 0, most = 0;
    memset(&peers[0], 0, sizeof peers[0]);
    for (size_t i = 0; i < count; i++) {
        const struct sbx_pause *pause = blamed[i].pause;
        size_t at = 0;
        while (at < found && peers[at].peer != pause->wait.peer) {
            at++;
        }
        if (at == PEERS_MAX) {
            continue;
        }
        if (at == found) {
            peers[found].peer = pause->wait.peer;
            peers[found].ns = 0;
            peers[found].longest = pause;
            peers[found++].span = (struct sbx_interval){pause->wait.begin_ns, pause->wait.end_ns};
        }
        peers[at].ns += pause->ns;
        peers[at].longest = pause->ns > peers[at].longest->ns ? pause : peers[at].longest;
        peers[at].span.end_ns = pause->wait.end_ns > peers[at].span.end_ns ? pause->wait.end_ns : peers[at].span.end_ns;
        most = peers[at].ns > peers[most].ns ? at : most;
    }
    struct sbx_interval span = peers[most].span;
    if (peers[most].peer < 0) {
        /* Waits that timed out and were begun anew have no waker. The one that came in the end has one: for all of
         * them. */
        size_t known = most;
        for (size_t i = 0; i < found; i++) {
            bool is_more = known == most || peers[i].ns > peers[known].ns;
            known = peers[i].peer >= 0 && is_more ? i : known;
            span.begin_ns = peers[i].span.begin_ns < span.begin_ns ? peers[i].span.begin_ns : span.begin_ns;
            span.end_ns = peers[i].span.end_ns > span.end_ns ? peers[i].span.end_ns : span.end_ns;
        }
        most = known;
    }
    judgement->wait = peers[most].longest->wait;
    judgement->stack = judgement->wait.stack;
    judgement->waited = span;
}

/* The function with the most time among the pauses `blamed`, which are sorted by function. */
static void pick_function(const struct sbx_report *report, const struct blamed_pause *blamed, size_t count,
                          struct sbx_judgement *judgement)
{
    for (size_t begin = 0, end; begin < count; begin = end) {
        double ns = 0;
        uint64_t bytes = 0;
        bool is_exact = true;
        for (end = begin; end < count && compare_functions(&blamed[begin], &blamed[end]) == 0; end++) {
            const struct sbx_pause *pause = blamed[end].pause;
            ns += pause->ns;
            bytes += moves_bytes(&pause->wait) ? pause->wait.amount : 0;
            is_exact = is_exact && pause->exact;
        }
        if (ns > judgement->function_ns) {
            judgement->function_ns = ns;
            judgement->location = blamed[begin].location;
            judgement->calls = end - begin;
            judgement->bytes = bytes;
            judgement->is_exact = is_exact;
            pick_peer(&blamed[begin], end - begin, judgement);
        }
    }
    judgement->unnamed_module = sbx_blame_unnamed_below(report, judgement->stack, judgement->location);
}

static int judge_off_cpu(const struct sbx_report *report, struct sbx_judgement *judgement)
{
    struct sbx_time_split *split = &judgement->split;
    double by_cause[SBX_CAUSE_COUNT] = {[SBX_CAUSE_MEMORY] = split->faulting_ns};
    for (size_t i = 0; i < split->pause_count; i++) {
        struct sbx_wait *wait = &split->pauses[i].wait;
        const struct sbx_wait *last = i > 0 ? &split->pauses[i - 1].wait : NULL; /* often the same call again */
        bool is_same = last != NULL && last->stack == wait->stack && last->op == wait->op && last->kind == wait->kind &&
                       last->fd_class == wait->fd_class && last->amount == wait->amount;
        wait->cause = is_same ? last->cause : cause_of_pause(report, wait);
        by_cause[split->pauses[i].wait.cause] += split->pauses[i].ns;
    }
    int cause = SBX_CAUSE_UNKNOWN;
    for (int i = 0; i < SBX_CAUSE_COUNT; i++) {
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
    pick_function(report, blamed, count, judgement);
    if (judgement->cause == SBX_CAUSE_MEMORY &&
        count > 0) { /* waits for pages that nobody saw were for the same ones */
        judgement->function_ns *= judgement->cause_ns / (judgement->cause_ns - split->faulting_ns);
        judgement->is_exact = judgement->is_exact && split->faulting_ns <= 0;
    }
    free(blamed);
    return 0;
}

/* ---- the whole ---- */

#define BUSY_NS_MIN (100e6)

static bool has_pause_for_memory(const struct sbx_time_split *split)
{
    for (size_t i = 0; i < split->pause_count; i++) {
        if (split->pauses[i].wait.cause == SBX_CAUSE_MEMORY && split->pauses[i].ns > 0) {
            return true;
        }
    }
    return false;
}

static void pick_class(struct sbx_judgement *judgement)
{
    const struct sbx_time_split *split = &judgement->split;
    double known_ns = split->on_cpu_ns + split->paused_ns + split->runnable_ns + split->faulting_ns;
    double busy_ns = split->wall_ns - split->idle_ns;
    /* What a deadline was missed by may lie behind while the loop waits for work again: a fifth of the time, then. */
    bool is_idle = split->idle_ns * 2 >= split->wall_ns && (busy_ns < BUSY_NS_MIN || busy_ns * 5 < split->wall_ns);
    if (known_ns <= 0 || is_idle || known_ns * 2 < busy_ns) {
        return;
    }
    judgement->class_ = SBX_CLASS_ON_CPU;
    judgement->class_ns = split->on_cpu_ns;
    if (split->paused_ns + split->faulting_ns > judgement->class_ns) {
        judgement->class_ = SBX_CLASS_OFF_CPU;
        judgement->class_ns = split->paused_ns + split->faulting_ns;
        judgement->is_faulting = split->faulting_ns > split->paused_ns && !has_pause_for_memory(split);
    }
    if (split->runnable_ns > judgement->class_ns) {
        judgement->class_ = SBX_CLASS_RUNNABLE;
        judgement->class_ns = split->runnable_ns;
        judgement->is_faulting = false;
    }
}

/* Waits that were over and only lasted until there was a processor: where that is nine tenths of them, they are not
 * what kept the thread. Below that a busy machine makes waits longer, and what can be helped is that it waits so often.
 */
static void move_delay_out_of_waits(struct sbx_time_split *split)
{
    double moved_ns = split->delay_in_waits_ns;
    if (moved_ns * 10 <= split->paused_ns * 9) {
        return;
    }
    double kept = 1 - moved_ns / split->paused_ns;
    for (size_t i = 0; i < split->pause_count; i++) {
        split->pauses[i].ns *= kept;
    }
    split->paused_ns -= moved_ns;
    split->runnable_ns += moved_ns;
    split->delay_in_waits_ns = 0;
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
    move_delay_out_of_waits(&judgement_out->split);
    pick_class(judgement_out);
    if (judgement_out->is_faulting) {
        result = judge_on_cpu(report, thread, judgement_out); /* it faults where it runs, between two faults */
        judgement_out->cause = judgement_out->on_cpu_cause = SBX_CAUSE_MEMORY;
        judgement_out->cause_ns = judgement_out->split.faulting_ns;
        judgement_out->function_ns = judgement_out->cause_ns * judgement_out->path.share;
    } else if (judgement_out->class_ == SBX_CLASS_OFF_CPU) {
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
