/* SPDX-License-Identifier: Apache-2.0 */
/* redaction_work.h - state that the steps of one redaction share, and functions that make a number relative. */
#ifndef SBX_REDACTION_WORK_H
#define SBX_REDACTION_WORK_H

#include "callstack_forest.h"
#include "redacted.h"

enum {
    SBX_THREAD_NOT_KEPT = UINT32_MAX,
};

/* The state of one redaction. */
struct sbx_redaction_work {
    const struct sbx_snapshot *snapshot;
    const struct sbx_redaction *redaction;
    struct sbx_redacted *redacted;
    uint64_t now_ns;     /* the trigger's end, from which all times are counted */
    bool *kept;          /* by record of the snapshot */
    uint32_t *ordinal;   /* by thread of the snapshot, or SBX_THREAD_NOT_KEPT */
    uint32_t *thread_of; /* by ordinal: thread of the snapshot */
    uint8_t *verdicts;   /* by module of the snapshot */
    struct sbx_ordinal_map objects, waits;
    struct sbx_callstack_forest forest;
};

/* Rounds to the nearest microsecond. The recording rounds all times but those of samples down by less than half a
 * microsecond (record_codec.h). So such a time comes back exactly. */
int64_t sbx_redaction_us(int64_t ns);

/* Returns microseconds from the trigger's end, at most an hour. begin <= end stays true. */
int64_t sbx_redaction_relative_us(const struct sbx_redaction_work *work, uint64_t at_ns);

/* Returns a duration in microseconds, at most an hour. */
uint64_t sbx_redaction_longest_us(uint64_t ns);

/* Limits a number to what a payload may contain. */
uint64_t sbx_redaction_bounded(uint64_t value);

/* Did the process die with the trigger (killed or crashed)? */
bool sbx_redaction_died(const struct sbx_snapshot *snapshot);

/* Finds the thread of the snapshot with kernel id `tid`. If the id was used twice, it finds the living thread. */
bool sbx_redaction_find_tid(const struct sbx_snapshot *snapshot, uint32_t tid, uint32_t *thread_out);

/* Returns ordinal + 1 of the thread with kernel id `tid`; 0: it is not kept. */
uint32_t sbx_redaction_peer(const struct sbx_redaction_work *work, uint32_t tid);

/* Gets ordinal + 1 of a lock or descriptor. From detail level 2 on, it shows which records share one. */
int sbx_redaction_object(struct sbx_redaction_work *work, uint64_t object, uint32_t *object_out);

#endif
