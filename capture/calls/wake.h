/* SPDX-License-Identifier: Apache-2.0 */
/* wake.h - around a call that may wait for another thread, and before a call that may let one go.
 *
 * The wait is a blocking call (blocking_call.h) that also takes a seat in the table of waiters; the release looks there and,
 * when somebody has waited for long enough, leaves its name with him and records itself, its stack included, as a WAKE
 * record with the wait's id. So a report can say who ended a wait and what he was doing, for any thread and any
 * object. */
#ifndef SBX_WAKE_H
#define SBX_WAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "blocking_call.h"
#include "open_calls.h"
#include "waiter_table.h"

enum {
    SBX_WAKE_RECORDS_MOST = 16
}; /* of one release: its waiters beyond learn who it was, without a record */

/* Like sbx_blocking_begin(), for a wait that another thread ends; sbx_blocking_end() ends it. `object` is what the
 * releasing side will name: the lock, the wait object, the descriptor + 1. Keeps errno. */
SBX_HOOK_SAFE void sbx_wait_begin(struct sbx_blocking *call, uint8_t group, uint8_t kind, uint8_t op, uint64_t object,
                                  uint32_t peer);

/* How many a release lets go. */
enum sbx_wake_width {
    SBX_WAKE_ONE = 0,
    SBX_WAKE_ALL = 1
};

/* Somebody seems to wait for `object`, which the caller is about to release: look closer. Keeps errno. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_wake_look(uint64_t object, uint8_t op, enum sbx_wake_width width);

/* Before every release of `object` (why before: waiter_table.h). When nobody waits: one multiplication, one load. */
SBX_HOOK_SAFE static inline void sbx_wake_check(uint64_t object, uint8_t op, enum sbx_wake_width width)
{
    if (SBX_UNLIKELY(sbx_waiter_is_likely(object))) {
        sbx_wake_look(object, op, width);
    }
}

/* For a release that shows only afterwards that it was one: the last at a barrier. Before, remember who waits and leave
 * the name with them; afterwards, if it was one, record it. `waiters` has room for SBX_WAKE_RECORDS_MOST. */
SBX_HOOK_SAFE uint32_t sbx_wake_prepare(uint64_t object, struct sbx_waiter *waiters, uint32_t *seen_out);
SBX_HOOK_SAFE void sbx_wake_record(const struct sbx_waiter *waiters, uint32_t count, uint32_t seen, uint8_t op);

#endif
