/* SPDX-License-Identifier: Apache-2.0 */
/* handover.h - for a pool that is known only by its condition: the thread that ended another thread's wait for work,
 * before that work. Pure.
 *
 * A thread that puts an item into a pool's list wakes a thread for it. That wake is recorded with the waker's stack. So
 * if no queue is known, the wake tells which thread asked for the work done next. A wait is one for work, and not for a
 * result, if:
 *
 *   HO1  it is a wait at the place to which the thread keeps coming back (SBX_RECORD_IDLE). If no such place of the
 *        thread is known and it is not the main thread: any wait for a condition, a semaphore, an eventfd or a futex;
 *   HO2  it is the thread's last such wait that began before the span. It ended before a tenth of the span was over,
 *        and no longer before the span than the span is long;
 *   HO3  a thread that signalled, posted or woke ended it. */
#ifndef SBX_HANDOVER_H
#define SBX_HANDOVER_H

#include "judgement.h"

struct sbx_handover {
    const struct sbx_stall_record *wait; /* of the woken thread */
    const struct sbx_stall_record *wake; /* of the waking thread */
};

/* Find it for the thread's work in the span. False: the waker is not known. */
bool sbx_handover_find(const struct sbx_stall *stall, uint32_t thread, struct sbx_interval span,
                       struct sbx_handover *handover_out);

#endif
