/* SPDX-License-Identifier: Apache-2.0 */
/* allocated.c - what threads allocated in the judged time. */
#include "allocated.h"

#include <stdio.h>

#include "verdict_words.h"

#define MIB (1024.0 * 1024)

enum {
    CALLS_WORTH_TELLING = 1000, /* fewer calls, and less than a MiB, have no part in a stall */
    BYTES_WORTH_TELLING = 1 << 20,
    BEFORE_NS = 1000000000, /* the second before the stall is the comparison */
    BEFORE_BYTES = 48
};

/* Threads of Java allocate by moving a pointer and do not call malloc(), so the number of malloc() calls says nothing
 * about them. */
static bool has_java(const struct sbx_stall *stall)
{
    for (uint32_t i = 0; i < stall->runtime_count; i++) {
        if (stall->runtimes[i].kind == SBX_RUNTIME_JAVA && stall->runtimes[i].state == SBX_RUNTIME_ATTACHED) {
            return true;
        }
    }
    return false;
}

/* The bytes that a thread allocated in the interval, by its records. 0: it allocated nothing, or its records do not
 * tell. *from_ns_out: the begin of the time they cover. */
static int64_t bytes_of(const struct sbx_stall *stall, const struct sbx_stall_thread *thread,
                        struct sbx_interval interval, int64_t *from_ns_out)
{
    int64_t first = -1, last = -1;
    *from_ns_out = interval.end_ns;
    for (size_t i = 0; i < thread->record_count; i++) {
        const struct sbx_stall_record *record = &stall->records[thread->record_begin + i];
        if (record->end_ns > interval.end_ns) {
            break;
        }
        if (first < 0 || record->end_ns <= interval.begin_ns) {
            first = record->alloc_bytes;
            *from_ns_out = record->end_ns;
        }
        last = record->alloc_bytes;
    }
    return last > first ? last - first : 0;
}

/* "; 12.5 MiB a second before" if the judged thread's records reach back far enough, else "". */
static void write_before(const struct sbx_stall *stall, int64_t begin_ns, char out[BEFORE_BYTES])
{
    const struct sbx_interval second = {begin_ns - BEFORE_NS, begin_ns};
    int64_t from_ns = 0, bytes = bytes_of(stall, &stall->threads[stall->trigger.thread], second, &from_ns);
    out[0] = '\0';
    if (begin_ns - from_ns >= BEFORE_NS / 2) {
        snprintf(out, BEFORE_BYTES, "; %.1f MiB a second before",
                 (double)bytes / MIB * 1e9 / (double)(begin_ns - from_ns));
    }
}

static void tell_own(const struct sbx_stall *stall, const struct sbx_judgement *judgement, struct sbx_verdict *verdict)
{
    double mib = (double)judgement->alloc_bytes / MIB;
    if (judgement->alloc_count < CALLS_WORTH_TELLING && judgement->alloc_bytes < BYTES_WORTH_TELLING) {
        return;
    }
    if (has_java(stall)) {
        char span[SBX_DURATION_TEXT_BYTES], before[BEFORE_BYTES];
        sbx_duration_text(judgement->split.wall_ns, span);
        write_before(stall, judgement->split.interval.begin_ns, before);
        sbx_evidence_add(verdict, "allocations", mib, "%.1f MiB were allocated in %s, %.1f MiB a second%s", mib, span,
                         mib * 1e9 / judgement->split.wall_ns, before);
        return;
    }
    sbx_evidence_add(verdict, "allocations", (double)judgement->alloc_count, "%lld allocations of %.1f MiB in all",
                     (long long)judgement->alloc_count, mib);
}

static void tell_most(struct sbx_report *report, struct sbx_interval interval)
{
    const struct sbx_stall *stall = report->stall;
    int64_t most_bytes = 0, all_bytes = 0, from_ns;
    uint32_t most = 0;
    for (uint32_t i = 0; i < stall->thread_count; i++) {
        int64_t bytes = stall->threads[i].process == 0 ? bytes_of(stall, &stall->threads[i], interval, &from_ns) : 0;
        most = bytes > most_bytes ? i : most;
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
        all_bytes += bytes;
    }
    if (most_bytes >= BYTES_WORTH_TELLING) {
        char name[SBX_THREAD_TEXT_BYTES];
        double s = (double)(interval.end_ns - interval.begin_ns) / 1e9;
        sbx_thread_text(stall, most, name);
        sbx_evidence_add(&report->verdict, "allocator", (double)most_bytes / MIB,
                         "%s allocated most meanwhile: %.1f MiB, %.1f MiB a second; all threads together %.1f MiB",
                         name, (double)most_bytes / MIB, (double)most_bytes / MIB / s, (double)all_bytes / MIB);
    }
}

void sbx_allocated_tell(struct sbx_report *report, const struct sbx_judgement *judgement)
{
    if (judgement->split.wall_ns <= 0) {
        return;
    }
    if (report->verdict.cause == SBX_CAUSE_GC) {
        tell_most(report, judgement->split.interval);
    } else if (judgement->class_ == SBX_CLASS_ON_CPU || judgement->class_ == SBX_CLASS_RUNNABLE) {
        tell_own(report->stall, judgement, &report->verdict);
    }
}
