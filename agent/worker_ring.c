/* SPDX-License-Identifier: Apache-2.0 */
/* worker_ring.c - how much of the ring is used, and when to add the rest. */
#include "worker_ring.h"

#include "process_state.h"
#include "the_agent.h"
#include "the_capture.h"

static bool is_over; /* the ring has its full length, or never will */
SBX_OF_ONE_PROCESS(is_over);

void sbx_worker_ring_look(void)
{
    struct sbx_ring *ring = &sbx_the_capture.ring;
    uint32_t count = sbx_load_relaxed(&ring->chunk_count);
    /* relaxed: after a late look the oldest records are lost */
    if (is_over || count == 0 || sbx_load_relaxed(ring->ticket) < count / 2) {
        return;
    }
    is_over = true;
    if (sbx_recording_may_grow(&sbx_the_agent.recording) && sbx_recording_grow(&sbx_the_agent.recording) == 0) {
        sbx_ring_open_whole(ring, sbx_the_capture.header);
    }
}
