/* SPDX-License-Identifier: Apache-2.0 */
/* redaction_work.h - what the steps of one redaction share: what they work with, and how a number is made relative. */
#ifndef SBX_REDACTION_WORK_H
#define SBX_REDACTION_WORK_H

#include "callstack_forest.h"
#include "redacted.h"

enum {
    SBX_THREAD_NOT_KEPT = UINT32_MAX,
};

/* Everything one redaction works with. */
struct sbx_redaction_work {
    const struct sbx_snapshot *snapshot;
    const struct sbx_redaction *redaction;
    struct sbx_redacted *redacted;
    uint64_t now_ns;     /* the trigger's end: zero of every time */
    bool *kept;          /* by record of the snapshot */
    uint32_t *ordinal;   /* by thread of the snapshot, or SBX_THREAD_NOT_KEPT */
    uint32_t *thread_of; /* by ordinal: thread of the snapshot */
    uint8_t *verdicts;   /* by module of the snapshot */
    struct sbx_ordinal_map objects, waits;
    struct sbx_callstack_forest forest;
};

/* To the nearest: a time that the recording rounded down by less than half of it (record_codec.h: all but those of samples)
 * comes back right. */
int64_t sbx_redaction_us(int64_t ns);

/* Microseconds from the trigger's end, within an hour of it; begin <= end stays true. */
int64_t sbx_redaction_relative_us(const struct sbx_redaction_work *work, uint64_t at_ns);

/* A duration in microseconds, an hour at most. */
uint64_t sbx_redaction_longest_us(uint64_t ns);

/* A number that a payload may have. */
uint64_t sbx_redaction_bounded(uint64_t value);

/* Whether the process did not outlive the trigger. */
bool sbx_redaction_died(const struct sbx_snapshot *snapshot);

/* The thread of the snapshot with kernel id `tid`, the living one when the number was used twice. */
bool sbx_redaction_find_tid(const struct sbx_snapshot *snapshot, uint32_t tid, uint32_t *thread_out);

/* Ordinal + 1 of the thread with kernel id `tid`; 0 when it is not among those kept. */
uint32_t sbx_redaction_peer(const struct sbx_redaction_work *work, uint32_t tid);

/* Ordinal + 1 of a lock or descriptor; which records share one is told from detail level 2 on. */
int sbx_redaction_object(struct sbx_redaction_work *work, uint64_t object, uint32_t *object_out);

#endif
