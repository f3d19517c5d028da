/* SPDX-License-Identifier: Apache-2.0 */
/* fd_class.h - what kind of thing a descriptor is: enum sbx_fd_class. */
#ifndef SBX_FD_CLASS_H
#define SBX_FD_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

/* Of descriptor `fd`; UNKNOWN for none. One system call, two for a socket. Sets errno. */
SBX_HOOK_SAFE uint8_t sbx_classify_fd(int fd);

/* The same of what stat(2) says; a socket of either kind is SOCKET. */
SBX_HOOK_SAFE uint8_t sbx_class_of_mode(uint32_t mode);

/* Can a call on the socket or pipe `fd` wait: has it no O_NONBLOCK, or is that not known? One system call. Leaves errno alone. */
SBX_HOOK_SAFE bool sbx_fd_can_wait(int fd);

/* Is it a terminal that somebody types at? Not a serial line. One system call. */
SBX_HOOK_SAFE bool sbx_is_terminal(int fd);

/* The same of a descriptor of thread `tid`, for the watch thread. Two system calls. */
bool sbx_is_terminal_of(uint32_t tid, int fd);

#endif
