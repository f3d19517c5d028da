/* SPDX-License-Identifier: Apache-2.0 */
/* generated_code.c - the list of ranges. */
#include "generated_code.h"

#include <stddef.h>

#include "order.h"

static struct sbx_generated_range ranges[SBX_GENERATED_RANGES_MAX];
static uint32_t range_count;

bool sbx_generated_add(const struct sbx_generated_range *range)
{
    uint32_t count = sbx_load_relaxed(&range_count); /* relaxed: only one caller adds at a time */
    if (count == SBX_GENERATED_RANGES_MAX) {
        return false;
    }
    ranges[count] = *range;
    sbx_store_release(&range_count, count + 1); /* order: release generated.count - the range is whole */
    return true;
}

SBX_SIGNAL_SAFE const struct sbx_generated_range *sbx_generated_find(uint64_t address)
{
    uint32_t count = sbx_load_acquire(&range_count); /* order: acquire generated.count */
    for (uint32_t i = 0; i < count; i++) {
        if (address >= ranges[i].begin && address < ranges[i].end) {
            return &ranges[i];
        }
    }
    return NULL;
}
