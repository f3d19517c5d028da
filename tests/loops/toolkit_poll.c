/* SPDX-License-Identifier: Apache-2.0 */
/* toolkit_poll.c - a helper function polls and returns, and main() itself handles the events, so the stack shows
 * nothing of the loop. toolkit_run() is inlined into main(). */
#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "toolkit.h"

static struct pollfd fds[2];
static bool is_running = true, is_open;
static void (*the_tick)(void);

void toolkit_tick_soon(void (*tick)(void))
{
    struct itimerspec soon = {.it_value = {.tv_nsec = 20000000}};
    the_tick = tick;
    timerfd_settime(fds[0].fd, 0, &soon, NULL);
}

void toolkit_start(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    fds[0] = (struct pollfd){.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), .events = POLLIN};
    fds[1] = (struct pollfd){.fd = eventfd(0, EFD_CLOEXEC), .events = POLLIN};
}

__attribute__((noinline)) static bool is_ready(int timeout_ms)
{
    uint64_t count;
    bool is_there = poll(fds, 2, timeout_ms) > 0 && read(fds[0].fd, &count, sizeof count) == (ssize_t)sizeof count;
    __asm__ volatile("");
    return is_there;
}

inline __attribute__((always_inline)) void toolkit_run(void)
{
    while (is_running) {
        if (is_ready(-1)) {
            the_tick();
        }
    }
}

void toolkit_quit(void)
{
    is_running = false;
}

void toolkit_dialog(void)
{
    for (is_open = true; is_open;) {
        if (is_ready(-1)) {
            the_tick();
        }
    }
}

void toolkit_close_dialog(void)
{
    is_open = false;
}

bool toolkit_peek(void)
{
    if (is_ready(0)) {
        the_tick();
    }
    return true;
}

bool toolkit_await_reply(int fd)
{
    struct pollfd reply = {.fd = fd, .events = POLLIN};
    return poll(&reply, 1, -1) == 1;
}

#include "loop_script.c"
