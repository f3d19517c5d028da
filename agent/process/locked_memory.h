/* SPDX-License-Identifier: Apache-2.0 */
/* locked_memory.h - programs that lock all their memory below a small limit.
 *
 * mlockall(MCL_CURRENT) asks for as much as the process has mapped, and fails where that is more than RLIMIT_MEMLOCK (mlock(2)).
 * Our maps count to it: a recording alone is 7 MiB, and an ordinary user's limit is 8 MiB under systemd. Nobody can tell the
 * kernel to leave some maps out, so such a program is not recorded. */
#ifndef SBX_LOCKED_MEMORY_H
#define SBX_LOCKED_MEMORY_H

#include <stdbool.h>

/* May our maps make a call of mlockall() fail? True when the limit counts for this process, is below 256 MiB, and a module that
 * is loaded calls that function by name. Takes the loader's lock; some 50 us, and 1 us where the limit does not count. */
bool sbx_may_lock_all_memory(void);

#endif
