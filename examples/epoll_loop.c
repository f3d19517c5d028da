/* SPDX-License-Identifier: Apache-2.0 */
/* epoll_loop.c - a program with its own loop over epoll, which does not know the recorder: the handler of one event
 * computes for too long and calls nothing.
 *
 *     stallbox run --slow-message-ms 500 -- ./epoll_loop; stallbox report ~/.local/state/stallbox/spool */
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* How many steps of Collatz' problem the numbers below `limit` take, computed without a single call. */
static uint64_t count_steps(uint64_t limit)
{
    uint64_t steps = 0;
    for (uint64_t i = 1; i < limit; i++) {
        for (uint64_t n = i; n != 1; n = n % 2 == 0 ? n / 2 : 3 * n + 1) {
            steps++;
        }
    }
    return steps;
}

static uint64_t compute_prices(void)
{
    uint64_t steps = 0;
    for (uint64_t end = now_ms() + 800; now_ms() < end;) {
        steps += count_steps(60000);
    }
    return steps;
}

int main(void)
{
    const struct itimerspec often = {{0, 20000000}, {0, 20000000}};
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    uint64_t ticks = 0, fired, prices = 0;
    if (epoll < 0 || timer < 0 || timerfd_settime(timer, 0, &often, NULL) != 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event) != 0) {
        return 1;
    }
    while (ticks < 60 && epoll_wait(epoll, &event, 1, -1) == 1) {
        if (read(timer, &fired, sizeof fired) != (ssize_t)sizeof fired) {
            return 1;
        }
        if (++ticks == 25) {
            prices = compute_prices();
        }
    }
    return prices != 0 ? 0 : 1;
}
