/* SPDX-License-Identifier: Apache-2.0 */
/* qt_unfollowed.h - the items in Qt's queues that are counted but not followed: events, and work of its pools, whose
 * begin or removal is seen.
 *
 * They are known by an address, or by another number that both sides know. There is room for some 2,048. An item for
 * which there is no room counts as cancelled at once. */
#ifndef SBX_QT_UNFOLLOWED_H
#define SBX_QT_UNFOLLOWED_H

#include <stdint.h>

#include "marks.h"

/* `what` (above 1) was queued with this id, which leads to its queue's counts. Any thread. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_qt_keep_unfollowed(uint64_t what, uint64_t task);

/* Takes out the id of the item's task; 0: it is followed, or was not queued. Any thread. */
SBX_HOOK_SAFE uint64_t sbx_qt_take_unfollowed(uint64_t what);

#endif
