/* SPDX-License-Identifier: Apache-2.0 */
/* tracer_look.c - decides when to look for a tracer, and keeps the result of the last look. */
#include "tracer_look.h"

#include "order.h"
#include "process_state.h"
#include "the_capture.h"
#include "tracer.h"

enum {
    EVERY_NS = 100000000,          /* while threads are asked */
    NOTICED_EVERY_NS = 1000000000, /* and a stop would be noticed: for tracers that attach without a stop */
    PAUSE_NS = 20000000,           /* no thread was asked for this long: a debugger may have stopped them all */
};

static bool is_traced;
static uint64_t tracer_asked_ns, tracer_told_ns; /* times of the last look, and of the last request to know */
static uint32_t stops, stops_seen; /* stops of the process that were noticed; and their number at the last look */
static uint32_t naps, naps_seen;   /* odd: a thread of ours sleeps so that a stop wakes it; and at the last look */
SBX_OF_ONE_PROCESS(tracer_asked_ns);
SBX_OF_ONE_PROCESS(naps);

bool sbx_tracer_look(uint64_t now_ns)
{
    uint32_t stops_now = sbx_load_acquire(&stops); /* order: acquire tracer.stops - this look comes after that stop */
    uint32_t naps_now = sbx_load_acquire(&naps);   /* order: acquire tracer.naps - it slept before the look */
    bool is_noticed = !is_traced && (naps_now & 1) != 0 && naps_now == naps_seen;
    bool may_have_come = tracer_asked_ns == 0 ||
                         now_ns - tracer_asked_ns >= (is_noticed ? (uint64_t)NOTICED_EVERY_NS : (uint64_t)EVERY_NS) ||
                         (!is_noticed && now_ns - tracer_told_ns >= PAUSE_NS);
    tracer_told_ns = now_ns;
    if (may_have_come || stops_now != stops_seen) {
        bool was_traced = is_traced;
        tracer_asked_ns = now_ns;
        stops_seen = stops_now;
        naps_seen = naps_now;
        is_traced = sbx_tracer_is_attached();
        if (is_traced && !was_traced) {
            sbx_count_drop(SBX_DROP_SIGNAL_DEAF);
        }
    }
    return is_traced;
}

uint64_t sbx_tracer_look_age_ns(uint64_t now_ns)
{
    return now_ns - tracer_asked_ns;
}

bool sbx_tracer_may_have_come(void)
{
    return sbx_load_seq_cst(&stops) != stops_seen; /* order: seq_cst tracer.stops - Dekker with sample_timer */
}

void sbx_tracer_stops_are_noticed(bool are_noticed)
{
    if (((naps & 1) != 0) != are_noticed) {
        sbx_store_release(&naps, naps + 1); /* order: release tracer.naps */
    }
}

void sbx_tracer_note_stop(void)
{
    sbx_add_acq_rel(&stops, 1); /* order: release tracer.stops */
    sbx_fence_seq_cst();        /* order: seq_cst tracer.stops - Dekker with sample_timer */
}
