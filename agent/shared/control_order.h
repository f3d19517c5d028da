/* SPDX-License-Identifier: Apache-2.0 */
/* control_order.h - orders to the agent of a recording, by its control page: what `stallbox ctl`, the policy's companion, benchmarks and
 * tests have in common.
 *
 * One at a time: who can meet others holds the lock that attachment.h has. Any thread; no allocation, no lock. */
#ifndef SBX_CONTROL_ORDER_H
#define SBX_CONTROL_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "recording_format.h"

struct sbx_control_page *sbx_control_page_of(struct sbx_recording_header *header);

/* Wake the watch thread: it sees what was written before. */
void sbx_control_ring(struct sbx_control_page *control);

/* Order what control->wanted says. Returns the order's generation. */
uint32_t sbx_control_order(struct sbx_control_page *control);

/* The watch thread has taken that order over; with `hooks`, hooks are in and out as it wants them, too. */
bool sbx_control_is_taken(const struct sbx_control_page *control, uint32_t generation, bool hooks);

#endif
