/* SPDX-License-Identifier: Apache-2.0 */
/* process_memory.h - reads memory of another process without stopping it. */
#ifndef SBX_PROCESS_MEMORY_H
#define SBX_PROCESS_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Read `bytes` bytes at `address` of process `pid` into `to`. Returns 0 for all of them, or -errno (-EFAULT: not all
 * are mapped; -EPERM, -ESRCH). The process goes on, so bytes read at different moments may not fit together. */
int sbx_process_memory_read(pid_t pid, uint64_t address, void *to, size_t bytes);

/* Read the bytes that exist from `address` on; returns their number (0: none). */
size_t sbx_process_memory_read_some(pid_t pid, uint64_t address, void *to, size_t bytes);

/* Read a text of at most `bytes` - 1, ended by NUL. False when it cannot be read or has no end. */
int sbx_process_memory_read_text(pid_t pid, uint64_t address, char *to, size_t bytes);

#endif
