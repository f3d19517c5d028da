// SPDX-License-Identifier: Apache-2.0
// libevent_throws.cpp - the C++ of test_point_libevent.c.
#include "libevent_throws.h"

#include <stdexcept>

static void throw_out(evutil_socket_t, short, void *)
{
    throw std::runtime_error("out of the callback");
}

extern "C" int libevent_throws_through_a_timer(event_base *base)
{
    const timeval soon = {0, 1000};
    event_base_once(base, -1, EV_TIMEOUT, throw_out, nullptr, &soon);
    try {
        event_base_dispatch(base);
    } catch (const std::runtime_error &) {
        return 1;
    }
    return 0;
}
