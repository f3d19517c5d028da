/* SPDX-License-Identifier: Apache-2.0 */
/* toolkit_epoll.c - the program's own loop over epoll, as in redis. */
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "toolkit.h"

static int set, timer;
static bool is_running = true, is_open;
static void (*the_tick)(void);

void toolkit_tick_soon(void (*tick)(void))
{
    struct itimerspec soon = {.it_value = {.tv_nsec = 20000000}};
    the_tick = tick;
    timerfd_settime(timer, 0, &soon, NULL);
}

void toolkit_start(int *argc, char ***argv)
{
    struct epoll_event event = {.events = EPOLLIN};
    (void)argc;
    (void)argv;
    set = epoll_create1(EPOLL_CLOEXEC);
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    epoll_ctl(set, EPOLL_CTL_ADD, timer, &event);
}

__attribute__((noinline)) static void turn(int timeout_ms)
{
    struct epoll_event event;
    uint64_t count;
    if (epoll_wait(set, &event, 1, timeout_ms) == 1 && read(timer, &count, sizeof count) == (ssize_t)sizeof count) {
        the_tick();
    }
    __asm__ volatile("");
}

void toolkit_run(void)
{
    while (is_running) {
        turn(-1);
    }
}

void toolkit_quit(void)
{
    is_running = false;
}

#ifdef DIALOG_POLLS_BY_ITSELF
/* Another function with the same epoll set. */
void toolkit_dialog(void)
{
    for (is_open = true; is_open;) {
        struct epoll_event event;
        uint64_t count;
        if (epoll_wait(set, &event, 1, 1000) == 1 && read(timer, &count, sizeof count) == (ssize_t)sizeof count) {
            the_tick();
        }
    }
}
#else
void toolkit_dialog(void)
{
    for (is_open = true; is_open;) {
        turn(-1);
    }
}
#endif

void toolkit_close_dialog(void)
{
    is_open = false;
}

bool toolkit_peek(void)
{
    turn(0);
    return true;
}

bool toolkit_await_reply(int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    int own = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(own, EPOLL_CTL_ADD, fd, &event);
    bool is_there = epoll_wait(own, &event, 1, -1) == 1;
    close(own);
    return is_there;
}
