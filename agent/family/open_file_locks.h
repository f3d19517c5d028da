/* SPDX-License-Identifier: Apache-2.0 */
/* open_file_locks.h - finds the process of the family that has the open file to which a lock belongs (fcntl(2),
 * F_OFD_SETLK).
 *
 * Such a lock belongs to an open file and not to a process. The kernel's list of locks shows it without a process, but
 * /proc/PID/fdinfo shows it beside each descriptor of that open file. If exactly one process has such a descriptor, it
 * is the holder. If several have one, as after a fork, or if this process has one, no holder is named.
 *
 * Watch thread only. No allocation, no lock. The number of descriptors examined for one question is limited. */
#ifndef SBX_OPEN_FILE_LOCKS_H
#define SBX_OPEN_FILE_LOCKS_H

#include <stdint.h>

/* Which of the `count` processes `pids` has the lock? `lock`: the text of /proc/locks after the number, up to the
 * line's end (file_locks.h). Returns 0 when none has it, or several. */
uint32_t sbx_open_file_lock_find(const char *lock, const uint32_t *pids, uint32_t count);

#endif
