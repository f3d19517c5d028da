/* SPDX-License-Identifier: Apache-2.0 */
/* poll_at_once.h - does a poll call that is about to be made return at once?
 *
 * Asked in a forked child whose recorder has not begun: where the call waits, the start costs its thread nothing (agent/forked_child.h). */
#ifndef SBX_POLL_AT_ONCE_H
#define SBX_POLL_AT_ONCE_H

#include <stdbool.h>

#include "marks.h"
#include "poll_set.h"

/* It has no time to wait, or one of its descriptors is ready. False for select(), of which that is not known. One system call. Leaves errno
 * alone. */
SBX_HOOK_SAFE bool sbx_poll_is_at_once(const struct sbx_polled *polled);

#endif
