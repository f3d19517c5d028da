/* SPDX-License-Identifier: Apache-2.0 */
/* worker_limits.h - the limits of a process that reads strangers' files. It is forked for that, and does nothing
 * else. */
#ifndef SBX_WORKER_LIMITS_H
#define SBX_WORKER_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* False with a sanitizer, whose runtime takes terabytes of address space and opens files. Then the limits are not
 * set. */
extern const bool sbx_worker_has_limits;

/* Allows only system calls for memory, the present descriptors, the clock, random numbers, signals, threads' locks
 * (futex), and exit. All other system calls fail with EPERM, so that libdw continues without the files that it would
 * open by names in the symbol file. Returns 0 or -errno. */
int sbx_worker_close_doors(void);

/* Set RLIMIT_...; a limit that is lower already stays. */
bool sbx_worker_limit(int resource, uint64_t limit);

#endif
