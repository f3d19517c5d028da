/* SPDX-License-Identifier: Apache-2.0 */
/* code_lookup.h - what the code map says of an address, for the slot that a walk's cache keeps of it. */
#ifndef SBX_CODE_LOOKUP_H
#define SBX_CODE_LOOKUP_H

#include "frame_walker.h"

#define SBX_EXACT_KEY (UINT64_C(1) << 63) /* of a slot's pc */
#define SBX_SKIP_BIT  (UINT32_C(1) << 31) /* of a slot's frame_id */

/* A return address is looked up by the call before it: the next instruction may belong to another row or function. */
static inline uint64_t sbx_lookup_address(uint64_t pc, bool exact)
{
    return exact ? pc : pc - 1;
}

/* Find out what the cache does not know. Returns the slot's content; *pending_out: the rows are not there yet. */
SBX_SIGNAL_SAFE struct sbx_walk_cache_slot sbx_code_look_up(const struct sbx_code_map *map,
                                                            struct sbx_callstack_table *table, uint32_t epoch,
                                                            uint64_t pc, bool exact, bool *pending_out);

#endif
