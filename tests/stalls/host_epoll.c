/* SPDX-License-Identifier: Apache-2.0 */
/* host_epoll.c - a raw epoll loop over one timer. */
#include "stall.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void arm(int timer, int ms)
{
    long ns = ms == 0 ? 1 : ms % 1000 * 1000000L;
    timerfd_settime(timer, 0, &(struct itimerspec){.it_value = {ms / 1000, ns}}, NULL);
}

static STALL_FUNCTION int dispatch_timer(int timer, int (*step)(void))
{
    uint64_t expirations;
    if (read(timer, &expirations, sizeof expirations) != (ssize_t)sizeof expirations) {
        return 15;
    }
    return step();
}

void host_loop(int (*step)(void))
{
    int loop = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = timer}};
    if (loop < 0 || timer < 0 || epoll_ctl(loop, EPOLL_CTL_ADD, timer, &event) != 0) {
        abort();
    }
    arm(timer, 15);
    for (;;) {
        if (epoll_wait(loop, &event, 1, -1) == 1) {
            int next_ms = dispatch_timer(timer, step);
            if (next_ms < 0) {
                return;
            }
            arm(timer, next_ms);
        }
    }
}
