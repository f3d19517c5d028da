/* SPDX-License-Identifier: Apache-2.0 */
/* governor.h - the agent holds its CPU budget by itself: measures what recording costs, decides, and says what it did.
 *
 * Measuring is reading counters that the threads keep anyway (capture/threads/thread_cost.h) and three CPU clocks, once a window,
 * in a tick of the watch thread that comes anyway: nobody is woken for it. Watch thread alone. What was decided and what
 * it came to stands in header.overhead. */
#ifndef SBX_GOVERNOR_H
#define SBX_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"

/* Other settings were given: they are tried as they are, and it begins anew. Those that were in force when the recorder was
 * switched off go on where they were then; the time in between is no part of a window. Costs so far stay counted. Fills
 * *settings_out with what is to be in force. */
void sbx_governor_begin(const struct sbx_capture_settings *wanted, struct sbx_capture_settings *settings_out,
                        uint64_t now_ns);

/* The watch thread lay down from `from_ns` to `to_ns`: no part of a window. What may be spent in that time is saved. */
void sbx_governor_has_rested(uint64_t from_ns, uint64_t to_ns);

/* The watch thread is about to lie down until somebody rings. A point that is out rings nobody: so while groups are shed it
 * is to look once more at the time this returns (sbx_governor_look_again_ns(); UINT64_MAX: need not). When all groups have come
 * back, *settings_inout has changed. */
uint64_t sbx_governor_doubt_ns(const struct sbx_capture_settings *wanted, struct sbx_capture_settings *settings_inout,
                               uint64_t now_ns);

/* A tick. Fills *settings_inout with what is to be in force of `wanted` and returns true when that has changed. `is_near`:
 * something is near to being a stall. */
bool sbx_governor_tick(const struct sbx_capture_settings *wanted, struct sbx_capture_settings *settings_inout,
                       bool is_near, uint64_t now_ns);

#endif
