/* SPDX-License-Identifier: Apache-2.0 */
/* monotonic_in.h - the time so many milliseconds from now, by CLOCK_MONOTONIC: the end of a
 * pthread_cond_timedwait(). */
#ifndef SBX_MONOTONIC_IN_H
#define SBX_MONOTONIC_IN_H

#include <stdint.h>
#include <time.h>

static inline int64_t sbx_monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static inline struct timespec sbx_monotonic_in_ms(int64_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return until;
}

#endif
