/* SPDX-License-Identifier: Apache-2.0 */
/* the_agent.c - the value, and waiting for its futex words. */
#include "the_agent.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "order.h"

struct sbx_agent sbx_the_agent;

void sbx_the_agent_forget_parent(void)
{
    static struct sbx_agent parent; /* too large for the stack of every thread */
    parent = sbx_the_agent;
    memset(&sbx_the_agent, 0, sizeof sbx_the_agent);
    memcpy(sbx_the_agent.app_name, parent.app_name, sizeof parent.app_name);
    sbx_the_agent.scene = parent.scene;
    memcpy(sbx_the_agent.app_version, parent.app_version, sizeof parent.app_version);
    memcpy(sbx_the_agent.rows_folder, parent.rows_folder, sizeof parent.rows_folder);
    sbx_the_agent.companion_key = parent.companion_key;
}

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
