// SPDX-License-Identifier: Apache-2.0
// host_cxx.cpp - an event loop as C++ programs write it: handlers in a map, exceptions caught around each of them.
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <functional>
#include <map>

#include "stall.h"

namespace
{

class Reactor
{
  public:
    Reactor() : loop_(epoll_create1(EPOLL_CLOEXEC))
    {
    }
    void add(int fd, std::function<void()> handler)
    {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd;
        if (epoll_ctl(loop_, EPOLL_CTL_ADD, fd, &event) != 0) {
            std::abort();
        }
        handlers_[fd] = std::move(handler);
    }
    void run()
    {
        epoll_event event{};
        while (!over_) {
            if (epoll_wait(loop_, &event, 1, -1) == 1) {
                try {
                    handlers_[event.data.fd]();
                } catch (const std::exception &) {
                    std::abort();
                }
            }
        }
    }
    void stop()
    {
        over_ = true;
    }

  private:
    int loop_;
    bool over_ = false;
    std::map<int, std::function<void()>> handlers_;
};

void arm(int timer, int ms)
{
    itimerspec due{};
    due.it_value.tv_sec = ms / 1000;
    due.it_value.tv_nsec = ms == 0 ? 1 : ms % 1000 * 1000000L;
    timerfd_settime(timer, 0, &due, nullptr);
}

} // namespace

extern "C" void host_loop(int (*step)(void))
{
    Reactor reactor;
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    reactor.add(timer, [&] {
        uint64_t expirations;
        int next_ms =
            read(timer, &expirations, sizeof expirations) == static_cast<ssize_t>(sizeof expirations) ? step() : 15;
        if (next_ms < 0) {
            reactor.stop();
        } else {
            arm(timer, next_ms);
        }
    });
    arm(timer, 15);
    reactor.run();
}
