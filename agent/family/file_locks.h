/* SPDX-License-Identifier: Apache-2.0 */
/* file_locks.h - the process that holds the lock on a file that another waits for, by the kernel's list (/proc/locks).
 *
 *   2: FLOCK  ADVISORY  WRITE 1757 fe:00:10953472 0 EOF
 *   2: -> FLOCK  ADVISORY  WRITE 1803 fe:00:10953472 0 EOF      waits for the lock above
 *   2:  -> FLOCK  ADVISORY  WRITE 1804 fe:00:10953472 0 EOF     waits behind that one
 *
 *   3: OFDLCK ADVISORY  WRITE -1 fe:00:10953474 0 EOF         of an open file, which several processes may have
 *   3: -> POSIX  ADVISORY  WRITE 1805 fe:00:10953474 0 EOF
 *
 * Pure: the text is the kernel's, and read as untrusted. */
#ifndef SBX_FILE_LOCKS_H
#define SBX_FILE_LOCKS_H

#include <stdint.h>

/* The process that holds the lock that `pid` and the waiters in front of it wait for. `inode` selects one of several waits, and finds one
 * by an open file, which is listed without its process; 0: any. Returns 0 when there is no holder, when it is not listed (an open file's lock,
 * another pid namespace), or when two answers are possible. */
uint32_t sbx_file_lock_holder(const char *text, uint32_t pid, uint64_t inode);

/* The same where an open file holds it: what its line says behind the number, to the line's end, in `text`; NULL: a process does, or none. */
const char *sbx_file_lock_of_open_file(const char *text, uint32_t pid, uint64_t inode);

#endif
