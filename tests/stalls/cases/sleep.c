/* SPDX-License-Identifier: Apache-2.0 */
/* sleep.c - the program sleeps by its own call. */
#include <poll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include "stall.h"

static STALL_FUNCTION void animate_splash(int n)
{
    const struct timespec pause = {1, 500000000};
    nanosleep(&pause, NULL);
    stall_sink += (uint64_t)n;
}

static STALL_FUNCTION void retry_login(int n)
{
    usleep((useconds_t)stall_ms * 1000);
    stall_sink += (uint64_t)n;
}

static STALL_FUNCTION void throttle_upload(int n)
{
    poll(NULL, 0, stall_ms);
    stall_sink += (uint64_t)n;
}

static STALL_FUNCTION void settle_device(int n)
{
    select(0, NULL, NULL, NULL, &(struct timeval){1, 500000});
    stall_sink += (uint64_t)n;
}

static STALL_FUNCTION void wait_for_second(int n)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 2;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    stall_sink += (uint64_t)n;
}

const struct stall stalls_sleep[] = {
    {.name = "sleep_nanosleep", .message = animate_splash}, {.name = "sleep_usleep", .message = retry_login},
    {.name = "sleep_poll", .message = throttle_upload},     {.name = "sleep_select", .message = settle_device},
    {.name = "sleep_until", .message = wait_for_second},    {.name = NULL},
};
