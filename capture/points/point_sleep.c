/* SPDX-License-Identifier: Apache-2.0 */
/* point_sleep.c - the sleep family, and waits for signals, which are sleeps with another alarm clock. glibc's usleep
 * and sleep call nanosleep inside the library without a GOT slot, so each is a point of its own.
 *
 * Any signal ends pause() and similar calls. That they are points also keeps the sample signal away from them. */
#include "point.h"

#include <errno.h>
#include <signal.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "message_loop.h"

#define SLEEPS(type, name, parameters, arguments, op, is_cut, again)                                        \
    SBX_BLOCKING_HOOK_AGAIN(type, name, parameters, arguments, SBX_GROUP_SLEEP, SBX_RECORD_SLEEP, op, 0, 0, \
                            result != 0, -1, is_cut, again)

/* The kernel stores the remaining time if the caller asks for it; that may be the same memory as `time`. */
SLEEPS(int, nanosleep, (const struct timespec *time, struct timespec *rest), (time, rest), SBX_OP_NANOSLEEP,
       result != 0 && errno == EINTR, struct timespec left;
       result = real_nanosleep(rest != NULL ? rest : sbx_call_left(&call, time, &left), rest);)
SLEEPS(int, clock_nanosleep, (clockid_t clock, int flags, const struct timespec *time, struct timespec *rest),
       (clock, flags, time, rest), SBX_OP_CLOCK_NANOSLEEP, result == EINTR, struct timespec left;
       result = real_clock_nanosleep(clock, flags,
                                     (flags & TIMER_ABSTIME) != 0 ? time
                                     : rest != NULL               ? rest
                                                                  : sbx_call_left(&call, time, &left),
                                     rest);)
SLEEPS(int, usleep, (useconds_t time_us), (time_us), SBX_OP_USLEEP, result != 0 && errno == EINTR,
       result = real_usleep((useconds_t)(sbx_call_ns_left(&call, (uint64_t)time_us * 1000) / 1000));)
SLEEPS(int, thrd_sleep, (const struct timespec *time, struct timespec *rest), (time, rest), SBX_OP_NANOSLEEP,
       result == -1, struct timespec left;
       result = real_thrd_sleep(rest != NULL ? rest : sbx_call_left(&call, time, &left), rest);)

/* Returns whole seconds: 0 when the sleep was cut short in its last second. */
static unsigned sleep_on(const struct sbx_blocking *call, unsigned seconds)
{
    struct timespec left = {.tv_sec = 0}, whole = {.tv_sec = (time_t)seconds};
    const struct timespec *now = sbx_call_left(call, &whole, &left);
    return real_nanosleep == NULL || real_nanosleep(now, &left) == 0 ? 0 : (unsigned)left.tv_sec;
}

SLEEPS(unsigned, sleep, (unsigned seconds), (seconds), SBX_OP_SLEEP, true, result = sleep_on(&call, seconds);)

/* Any handler ends these calls. They are not made once more: if a handler of the program ran in between, the second
 * call would wait for another one. The sample signal is held back from the first two on every kernel
 * (sbx_blocking_begin()). */
#define AWAITS_SIGNAL(name, parameters, arguments, op, failed, begin) \
    static int(*real_##name) parameters;                              \
    static int hook_##name parameters                                 \
    {                                                                 \
        struct sbx_blocking call;                                     \
        SBX_SAVE_FRAME_POINTER();                                     \
        begin;                                                        \
        int result = real_##name arguments;                           \
        sbx_blocking_end(&call, 0, failed, -1);                       \
        return result;                                                \
    }
#define FOR_EVER(op)   sbx_signal_wait_begin(&call, op)
#define FOR_A_TIME(op) sbx_blocking_begin(&call, SBX_GROUP_SLEEP, SBX_RECORD_SLEEP, op, 0, 0)

AWAITS_SIGNAL(pause, (void), (), SBX_OP_PAUSE, false, FOR_EVER(SBX_OP_PAUSE))
AWAITS_SIGNAL(sigsuspend, (const sigset_t *mask), (mask), SBX_OP_SIGSUSPEND, false, FOR_EVER(SBX_OP_SIGSUSPEND))
AWAITS_SIGNAL(sigtimedwait, (const sigset_t *set, siginfo_t *out, const struct timespec *timeout), (set, out, timeout),
              SBX_OP_SIGTIMEDWAIT, result < 0, FOR_A_TIME(SBX_OP_SIGTIMEDWAIT))
AWAITS_SIGNAL(sigwaitinfo, (const sigset_t *set, siginfo_t *out), (set, out), SBX_OP_SIGTIMEDWAIT, result < 0,
              FOR_EVER(SBX_OP_SIGTIMEDWAIT))
AWAITS_SIGNAL(sigwait, (const sigset_t *set, int *out), (set, out), SBX_OP_SIGTIMEDWAIT, result != 0,
              FOR_EVER(SBX_OP_SIGTIMEDWAIT))

#define POINT(name) SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_SLEEP)
static const struct sbx_point points[] = {
    POINT(nanosleep), POINT(clock_nanosleep), POINT(usleep),       POINT(sleep),       POINT(thrd_sleep),
    POINT(pause),     POINT(sigsuspend),      POINT(sigtimedwait), POINT(sigwaitinfo), POINT(sigwait),
};
const struct sbx_point_list sbx_points_sleep = SBX_POINT_LIST(points);
