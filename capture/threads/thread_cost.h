/* SPDX-License-Identifier: Apache-2.0 */
/* thread_cost.h - what recording costs the application's own threads, counted where it is spent.
 *
 * Nothing is measured on the path of a call that is not due. When a countdown ends, it shows how many calls were let
 * through since it was set, and charges them to the group of the call that ended it. There is one countdown for all
 * groups. So a group ends it as often as its share of the calls, and the shares are right on average. Captures are
 * counted, and one in SBX_COST_EVERY is timed by the thread's CPU time, with the clock value that it has read anyway at
 * its begin and one more at its end.
 *
 * Two costs are found by words that exist for another reason. A loop counts its turns (`hits`). And when the kernel has
 * switched a thread out, the thread's clocks are read anew, which moves the `sequence` of its clock. That read lies
 * before the timed part of a capture, and takes as long as the rest of it.
 *
 * Written by the thread itself (or its sample handler, never nested: `inside`), and read by the watch thread while the
 * words move. Each word is right by itself, and all only grow, modulo 2^32. They outlive the thread: when another
 * thread gets its block, the block keeps counting. So the sum over all blocks never falls. */
#ifndef SBX_THREAD_COST_H
#define SBX_THREAD_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"
#include "clock_price.h"
#include "marks.h"
#include "order.h"

/* What made a capture. */
enum sbx_cost_kind {
    SBX_COST_LEAF = 0,   /* a leaf point whose sample was due */
    SBX_COST_CALL = 1,   /* the end of a call that blocked long enough to be recorded */
    SBX_COST_SIGNAL = 2, /* the sample signal; the kernel's work for it is not in the time */
    SBX_COST_KINDS = 3,
};

enum {
    SBX_COST_EVERY = 16
}; /* power of two; reading the clock costs a fifth of the shortest capture */

struct sbx_thread_cost {
    uint32_t asks;     /* countdowns that ended: clock reads to check whether a sample is due */
    uint32_t declined; /* sample signals that came too early to be recorded (sample_handler.c) */
    uint32_t captures[SBX_COST_KINDS];
    uint32_t timed[SBX_COST_KINDS]; /* captures that were timed */
    uint64_t timed_ns[SBX_COST_KINDS];
    struct {
        uint32_t passes; /* calls let through, charged by the rule above */
        uint32_t prompt; /* of these, prompt calls, which read no clock (messages/prompt_call.h) */
        uint32_t captures;
    } group[SBX_POINT_GROUPS_MAX];
};

/* Will the next capture of that kind be timed? */
SBX_SIGNAL_SAFE static inline bool sbx_cost_is_next_timed(const struct sbx_thread_cost *cost, enum sbx_cost_kind kind)
{
    return (sbx_load_relaxed(&cost->captures[kind]) & (SBX_COST_EVERY - 1)) == 0; /* relaxed: own thread */
}

/* Count a capture. Returns true when this one is to be timed. */
SBX_SIGNAL_SAFE static inline bool sbx_cost_capture(struct sbx_thread_cost *cost, enum sbx_cost_kind kind)
{
    uint32_t before = cost->captures[kind];
    sbx_store_relaxed(&cost->captures[kind], before + 1); /* relaxed: statistics, like all of these */
    return (before & (SBX_COST_EVERY - 1)) == 0;
}

SBX_SIGNAL_SAFE static inline void sbx_cost_timed(struct sbx_thread_cost *cost, enum sbx_cost_kind kind, uint64_t ns)
{
    sbx_store_relaxed(&cost->timed[kind], cost->timed[kind] + 1);
    sbx_store_relaxed(&cost->timed_ns[kind], cost->timed_ns[kind] + ns);
}

/* `passes` calls were let through since the countdown was set; the call that ended it is of `group`. */
SBX_SIGNAL_SAFE static inline void sbx_cost_passes(struct sbx_thread_cost *cost, uint8_t group, int64_t passes)
{
    if (passes > 0) {
        sbx_store_relaxed(&cost->group[group].passes, cost->group[group].passes + (uint32_t)passes);
    }
}

/* The same when the call that ended it is a prompt call. */
SBX_SIGNAL_SAFE static inline void sbx_cost_prompt_passes(struct sbx_thread_cost *cost, uint8_t group, int64_t passes)
{
    sbx_cost_passes(cost, group, passes);
    if (passes > 0) {
        sbx_store_relaxed(&cost->group[group].prompt, cost->group[group].prompt + (uint32_t)passes);
    }
}

/* The costs of all threads so far, in nanoseconds; they only grow. */
struct sbx_cost_sums {
    uint64_t capture_ns[SBX_COST_KINDS];     /* captures x mean of the timed ones, and clocks read anew (CALL) */
    uint64_t pass_ns[SBX_POINT_GROUPS_MAX];  /* calls let through, and turns of loops (POLL), x the cost of one */
    uint64_t captures[SBX_POINT_GROUPS_MAX]; /* by group */
};

/* Update the sums. The growth since the last time is charged by `price`, and by the CPU time that the process has used
 * in between (`process_ns` is its total so far), because code that is called rarely finds its caches cold. Watch thread
 * only. */
void sbx_cost_collect(struct sbx_cost_sums *sums, const struct sbx_clock_price *price, uint64_t process_ns);

/* What cold caches add to this many bursts of calls in this much CPU time, in picoseconds (thread_cost.c). Pure. */
uint64_t sbx_cost_of_cold_ps(uint64_t bursts, uint64_t cpu_ns);

/* The cost with warm caches of a call let through at a point of `group`, of a prompt call, and of a turn of a loop, in
 * picoseconds. */
uint32_t sbx_cost_of_pass_ps(uint32_t group, const struct sbx_clock_price *price);
uint32_t sbx_cost_of_prompt_ps(void);
uint32_t sbx_cost_of_turn_ps(const struct sbx_clock_price *price);

#endif
