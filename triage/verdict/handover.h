/* SPDX-License-Identifier: Apache-2.0 */
/* handover.h - of a pool that is known by its condition alone: who let a thread go, from its wait for work, before what it did. Pure.
 *
 * Who puts an item into a pool's list wakes a thread for it, and that wake is recorded with the stack of who did it. So where no queue is
 * known, it says who asked for the work that a thread did next. It is a wait for work, and not for a result:
 *
 *   HO1  of the place to which the thread keeps coming back (SBX_RECORD_IDLE), or, where no such place is known of it and it is not the
 *        main thread, any for a condition, a semaphore, an eventfd or a futex;
 *   HO2  the thread's last such wait that ended before a tenth of the span was over, and not longer before the span than the span is long;
 *   HO3  ended by a thread that signalled, posted or woke. */
#ifndef SBX_HANDOVER_H
#define SBX_HANDOVER_H

#include "judgement.h"

struct sbx_handover {
    const struct sbx_stall_record *wait; /* of the thread that was let go */
    const struct sbx_stall_record *wake; /* and of who did that */
};

/* For what the thread did in the span. False: nobody is known. */
bool sbx_handover_find(const struct sbx_stall *stall, uint32_t thread, struct sbx_interval span,
                       struct sbx_handover *handover_out);

#endif
