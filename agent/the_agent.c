/* SPDX-License-Identifier: Apache-2.0 */
/* the_agent.c - the value, and waiting for its words. */
#include "the_agent.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "order.h"

struct sbx_agent sbx_the_agent;

bool sbx_agent_wait_for(uint32_t *word, uint32_t wanted, uint32_t timeout_ms)
{
    uint64_t end_ns = sbx_now_ns() + (uint64_t)timeout_ms * 1000000u;
    for (;;) {
        uint32_t now = sbx_load_acquire(word); /* order: acquire - pairs with the thread that stores the word */
        if (now == wanted) {
            return true;
        }
        uint64_t now_ns = sbx_now_ns();
        if (now_ns >= end_ns) {
            return false;
        }
        uint64_t left_ns = end_ns - now_ns;
        /* Some of these words are stored without a wake-up: look again soon. */
        const struct timespec pause = {0, (long)(left_ns < 10000000 ? left_ns : 10000000)};
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, now, &pause, NULL, 0);
    }
}
