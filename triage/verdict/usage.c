/* SPDX-License-Identifier: Apache-2.0 */
/* usage.c - page faults and context switches of one thread around an interval. */
#include "usage.h"

struct sbx_usage sbx_usage_of(const struct sbx_stall *stall, uint32_t thread_index, struct sbx_interval interval)
{
    const struct sbx_stall_thread *thread = &stall->threads[thread_index];
    const struct sbx_stall_record *before = NULL, *after = NULL;
    for (size_t i = 0; i < thread->record_count; i++) {
        const struct sbx_stall_record *record = &stall->records[thread->record_begin + i];
        if ((record->flags & SBX_FLAG_USAGE) == 0) {
            continue;
        }
        if (record->end_ns <= interval.begin_ns || before == NULL) {
            before = record;
        } else if (after == NULL || after->end_ns < interval.end_ns) {
            after = record;
        }
    }
    int64_t wall_ns = interval.end_ns - interval.begin_ns;
    int64_t enough_ns = wall_ns - wall_ns * 4 / 10;
    if (before == NULL || after == NULL || after->end_ns - interval.begin_ns < enough_ns ||
        interval.end_ns - before->end_ns < enough_ns || after->end_ns - before->end_ns < enough_ns) {
        return (struct sbx_usage){.is_known = false};
    }
    return (struct sbx_usage){.is_known = true,
                              .minor = after->minor_faults - before->minor_faults,
                              .major = after->major_faults - before->major_faults,
                              .voluntary = after->voluntary_switches - before->voluntary_switches,
                              .involuntary = after->involuntary_switches - before->involuntary_switches,
                              .span_ns = after->end_ns - before->end_ns,
                              .cpu_ns = before->cpu_ns >= 0 && after->cpu_ns >= before->cpu_ns
                                            ? (double)(after->cpu_ns - before->cpu_ns)
                                            : -1};
}

bool sbx_usage_is_faulting(const struct sbx_usage *usage)
{
    return usage->is_known && usage->major >= SBX_MAJOR_FAULTS_MANY && usage->major * 2 >= usage->voluntary;
}
