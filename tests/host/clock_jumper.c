/* SPDX-License-Identifier: Apache-2.0 */
/* clock_jumper.c - a library to be preloaded: for every caller in the process the wall clock jumps a year ahead and
 * back, again and again. Setting the machine's own clock would affect other processes. */
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *out)
{
    static unsigned turn;
    long result = syscall(SYS_clock_gettime, clock, out);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        out->tv_sec += __atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED) % 2 == 0 ? 31536000 : -31536000;
    }
    return (int)result;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL) {
        *out = now.tv_sec;
    }
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}
