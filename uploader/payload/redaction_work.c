/* SPDX-License-Identifier: Apache-2.0 */
/* redaction_work.c - makes a number relative to something inside the payload. */
#include "redaction_work.h"

#define NS_PER_US INT64_C(1000)

int64_t sbx_redaction_us(int64_t ns)
{
    const int64_t half = NS_PER_US / 2;
    int64_t us = ns / NS_PER_US, rest = ns % NS_PER_US; /* rest has the sign of ns */
    return us + (rest >= half) - (rest < -half);
}

int64_t sbx_redaction_relative_us(const struct sbx_redaction_work *work, uint64_t at_ns)
{
    int64_t us = sbx_redaction_us((int64_t)(at_ns - work->now_ns));
    const int64_t bound = (int64_t)SBX_LONGEST_US;
    return us < -bound ? -bound : us > bound ? bound : us;
}

uint64_t sbx_redaction_longest_us(uint64_t ns)
{
    uint64_t us = ns / (uint64_t)NS_PER_US;
    return us < SBX_LONGEST_US ? us : SBX_LONGEST_US;
}

uint64_t sbx_redaction_bounded(uint64_t value)
{
    return value < SBX_NUMBER_MAX ? value : SBX_NUMBER_MAX;
}

bool sbx_redaction_died(const struct sbx_snapshot *snapshot)
{
    uint32_t kind = snapshot->header.trigger.kind;
    return kind == SBX_TRIGGER_KILLED || kind == SBX_TRIGGER_CRASH;
}

bool sbx_redaction_find_tid(const struct sbx_snapshot *snapshot, uint32_t tid, uint32_t *thread_out)
{
    bool found = false;
    for (uint32_t i = 0; i < snapshot->thread_count && tid != 0; i++) {
        const struct sbx_thread_entry *entry = &snapshot->threads[i].entry;
        if (entry->tid == tid && (!found || entry->state == SBX_THREAD_LIVE)) {
            found = true;
            *thread_out = i;
        }
    }
    return found;
}

uint32_t sbx_redaction_peer(const struct sbx_redaction_work *work, uint32_t tid)
{
    uint32_t thread = 0;
    if (!sbx_redaction_find_tid(work->snapshot, tid, &thread) || work->ordinal[thread] == SBX_THREAD_NOT_KEPT) {
        return 0;
    }
    return work->ordinal[thread] + 1;
}

int sbx_redaction_object(struct sbx_redaction_work *work, uint64_t object, uint32_t *object_out)
{
    *object_out = 0;
    if (object == 0 || work->redaction->detail_level < 2) {
        return 0;
    }
    int result = sbx_ordinal_map_put(&work->objects, object, object_out, NULL);
    *object_out += 1;
    return result;
}
