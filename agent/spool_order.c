/* SPDX-License-Identifier: Apache-2.0 */
/* spool_order.c - three kinds of orders, each with a number of orders given and a number of orders done. */
#include "spool_order.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "conditions.h"
#include "consent.h"
#include "order.h"
#include "process_state.h"
#include "the_agent.h"
#include "the_capture.h"

static struct order {
    uint32_t asked; /* number of orders given */
    uint32_t done;  /* number of orders done. A futex word */
    uint32_t value;
    int32_t result;
    pthread_mutex_t lock; /* one caller at a time; zero is PTHREAD_MUTEX_INITIALIZER */
} orders[SBX_SPOOL_WHATS];
SBX_OF_ONE_PROCESS(orders);

int sbx_spool_order(enum sbx_spool_what what, uint32_t value, uint32_t timeout_ms)
{
    struct order *order = &orders[what];
    int result = -ETIMEDOUT;
    pthread_mutex_lock(&order->lock);
    uint32_t number = sbx_load_relaxed(&order->asked); /* relaxed: under the lock */
    if (sbx_agent_wait_for(&order->done, number, timeout_ms)) {
        order->value = value;
        sbx_store_release(&order->asked, number + 1); /* order: release order.asked - the value is whole */
        sbx_capture_ring_bell();
        if (sbx_agent_wait_for(&order->done, number + 1, timeout_ms)) { /* order: acquire order.done */
            result = order->result;
        }
    }
    pthread_mutex_unlock(&order->lock);
    return result;
}

static int carry_out(enum sbx_spool_what what, uint32_t value)
{
    const struct sbx_recording_header *header = sbx_the_capture.header;
    switch (what) {
    case SBX_SPOOL_CONSENT:
        return sbx_consent_write(header->spool_path, (enum sbx_consent)value);
    case SBX_SPOOL_DELETION:
        return sbx_consent_delete_unsent(header->spool_path);
    default:
        return sbx_conditions_write(header->spool_path, header->pid, header->process_start_ticks, value);
    }
}

void sbx_spool_orders_carry_out(void)
{
    for (unsigned what = 0; what < SBX_SPOOL_WHATS; what++) {
        struct order *order = &orders[what];
        uint32_t asked = sbx_load_acquire(&order->asked); /* order: acquire order.asked */
        if (sbx_load_relaxed(&order->done) == asked) {    /* relaxed: written by this thread only */
            continue;
        }
        order->result = carry_out((enum sbx_spool_what)what, order->value);
        sbx_store_release(&order->done, asked); /* order: release order.done - the result is whole */
        syscall(SYS_futex, &order->done, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    }
}
