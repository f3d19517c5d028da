/* SPDX-License-Identifier: Apache-2.0 */
/* file_locks.h - the process that holds the lock on a file that another waits for, by the kernel's list (/proc/locks).
 *
 *   2: FLOCK  ADVISORY  WRITE 1757 fe:00:10953472 0 EOF
 *   2: -> FLOCK  ADVISORY  WRITE 1803 fe:00:10953472 0 EOF      waits for the lock above
 *   2:  -> FLOCK  ADVISORY  WRITE 1804 fe:00:10953472 0 EOF     waits behind that one
 *
 * Pure: the text is the kernel's, and read as untrusted. */
#ifndef SBX_FILE_LOCKS_H
#define SBX_FILE_LOCKS_H

#include <stdint.h>

/* The process that holds the lock that `pid` and the waiters in front of it wait for. `inode` selects one of several waits;
 * 0: any. Returns 0 when there is no holder, when it is not listed (an open file description's lock, another pid namespace),
 * or when two answers are possible. */
uint32_t sbx_file_lock_holder(const char *text, uint32_t pid, uint64_t inode);

#endif
