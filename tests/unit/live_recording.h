/* SPDX-License-Identifier: Apache-2.0 */
/* live_recording.h - a recording while it is written, as tools see it: mapped, and given orders (control_order.h).
 *
 * For tests, in the recorded process. Only the calls that map pass a capture point. */
#ifndef SBX_TEST_LIVE_RECORDING_H
#define SBX_TEST_LIVE_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "recording_format.h"

/* The only recording in `folder`; NULL when there is not exactly one, or it cannot be mapped. Stays mapped. */
struct sbx_recording_header *live_recording_map(const char *folder);

/* Order control->wanted, as `stallbox ctl` does. Returns once the watch thread has applied the order; with `hooks`,
 * once the hooks are also as ordered. False: not within that time. */
bool live_recording_order(struct sbx_control_page *control, bool hooks, uint64_t patience_ms);

#endif
