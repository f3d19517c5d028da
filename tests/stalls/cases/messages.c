/* SPDX-License-Identifier: Apache-2.0 */
/* messages.c - stalls that are not one long message: floods, sums, and culprits that had ended when the snapshot was
 * made. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "stall.h"

static inline __attribute__((always_inline)) void compute_us(int64_t us)
{
    for (int64_t until_ns = stall_now_ns() + us * 1000; stall_now_ns() < until_ns;) {
        for (int i = 0; i < 2000; i++) {
            stall_sink += (uint64_t)i * 3;
        }
    }
}

/* ---- thousands of small ones, while something else is due ---- */

static STALL_FUNCTION void redraw_cursor(int n)
{
    compute_us(250);
    stall_sink += (uint64_t)n;
    if (n == 6000) {
        stall_ask_for_snapshot();
    }
}

/* ---- twelve of 120 ms ---- */

static STALL_FUNCTION void apply_patch(int n)
{
    compute_us(130000);
    if (n == 21) {
        stall_ask_for_snapshot();
    }
}

/* ---- one of 1.2 s, then nothing unusual, then somebody asks ---- */

static STALL_FUNCTION void load_profile(void)
{
    const struct timespec pause = {1, 200000000};
    nanosleep(&pause, NULL);
    STALL_STAY();
}

static STALL_FUNCTION void act_on_message(int n)
{
    if (n == 10) {
        load_profile();
    } else {
        compute_us(1500);
    }
    if (n == 40) {
        stall_ask_for_snapshot();
    }
}

/* ---- three waits of 400 ms in one message ---- */

static STALL_FUNCTION void fetch_page(void)
{
    usleep(400000);
    STALL_STAY();
}

static STALL_FUNCTION void fetch_all_pages(int n)
{
    for (int i = 0; i < 4; i++) {
        fetch_page();
        compute_us(2000);
    }
    stall_sink += (uint64_t)n;
}

const struct stall stalls_messages[] = {
    {.name = "messages_flood", .message = redraw_cursor, .every = true, .messages = 6010},
    {.name = "messages_medium", .message = apply_patch, .every = true, .delay_ms = 1, .messages = 24},
    {.name = "messages_earlier", .message = act_on_message, .every = true, .delay_ms = 2, .messages = 60},
    {.name = "messages_parts", .message = fetch_all_pages},
    {.name = NULL},
};
