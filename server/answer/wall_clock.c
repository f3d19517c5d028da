/* SPDX-License-Identifier: Apache-2.0 */
/* wall_clock.c - the time of day. */
#include "wall_clock.h"

#include <time.h>

int64_t sbx_wall_clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}
