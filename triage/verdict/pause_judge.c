/* SPDX-License-Identifier: Apache-2.0 */
/* pause_judge.c - for a thread that waited: the cause with the most time, and the function that waited longest for it.
 *
 * Pauses of one cause are sorted by function and added up. */
#include "pause_judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cause.h"
#include "known_names.h"

enum {
    PEERS_MAX = 64
};

/* Does the JDK wait for direct memory for the program's innermost function? The collections and sleeps below are the
 * way in which it waits. */
static bool is_for_direct_memory(const struct sbx_report *report, uint32_t stack)
{
    const struct sbx_stall *stall = report->stall;
    for (uint32_t id = stack; id != 0; id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        for (uint32_t at = report->location_begin[frame]; at < report->location_begin[frame + 1]; at++) {
            const struct sbx_location *location = &report->locations[at];
            if (sbx_is_direct_memory_wait(location)) {
                return true;
            }
            if (sbx_blame_counts(report, frame, location, SBX_BLAME_OWN)) {
                return false;
            }
        }
    }
    return false;
}

/* The stack may tell a cause that the call alone does not tell. A bare futex is a lock or a wait, a socket may lead to
 * a bus or a name server, a poll may be for a child process, and a collector waits for its helpers. */
static enum sbx_cause cause_of_pause(const struct sbx_report *report, const struct sbx_wait *wait)
{
    const struct sbx_stall *stall = report->stall;
    bool is_bare_futex =
        wait->peer < 0 &&
        (wait->op == SBX_OP_FUTEX_WAIT ||
         (wait->cause == SBX_CAUSE_WAIT && wait->op == SBX_OP_SYSCALL && wait->kind == SBX_RECORD_BLOCKED));
    enum sbx_cause futex = SBX_CAUSE_UNKNOWN, runtime = SBX_CAUSE_UNKNOWN;
    bool is_nearest = true, is_below_own = true, is_machine = true;
    uint32_t stack = wait->stack <= stall->callstack_count ? wait->stack : 0;
    if (is_for_direct_memory(report, stack)) {
        return SBX_CAUSE_MEMORY;
    }
    for (uint32_t id = stack; id != 0; id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        is_machine = is_machine && stall->frames[frame].kind != SBX_FRAME_LOGICAL;
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
                    return SBX_CAUSE_LOCK; /* built from a condition and a mutex, but it is a lock */
                }
                is_nearest = false;
            }
            if (is_machine && wait->cause == SBX_CAUSE_WAIT && sbx_is_class_initialisation(location->function)) {
                return SBX_CAUSE_LOCK; /* no Java nearer the leaf: waits for the initialising thread */
            }
            if (is_below_own && wait->cause == SBX_CAUSE_WAIT) { /* the last one counts: a latch uses a lock */
                enum sbx_cause said = sbx_cause_of_runtime_wait(location->function);
                runtime = said != SBX_CAUSE_UNKNOWN ? said : runtime;
            }
            is_below_own = is_below_own && !sbx_blame_counts(report, frame, location, SBX_BLAME_OWN);
            if (sbx_is_bus_function(location->function) || sbx_is_child_function(location->function)) {
                return SBX_CAUSE_IPC;
            }
            if (sbx_is_lookup_function(location->function)) {
                return SBX_CAUSE_NETWORK;
            }
            /* The first function that tells lock or wait, up to the first function of the application. */
            if (is_bare_futex && stall->frames[frame].kind == SBX_FRAME_CODE &&
                stall->modules[stall->frames[frame].module].kind != SBX_MODULE_KIND_AGENT) {
                futex = sbx_cause_of_futex_user(location->function);
                is_bare_futex = futex == SBX_CAUSE_UNKNOWN && !sbx_blame_counts(report, frame, location, SBX_BLAME_OWN);
            }
        }
    }
    return runtime != SBX_CAUSE_UNKNOWN ? runtime : futex != SBX_CAUSE_UNKNOWN ? futex : wait->cause;
}

/* A pause and the function that it counts for. */
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

/* For pauses in one function: the thread that was waited for most, and the longest of these pauses. Bounded: after some
 * dozens of threads, further ones are ignored. */
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
        /* Waits that timed out and were begun again have no waker. The last one has a waker, and this thread counts for
         * all of them. */
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

/* The function with the most time among the pauses `blamed`. These are sorted by function. */
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

int sbx_judge_pauses(const struct sbx_report *report, struct sbx_judgement *judgement)
{
    struct sbx_time_split *split = &judgement->split;
    double by_cause[SBX_CAUSE_COUNT] = {[SBX_CAUSE_MEMORY] = split->faulting_ns};
    for (size_t i = 0; i < split->pause_count; i++) {
        struct sbx_wait *wait = &split->pauses[i].wait;
        const struct sbx_wait *last = i > 0 ? &split->pauses[i - 1].wait : NULL; /* it is often the same call again */
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
        count > 0) { /* waits for pages that were not seen were for the same ones */
        judgement->function_ns *= judgement->cause_ns / (judgement->cause_ns - split->faulting_ns);
        judgement->is_exact = judgement->is_exact && split->faulting_ns <= 0;
    }
    free(blamed);
    return 0;
}
