/* SPDX-License-Identifier: Apache-2.0 */
/* spool_order.h - what the application has written into its spool by a call, and the thread that writes it.
 *
 * The calling thread may have forbidden itself to open files, by a filter that was judged by what the recorder calls on the
 * program's threads (capture/port/sandbox_filter.c). So it makes no call but futex(2): the watch thread writes, and it waits. */
#ifndef SBX_SPOOL_ORDER_H
#define SBX_SPOOL_ORDER_H

#include <stdint.h>

#include "marks.h"

enum sbx_spool_what {
    SBX_SPOOL_CONSENT,    /* enum sbx_consent is written down */
    SBX_SPOOL_DELETION,   /* what was not sent is deleted */
    SBX_SPOOL_CONDITIONS, /* the bits of enum stallbox_condition are written down */
    SBX_SPOOL_WHATS
};

/* Have it done while the recorder runs. Returns 0, -errno of the files, or -ETIMEDOUT: it is done as soon as the watch thread comes to
 * it, or was not even ordered, because what was ordered before is still to be done. Any thread but ours, no handler. */
SBX_MUST_CHECK int sbx_spool_order(enum sbx_spool_what what, uint32_t value, uint32_t timeout_ms);

/* Do what is ordered. Watch thread; a load and a branch when there is nothing. */
void sbx_spool_orders_carry_out(void);

#endif
