/* SPDX-License-Identifier: Apache-2.0 */
/* stack_copy.h - memory of this process copied by the kernel: where memory is missing, the copy is shorter and nothing
 * faults. */
#ifndef SBX_STACK_COPY_H
#define SBX_STACK_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "marks.h"

/* Find out how memory can be copied on this system. Called at start-up, while there is one thread. */
void sbx_copy_stack_start(void);

/* Copy at most SBX_STACK_COPY_BYTES of this process's memory from `from` on into `to`, which has room for them. Returns
 * how many bytes were copied. One system call. The copy ends where a load would fault. */
SBX_SIGNAL_SAFE size_t sbx_copy_stack(uint64_t from, size_t bytes, uint8_t *to);

#endif
