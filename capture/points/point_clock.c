/* SPDX-License-Identifier: Apache-2.0 */
/* point_clock.c - clock reads as leaf probes: frame loops, time-outs and log lines read a clock wherever they go.
 *
 * A countdown and a tail call. Where a program was linked so that libc chooses the function at load time (an IRELATIVE
 * relocation, in static and some non-PIC programs), its slot names no symbol and is not ours. */
#include "point.h"

#include <sys/time.h>
#include <time.h>

static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_gettimeofday)(struct timeval *, void *);
static time_t (*real_time)(time_t *);

static int hook_clock_gettime(clockid_t clock, struct timespec *out)
{
    sbx_leaf_here(SBX_RECORD_LEAF, SBX_OP_CLOCK_GETTIME, SBX_GROUP_CLOCK);
    return real_clock_gettime(clock, out);
}

static int hook_gettimeofday(struct timeval *out, void *zone)
{
    sbx_leaf_here(SBX_RECORD_LEAF, SBX_OP_GETTIMEOFDAY, SBX_GROUP_CLOCK);
    return real_gettimeofday(out, zone);
}

static time_t hook_time(time_t *out)
{
    sbx_leaf_here(SBX_RECORD_LEAF, SBX_OP_TIME, SBX_GROUP_CLOCK);
    return real_time(out);
}

static const struct sbx_point points[] = {
    SBX_POINT("clock_gettime", hook_clock_gettime, real_clock_gettime, SBX_GROUP_CLOCK),
    SBX_POINT("gettimeofday", hook_gettimeofday, real_gettimeofday, SBX_GROUP_CLOCK),
    SBX_POINT("time", hook_time, real_time, SBX_GROUP_CLOCK),
};
const struct sbx_point_list sbx_points_clock = SBX_POINT_LIST(points);
