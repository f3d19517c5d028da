/* SPDX-License-Identifier: Apache-2.0 */
/* code_lookup.h - what the code map knows about an address, in the form of a slot of the walk's cache. */
#ifndef SBX_CODE_LOOKUP_H
#define SBX_CODE_LOOKUP_H

#include "frame_walker.h"

#define SBX_EXACT_KEY (UINT64_C(1) << 63) /* in the pc of a slot */
#define SBX_SKIP_BIT  (UINT32_C(1) << 31) /* in the frame_id of a slot */

/* The lookup of a return address uses the call instruction before it, because the next instruction may belong to
 * another row or function. */
static inline uint64_t sbx_lookup_address(uint64_t pc, bool exact)
{
    return exact ? pc : pc - 1;
}

/* Look up a pc that the cache does not hold. Returns the content for its slot. *pending_out: its rows are not built
 * yet. */
SBX_SIGNAL_SAFE struct sbx_walk_cache_slot sbx_code_look_up(const struct sbx_code_map *map,
                                                            struct sbx_callstack_table *table, uint32_t epoch,
                                                            uint64_t pc, bool exact, bool *pending_out);

#endif
