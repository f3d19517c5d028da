/* SPDX-License-Identifier: Apache-2.0 */
/* code_lookup.c - finds in the code map what a walk needs to know about an address.
 *
 * Runs in hooks and handlers, as the walk does. It calls only the row lookup and the frame table. */
#include "code_lookup.h"

const struct sbx_code_range *sbx_code_map_find(const struct sbx_code_map *map, uint64_t address)
{
    uint32_t low = 0;
    uint32_t high = map->count;
    while (low < high) { /* the first range that begins behind the address */
        uint32_t middle = low + (high - low) / 2;
        if (map->ranges[middle].start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0 || address >= map->ranges[low - 1].end) {
        return NULL;
    }
    return &map->ranges[low - 1];
}

/* The trampoline has two instructions. Neither of them has changed sp or a register of the frame yet. */
static bool is_signal_return(const struct sbx_code_map *map, uint64_t pc)
{
    return SBX_HAS_LINK_REGISTER && map->signal_return != 0 && pc - map->signal_return < 8;
}

struct sbx_walk_cache_slot sbx_code_look_up(const struct sbx_code_map *map, struct sbx_callstack_table *table,
                                            uint32_t epoch, uint64_t pc, bool exact, bool *pending_out)
{
    struct sbx_walk_cache_slot found = {.pc = pc | (exact ? SBX_EXACT_KEY : 0), .rule = SBX_RULE_NO_MODULE};
    const struct sbx_code_range *range = sbx_code_map_find(map, sbx_lookup_address(pc, exact));
    *pending_out = false;
    if (range == NULL) {
        if (is_signal_return(map, pc)) {
            found.rule = SBX_RULE_SIGNAL;
        }
        found.frame_id = sbx_frame_intern(table, epoch, sbx_frame_word(SBX_MODULE_NONE, 0, 0));
        return found;
    }
    found.rule = SBX_RULE_NONE;
    if (is_signal_return(map, pc)) {
        found.rule = SBX_RULE_SIGNAL; /* the aarch64 kernel gives no row for it */
    } else if (range->rows != NULL) {
        found.rule = sbx_unwind_rows_find(range->rows, sbx_lookup_address(pc, exact) - range->bias);
    } else if (range->flags & SBX_CODE_ROWS_PENDING) {
        *pending_out = true;
    }
    found.frame_id = sbx_frame_intern(table, epoch, sbx_frame_word(range->module, pc - range->bias, exact));
    if (found.frame_id != 0 && (range->flags & SBX_CODE_SKIP)) {
        found.frame_id |= SBX_SKIP_BIT;
    }
    return found;
}
