// SPDX-License-Identifier: Apache-2.0
// uv_throws.cpp - the C++ of test_point_uv_handle.c.
#include "uv_throws.h"

#include <stdexcept>

static void throw_out(uv_timer_t *)
{
    throw std::runtime_error("out of the callback");
}

extern "C" int uv_throws_through_a_timer(uv_loop_t *loop)
{
    static uv_timer_t timer;
    int caught = 0;
    uv_timer_init(loop, &timer);
    uv_timer_start(&timer, throw_out, 1, 0);
    try {
        uv_run(loop, UV_RUN_DEFAULT);
    } catch (const std::runtime_error &) {
        caught = 1;
    }
    uv_close(reinterpret_cast<uv_handle_t *>(&timer), nullptr);
    return caught;
}
