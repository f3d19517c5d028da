/* SPDX-License-Identifier: Apache-2.0 */
/* fd_class.h - what kind of thing a descriptor is: enum sbx_fd_class. */
#ifndef SBX_FD_CLASS_H
#define SBX_FD_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

/* The class of descriptor `fd`; UNKNOWN if there is none. One system call, two for a socket. May change errno. */
SBX_HOOK_SAFE uint8_t sbx_classify_fd(int fd);

/* The same from the result of stat(2). A socket of any kind is SOCKET. */
SBX_HOOK_SAFE uint8_t sbx_class_of_mode(uint32_t mode);

/* Can a call on the socket or pipe `fd` wait? Yes if it has no O_NONBLOCK, or if that is not known. One system call.
 * Leaves errno alone. */
SBX_HOOK_SAFE bool sbx_fd_can_wait(int fd);

/* Is `fd` a terminal that a person types at? A serial line is not. One system call. */
SBX_HOOK_SAFE bool sbx_is_terminal(int fd);

/* The same for a descriptor of thread `tid`, for the watch thread. One system call. */
bool sbx_is_terminal_of(uint32_t tid, int fd);

#endif
