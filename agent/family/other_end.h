/* SPDX-License-Identifier: Apache-2.0 */
/* other_end.h - finds the process of the family that has the other end of a pipe or of a socket pair.
 *
 * A pipe has one inode number, which every process's list of descriptors (/proc/PID/fd) shows, and the permissions of
 * the link tell which end it is. For a local socket the kernel returns the inode number of the socket that it is
 * connected to (sock_diag(7)). If exactly one process has the other end, it is named. If several have it, or this
 * process itself, none is named.
 *
 * Watch thread only. No allocation, no lock. The number of descriptors examined for one question is limited. */
#ifndef SBX_OTHER_END_H
#define SBX_OTHER_END_H

#include <stdbool.h>
#include <stdint.h>

/* Which of the `count` processes `pids` has the other end of descriptor `fd` of thread `tid` of this process?
 * `for_reading`: the thread wants to read from it. `may_ask`: the kernel may be asked about sockets, by system calls
 * for which no filter was judged. Returns 0 when none has it, when several have it, or when it is neither a pipe nor
 * such a socket. */
uint32_t sbx_other_end_find(uint32_t tid, int fd, bool for_reading, bool may_ask, const uint32_t *pids, uint32_t count);

#endif
