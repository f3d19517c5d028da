/* SPDX-License-Identifier: Apache-2.0 */
/* spool_order.h - what a call of the application writes into its spool, and the thread that writes it.
 *
 * The calling thread may have forbidden itself to open files, by a filter that was judged by the recorder's calls on
 * the program's threads (capture/port/sandbox_filter.c). So this thread makes no call but futex(2) and waits, while the
 * watch thread writes. */
#ifndef SBX_SPOOL_ORDER_H
#define SBX_SPOOL_ORDER_H

#include <stdint.h>

#include "marks.h"

enum sbx_spool_what {
    SBX_SPOOL_CONSENT,    /* write consent, an enum sbx_consent */
    SBX_SPOOL_DELETION,   /* delete what was not sent */
    SBX_SPOOL_CONDITIONS, /* write the bits of enum stallbox_condition */
    SBX_SPOOL_WHATS
};

/* Have the watch thread do it while the recorder runs. Returns 0, -errno of the files, or -ETIMEDOUT. After -ETIMEDOUT
 * the watch thread does it later, or it was not ordered because an earlier order is still to be done. Any thread but
 * ours; not in a signal handler. */
SBX_MUST_CHECK int sbx_spool_order(enum sbx_spool_what what, uint32_t value, uint32_t timeout_ms);

/* Carry out what is ordered. Watch thread; a load and a branch for each kind when there is nothing to do. */
void sbx_spool_orders_carry_out(void);

#endif
