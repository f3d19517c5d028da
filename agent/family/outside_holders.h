/* SPDX-License-Identifier: Apache-2.0 */
/* outside_holders.h - the holder, in another process, of what a thread of this one waits for.
 *
 * A mutex between processes has its owner's tid, a lock on a file is in the kernel's list, and who took or let go a semaphore, a condition or a
 * read-write lock is in the family's page (shared_hands.h). The holder is looked up while the wait
 * goes on, and written into the recording (header.holders): the answer may be gone when it has ended. Only waits that have lasted for a
 * while are asked about, each again after longer and longer, and all of them together only so often in a second.
 *
 * The watch thread alone. No allocation, no lock. */
#ifndef SBX_OUTSIDE_HOLDERS_H
#define SBX_OUTSIDE_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>

/* Ask about the waits that are due. `is_trigger`: about all that are open, now. */
void sbx_outside_holders_look(uint64_t now_ns, bool is_trigger);

#endif
