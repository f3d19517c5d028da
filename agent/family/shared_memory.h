/* SPDX-License-Identifier: Apache-2.0 */
/* shared_memory.h - is an address the same memory in two processes?
 *
 * Processes that fork from one another have most of their memory at the same addresses, and share little of it. The kernel's list of what a
 * process has mapped (/proc/PID/maps) names the file behind a shared mapping; memory without a name has a file of its own in
 * the kernel, with a number.
 *
 * The watch thread alone. No allocation, no lock. A line of the list costs some 0.2 us; so many are read, and no more. */
#ifndef SBX_SHARED_MEMORY_H
#define SBX_SHARED_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Is `address` in process `pid` the memory that it is here? False also where that may not be looked at. */
bool sbx_memory_is_shared(uint64_t address, uint32_t pid);

#endif
