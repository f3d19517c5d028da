/* SPDX-License-Identifier: Apache-2.0 */
/* logical_splice.h - logical frames put where the interpreter that runs them stands. Private to the reader.
 *
 * A recorded stack has its logical frames at the leaf end. Each provider's go on top of native frames in the code it named
 * or generated; what native code that called lies further in stays there. Where the provider marked borders, its frames are runs, one
 * for each native entry into the runtime, and each stands on its own: so script, C and script again read in the order in which they
 * called. Without marks all stand together on top of the innermost entry, in their own order, which is always right. Without
 * such a native frame they stay at the leaf. Frames of generated code are taken out where logical ones stand for them.
 */
#ifndef SBX_LOGICAL_SPLICE_H
#define SBX_LOGICAL_SPLICE_H

#include <stddef.h>
#include <stdint.h>

#include "snapshot.h"

/* Put the logical frames of `words` (leaf first, `count` of them, any words) into their places. In a sample that a
 * safepoint made, the native frames nearer the leaf than those are the provider's own and are taken out. `room` has
 * space for `count` words. Returns the new count, not above the old. */
size_t sbx_logical_splice(const struct sbx_snapshot *snapshot, uint64_t *words, size_t count, uint64_t *room);

#endif
