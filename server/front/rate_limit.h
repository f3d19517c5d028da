/* SPDX-License-Identifier: Apache-2.0 */
/* rate_limit.h - how much one sender may send: so many at once, and so many an hour after that.
 *
 * For each recent sender, in bounded memory: a client that invents senders replaces those that were quiet for longest, and its own
 * limit stays in force. Any thread. */
#ifndef SBX_RATE_LIMIT_H
#define SBX_RATE_LIMIT_H

#include <stdint.h>

struct sbx_rate_limit;

/* `an_hour`: of one sender, and so many at once. NULL without memory. */
struct sbx_rate_limit *sbx_rate_limit_create(uint32_t an_hour);
void sbx_rate_limit_destroy(struct sbx_rate_limit *limit); /* NULL is fine */

/* One more of this sender, at `now_ms` of a clock that only goes on. Returns 0, or after how many seconds to come again: then it
 * does not count. */
unsigned sbx_rate_limit_take(struct sbx_rate_limit *limit, uint64_t sender, int64_t now_ms);
/* The same of a sender that may `an_hour`, and `at_once` of them (both at least 1). */
unsigned sbx_rate_limit_take_of(struct sbx_rate_limit *limit, uint64_t sender, uint32_t an_hour, uint32_t at_once,
                                int64_t now_ms);

#endif
