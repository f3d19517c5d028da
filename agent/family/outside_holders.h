/* SPDX-License-Identifier: Apache-2.0 */
/* outside_holders.h - finds the holder, in another process, of what a thread of this process waits for.
 *
 * A mutex shared between processes contains its owner's tid. A lock on a file is in the kernel's list. The last user of
 * a semaphore, a condition or a read-write lock is in the family's page (shared_hands.h). The holder is looked up while
 * the wait goes on, and written into the recording (header.holders), because the answer may be gone when the wait has
 * ended. Only waits that have lasted for a while are looked up, each again at growing intervals, and the number of
 * look-ups in a second is limited.
 *
 * Watch thread only. No allocation, no lock. */
#ifndef SBX_OUTSIDE_HOLDERS_H
#define SBX_OUTSIDE_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>

/* Look up the waits that are due. `is_trigger`: all open waits, now. */
void sbx_outside_holders_look(uint64_t now_ns, bool is_trigger);

#endif
