/* SPDX-License-Identifier: Apache-2.0 */
/* shared_memory.h - is an address the same memory in two processes?
 *
 * Processes that fork from one another have most of their memory at the same addresses, and share little of it. The
 * kernel's list of a process's mappings (/proc/PID/maps) names the file behind a shared mapping. For anonymous shared
 * memory the kernel makes an internal file, which has an inode number.
 *
 * Watch thread only. No allocation, no lock. A line of the list costs some 0.2 us; the number of lines read is
 * limited. */
#ifndef SBX_SHARED_MEMORY_H
#define SBX_SHARED_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Is `address` in process `pid` the same memory as in this process? Also false when this may not be read. */
bool sbx_memory_is_shared(uint64_t address, uint32_t pid);

#endif
