/* SPDX-License-Identifier: Apache-2.0 */
/* qt_unfollowed.c - a table of fixed size. An entry lies within PROBES places of the place to which its number
 * hashes. */
#include "qt_unfollowed.h"

#include <stddef.h>

#include "order.h"
#include "process_state.h"
#include "task.h"

enum {
    UNFOLLOWED = 2048,
    PROBES = 8,
};

static struct unfollowed {
    uint64_t what; /* 0: free; 1: being taken */
    uint64_t task;
} unfollowed[UNFOLLOWED];
static uint64_t unfollowed_count; /* number of entries: usually 0, and then nothing is searched */
SBX_OF_ONE_PROCESS(unfollowed);
SBX_OF_ONE_PROCESS(unfollowed_count);

static struct unfollowed *unfollowed_at(uint64_t what, uint32_t probe)
{
    return &unfollowed[((what * UINT64_C(0x9fb21c651e98df25) >> 40) + probe) % UNFOLLOWED];
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_qt_keep_unfollowed(uint64_t what, uint64_t task)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        struct unfollowed *place = unfollowed_at(what, i);
        uint64_t nobody = 0;
        if (sbx_load_relaxed(&place->what) == 0 &&       /* relaxed: the exchange looks again */
            sbx_cas_acq_rel(&place->what, &nobody, 1)) { /* order: acq_rel unfollowed.what */
            sbx_store_relaxed(&place->task, task);
            sbx_add_relaxed(&unfollowed_count, 1);
            sbx_store_release(&place->what, what); /* order: release unfollowed.what */
            return;
        }
    }
    sbx_task_cancelled(task); /* there is no room: its begin will not be seen */
}

SBX_HOOK_SAFE uint64_t sbx_qt_take_unfollowed(uint64_t what)
{
    for (uint32_t i = 0; i < PROBES && SBX_UNLIKELY(sbx_load_relaxed(&unfollowed_count) != 0); i++) {
        struct unfollowed *place = unfollowed_at(what, i);
        uint64_t owner = what;
        if (sbx_load_relaxed(&place->what) == owner &&  /* relaxed: the exchange looks again */
            sbx_cas_acq_rel(&place->what, &owner, 1)) { /* order: acq_rel unfollowed.what */
            uint64_t task = sbx_load_relaxed(&place->task);
            sbx_add_relaxed(&unfollowed_count, UINT64_MAX);
            sbx_store_release(&place->what, 0); /* order: release unfollowed.what */
            return task;
        }
    }
    return 0;
}
