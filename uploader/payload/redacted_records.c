/* SPDX-License-Identifier: Apache-2.0 */
/* redacted_records.c - converts the kept records of a snapshot to rows of relative numbers. */
#include "redacted_records.h"

#include <errno.h>
#include <stdlib.h>

#include "names.h"

static int64_t bounded_difference(uint64_t value, uint64_t base)
{
    const int64_t bound = (int64_t)(SBX_NUMBER_MAX / 2); /* so that the delta of two such values is within the bounds */
    int64_t difference = (int64_t)(value - base);
    return difference < -bound ? -bound : difference > bound ? bound : difference;
}

/* The values to which the numbers of one thread's records are relative. */
struct thread_base {
    uint64_t cpu_ns, alloc_count, alloc_bytes, message;
    bool has_cpu, has_alloc;
    bool has_usage;
    uint32_t minor_faults, major_faults, voluntary_switches, involuntary_switches; /* of the last reading */
    uint64_t kernel[SBX_KERNEL_COUNTS]; /* first value of each of the kernel's counts */
    bool has_kernel[SBX_KERNEL_COUNTS];
    int64_t last_count, last_bytes; /* of the row before, repeated for a row that did not read the counters */
};

static void find_bases(const struct sbx_redaction_work *work, struct thread_base *bases)
{
    struct thread_base nobody = {.message = 0};
    const struct sbx_snapshot *snapshot = work->snapshot;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        if (!work->kept[i]) {
            continue;
        }
        const struct sbx_record *record = &snapshot->records[i];
        struct thread_base *base = &bases[work->ordinal[record->thread]];
        bool is_hop = record->kind == SBX_RECORD_HOP;
        if (is_hop) { /* its message is that of the thread that queued it */
            uint32_t peer = sbx_redaction_peer(work, record->peer);
            base = peer != 0 ? &bases[peer - 1] : &nobody;
        }
        if (!is_hop && !base->has_cpu && record->cpu_ns != 0) {
            base->has_cpu = true;
            base->cpu_ns = record->cpu_ns;
        }
        if (!is_hop && !base->has_alloc && (record->alloc_count != 0 || record->alloc_bytes != 0)) {
            base->has_alloc = true;
            base->alloc_count = record->alloc_count;
            base->alloc_bytes = record->alloc_bytes;
        }
        if (record->message != 0 && (base->message == 0 || record->message < base->message)) {
            base->message = record->message;
        }
    }
    const struct sbx_trigger_entry *trigger = &snapshot->header.trigger;
    uint32_t judged = work->redacted->trigger.thread;
    if (trigger->message != 0 && judged < work->redacted->thread_count &&
        (bases[judged].message == 0 || trigger->message < bases[judged].message)) {
        bases[judged].message = trigger->message;
    }
}

static uint64_t relative_message(const struct thread_base *base, uint64_t message)
{
    return message == 0 || message < base->message
               ? 0
               : sbx_redaction_bounded(message - base->message + 1); /* the oldest is 1 */
}

/* Returns the growth of a thread's counter since the last reading in its rows, and stores this reading. */
static uint32_t growth_of(uint32_t now, uint32_t *last, bool has_last)
{
    uint32_t growth = has_last && now > *last ? now - *last : 0;
    *last = now;
    return growth;
}

static void fill_usage(const struct sbx_record *record, struct thread_base *base, struct sbx_redacted_record *row)
{
    bool has = base->has_usage;
    row->minor_faults = growth_of(record->minor_faults, &base->minor_faults, has);
    row->major_faults = growth_of(record->major_faults, &base->major_faults, has);
    row->voluntary_switches = growth_of(record->voluntary_switches, &base->voluntary_switches, has);
    row->involuntary_switches = growth_of(record->involuntary_switches, &base->involuntary_switches, has);
    base->has_usage = true;
}

/* Gets ordinal + 1 of a wait id, which only joins a wait with the record that ended it. */
static int wait_of(struct sbx_redaction_work *work, uint32_t wait, uint32_t *wait_out)
{
    if (wait == 0) {
        return 0;
    }
    int result = sbx_ordinal_map_put(&work->waits, wait, wait_out, NULL);
    *wait_out += 1;
    return result;
}

/* Totals since the machine started could distinguish machines, so only their growth leaves. */
static uint64_t kernel_count_of(const struct sbx_record *record, struct thread_base *base)
{
    uint32_t what = record->op;
    if (what >= SBX_KERNEL_COUNTS) {
        return 0;
    }
    if (what == SBX_KERNEL_SWAPPED_KIB) {
        return record->amount;
    }
    if (!base->has_kernel[what]) {
        base->has_kernel[what] = true;
        base->kernel[what] = record->amount;
    }
    return record->amount > base->kernel[what] ? record->amount - base->kernel[what] : 0;
}

static int fill_record(struct sbx_redaction_work *work, const struct sbx_record *record, struct thread_base *bases,
                       struct sbx_redacted_record *row)
{
    struct thread_base *base = &bases[work->ordinal[record->thread]];
    row->thread = work->ordinal[record->thread];
    row->kind = record->kind < SBX_RECORD_KINDS ? record->kind : 0;
    row->op = record->op < SBX_OP_MAX ? record->op : 0;
    row->flags = record->flags & (SBX_FLAG_AT_TRIGGER | SBX_FLAG_FAILED | SBX_FLAG_USAGE | SBX_FLAG_IN_CALL |
                                  SBX_FLAG_OPEN | SBX_FLAG_CANCELLED | SBX_FLAG_MERGED);
    row->repeats = record->repeats;
    if ((record->flags & SBX_FLAG_USAGE) != 0) {
        fill_usage(record, base, row);
    }
    if (record->fd_class <=
        SBX_FD_LAST) { /* the kind of descriptor that was waited for: causes depend on it, and it identifies nobody */
        row->flags |= (uint32_t)record->fd_class << 8;
    }
    row->end_us = sbx_redaction_relative_us(work, record->end_ns);
    const int64_t history_us = (int64_t)work->redaction->history_ms * 1000;
    if (record->kind == SBX_RECORD_HOP && row->end_us < -history_us) {
        row->end_us = -history_us;
    }
    int64_t begin_us =
        sbx_redaction_relative_us(work, record->begin_ns < record->end_ns ? record->begin_ns : record->end_ns);
    row->duration_us =
        (uint64_t)(row->end_us - begin_us) < SBX_LONGEST_US ? (uint64_t)(row->end_us - begin_us) : SBX_LONGEST_US;
    /* A hop was recorded when its task ended, but is placed where the task began. So its counters belong to no moment
     * of its own. */
    bool has_counters = record->kind != SBX_RECORD_HOP;
    if (has_counters && record->cpu_ns != 0) {
        row->has_cpu = true;
        row->cpu_us = sbx_redaction_us(bounded_difference(record->cpu_ns, base->cpu_ns));
    }
    if (has_counters && (record->alloc_count != 0 || record->alloc_bytes != 0)) {
        base->last_count = bounded_difference(record->alloc_count, base->alloc_count);
        base->last_bytes = bounded_difference(record->alloc_bytes, base->alloc_bytes);
    }
    row->alloc_count = base->last_count;
    row->alloc_bytes = base->last_bytes;
    row->peer = sbx_redaction_peer(work, record->peer);
    row->message = record->kind != SBX_RECORD_HOP ? relative_message(base, record->message)
                   : row->peer != 0               ? relative_message(&bases[row->peer - 1], record->message)
                                                  : 0;
    row->amount =
        sbx_redaction_bounded(record->kind == SBX_RECORD_KERNEL ? kernel_count_of(record, base) : record->amount);
    int result = sbx_redaction_object(work, record->object, &row->object);
    if (result == 0) {
        result = wait_of(work, record->wait, &row->wait);
    }
    if (result == 0 && record->stack == SBX_STACK_OVERFLOW) {
        row->stack = UINT32_MAX; /* replaced by callstack_count + 1 when that is known */
    } else if (result == 0) {
        result = sbx_callstack_forest_put(&work->forest, record->stack, &row->stack);
    }
    return result;
}

int sbx_redacted_fill_records(struct sbx_redaction_work *work)
{
    struct sbx_redacted *redacted = work->redacted;
    const struct sbx_snapshot *snapshot = work->snapshot;
    struct thread_base *bases = calloc((size_t)redacted->thread_count + 1, sizeof *bases);
    size_t *next = calloc((size_t)redacted->thread_count + 1, sizeof *next);
    int result = -ENOMEM;
    if (bases == NULL || next == NULL) {
        goto free_scratch;
    }
    find_bases(work, bases);
    redacted->trigger.message =
        redacted->trigger.thread < redacted->thread_count
            ? relative_message(&bases[redacted->trigger.thread], snapshot->header.trigger.message)
            : 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        if (work->kept[i]) {
            redacted->threads[work->ordinal[snapshot->records[i].thread]].record_count++;
        }
    }
    for (uint32_t i = 1; i < redacted->thread_count; i++) {
        next[i] = next[i - 1] + redacted->threads[i - 1].record_count;
    }
    result = 0;
    for (size_t i = 0; i < snapshot->record_count && result == 0; i++) {
        if (work->kept[i]) {
            uint32_t thread = work->ordinal[snapshot->records[i].thread];
            result = fill_record(work, &snapshot->records[i], bases, &redacted->records[next[thread]++]);
        }
    }

free_scratch:
    free(bases);
    free(next);
    return result;
}
