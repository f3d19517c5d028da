/* SPDX-License-Identifier: Apache-2.0 */
/* rate_limit.h - how much one sender may send: a burst, and then so many an hour.
 *
 * The memory for recent senders is bounded. A client that invents senders replaces those that were quiet for longest,
 * and stays limited itself. Any thread. */
#ifndef SBX_RATE_LIMIT_H
#define SBX_RATE_LIMIT_H

#include <stdint.h>

struct sbx_rate_limit;

/* `an_hour`: the rate of one sender, and also its burst. Returns NULL without memory. */
struct sbx_rate_limit *sbx_rate_limit_create(uint32_t an_hour);
void sbx_rate_limit_destroy(struct sbx_rate_limit *limit); /* NULL is fine */

/* Count one more of this sender. `now_ms`: a monotonic clock. Returns 0, or the number of seconds to wait; then it was
 * not counted. */
unsigned sbx_rate_limit_take(struct sbx_rate_limit *limit, uint64_t sender, int64_t now_ms);
/* The same, with the rate and the burst of this sender (both at least 1). */
unsigned sbx_rate_limit_take_of(struct sbx_rate_limit *limit, uint64_t sender, uint32_t an_hour, uint32_t at_once,
                                int64_t now_ms);

#endif
