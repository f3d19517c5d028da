/* SPDX-License-Identifier: Apache-2.0 */
/* other_end.h - which process of the family has the other end of a pipe or of a pair of sockets.
 *
 * A pipe has one number, by which every process's list of descriptors (/proc/PID/fd) names it, and the permissions of that name
 * say which end it is. Of two sockets the kernel tells the number of the one that a socket is connected to (sock_diag(7)).
 * Whoever alone has that end is the one: where several have it, or this process itself, nobody is named.
 *
 * The watch thread alone. No allocation, no lock; so many descriptors are looked at for a question, and no more. */
#ifndef SBX_OTHER_END_H
#define SBX_OTHER_END_H

#include <stdbool.h>
#include <stdint.h>

/* Descriptor `fd` of thread `tid` of this process: which of the `count` processes `pids` has its other end. `for_reading`: the
 * thread wants to read from it; `may_ask`: the kernel may be asked about sockets, by calls that no filter was judged for. 0: none, several, or it is no pipe and no such socket. */
uint32_t sbx_other_end_find(uint32_t tid, int fd, bool for_reading, bool may_ask, const uint32_t *pids, uint32_t count);

#endif
