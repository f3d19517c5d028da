/* SPDX-License-Identifier: Apache-2.0 */
/* point_clock.c - clock reads as leaf probes: frame loops, time-outs and log lines read a clock in most programs.
 *
 * The hook counts down and calls the original as a tail call. If a program was linked so that libc chooses the function
 * at load time (an IRELATIVE relocation, in static and some non-PIC programs), its slot names no symbol and is not
 * hooked. */
#include "fork_path.h"
#include "point.h"
#include "runtime_queue.h"

#include <sys/time.h>
#include <time.h>

static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_gettimeofday)(struct timeval *, void *);
static time_t (*real_time)(time_t *);

/* These functions are left by the hook as tail calls, so their return address is its caller's. */
#define CALLER __builtin_return_address(0)

/* A runtime's clock read may also show queued work (calls/runtime_queue.h). */
SBX_NOINLINE static int read_by_runtime(clockid_t clock, struct timespec *out)
{
    if (sbx_leaf_is_out()) {
        sbx_leaf_of_anybody(SBX_RECORD_LEAF, SBX_OP_CLOCK_GETTIME, SBX_GROUP_CLOCK, CALLER);
    }
    sbx_runtime_queue_look();
    return real_clock_gettime(clock, out);
}

/* The code for a count that has run out is a separate function, so that the usual path saves no register. */
#define CLOCK_HOOK(type, name, parameters, arguments, op)                                         \
    SBX_NOINLINE static type ask_in_##name parameters                                             \
    {                                                                                             \
        sbx_leaf_of_anybody(SBX_RECORD_LEAF, op, SBX_GROUP_CLOCK, CALLER);                        \
        return real_##name arguments;                                                             \
    }                                                                                             \
    static type hook_##name parameters                                                            \
    {                                                                                             \
        return SBX_UNLIKELY(sbx_leaf_is_out()) ? ask_in_##name arguments : real_##name arguments; \
    }

SBX_NOINLINE static int ask_in_clock_gettime(clockid_t clock, struct timespec *out)
{
    sbx_leaf_of_anybody(SBX_RECORD_LEAF, SBX_OP_CLOCK_GETTIME, SBX_GROUP_CLOCK, CALLER);
    return real_clock_gettime(clock, out);
}

/* For a program that has such a runtime. `site` is the call's return address. */
SBX_NOINLINE static int read_beside_runtime(clockid_t clock, struct timespec *out, uint64_t site)
{
    if (sbx_clock_reader_is_at(site)) {
        return read_by_runtime(clock, out);
    }
    return SBX_UNLIKELY(sbx_leaf_is_out()) ? ask_in_clock_gettime(clock, out) : real_clock_gettime(clock, out);
}

SBX_FORK_CODE static int hook_clock_gettime(clockid_t clock, struct timespec *out)
{
    if (SBX_UNLIKELY(sbx_load_relaxed(&sbx_the_clock_reader.bytes) != 0)) { /* relaxed: checked again later */
        return read_beside_runtime(clock, out, (uint64_t)(uintptr_t)__builtin_return_address(0));
    }
    return SBX_UNLIKELY(sbx_leaf_is_out()) ? ask_in_clock_gettime(clock, out) : real_clock_gettime(clock, out);
}

CLOCK_HOOK(int, gettimeofday, (struct timeval * out, void *zone), (out, zone), SBX_OP_GETTIMEOFDAY)
CLOCK_HOOK(time_t, time, (time_t * out), (out), SBX_OP_TIME)

static const struct sbx_point points[] = {
    SBX_POINT("clock_gettime", hook_clock_gettime, real_clock_gettime, SBX_GROUP_CLOCK),
    SBX_POINT("gettimeofday", hook_gettimeofday, real_gettimeofday, SBX_GROUP_CLOCK),
    SBX_POINT("time", hook_time, real_time, SBX_GROUP_CLOCK),
};
const struct sbx_point_list sbx_points_clock = SBX_POINT_LIST(points);
