/* SPDX-License-Identifier: Apache-2.0 */
/* interval.c - the time that is judged, and the waits that were measured in it. */
#include "interval.h"

#include <errno.h>
#include <stdlib.h>

#include "cause.h"
#include "record_kinds.h"

#define MANUAL_NS_MAX         (INT64_C(5) * 1000 * 1000 * 1000)
#define MANUAL_MESSAGE_NS_MIN (INT64_C(1000) * 1000 * 1000)

/* When the message in which the thread was at the trigger began: 0 when none was open. */
static int64_t open_message_begin(const struct sbx_stall *stall)
{
    const struct sbx_stall_thread *thread = &stall->threads[stall->trigger.thread];
    int64_t begin_ns = 0;
    if (stall->trigger.message == 0) {
        return 0;
    }
    for (size_t i = 0; i < thread->record_count; i++) {
        const struct sbx_stall_record *record = &stall->records[thread->record_begin + i];
        if (record->message != stall->trigger.message || record->kind == SBX_RECORD_IDLE) {
            continue;
        }
        if (record->kind == SBX_RECORD_MESSAGE) {
            return 0; /* the message has ended */
        }
        begin_ns = record->begin_ns < begin_ns ? record->begin_ns : begin_ns;
    }
    return begin_ns;
}

struct sbx_interval sbx_interval_judged(const struct sbx_stall *stall)
{
    int64_t reach_ns = stall->trigger.duration_ns;
    if (reach_ns == 0) {
        reach_ns = -open_message_begin(stall);
    }
    /* A snapshot made by hand in the middle of a short message is not about that message alone. */
    if (reach_ns == 0 || (stall->trigger.kind == SBX_TRIGGER_MANUAL && reach_ns < MANUAL_MESSAGE_NS_MIN)) {
        reach_ns = stall->trigger.history_ns < MANUAL_NS_MAX ? stall->trigger.history_ns : MANUAL_NS_MAX;
    }
    return (struct sbx_interval){-reach_ns, 0};
}

/* Sort outer calls before inner ones. */
static int by_begin(const void *a, const void *b)
{
    const struct sbx_wait *x = a, *y = b;
    if (x->begin_ns != y->begin_ns) {
        return x->begin_ns < y->begin_ns ? -1 : 1;
    }
    return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

static struct sbx_wait wait_of_record(const struct sbx_stall_record *record)
{
    return (struct sbx_wait){
        .begin_ns = record->begin_ns,
        .end_ns = record->end_ns,
        .kind = record->kind,
        .op = record->op,
        .fd_class = record->fd_class,
        .stack = record->stack,
        .object = record->object,
        .peer = record->peer,
        .waker = record->wait,
        .amount = record->amount,
        .cause = sbx_cause_of_call(record->kind, record->op, record->fd_class, record->amount),
        .timed_out = (record->kind == SBX_RECORD_COND || record->kind == SBX_RECORD_WAIT) &&
                     (record->flags & SBX_FLAG_FAILED) != 0,
    };
}

/* The stack of a call that has not ended: the newest sample taken within the call, else the thread's newest sample. */
static const struct sbx_stall_record *sample_of_call(const struct sbx_stall *stall,
                                                     const struct sbx_stall_thread *thread)
{
    for (size_t i = thread->record_count; i-- > 0;) {
        const struct sbx_stall_record *record = &stall->records[thread->record_begin + i];
        if (record->end_ns < -thread->call_ns) {
            break;
        }
        if (record->stack != 0 && (record->kind == SBX_RECORD_BLOCKED || (record->flags & SBX_FLAG_AT_TRIGGER) != 0)) {
            return record;
        }
    }
    return NULL;
}

static struct sbx_wait open_wait(const struct sbx_stall *stall, const struct sbx_stall_thread *thread)
{
    const struct sbx_stall_record *sample = sample_of_call(stall, thread);
    uint32_t fd_class = sample == NULL ? SBX_FD_UNKNOWN : sample->fd_class;
    return (struct sbx_wait){
        .begin_ns = -thread->call_ns,
        .end_ns = 0,
        .kind = thread->call_kind,
        .op = thread->call_op,
        .fd_class = fd_class,
        .stack = sample == NULL ? thread->last_stack : sample->stack,
        .object = thread->call_object,
        .waker = sample == NULL ? 0 : sample->wait,
        .peer = thread->call_peer >= 0 || sample == NULL ? thread->call_peer : sample->peer,
        .cause = sbx_cause_of_call(thread->call_kind, thread->call_op, fd_class, 0),
        .open = true,
    };
}

int sbx_waits_create(const struct sbx_stall *stall, uint32_t thread_index, struct sbx_wait **waits_out,
                     size_t *count_out)
{
    const struct sbx_stall_thread *thread = &stall->threads[thread_index];
    size_t room = thread->record_count + 1, found = 0;
    struct sbx_wait *waits = calloc(room, sizeof *waits);
    if (waits == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < thread->record_count; i++) {
        const struct sbx_stall_record *record = &stall->records[thread->record_begin + i];
        if (sbx_kind_is_wait(record->kind) && record->begin_ns < record->end_ns) {
            waits[found++] = wait_of_record(record);
        }
    }
    if (sbx_kind_is_wait(thread->call_kind) && thread->call_ns > 0) {
        waits[found++] = open_wait(stall, thread);
    }
    qsort(waits, found, sizeof *waits, by_begin);
    size_t kept = 0;
    int64_t covered_ns = INT64_MIN;
    for (size_t i = 0; i < found; i++) {
        struct sbx_wait wait = waits[i];
        if (wait.end_ns <= covered_ns) {
            continue;
        }
        wait.begin_ns = wait.begin_ns < covered_ns ? covered_ns : wait.begin_ns;
        covered_ns = wait.end_ns;
        waits[kept++] = wait;
    }
    *waits_out = waits;
    *count_out = kept;
    return 0;
}

/* The first wait that ends after the moment; `count`: none. */
static size_t first_after(const struct sbx_wait *waits, size_t count, int64_t at_ns)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (waits[middle].end_ns <= at_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int64_t sbx_waits_free_ns(const struct sbx_wait *waits, size_t count, int64_t begin_ns, int64_t end_ns)
{
    if (begin_ns >= end_ns) {
        return 0;
    }
    int64_t free_ns = end_ns - begin_ns;
    for (size_t i = first_after(waits, count, begin_ns); i < count && waits[i].begin_ns < end_ns; i++) {
        int64_t from_ns = waits[i].begin_ns > begin_ns ? waits[i].begin_ns : begin_ns;
        int64_t to_ns = waits[i].end_ns < end_ns ? waits[i].end_ns : end_ns;
        free_ns -= to_ns - from_ns;
    }
    return free_ns;
}

const struct sbx_wait *sbx_waits_at(const struct sbx_wait *waits, size_t count, int64_t at_ns)
{
    size_t at = first_after(waits, count, at_ns);
    return at < count && waits[at].begin_ns <= at_ns ? &waits[at] : NULL;
}
