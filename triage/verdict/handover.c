/* SPDX-License-Identifier: Apache-2.0 */
/* handover.c - which thread woke a pool's thread. */
#include "handover.h"

#include "names.h"

enum {
    SHARE_OF_SPAN = 10 /* HO2 */
};

/* HO1. */
static bool has_place_for_work(const struct sbx_stall *stall, const struct sbx_stall_thread *thread)
{
    for (size_t i = 0; i < thread->record_count; i++) {
        if (stall->records[thread->record_begin + i].kind == SBX_RECORD_IDLE) {
            return true;
        }
    }
    return false;
}

/* HO3. */
static bool hands_over(const struct sbx_stall_record *wake)
{
    return wake->op == SBX_OP_COND_SIGNAL || wake->op == SBX_OP_COND_BROADCAST || wake->op == SBX_OP_SEM_POST ||
           wake->op == SBX_OP_EVENTFD_WRITE || wake->op == SBX_OP_FUTEX_WAKE;
}

bool sbx_handover_find(const struct sbx_stall *stall, uint32_t thread, struct sbx_interval span,
                       struct sbx_handover *handover_out)
{
    const struct sbx_stall_thread *self = &stall->threads[thread];
    bool is_placed = has_place_for_work(stall, self);
    int64_t length_ns = span.end_ns - span.begin_ns;
    const struct sbx_stall_record *wait = NULL;
    for (size_t i = 0; i < self->record_count && (is_placed || !self->is_main); i++) { /* in the order of their ends */
        const struct sbx_stall_record *record = &stall->records[self->record_begin + i];
        bool is_for_work = is_placed ? record->kind == SBX_RECORD_IDLE
                                     : record->kind == SBX_RECORD_COND || record->kind == SBX_RECORD_WAIT;
        if (is_for_work && record->begin_ns <= span.begin_ns &&
            record->end_ns <= span.begin_ns + length_ns / SHARE_OF_SPAN) {
            wait = record;
        }
    }
    if (wait == NULL || wait->wait == 0 || wait->end_ns < span.begin_ns - length_ns) {
        return false;
    }
    for (size_t i = 0; i < stall->record_count; i++) {
        const struct sbx_stall_record *wake = &stall->records[i];
        if (wake->kind == SBX_RECORD_WAKE && wake->wait == wait->wait && wake->thread != thread && hands_over(wake)) {
            *handover_out = (struct sbx_handover){wait, wake};
            return true;
        }
    }
    return false;
}
