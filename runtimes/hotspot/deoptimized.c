/* SPDX-License-Identifier: Apache-2.0 */
/* deoptimized.c - methods that were compiled before and no longer run compiled. */
#include "deoptimized.h"

/* Values of CompLevel. Level 1 is final code, which will not be optimized further. */
enum {
    COUNTS_LITTLE = 2,
    COUNTS_ALL = 3,
    OPTIMIZED = 4
};

struct levels {
    uint32_t method, loop; /* 0: interpreted only */
};

static bool read_levels(const struct sbx_vm_layout *layout, uint64_t method, struct levels *levels_out)
{
    uint64_t counters = 0;
    uint32_t both = 0;
    if (!sbx_vm_word(method + layout->method_counters, &counters) || counters == 0 ||
        !sbx_vm_number(counters + layout->counters_mask + layout->counters_levels, 2, &both)) {
        return false;
    }
    *levels_out = (struct levels){both & 0xff, both >> 8};
    return true;
}

static bool was_optimized(const struct levels *levels)
{
    return levels->method == OPTIMIZED || levels->loop == OPTIMIZED;
}

SBX_SIGNAL_SAFE bool sbx_deoptimized_is(const struct sbx_vm_layout *layout, uint64_t method)
{
    struct levels levels;
    uint64_t code = 0;
    return read_levels(layout, method, &levels) && sbx_vm_word(method + layout->method_code, &code) &&
           (was_optimized(&levels) || (levels.method != 0 && code == 0));
}

SBX_SIGNAL_SAFE bool sbx_deoptimized_is_lesser(const struct sbx_vm_layout *layout, const struct sbx_code *code)
{
    struct levels levels;
    uint64_t method = 0;
    if (code->kind != SBX_CODE_COMPILED) {
        return false;
    }
    const uint8_t *level = (const uint8_t *)(uintptr_t)(code->blob + layout->compile_level);
    memcpy(&method, (const void *)(uintptr_t)(code->blob + layout->method_of_code), sizeof method);
    return (*level == COUNTS_LITTLE || *level == COUNTS_ALL) && read_levels(layout, method, &levels) &&
           was_optimized(&levels);
}
