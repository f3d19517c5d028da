/* SPDX-License-Identifier: Apache-2.0 */
/* clock_price.h - what a look at a thread's clocks takes on this machine, by the source that they have now.
 *
 * Most of what the recorder does around a call that it lets through are looks at a clock, and these differ between machines more than
 * anything else does: 10 ns by the cycle counter, 25 by the kernel's page, some hundreds where that page has no clock. So they are
 * measured where they are paid, for the account of what recording costs (threads/thread_cost.h). */
#ifndef SBX_CLOCK_PRICE_H
#define SBX_CLOCK_PRICE_H

#include <stdint.h>

struct sbx_clock_price {
    uint32_t wall_ps; /* wall time, as each call that may block looks at it */
    uint32_t anew_ps; /* both clocks when the kernel has to be asked, as it has after each wait */
};

/* Measure, for some 20 us, warm and the least of some turns: what an interruption adds is not ours. For a thread of the recorder that
 * keeps no clock of its own armed. Not signal safe. */
struct sbx_clock_price sbx_clock_price(void);

#endif
