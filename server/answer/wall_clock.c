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

void sbx_wall_clock_print(int64_t ms, char text[SBX_WALL_CLOCK_BYTES])
{
    struct tm utc;
    time_t seconds = (time_t)(ms / 1000);
    if (!gmtime_r(&seconds, &utc) || !strftime(text, SBX_WALL_CLOCK_BYTES, "%Y-%m-%dT%H:%M:%SZ", &utc))
        *text = '\0';
}
