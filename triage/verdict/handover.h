/* SPDX-License-Identifier: Apache-2.0 */
/* handover.h - for a pool that is known by its condition alone: the thread that ended another's wait for work, before that work. Pure.
 *
 * A thread that puts an item into a pool's list wakes a thread for it, and that wake is recorded with the waker's stack. So where no queue is
 * known, the wake says which thread asked for the work done next. It is a wait for work, and not for a result:
 *
 *   HO1  of the place to which the thread keeps coming back (SBX_RECORD_IDLE), or, where no such place is known of it and it is not the
 *        main thread, any for a condition, a semaphore, an eventfd or a futex;
 *   HO2  the thread's last such wait that began before the span, and ended before a tenth of the span was over, and not longer before the span than the span is long;
 *   HO3  ended by a thread that signalled, posted or woke. */
#ifndef SBX_HANDOVER_H
#define SBX_HANDOVER_H

#include "judgement.h"

struct sbx_handover {
    const struct sbx_stall_record *wait; /* of the thread that was woken */
    const struct sbx_stall_record *wake; /* of the thread that woke it */
};

/* For the thread's work in the span. False: the waker is not known. */
bool sbx_handover_find(const struct sbx_stall *stall, uint32_t thread, struct sbx_interval span,
                       struct sbx_handover *handover_out);

#endif
