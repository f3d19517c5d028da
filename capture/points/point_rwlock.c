/* SPDX-License-Identifier: Apache-2.0 */
/* point_rwlock.c - read-write locks.
 *
 * Like mutexes (point_lock.c) they are measured only when another thread holds them: a lock that looks free is left to
 * the original. glibc names the writer that holds a lock. Readers are not named anywhere. So a writer that waits for
 * readers knows no holder, and only learns which thread released the lock. For a lock between processes, the family's
 * page says which thread took it last (shared_wait.h). */
#include "point.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "shared_wait.h"

static uint32_t writer_of(const pthread_rwlock_t *lock)
{
#ifdef __GLIBC__
    return (uint32_t)sbx_load_relaxed(&lock->__data.__cur_writer); /* relaxed: a hint; it may change at any time */
#else
    (void)lock;
    return 0;
#endif
}

/* Errors of a clock or a time-out are reported before the lock is tried, even when it is free (glibc). So such a call
 * is left to the original. */
static bool is_sound(const struct timespec *until)
{
    return until != NULL && until->tv_nsec >= 0 && until->tv_nsec < 1000000000;
}

static bool is_known(clockid_t clock)
{
    return clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME;
}

/* Does the lock look free? The bits are those of glibc (nptl/pthread_rwlock_common.c): bit 0 is the write phase; bit 1:
 * a writer has the lock or is next; bit 2: readers wait for the phase to end; above them is the count of readers. A
 * wrong guess costs a try or leaves one wait unmeasured. */
static bool is_readable(const pthread_rwlock_t *lock)
{
#ifdef __GLIBC__
    return (sbx_load_relaxed(&lock->__data.__readers) & 2) == 0; /* relaxed: a hint */
#else
    (void)lock;
    return false;
#endif
}

static bool is_writable(const pthread_rwlock_t *lock)
{
#ifdef __GLIBC__
    return (sbx_load_relaxed(&lock->__data.__readers) & ~1u) == 0; /* relaxed: a hint */
#else
    (void)lock;
    return false;
#endif
}

/* May another process wait for the lock? */
static bool is_between_processes(const pthread_rwlock_t *lock)
{
#ifdef __GLIBC__
    return sbx_load_relaxed(&lock->__data.__shared) != 0; /* relaxed: it never changes */
#else
    (void)lock;
    return false;
#endif
}

static bool wakes_nobody(const pthread_rwlock_t *lock)
{
    return !sbx_waiter_is_likely((uint64_t)lock) && !is_between_processes(lock);
}

#define RWLOCK_HOOK(name, parameters, arguments, is_left_alone, try, op)                                    \
    SBX_LOCK_HOOK(int, name, parameters, arguments, is_left_alone, try(lock), EBUSY, SBX_GROUP_RWLOCK, op,  \
                  (uint64_t)lock, writer_of(lock))                                                          \
    SBX_NOINLINE static int share_in_##name parameters                                                      \
    {                                                                                                       \
        int result = hook_##name arguments;                                                                 \
        if (result == 0) {                                                                                  \
            sbx_shared_taken((uint64_t)lock);                                                               \
        }                                                                                                   \
        return result;                                                                                      \
    }                                                                                                       \
    static int hook_any_##name parameters                                                                   \
    {                                                                                                       \
        return SBX_LIKELY(!is_between_processes(lock)) ? hook_##name arguments : share_in_##name arguments; \
    }

RWLOCK_HOOK(rdlock, (pthread_rwlock_t * lock), (lock), is_readable(lock), pthread_rwlock_tryrdlock,
            SBX_OP_RWLOCK_RDLOCK)
RWLOCK_HOOK(wrlock, (pthread_rwlock_t * lock), (lock), is_writable(lock), pthread_rwlock_trywrlock,
            SBX_OP_RWLOCK_WRLOCK)
RWLOCK_HOOK(timedrdlock, (pthread_rwlock_t * lock, const struct timespec *until), (lock, until),
            is_readable(lock) || !is_sound(until), pthread_rwlock_tryrdlock, SBX_OP_RWLOCK_TIMEDRDLOCK)
RWLOCK_HOOK(timedwrlock, (pthread_rwlock_t * lock, const struct timespec *until), (lock, until),
            is_writable(lock) || !is_sound(until), pthread_rwlock_trywrlock, SBX_OP_RWLOCK_TIMEDWRLOCK)
RWLOCK_HOOK(clockrdlock, (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *until), (lock, clock, until),
            is_readable(lock) || !is_known(clock) || !is_sound(until), pthread_rwlock_tryrdlock,
            SBX_OP_RWLOCK_TIMEDRDLOCK)
RWLOCK_HOOK(clockwrlock, (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *until), (lock, clock, until),
            is_writable(lock) || !is_known(clock) || !is_sound(until), pthread_rwlock_trywrlock,
            SBX_OP_RWLOCK_TIMEDWRLOCK)
SBX_RELEASE_HOOK(rwlock_unlock, pthread_rwlock_t, SBX_OP_RWLOCK_UNLOCK, SBX_WAKE_ALL)

static const struct sbx_point points[] = {
    SBX_POINT("pthread_rwlock_rdlock", hook_any_rdlock, real_rdlock, SBX_GROUP_RWLOCK),
    SBX_POINT("pthread_rwlock_wrlock", hook_any_wrlock, real_wrlock, SBX_GROUP_RWLOCK),
    SBX_POINT("pthread_rwlock_timedrdlock", hook_any_timedrdlock, real_timedrdlock, SBX_GROUP_RWLOCK),
    SBX_POINT("pthread_rwlock_timedwrlock", hook_any_timedwrlock, real_timedwrlock, SBX_GROUP_RWLOCK),
    SBX_POINT("pthread_rwlock_clockrdlock", hook_any_clockrdlock, real_clockrdlock, SBX_GROUP_RWLOCK),
    SBX_POINT("pthread_rwlock_clockwrlock", hook_any_clockwrlock, real_clockwrlock, SBX_GROUP_RWLOCK),
    SBX_POINT("pthread_rwlock_unlock", hook_rwlock_unlock, real_rwlock_unlock, SBX_GROUP_WAKE),
};
const struct sbx_point_list sbx_points_rwlock = SBX_POINT_LIST(points);
