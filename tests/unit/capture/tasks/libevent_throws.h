/* SPDX-License-Identifier: Apache-2.0 */
/* libevent_throws.h - an exception that leaves a timer's callback and the loop that called it
 * (test_point_libevent.c). */
#ifndef SBX_TEST_LIBEVENT_THROWS_H
#define SBX_TEST_LIBEVENT_THROWS_H

#include <event2/event.h>

/* Returns 1: the exception was caught around event_base_dispatch(). */
#ifdef __cplusplus
extern "C"
#endif
    int
    libevent_throws_through_a_timer(struct event_base *base);

#endif
