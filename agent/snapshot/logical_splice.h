/* SPDX-License-Identifier: Apache-2.0 */
/* logical_splice.h - puts logical frames at the places of the interpreter that runs them. Private to the reader.
 *
 * A recorded stack has its logical frames at the leaf end. The frames of each provider go on top of native frames in
 * the code that the provider named or generated. Native code that was called from there stays nearer to the leaf. If
 * the provider marked borders, its frames form runs, one for each native entry into the runtime, and each run is put on
 * its own entry. So script, C and again script appear in the order of their calls. Without marks all frames are put
 * together on top of the innermost entry, in their own order, which is always correct. If there is no such native
 * frame, they stay at the leaf. Frames of generated code are removed where logical frames replace them. */
#ifndef SBX_LOGICAL_SPLICE_H
#define SBX_LOGICAL_SPLICE_H

#include <stddef.h>
#include <stdint.h>

#include "snapshot.h"

/* Put the logical frames of `words` (leaf first, `count` of them, any words) into their places. In a sample that was
 * taken at a safepoint, the native frames nearer to the leaf belong to the provider itself and are removed. `room` has
 * space for `count` words. Returns the new count, which is not larger. */
size_t sbx_logical_splice(const struct sbx_snapshot *snapshot, uint64_t *words, size_t count, uint64_t *room);

#endif
