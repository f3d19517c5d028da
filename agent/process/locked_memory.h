/* SPDX-License-Identifier: Apache-2.0 */
/* locked_memory.h - programs that lock all their memory below a small limit.
 *
 * mlockall(MCL_CURRENT) locks everything that the process has mapped, and fails if this is more than RLIMIT_MEMLOCK
 * (mlock(2)). Our mappings count: a recording alone is 7 MiB, and an ordinary user's limit is 8 MiB under systemd. The
 * kernel has no way to exclude mappings from it, so such a program is not recorded. */
#ifndef SBX_LOCKED_MEMORY_H
#define SBX_LOCKED_MEMORY_H

#include <stdbool.h>

/* Could our mappings make a call of mlockall() fail? True when the limit applies to this process and is below 256 MiB,
 * and a loaded module calls that function by name. Takes the loader's lock; costs some 50 us, and 1 us when the limit
 * does not apply. */
bool sbx_may_lock_all_memory(void);

#endif
