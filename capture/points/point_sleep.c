/* SPDX-License-Identifier: Apache-2.0 */
/* point_sleep.c - the sleep family. glibc's usleep and sleep call nanosleep inside the library, past any GOT, so each
 * is a point of its own. */
#include "point.h"

#include <time.h>
#include <unistd.h>

SBX_BLOCKING_HOOK(int, nanosleep, (const struct timespec *time, struct timespec *rest), (time, rest), SBX_GROUP_SLEEP, SBX_RECORD_SLEEP,
                  SBX_OP_NANOSLEEP, 0, 0, result != 0, -1)
SBX_BLOCKING_HOOK(int, clock_nanosleep,
                  (clockid_t clock, int flags, const struct timespec *time, struct timespec *rest),
                  (clock, flags, time, rest), SBX_GROUP_SLEEP, SBX_RECORD_SLEEP, SBX_OP_CLOCK_NANOSLEEP, 0, 0, result != 0, -1)
SBX_BLOCKING_HOOK(int, usleep, (useconds_t time_us), (time_us), SBX_GROUP_SLEEP, SBX_RECORD_SLEEP, SBX_OP_USLEEP, 0, 0, result != 0, -1)
SBX_BLOCKING_HOOK(unsigned, sleep, (unsigned seconds), (seconds), SBX_GROUP_SLEEP, SBX_RECORD_SLEEP, SBX_OP_SLEEP, 0, 0, result != 0, -1)

static const struct sbx_point points[] = {
    SBX_POINT("nanosleep", hook_nanosleep, real_nanosleep, SBX_GROUP_SLEEP),
    SBX_POINT("clock_nanosleep", hook_clock_nanosleep, real_clock_nanosleep, SBX_GROUP_SLEEP),
    SBX_POINT("usleep", hook_usleep, real_usleep, SBX_GROUP_SLEEP),
    SBX_POINT("sleep", hook_sleep, real_sleep, SBX_GROUP_SLEEP),
};
const struct sbx_point_list sbx_points_sleep = SBX_POINT_LIST(points);
