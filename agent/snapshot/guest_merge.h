/* SPDX-License-Identifier: Apache-2.0 */
/* guest_merge.h - adds the threads of another process that held what a thread of the snapshot waited for.
 *
 * The header says which process held something (holders), and copies of the holders' recordings lie behind a snapshot
 * (guest_copy.h). Of a guest only those threads are taken for which a thread waits, and those for which these wait
 * inside the guest. Tids are unique on the machine, so a wait names a guest's thread as it names a thread of its own
 * process. A lock on a file belongs to no thread and is attributed to the main thread. An address has no meaning in
 * another process, so a guest's lock is taken for a lock of the host only if the host waits for it. Private to the
 * reader. */
#ifndef SBX_GUEST_MERGE_H
#define SBX_GUEST_MERGE_H

#include <stdint.h>

#include "marks.h"
#include "snapshot.h"

enum {
    SBX_GUEST_STACK_FIRST = 0x800000, /* callstack ids from here on are of guests: no half of a table is so large */
    SBX_GUEST_WORDS_MAX = 1 << 20     /* frames of all their stacks; further stacks are left out */
};

/* Add what is known of the holders to `host`, which is complete otherwise. `guests` are read like any recording, and
 * stay the caller's. Returns 0 or -ENOMEM. */
SBX_MUST_CHECK int sbx_guests_merge(struct sbx_snapshot *host, struct sbx_snapshot *const *guests,
                                    uint32_t guest_count);

#endif
