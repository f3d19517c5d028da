/* SPDX-License-Identifier: Apache-2.0 */
/* frame_pace.h - frames, understood from presents alone.
 *
 * A frame is the time from the end of one present of a thread to the end of its next: what was drawn, and the wait for
 * the display in it. The first present of a thread only begins. Where the thread's outermost loop waited for work in
 * between, the frame begins when that wait ended: an application that has nothing to draw is not slow. */
#ifndef SBX_FRAME_PACE_H
#define SBX_FRAME_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "capture.h"

/* Around a present: like sbx_blocking_begin() and sbx_blocking_end(), and a frame ends. A present inside another (a
 * toolkit's, which calls the driver's) is part of it. */
SBX_HOOK_SAFE void sbx_present_begin(struct sbx_blocking *call, uint8_t op);
SBX_HOOK_SAFE void sbx_present_end(struct sbx_blocking *call, bool failed);

/* The thread's outermost loop waited for work until `now_ns`. */
SBX_HOOK_SAFE static inline void sbx_frame_rested(struct sbx_thread *thread, uint64_t now_ns)
{
    if (thread->frame.begin_ns != 0) {
        thread->frame.begin_ns = now_ns;
    }
}

#endif
