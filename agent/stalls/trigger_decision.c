/* SPDX-License-Identifier: Apache-2.0 */
/* trigger_decision.c - the arithmetic of triggers; no clock, no thread, no state. */
#include "trigger_decision.h"

#define NS_PER_MS UINT64_C(1000000)

/* A look that is later than this is a gap, and not the usual delay of the scheduler: on a saturated machine a woken
 * thread waits some time slices, tens of milliseconds; a stop lasts longer. */
#define GAP_MIN_NS UINT64_C(200000000)

bool sbx_is_over(const struct sbx_open_view *view, uint32_t limit_ms)
{
    if (limit_ms == 0 || view->begin_ns == 0 || view->has_fired || view->now_ns <= view->begin_ns) {
        return false;
    }
    uint64_t open_ns = view->now_ns - view->begin_ns;
    uint64_t charged_ns = open_ns > view->late_ns ? open_ns - view->late_ns : 0;
    return charged_ns >= limit_ms * NS_PER_MS;
}

uint64_t sbx_is_over_at_ns(const struct sbx_open_view *view, uint32_t limit_ms)
{
    if (limit_ms == 0 || view->begin_ns == 0 || view->has_fired) {
        return UINT64_MAX;
    }
    uint64_t open_ns = limit_ms * NS_PER_MS + view->late_ns;
    return view->begin_ns < UINT64_MAX - open_ns ? view->begin_ns + open_ns : UINT64_MAX;
}

bool sbx_burst_fires(const struct sbx_open_view *view, uint32_t dropped)
{
    return dropped != 0 && view->begin_ns != 0 && !view->has_fired && view->late_ns == 0;
}

bool sbx_snapshot_is_allowed(uint64_t now_ns, uint64_t last_ns, uint32_t min_gap_ms)
{
    return last_ns == 0 || now_ns - last_ns >= min_gap_ms * NS_PER_MS;
}

static void note_gap(struct sbx_gaps *gaps, uint64_t from_ns, uint64_t to_ns)
{
    uint32_t place = gaps->count++ % SBX_GAPS_KEPT;
    gaps->gap[place].from_ns = from_ns;
    gaps->gap[place].to_ns = to_ns;
}

uint64_t sbx_gaps_look(struct sbx_gaps *gaps, uint64_t last_ns, uint64_t due_ns, uint64_t now_ns, bool has_slept)
{
    if (last_ns == 0 || now_ns <= due_ns || now_ns - due_ns < GAP_MIN_NS) {
        return 0;
    }
    note_gap(gaps, has_slept ? last_ns : due_ns, now_ns);
    return now_ns - due_ns;
}

void sbx_gaps_work(struct sbx_gaps *gaps, uint64_t began_ns, uint64_t now_ns, uint64_t busy_ns, uint64_t ran_ns)
{
    uint64_t known_ns = began_ns + busy_ns;
    if (began_ns != 0 && now_ns > known_ns && now_ns - known_ns >= GAP_MIN_NS && ran_ns < (now_ns - known_ns) / 2) {
        note_gap(gaps, known_ns, now_ns);
    }
}

uint64_t sbx_gaps_between(const struct sbx_gaps *gaps, uint64_t begin_ns, uint64_t end_ns)
{
    uint32_t count = gaps->count < SBX_GAPS_KEPT ? gaps->count : SBX_GAPS_KEPT;
    uint64_t sum_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t from_ns = gaps->gap[i].from_ns > begin_ns ? gaps->gap[i].from_ns : begin_ns;
        uint64_t to_ns = gaps->gap[i].to_ns < end_ns ? gaps->gap[i].to_ns : end_ns;
        sum_ns += to_ns > from_ns ? to_ns - from_ns : 0;
    }
    return sum_ns;
}
