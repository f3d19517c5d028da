/* SPDX-License-Identifier: Apache-2.0 */
/* clock_price.c - measures the time of clock reads, on a clock that nothing else uses. */
#include "clock_price.h"

#include <stddef.h>

#include "thread_clock.h"

enum {
    TURNS = 4,
    LOOKS = 4 /* in each turn */
};

static void look_at_wall(struct sbx_thread_clock *clock)
{
    (void)sbx_thread_clock_wall_ns(clock);
}

static void look_anew(struct sbx_thread_clock *clock)
{
    (void)sbx_thread_clock_read_slow(clock);
}

static uint32_t price_ps(void (*look)(struct sbx_thread_clock *clock), struct sbx_thread_clock *clock)
{
    uint64_t least_ns = UINT32_MAX / 1000;
    look(clock); /* this first read draws a line and loads cold memory */
    for (int turn = 0; turn < TURNS; turn++) {
        uint64_t begin_ns = sbx_now_ns();
        for (int i = 0; i < LOOKS; i++) {
            look(clock);
        }
        uint64_t took_ns = sbx_now_ns() - begin_ns;
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    return (uint32_t)(least_ns * 1000 / LOOKS);
}

struct sbx_clock_price sbx_clock_price(void)
{
    struct sbx_thread_clock clock = {0};
    struct sbx_clock_price price = {.wall_ps = price_ps(look_at_wall, &clock), .anew_ps = price_ps(look_anew, &clock)};
    sbx_thread_clock_disarm(&clock);
    return price;
}
