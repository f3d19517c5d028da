/* SPDX-License-Identifier: Apache-2.0 */
/* open_file_locks.h - which process of the family has the open file that a lock belongs to (fcntl(2), F_OFD_SETLK).
 *
 * Such a lock is nobody's: the kernel's list shows it without a process, but beside each descriptor of that open file (/proc/PID/fdinfo).
 * Whoever alone has one is the holder; where several have it, as after a fork, or this process itself, nobody is named.
 *
 * The watch thread alone. No allocation, no lock; so many descriptors are looked at for a question, and no more. */
#ifndef SBX_OPEN_FILE_LOCKS_H
#define SBX_OPEN_FILE_LOCKS_H

#include <stdint.h>

/* `lock`: what /proc/locks says behind its number, to the line's end (file_locks.h). Which of the `count` processes `pids` has it; 0: none, or
 * several. */
uint32_t sbx_open_file_lock_find(const char *lock, const uint32_t *pids, uint32_t count);

#endif
