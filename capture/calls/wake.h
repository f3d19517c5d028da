/* SPDX-License-Identifier: Apache-2.0 */
/* wake.h - around a call that may wait for another thread, and before a call that may release a waiter.
 *
 * The wait is a blocking call (blocking_call.h) that also takes a seat in the table of waiters. The release looks at
 * that table. When a thread has waited for long enough, the releasing thread leaves its name at that waiter's seat and
 * records itself, with its stack, as a WAKE record with the wait's id. So a report can say which thread ended a wait
 * and what it was doing, for any thread and any object. */
#ifndef SBX_WAKE_H
#define SBX_WAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "blocking_call.h"
#include "open_calls.h"
#include "waiter_table.h"

enum {
    SBX_WAKE_RECORDS_MOST = 16
}; /* of one release: further waiters learn which thread it was, without a record */

/* Like sbx_blocking_begin(), for a wait that another thread ends. sbx_blocking_end() ends it. `object` is what the
 * releasing side will name: the lock, the wait object, or the descriptor + 1. Keeps errno. */
SBX_HOOK_SAFE void sbx_wait_begin(struct sbx_blocking *call, uint8_t group, uint8_t kind, uint8_t op, uint64_t object,
                                  uint32_t peer);

/* How many waiters a release wakes. */
enum sbx_wake_width {
    SBX_WAKE_ONE = 0,
    SBX_WAKE_ALL = 1
};

/* A thread seems to wait for `object`, which the caller is about to release: look closer. Keeps errno. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_wake_look(uint64_t object, uint8_t op, enum sbx_wake_width width);

/* Call it before every release of `object` (waiter_table.h says why before). When no thread waits, it costs one
 * multiplication and one load. */
SBX_HOOK_SAFE static inline void sbx_wake_check(uint64_t object, uint8_t op, enum sbx_wake_width width)
{
    if (SBX_UNLIKELY(sbx_waiter_is_likely(object))) {
        sbx_wake_look(object, op, width);
    }
}

/* For a release that is known to be one only afterwards, such as the last arrival at a barrier. sbx_wake_prepare()
 * comes before it: it remembers the waiters and leaves the caller's name with them. If it was a release,
 * sbx_wake_record() records it afterwards. `waiters` has room for SBX_WAKE_RECORDS_MOST. */
SBX_HOOK_SAFE uint32_t sbx_wake_prepare(uint64_t object, struct sbx_waiter *waiters, uint32_t *seen_out);
SBX_HOOK_SAFE void sbx_wake_record(const struct sbx_waiter *waiters, uint32_t count, uint32_t seen, uint8_t op);

#endif
