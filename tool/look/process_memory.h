/* SPDX-License-Identifier: Apache-2.0 */
/* process_memory.h - memory of another process, read without stopping it. */
#ifndef SBX_PROCESS_MEMORY_H
#define SBX_PROCESS_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Put the `bytes` at `address` of process `pid` into `to`: all of them (0), or -errno (-EFAULT: not all are mapped; -EPERM,
 * -ESRCH). Bytes read at different moments may not fit together: the process goes on. */
int sbx_process_memory_read(pid_t pid, uint64_t address, void *to, size_t bytes);

/* As many of the bytes as are there from `address` on; returns how many (0: none). */
size_t sbx_process_memory_read_some(pid_t pid, uint64_t address, void *to, size_t bytes);

/* A text of at most `bytes` - 1, ended by NUL. False when it cannot be read or has no end. */
int sbx_process_memory_read_text(pid_t pid, uint64_t address, char *to, size_t bytes);

#endif
