/* SPDX-License-Identifier: Apache-2.0 */
/* control_order.h - orders to the agent of a recording, through its control page: shared by `stallbox ctl`, the
 * policy's companion, benchmarks and tests.
 *
 * One order at a time: a caller that may run beside others holds the lock of attachment.h. Any thread; no allocation,
 * no lock. */
#ifndef SBX_CONTROL_ORDER_H
#define SBX_CONTROL_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "recording_format.h"

struct sbx_control_page *sbx_control_page_of(struct sbx_recording_header *header);

/* Wake the watch thread: it sees what was written before the call. */
void sbx_control_ring(struct sbx_control_page *control);

/* Order the settings in control->wanted. Returns the order's generation. */
uint32_t sbx_control_order(struct sbx_control_page *control);

/* Has the watch thread put that order in force? With `hooks`: and are the hooks as the order wants them? */
bool sbx_control_is_taken(const struct sbx_control_page *control, uint32_t generation, bool hooks);

#endif
