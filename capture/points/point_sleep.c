/* SPDX-License-Identifier: Apache-2.0 */
/* point_sleep.c - the sleep family, and waits for signals, which are sleeps with another alarm clock. glibc's usleep
 * and sleep call nanosleep inside the library, past any GOT, so each is a point of its own.
 *
 * pause() and its like end at any signal: that they are points also keeps our own sampling signal away from them. */
#include "point.h"

#include <signal.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define SLEEPS(type, name, parameters, arguments, op) \
    SBX_BLOCKING_HOOK(type, name, parameters, arguments, SBX_GROUP_SLEEP, SBX_RECORD_SLEEP, op, 0, 0, result != 0, -1)

SLEEPS(int, nanosleep, (const struct timespec *time, struct timespec *rest), (time, rest), SBX_OP_NANOSLEEP)
SLEEPS(int, clock_nanosleep, (clockid_t clock, int flags, const struct timespec *time, struct timespec *rest),
       (clock, flags, time, rest), SBX_OP_CLOCK_NANOSLEEP)
SLEEPS(int, usleep, (useconds_t time_us), (time_us), SBX_OP_USLEEP)
SLEEPS(unsigned, sleep, (unsigned seconds), (seconds), SBX_OP_SLEEP)
SLEEPS(int, thrd_sleep, (const struct timespec *time, struct timespec *rest), (time, rest), SBX_OP_NANOSLEEP)

#define AWAITS_SIGNAL(name, parameters, arguments, op, failed) \
    SBX_BLOCKING_HOOK(int, name, parameters, arguments, SBX_GROUP_SLEEP, SBX_RECORD_SLEEP, op, 0, 0, failed, -1)

AWAITS_SIGNAL(pause, (void), (), SBX_OP_PAUSE, false)
AWAITS_SIGNAL(sigsuspend, (const sigset_t *mask), (mask), SBX_OP_SIGSUSPEND, false)
AWAITS_SIGNAL(sigtimedwait, (const sigset_t *set, siginfo_t *out, const struct timespec *timeout), (set, out, timeout),
              SBX_OP_SIGTIMEDWAIT, result < 0)
AWAITS_SIGNAL(sigwaitinfo, (const sigset_t *set, siginfo_t *out), (set, out), SBX_OP_SIGTIMEDWAIT, result < 0)
AWAITS_SIGNAL(sigwait, (const sigset_t *set, int *out), (set, out), SBX_OP_SIGTIMEDWAIT, result != 0)

#define POINT(name) SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_SLEEP)
static const struct sbx_point points[] = {
    POINT(nanosleep), POINT(clock_nanosleep), POINT(usleep),       POINT(sleep),       POINT(thrd_sleep),
    POINT(pause),     POINT(sigsuspend),      POINT(sigtimedwait), POINT(sigwaitinfo), POINT(sigwait),
};
const struct sbx_point_list sbx_points_sleep = SBX_POINT_LIST(points);
