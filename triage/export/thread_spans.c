/* SPDX-License-Identifier: Apache-2.0 */
/* thread_spans.c - one thread's time, cut into spans by what is known about it. */
#include "thread_spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_growth.h"
#include "names.h"
#include "record_kinds.h"

enum {
    NS_PER_US = 1000,
    REACH_FACTOR = 6, /* samples of a running thread are up to five gaps apart while no stall is near (agent/watch.c,
                       * FAR_TICK_GAPS and its jitter), and one gap if a stall is near */
    REACH_MIN_US = 5000,
    REACH_MAX_US = 100000,
};
static const double STOOD_STILL = 0.02; /* with a smaller share of CPU time, a thread did nothing but answer samples */

const char *sbx_span_state_name(enum sbx_span_state state)
{
    static const char *const names[SBX_SPAN_STATES] = {
        [SBX_SPAN_UNKNOWN] = "not known", [SBX_SPAN_ON_CPU] = "on CPU",   [SBX_SPAN_RUNNABLE] = "runnable",
        [SBX_SPAN_LOCK] = "lock",         [SBX_SPAN_WAIT] = "wait",       [SBX_SPAN_SLEEP] = "sleep",
        [SBX_SPAN_IO] = "file I/O",       [SBX_SPAN_NETWORK] = "network", [SBX_SPAN_OFF_CPU] = "off CPU",
        [SBX_SPAN_IDLE] = "idle",
    };
    return (unsigned)state < SBX_SPAN_STATES ? names[state] : names[SBX_SPAN_UNKNOWN];
}

/* ---- what a record tells ---- */

static enum sbx_span_state state_of_syscall(uint64_t number)
{
    static const struct {
        const char *name;
        enum sbx_span_state state;
    } calls[] = {
        {"futex", SBX_SPAN_WAIT},
        {"poll", SBX_SPAN_WAIT},
        {"ppoll", SBX_SPAN_WAIT},
        {"select", SBX_SPAN_WAIT},
        {"pselect6", SBX_SPAN_WAIT},
        {"epoll_wait", SBX_SPAN_WAIT},
        {"epoll_pwait", SBX_SPAN_WAIT},
        {"wait4", SBX_SPAN_WAIT},
        {"waitid", SBX_SPAN_WAIT},
        {"nanosleep", SBX_SPAN_SLEEP},
        {"clock_nanosleep", SBX_SPAN_SLEEP},
        {"pause", SBX_SPAN_SLEEP},
        {"read", SBX_SPAN_IO},
        {"write", SBX_SPAN_IO},
        {"pread64", SBX_SPAN_IO},
        {"pwrite64", SBX_SPAN_IO},
        {"readv", SBX_SPAN_IO},
        {"writev", SBX_SPAN_IO},
        {"open", SBX_SPAN_IO},
        {"openat", SBX_SPAN_IO},
        {"fsync", SBX_SPAN_IO},
        {"fdatasync", SBX_SPAN_IO},
        {"flock", SBX_SPAN_IO},
        {"connect", SBX_SPAN_NETWORK},
        {"accept", SBX_SPAN_NETWORK},
        {"accept4", SBX_SPAN_NETWORK},
        {"sendto", SBX_SPAN_NETWORK},
        {"recvfrom", SBX_SPAN_NETWORK},
        {"sendmsg", SBX_SPAN_NETWORK},
        {"recvmsg", SBX_SPAN_NETWORK},
    };
    const char *name = sbx_syscall_name(number);
    for (size_t i = 0; name != NULL && i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(name, calls[i].name) == 0) {
            return calls[i].state;
        }
    }
    return SBX_SPAN_OFF_CPU;
}

/* The state in which a thread is drawn that waits for a descriptor. It follows the cause of the call (cause.c). */
static enum sbx_span_state state_of_descriptor(uint32_t fd_class, enum sbx_span_state otherwise)
{
    switch (fd_class) {
    case SBX_FD_SOCKET:
        return SBX_SPAN_NETWORK;
    case SBX_FD_PIPE:
    case SBX_FD_UNIX:
    case SBX_FD_OTHER: /* an event counter, a timer */
    case SBX_FD_TTY:
        return SBX_SPAN_WAIT;
    default:
        return otherwise;
    }
}

/* The state in which a thread is drawn that waits in a record of this kind. */
static enum sbx_span_state state_of_kind(uint32_t kind, uint32_t fd_class)
{
    switch (kind) {
    case SBX_RECORD_LOCK:
        return SBX_SPAN_LOCK;
    case SBX_RECORD_COND:
    case SBX_RECORD_POLL:
    case SBX_RECORD_WAIT:
    case SBX_RECORD_PROCESS:
        return SBX_SPAN_WAIT;
    case SBX_RECORD_SLEEP:
        return SBX_SPAN_SLEEP;
    case SBX_RECORD_FILE:
        return state_of_descriptor(fd_class, SBX_SPAN_IO);
    case SBX_RECORD_SYNC:
    case SBX_RECORD_LOADER:
        return SBX_SPAN_IO;
    case SBX_RECORD_SOCKET:
        return state_of_descriptor(fd_class, SBX_SPAN_NETWORK);
    case SBX_RECORD_IDLE:
        return SBX_SPAN_IDLE;
    default:
        return SBX_SPAN_OFF_CPU;
    }
}

static enum sbx_span_state state_of_op(const struct sbx_span *span)
{
    if (span->op == SBX_OP_SYSCALL) {
        return state_of_syscall(span->amount);
    }
    return span->op == SBX_OP_RUNNING ? SBX_SPAN_RUNNABLE : state_of_kind(sbx_kind_of_op(span->op), span->fd_class);
}

static enum sbx_span_state state_of_measured(const struct sbx_span *span)
{
    return state_of_kind(span->kind, span->fd_class);
}

/* The state of unmeasured time in which the thread ran for `share` of the time by its CPU clock. */
static enum sbx_span_state state_of_share(const struct sbx_span *span, double share)
{
    bool seen_blocked = span->kind == SBX_RECORD_BLOCKED && span->op != SBX_OP_NONE;
    if (share >= 0.5) {
        return SBX_SPAN_ON_CPU;
    }
    if (share >= 0) {
        return seen_blocked ? state_of_op(span) : SBX_SPAN_OFF_CPU;
    }
    if (seen_blocked) {
        return state_of_op(span);
    }
    return sbx_kind_is_running_sample(span->kind) ? SBX_SPAN_ON_CPU : SBX_SPAN_UNKNOWN;
}

bool sbx_span_is_wait(const struct sbx_span *span)
{
    if (span->kind == SBX_RECORD_IDLE) {
        return false;
    }
    return span->measured || (span->kind == SBX_RECORD_BLOCKED && span->op != SBX_OP_NONE &&
                              span->op != SBX_OP_RUNNING && span->state != SBX_SPAN_ON_CPU);
}

const char *sbx_span_wait_name(const struct sbx_span *span)
{
    if (span->op == SBX_OP_SYSCALL) {
        const char *name = sbx_syscall_name(span->amount);
        return name != NULL ? name : "system call";
    }
    return span->op != SBX_OP_NONE ? sbx_op_name(span->op) : sbx_record_name(span->kind);
}

/* ---- from records to an ordered list ---- */

/* One span while the list is being made. */
struct item {
    struct sbx_span span;
    int64_t cpu_ns; /* the thread's CPU clock at the span's end; -1 not read */
    size_t order;   /* of the record, for a stable order */
};

static int compare_items(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    if (a->span.begin_ns != b->span.begin_ns) {
        return a->span.begin_ns < b->span.begin_ns ? -1 : 1;
    }
    if (a->span.end_ns != b->span.end_ns) {
        /* The longer span first, because it encloses the other. Exception: a sample at the very moment a wait begins
         * was taken before the wait. */
        bool a_point = a->span.end_ns == a->span.begin_ns, b_point = b->span.end_ns == b->span.begin_ns;
        if (a_point != b_point) {
            return a_point ? -1 : 1;
        }
        return a->span.end_ns > b->span.end_ns ? -1 : 1;
    }
    return a->order < b->order ? -1 : a->order > b->order;
}

static int compare_messages(const void *left, const void *right)
{
    const struct sbx_message_span *a = left, *b = right;
    return a->begin_ns != b->begin_ns ? (a->begin_ns < b->begin_ns ? -1 : 1)
           : a->end_ns != b->end_ns   ? (a->end_ns < b->end_ns ? -1 : 1)
                                      : 0;
}

static struct item item_of_record(const struct sbx_stall_record *record, size_t order)
{
    struct item item = {.order = order, .cpu_ns = record->cpu_ns};
    struct sbx_span *span = &item.span;
    span->begin_ns = record->begin_ns;
    span->end_ns = record->end_ns < record->begin_ns ? record->begin_ns : record->end_ns;
    span->message = record->message;
    span->amount = record->amount;
    span->looks = sbx_kind_is_sample(record->kind) ? sbx_record_looks(record) : 1;
    span->stack = record->stack_lost ? 0 : record->stack;
    span->object = record->object;
    span->peer = record->peer;
    span->kind = record->kind;
    span->op = record->op;
    span->fd_class = record->fd_class;
    span->measured = sbx_kind_is_wait(record->kind);
    return item;
}

/* The call that a thread was in at the trigger. It has no record yet: the record is made when the call returns. */
static bool item_of_open_call(const struct sbx_stall *stall, uint32_t thread, struct item *item)
{
    const struct sbx_stall_thread *self = &stall->threads[thread];
    if (!sbx_kind_is_wait(self->call_kind) || self->call_ns <= 0 || self->ended) {
        return false;
    }
    *item = (struct item){.order = SIZE_MAX, .cpu_ns = -1};
    struct sbx_span *span = &item->span;
    span->begin_ns = -self->call_ns;
    span->looks = 1;
    span->kind = (uint8_t)self->call_kind;
    span->op = (uint8_t)self->call_op;
    span->object = self->call_object;
    span->peer = self->call_peer;
    span->measured = span->unfinished = true;
    /* Its stack is that of the newest look from outside during the call, if there was one. */
    for (size_t i = 0; i < self->record_count; i++) {
        const struct sbx_stall_record *record = &stall->records[self->record_begin + i];
        if (record->end_ns < span->begin_ns || !sbx_kind_is_sample(record->kind)) {
            continue;
        }
        span->end_ns = record->end_ns > span->end_ns ? record->end_ns : span->end_ns;
        span->stack = record->stack_lost || record->stack == 0 ? span->stack : record->stack;
        span->message = record->message;
        item->cpu_ns = record->cpu_ns >= 0 ? record->cpu_ns : item->cpu_ns;
    }
    if (span->message == 0 && thread == stall->trigger.thread) {
        span->message = stall->trigger.message;
    }
    return true;
}

/* Sort the items, find which lie inside others, and make them disjoint. Returns how many are left. */
static size_t settle(struct item *items, size_t count)
{
    qsort(items, count, sizeof *items, compare_items);
    size_t kept = 0, outer = SIZE_MAX; /* index of the last one that is not nested */
    int64_t outer_end = INT64_MIN, nested_end = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        struct item item = items[i];
        struct sbx_span *span = &item.span;
        const struct sbx_span *around = outer == SIZE_MAX ? NULL : &items[outer].span;
        /* A look at the very end of a wait comes after it, unless the wait still goes on. */
        bool inside = around != NULL && around->measured &&
                      (span->begin_ns < outer_end || (around->unfinished && span->begin_ns == outer_end));
        if (inside && span->end_ns <= outer_end) {
            if (!span->measured || span->kind == SBX_RECORD_IDLE) {
                continue; /* the measurement around it is better; the sample is still exported as a sample */
            }
            span->begin_ns = span->begin_ns < nested_end ? nested_end : span->begin_ns;
            if (span->end_ns < span->begin_ns) {
                continue;
            }
            nested_end = span->end_ns;
            span->nested = true;
            items[kept++] = item;
            continue;
        }
        if (around != NULL && span->begin_ns < outer_end) {
            if (around->measured) {
                span->begin_ns = outer_end; /* rounding made them overlap: times are sent as whole microseconds */
            } else {
                span->begin_ns =
                    span->begin_ns < around->begin_ns ? around->begin_ns : span->begin_ns; /* it was moved */
                items[outer].span.end_ns = span->begin_ns;
            }
        }
        span->end_ns = span->end_ns < span->begin_ns ? span->begin_ns : span->end_ns;
        outer = kept;
        outer_end = span->end_ns;
        nested_end = span->begin_ns;
        items[kept++] = item;
    }
    return kept;
}

/* ---- what lies between two spans ---- */

/* Move on to the first message that ends at `from` or later. The callers ask in time order, so all calls together are
 * one pass. */
static void skip_messages(const struct sbx_thread_spans *spans, size_t *first_message, int64_t from)
{
    while (*first_message < spans->message_count && spans->messages[*first_message].end_ns < from) {
        (*first_message)++;
    }
}

/* The first end (or begin) of a message in [from, to]; `to` if there is none. */
static int64_t message_boundary(const struct sbx_thread_spans *spans, size_t *first_message, int64_t from, int64_t to)
{
    skip_messages(spans, first_message, from);
    if (*first_message < spans->message_count) {
        const struct sbx_message_span *message = &spans->messages[*first_message];
        if (message->end_ns <= to) {
            return message->end_ns;
        }
        if (message->begin_ns >= from && message->begin_ns <= to) {
            return message->begin_ns;
        }
    }
    return to;
}

/* Where the message that runs at `to` began, if that is in [from, to]; else `from`. */
static int64_t message_begin(const struct sbx_thread_spans *spans, size_t *first_message, int64_t from, int64_t to)
{
    skip_messages(spans, first_message, from);
    int64_t begin = from;
    for (size_t i = *first_message; i < spans->message_count && spans->messages[i].begin_ns <= to; i++) {
        begin = spans->messages[i].begin_ns > begin ? spans->messages[i].begin_ns : begin;
    }
    return begin;
}

/* Where the message that contains the thread's last span ended; the span's own end if that is not known. */
static int64_t message_end(const struct sbx_thread_spans *spans, const struct sbx_span *last)
{
    for (size_t i = spans->message_count; i > 0 && spans->messages[i - 1].end_ns >= last->end_ns; i--) {
        if (spans->messages[i - 1].begin_ns <= last->end_ns && last->message != 0) {
            return spans->messages[i - 1].end_ns;
        }
    }
    return last->end_ns;
}

/* Distribute the CPU time. Between two readings of the clock lie measured waits, which use none, and unmeasured pieces:
 * the extents of samples, and the tails. Each piece gets the same share, because nothing more exact is known. */
static void share_cpu_time(struct item *items, size_t count)
{
    int64_t last_cpu = -1;
    size_t first = 0; /* the tail of items[first] is the first piece since the last reading */
    int64_t pieces_ns = 0;
    const struct sbx_span *before = NULL;
    for (size_t i = 0; i < count; i++) {
        struct sbx_span *span = &items[i].span;
        span->tail_cpu_share = -1;
        if (span->nested) {
            continue;
        }
        pieces_ns += before == NULL ? 0 : span->begin_ns - before->end_ns;
        pieces_ns += span->measured ? 0 : span->end_ns - span->begin_ns;
        before = span;
        if (items[i].cpu_ns < 0) {
            continue;
        }
        if (last_cpu >= 0 && pieces_ns > 0 && items[i].cpu_ns >= last_cpu) {
            double share = (double)(items[i].cpu_ns - last_cpu) / (double)pieces_ns;
            for (size_t k = first; k < i; k++) {
                items[k].span.tail_cpu_share = share > 1 ? 1 : share;
            }
        }
        last_cpu = items[i].cpu_ns;
        first = i;
        pieces_ns = 0;
    }
}

/* Set everything that depends on neighbours. */
static void join_neighbours(struct sbx_thread_spans *out, struct item *items, size_t count)
{
    share_cpu_time(items, count);
    size_t first_message = 0;
    struct sbx_span *before = NULL;
    for (size_t i = 0; i < count; i++) {
        struct sbx_span *span = &items[i].span;
        span->drawn_end_ns = span->until_ns = span->end_ns;
        span->earliest_ns = span->begin_ns;
        /* The reading at the end of a sample covers the sample's extent, together with the tail before it. */
        span->own_cpu_share = span->measured || span->nested || before == NULL ? -1 : before->tail_cpu_share;
        if (span->begin_ns == span->end_ns) {
            span->own_cpu_share = -1; /* it has no length: only the way it was seen tells its state */
        }
        span->state = span->measured ? state_of_measured(span) : state_of_share(span, span->own_cpu_share);
        if (span->nested) {
            continue;
        }
        span->tail =
            span->measured && span->tail_cpu_share < 0 ? SBX_SPAN_UNKNOWN : state_of_share(span, span->tail_cpu_share);
        if (before == NULL) {
            span->earliest_ns = message_begin(out, &first_message, INT64_MIN, span->begin_ns);
            span->history_begin = span->earliest_ns == INT64_MIN;
            span->earliest_ns = span->history_begin ? span->begin_ns : span->earliest_ns;
            span->cut = true;
            before = span;
            continue;
        }
        span->cut =
            before->kind == SBX_RECORD_IDLE || span->kind == SBX_RECORD_IDLE || before->message != span->message;
        span->earliest_ns = before->end_ns;
        before->until_ns = span->begin_ns;
        if (span->cut && before->kind != SBX_RECORD_IDLE) {
            before->until_ns = message_boundary(out, &first_message, before->end_ns, span->begin_ns);
        }
        if (span->cut) {
            span->earliest_ns = message_begin(out, &first_message, before->end_ns, span->begin_ns);
        }
        bool stood_still = !span->cut && before->stack != 0 && before->stack == span->stack &&
                           before->tail_cpu_share >= 0 && before->tail_cpu_share <= STOOD_STILL;
        bool near = before->until_ns - before->end_ns <= out->reach_ns;
        if (before->kind != SBX_RECORD_IDLE && (near || stood_still)) {
            before->drawn_end_ns = before->until_ns;
        }
        before = span;
    }
    if (before != NULL && before->kind != SBX_RECORD_IDLE) { /* only the end of its message may follow */
        before->until_ns = message_end(out, before);
        if (before->until_ns - before->end_ns <= out->reach_ns) {
            before->drawn_end_ns = before->until_ns;
        }
    }
}

/* The thread was off the processor, in nothing known. The kernel may have counted that it was ready meanwhile. */
static void tell_runnable(struct sbx_span *span, const struct sbx_kernel_series *delay)
{
    struct sbx_interval own = {span->begin_ns, span->end_ns}, tail = {span->end_ns, span->until_ns};
    struct sbx_kernel_growth in_own = sbx_kernel_series_growth(delay, own);
    struct sbx_kernel_growth in_tail = sbx_kernel_series_growth(delay, tail);
    /* RUNNABLE if that is at least half of the time in which it did not run. */
    double own_ns = (double)(own.end_ns - own.begin_ns) * (1 - span->own_cpu_share);
    double tail_ns = (double)(tail.end_ns - tail.begin_ns) * (1 - span->tail_cpu_share);
    if (span->state == SBX_SPAN_OFF_CPU && !span->measured && in_own.is_known && in_own.value * 2000 >= own_ns) {
        span->state = SBX_SPAN_RUNNABLE;
    }
    if (span->tail == SBX_SPAN_OFF_CPU && in_tail.is_known && in_tail.value * 2000 >= tail_ns) {
        span->tail = SBX_SPAN_RUNNABLE;
    }
}

static int64_t reach_of(const struct sbx_stall *stall)
{
    int64_t interval_us = stall->policy.interval_us;
    interval_us = stall->policy.gap_us > interval_us ? stall->policy.gap_us : interval_us;
    interval_us = stall->policy.async_interval_us > interval_us ? stall->policy.async_interval_us : interval_us;
    int64_t reach_us = interval_us * REACH_FACTOR;
    reach_us = reach_us < REACH_MIN_US ? REACH_MIN_US : reach_us > REACH_MAX_US ? REACH_MAX_US : reach_us;
    return reach_us * NS_PER_US;
}

/* The messages, in order and disjoint. The judged message is included, which had not ended when the trigger fired. */
static void settle_messages(struct sbx_thread_spans *spans, const struct sbx_stall *stall, uint32_t thread)
{
    bool judged_is_open = thread == stall->trigger.thread && stall->trigger.in_progress &&
                          stall->trigger.message != 0 && stall->trigger.duration_ns > 0;
    for (size_t i = 0; i < spans->message_count; i++) {
        judged_is_open &= spans->messages[i].message != stall->trigger.message;
    }
    if (judged_is_open) {
        spans->messages[spans->message_count++] = (struct sbx_message_span){.begin_ns = -stall->trigger.duration_ns,
                                                                            .message = stall->trigger.message,
                                                                            .merged = 1,
                                                                            .kind = stall->trigger.message_kind};
    }
    qsort(spans->messages, spans->message_count, sizeof *spans->messages, compare_messages);
    size_t kept = 0;
    for (size_t i = 0; i < spans->message_count; i++) {
        struct sbx_message_span message = spans->messages[i];
        if (kept > 0 && message.begin_ns < spans->messages[kept - 1].end_ns) {
            message.begin_ns = spans->messages[kept - 1].end_ns; /* rounding, as above */
        }
        if (message.end_ns >= message.begin_ns) {
            spans->messages[kept++] = message;
        }
    }
    spans->message_count = kept;
}

int sbx_thread_spans_init(struct sbx_thread_spans *spans, const struct sbx_stall *stall, uint32_t thread)
{
    const struct sbx_stall_thread *self = &stall->threads[thread];
    *spans = (struct sbx_thread_spans){.reach_ns = reach_of(stall)};
    size_t max = self->record_count + 1; /* and one each for the open call and the open message */
    struct item *items = calloc(max, sizeof *items);
    spans->messages = calloc(max, sizeof *spans->messages);
    spans->spans = calloc(max, sizeof *spans->spans);
    struct sbx_kernel_series delay = {NULL, 0};
    if (items == NULL || spans->messages == NULL || spans->spans == NULL ||
        sbx_kernel_series_init(&delay, stall, thread, SBX_KERNEL_RUN_DELAY) != 0) {
        free(items);
        sbx_thread_spans_finish(spans);
        return -ENOMEM;
    }
    size_t count = 0;
    for (size_t i = 0; i < self->record_count; i++) {
        const struct sbx_stall_record *record = &stall->records[self->record_begin + i];
        if (record->kind == SBX_RECORD_MESSAGE) {
            spans->messages[spans->message_count++] = (struct sbx_message_span){.begin_ns = record->begin_ns,
                                                                                .end_ns = record->end_ns,
                                                                                .kind = record->op,
                                                                                .message = record->message,
                                                                                .merged = record->amount};
        } else if (sbx_kind_is_wait(record->kind) || sbx_kind_is_sample(record->kind)) {
            items[count++] = item_of_record(record, i);
        }
    }
    if (item_of_open_call(stall, thread, &items[count])) {
        count++;
    }
    settle_messages(spans, stall, thread);
    count = settle(items, count);
    join_neighbours(spans, items, count);
    for (size_t i = 0; i < count; i++) {
        tell_runnable(&items[i].span, &delay);
        spans->spans[i] = items[i].span;
    }
    sbx_kernel_series_finish(&delay);
    spans->count = count;
    free(items);
    return 0;
}

void sbx_thread_spans_finish(struct sbx_thread_spans *spans)
{
    free(spans->spans);
    free(spans->messages);
    *spans = (struct sbx_thread_spans){0};
}

int64_t sbx_history_begin_ns(const struct sbx_stall *stall, int64_t interval_begin_ns)
{
    int64_t begin_ns = interval_begin_ns < 0 ? interval_begin_ns : 0;
    begin_ns = -stall->trigger.history_ns < begin_ns ? -stall->trigger.history_ns : begin_ns;
    for (size_t i = 0; i < stall->record_count; i++) {
        begin_ns = stall->records[i].end_ns < begin_ns ? stall->records[i].end_ns : begin_ns;
    }
    return begin_ns;
}
