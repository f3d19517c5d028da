/* SPDX-License-Identifier: Apache-2.0 */
/* id_table.c - the 64-bit ids of providers' functions, each once. */
#include "id_table.h"

#include "callstack_table.h"
#include "order.h"

enum {
    PROBES = 64
};

SBX_SIGNAL_SAFE uint32_t sbx_id_intern(uint64_t *ids, uint32_t count, uint64_t id)
{
    /* The upper half of the product, because its lower bits depend only on the lower bits of the id. */
    uint32_t first = (uint32_t)(id * SBX_CALLSTACK_MULTIPLIER >> 32);
    for (uint32_t probe = 0; probe < PROBES && id != 0; probe++) {
        uint32_t slot = (first + probe) & (count - 1);
        if (slot == 0) {
            continue; /* index 0 means "none" */
        }
        uint64_t found = sbx_load_relaxed(&ids[slot]); /* relaxed: a word is complete in itself */
        /* order: release ids - nothing was written before it that a reader would need */
        if (found == 0 && sbx_cas_acq_rel(&ids[slot], &found, id)) {
            return slot;
        }
        if (found == id) {
            return slot;
        }
    }
    return 0;
}
