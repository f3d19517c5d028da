/* SPDX-License-Identifier: Apache-2.0 */
/* live_recording.h - a recording while it is written, as tools see it: mapped, and given orders (control_order.h).
 *
 * For tests, in the process that is recorded. None of it passes a capture point but for the calls that map. */
#ifndef SBX_TEST_LIVE_RECORDING_H
#define SBX_TEST_LIVE_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "recording_format.h"

/* The only recording in `folder`; NULL when there is not one, or it cannot be mapped. Stays mapped. */
struct sbx_recording_header *live_recording_map(const char *folder);

/* As `stallbox ctl` does it: control->wanted is ordered. Returns once the watch thread has taken it over; with `hooks` once the hooks
 * are as it wants them, too. False: not within so long. */
bool live_recording_order(struct sbx_control_page *control, bool hooks, uint64_t patience_ms);

#endif
