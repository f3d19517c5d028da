/* SPDX-License-Identifier: Apache-2.0 */
/* governor.h - the agent keeps its CPU budget by itself: it measures what recording costs, decides, and reports what it
 * did.
 *
 * To measure, it reads counters that the threads keep anyway (capture/threads/thread_cost.h) and three CPU clocks, once
 * a window, in a tick that the watch thread makes anyway: no thread is woken for it. Watch thread only. The decision
 * and its result are in header.overhead. */
#ifndef SBX_GOVERNOR_H
#define SBX_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"

/* New settings were given: they are tried unchanged, and the governor begins anew. If they are the settings that were
 * in force when the recorder was switched off, the governor continues from its old state; the time in between belongs
 * to no window. Costs so far stay counted. Fills *settings_out with what is to be in force. */
void sbx_governor_begin(const struct sbx_capture_settings *wanted, struct sbx_capture_settings *settings_out,
                        uint64_t now_ns);

/* The watch thread slept from `from_ns` to `to_ns`: this time belongs to no window. The budget of that time is
 * saved. */
void sbx_governor_has_rested(uint64_t from_ns, uint64_t to_ns);

/* The watch thread is about to sleep until a point wakes it. A point that is shed wakes nobody. So while groups are
 * shed, the watch thread must look again at the time that this function returns (sbx_governor_look_again_ns();
 * UINT64_MAX: need not). When all groups have been restored, *settings_inout has changed. */
uint64_t sbx_governor_doubt_ns(const struct sbx_capture_settings *wanted, struct sbx_capture_settings *settings_inout,
                               uint64_t now_ns);

/* A tick. Fills *settings_inout with what is to be in force of `wanted`, and returns true when that has changed.
 * `is_near`: a message is close to becoming a stall. */
bool sbx_governor_tick(const struct sbx_capture_settings *wanted, struct sbx_capture_settings *settings_inout,
                       bool is_near, uint64_t now_ns);

#endif
