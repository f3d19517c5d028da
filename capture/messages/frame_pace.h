/* SPDX-License-Identifier: Apache-2.0 */
/* frame_pace.h - frames, recognised from presents alone, or as the application reports them.
 *
 * A frame is the time from the end of one present of a thread to the end of its next one: the drawing, including the
 * wait for the display. The first present of a thread only begins a frame. If the thread's outermost loop waited for
 * work in between, the frame begins when that wait ended, because an application that has nothing to draw is not slow.
 * Once a thread has reported itself where a frame begins, its presents are only parts of its frames.
 *
 * A message that shows frame after frame (a fade between two scenes; a game that looks for events without a poll call)
 * has not hung. From its SBX_FRAME_ANIMATION-th present on, each present counts as a turn of a loop, and what follows
 * it is a message of its own.
 *
 * A burst of dropped frames is more than a quarter of the last SBX_BURST_FRAMES. A frame is dropped when it took 50 ms
 * or more and also twice what this thread's frames usually take. The quarter and the 50 ms come from the "slow session"
 * of Android vitals: there a frame that is shown 50 ms or more after the one before is slow, and a session with more
 * than 25 % of them is slow. The factor 2 comes from AndroidX JankStats (jankHeuristicMultiplier): a program that
 * always draws ten frames a second does not stall. */
#ifndef SBX_FRAME_PACE_H
#define SBX_FRAME_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "open_calls.h"
#include "thread_block.h"

/* Called around a present. They do the same as sbx_blocking_begin() and sbx_blocking_end(), and a frame ends. A present
 * inside another one (a toolkit's present that calls the driver's) is part of it. */
SBX_HOOK_SAFE void sbx_present_begin(struct sbx_blocking *call, uint8_t op);
SBX_HOOK_SAFE void sbx_present_end(struct sbx_blocking *call, bool failed);

/* The calling thread begins a frame, or has finished it. A frame inside another is part of the outer one. A leave
 * without its enter does nothing. Any thread may call them; they take no lock and keep errno. */
SBX_HOOK_SAFE void sbx_frame_enter(void);
SBX_HOOK_SAFE void sbx_frame_leave(void);

/* The thread's outermost loop waited for work until `now_ns`. */
SBX_HOOK_SAFE static inline void sbx_frame_rested(struct sbx_thread *thread, uint64_t now_ns)
{
    if (thread->frame.begin_ns != 0) {
        thread->frame.begin_ns = now_ns;
    }
}

enum {
    SBX_FRAME_DROPPED_NS = 50000000,
    SBX_FRAME_DROPPED_FACTOR = 2,
    SBX_FRAME_WARM_UP = 64, /* frames until the usual time is known; no burst is reported before that */
    SBX_FRAME_USUAL_MAX_NS = 1000000000,
    SBX_FRAME_ANIMATION = 8, /* presents in one message; a handler that draws once or twice makes fewer */
};

/* Pure: the moving mean of the time that frames take, after frame number `count` (from 1 on). A single long frame
 * changes it little. */
static inline uint64_t sbx_frame_usual_ns(uint64_t usual_ns, uint64_t count, uint64_t took_ns)
{
    int64_t weight = count < SBX_FRAME_WARM_UP ? (int64_t)count : SBX_FRAME_WARM_UP;
    int64_t took = took_ns < SBX_FRAME_USUAL_MAX_NS ? (int64_t)took_ns : SBX_FRAME_USUAL_MAX_NS;
    return (uint64_t)((int64_t)usual_ns + (took - (int64_t)usual_ns) / (weight > 0 ? weight : 1));
}

/* Pure: was a frame of a thread whose frames usually take `usual_ns` dropped? */
static inline bool sbx_frame_is_dropped(uint64_t took_ns, uint64_t usual_ns)
{
    return took_ns >= SBX_FRAME_DROPPED_NS && took_ns >= SBX_FRAME_DROPPED_FACTOR * usual_ns;
}

/* Pure: how many of the last frames were dropped, when that makes a burst after frame number `count`; else 0. */
static inline uint32_t sbx_frame_burst(uint32_t dropped, uint64_t count)
{
    uint32_t many = (uint32_t)__builtin_popcount(dropped);
    return count >= SBX_FRAME_WARM_UP && (dropped & 1) != 0 && many > SBX_BURST_FRAMES / 4 ? many : 0;
}

#endif
