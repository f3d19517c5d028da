/* SPDX-License-Identifier: Apache-2.0 */
/* fd_class.h - what kind of thing a descriptor is: enum sbx_fd_class. */
#ifndef SBX_FD_CLASS_H
#define SBX_FD_CLASS_H

#include <stdint.h>

#include "marks.h"

/* Of descriptor `fd`; UNKNOWN for none. One system call, two for a socket. Sets errno. */
SBX_HOOK_SAFE uint8_t sbx_classify_fd(int fd);

/* The same of what stat(2) says; a socket of either kind is SOCKET. */
SBX_HOOK_SAFE uint8_t sbx_class_of_mode(uint32_t mode);

#endif
