/* SPDX-License-Identifier: Apache-2.0 */
/* callstack_reader.h - the callstack table of a snapshot: cleaned once, then followed. Private to the reader. */
#ifndef SBX_CALLSTACK_READER_H
#define SBX_CALLSTACK_READER_H

#include <stdint.h>

#include "snapshot.h"

enum {
    SBX_STACK_DEPTH_MAX = 1024
}; /* twice what the walker keeps: deeper chains are damage */

/* Clear every node that cannot be trusted: its epoch is not the current or the previous one, its frame is unknown, or
 * its chain of parents does not lead to an outermost frame within SBX_STACK_DEPTH_MAX steps. Also remove the epochs'
 * tags from the frames, clear frames of other epochs, and turn frames of modules that are not in the module list, and
 * logical frames of unknown providers or functions, into SBX_MODULE_NONE. After that, a node that is not 0 is the leaf
 * of a complete stack. Returns 0 or -ENOMEM. */
SBX_MUST_CHECK int sbx_callstacks_clean(struct sbx_snapshot *snapshot);

/* The index in snapshot->nodes of a cleaned table where callstack `stack` begins; 0 if it has no valid node. */
uint32_t sbx_callstack_find(const struct sbx_snapshot *snapshot, uint32_t stack);

/* Returns `stack` if it was valid for an event at `when_ns`, else 0. The overflow id is kept. */
uint32_t sbx_callstack_check(const struct sbx_snapshot *snapshot, uint32_t stack, uint64_t when_ns);

#endif
