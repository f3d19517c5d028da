/* SPDX-License-Identifier: Apache-2.0 */
/* file_locks.h - finds the process that holds a file lock for which another process waits, in the kernel's list
 * (/proc/locks).
 *
 *   2: FLOCK  ADVISORY  WRITE 1757 fe:00:10953472 0 EOF
 *   2: -> FLOCK  ADVISORY  WRITE 1803 fe:00:10953472 0 EOF      waits for the lock above
 *   2:  -> FLOCK  ADVISORY  WRITE 1804 fe:00:10953472 0 EOF     waits behind that one
 *
 *   3: OFDLCK ADVISORY  WRITE -1 fe:00:10953474 0 EOF         of an open file, which several processes may have
 *   3: -> POSIX  ADVISORY  WRITE 1805 fe:00:10953474 0 EOF
 *
 * Pure functions. The text comes from the kernel, and is parsed as untrusted input. */
#ifndef SBX_FILE_LOCKS_H
#define SBX_FILE_LOCKS_H

#include <stdint.h>

/* The process that holds the lock for which `pid` and the waiters in front of it wait. `inode` selects one of several
 * waits; it is needed to find a waiting open file, which is listed without a process. 0: any file. Returns 0 when there
 * is no holder, when the holder is not listed (an open file's lock, another pid namespace), or when two answers are
 * possible. */
uint32_t sbx_file_lock_holder(const char *text, uint32_t pid, uint64_t inode);

/* The same for a lock that belongs to an open file. Returns the part of its line after the number, up to the line's
 * end, in `text`. NULL: a process holds the lock, or there is no such lock. */
const char *sbx_file_lock_of_open_file(const char *text, uint32_t pid, uint64_t inode);

#endif
