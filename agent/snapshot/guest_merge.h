/* SPDX-License-Identifier: Apache-2.0 */
/* guest_merge.h - what a thread waited for and another process held: that one's thread becomes a thread of the snapshot.
 *
 * The header says which process held something (holders), and behind a snapshot lie copies of their recordings (guest_copy.h).
 * Of a guest only those threads are taken that are waited for, and those that these wait for inside of it. Their tids are
 * those of the machine, so who waits names them as it names a thread of its own; a lock on a file has no thread's name, and is
 * put down to the main thread. An address says nothing in another process: a guest's locks are those of its host only where the
 * host waits for them. Private to the reader. */
#ifndef SBX_GUEST_MERGE_H
#define SBX_GUEST_MERGE_H

#include <stdint.h>

#include "marks.h"
#include "snapshot.h"

enum {
    SBX_GUEST_STACK_FIRST = 0x800000, /* callstack ids from here on are of guests: no table has so many nodes a half */
    SBX_GUEST_WORDS_MAX = 1 << 20     /* frames of all their stacks; what is beyond has no stack */
};

/* Add what is known of the holders to `host`, which is whole otherwise; `guests` are read as any recording is, and stay the
 * caller's. Returns 0 or -ENOMEM. */
SBX_MUST_CHECK int sbx_guests_merge(struct sbx_snapshot *host, struct sbx_snapshot *const *guests,
                                    uint32_t guest_count);

#endif
