/* SPDX-License-Identifier: Apache-2.0 */
/* trigger_decision.c - the arithmetic of triggers; no clock, no thread, no state. */
#include "trigger_decision.h"

/* A look later than this is a gap and not the scheduler's everyday delay: on a saturated machine a woken thread waits
 * some time slices, tens of milliseconds; a stop lasts longer. */
#define GAP_MIN_NS UINT64_C(200000000)

uint64_t sbx_late_ns(const struct sbx_message_view *view)
{
    if (view->last_look_ns == 0 || view->now_ns <= view->last_look_ns + view->tick_ns) {
        return 0;
    }
    uint64_t late_ns = view->now_ns - view->last_look_ns - view->tick_ns;
    return late_ns >= GAP_MIN_NS ? late_ns : 0;
}

bool sbx_message_is_over(const struct sbx_message_view *view, uint32_t limit_ms)
{
    if (limit_ms == 0 || view->begin_ns == 0 || view->has_fired || view->now_ns <= view->begin_ns) {
        return false;
    }
    uint64_t open_ns = view->now_ns - view->begin_ns;
    uint64_t charged_ns = open_ns > view->late_ns ? open_ns - view->late_ns : 0;
    return charged_ns >= (uint64_t)limit_ms * 1000000u;
}

bool sbx_snapshot_is_allowed(uint64_t now_ns, uint64_t last_ns, uint32_t min_gap_ms)
{
    return last_ns == 0 || now_ns - last_ns >= (uint64_t)min_gap_ms * 1000000u;
}
