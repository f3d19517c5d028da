/* SPDX-License-Identifier: Apache-2.0 */
/* uv_throws.h - an exception that leaves a timer's callback and the loop that called it (test_point_uv_handle.c). */
#ifndef SBX_TEST_UV_THROWS_H
#define SBX_TEST_UV_THROWS_H

#include <uv.h>

/* Returns 1: the exception was caught around uv_run(). The timer is being closed. */
#ifdef __cplusplus
extern "C"
#endif
    int
    uv_throws_through_a_timer(uv_loop_t *loop);

#endif
