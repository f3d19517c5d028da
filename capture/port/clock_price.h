/* SPDX-License-Identifier: Apache-2.0 */
/* clock_price.h - the cost of reading a thread's clocks on this machine, with the source that they use now.
 *
 * Most of the recorder's work around a call that it does not record consists of clock reads. Their cost differs between
 * machines more than anything else: 10 ns with the cycle counter, 25 with the kernel's page, some hundreds where that
 * page has no clock. So the cost is measured on the machine itself, for the account of what recording costs
 * (threads/thread_cost.h). */
#ifndef SBX_CLOCK_PRICE_H
#define SBX_CLOCK_PRICE_H

#include <stdint.h>

struct sbx_clock_price {
    uint32_t wall_ps; /* wall time, as read around each call that may block */
    uint32_t anew_ps; /* both clocks when the kernel must be asked, as after each wait */
};

/* Measure for some 20 us, with warm caches. The result is the least of several turns, because interruptions are not
 * part of the cost. For a thread of the recorder that has no armed clock of its own. Not signal safe. */
struct sbx_clock_price sbx_clock_price(void);

#endif
