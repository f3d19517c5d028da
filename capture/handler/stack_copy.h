/* SPDX-License-Identifier: Apache-2.0 */
/* stack_copy.h - memory of this process copied by the kernel: what is not there is a shorter copy, and not a fault. */
#ifndef SBX_STACK_COPY_H
#define SBX_STACK_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "marks.h"

/* Find out how memory can be copied here. Single-threaded start-up. */
void sbx_copy_stack_start(void);

/* Copy at most SBX_STACK_COPY_BYTES of this process's memory from `from` on into `to`, which has that room. Returns how
 * many bytes there were. One system call; memory that is not there ends the copy where a load would fault. */
SBX_SIGNAL_SAFE size_t sbx_copy_stack(uint64_t from, size_t bytes, uint8_t *to);

#endif
