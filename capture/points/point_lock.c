/* SPDX-License-Identifier: Apache-2.0 */
/* point_lock.c - mutexes and condition variables, POSIX and C11.
 *
 * An uncontended lock costs one trylock, which is what the lock itself would have cost; only a lock that is held is
 * measured. Trying comes to the same as locking whenever it does not say EBUSY: a recursive mutex of one's own counts on,
 * a robust one reports EOWNERDEAD or ENOTRECOVERABLE and so does its lock, and what is wrong with a mutex both report. With
 * EBUSY the real lock is asked, which also knows EDEADLK. glibc's mutexes name their owner while held: it is read when the
 * wait begins. libc's own C11 functions call its POSIX ones inside, where no hook is, so they are points of their own. */
#include "point.h"

#include <errno.h>
#include <pthread.h>
#include <threads.h>
#include <time.h>

static uint32_t owner_of(const void *mutex)
{
#ifdef __GLIBC__
    /* relaxed: a hint; it may change at any time. A C11 mutex is a POSIX one inside. */
    return (uint32_t)sbx_load_relaxed(&((const pthread_mutex_t *)mutex)->__data.__owner);
#else
    (void)mutex;
    return 0;
#endif
}

static int (*real_mutex_trylock)(pthread_mutex_t *);
static int (*real_mtx_trylock)(mtx_t *);

SBX_LOCK_HOOK(int, mutex_lock, (pthread_mutex_t * mutex), (mutex), real_mutex_trylock(mutex), EBUSY, SBX_GROUP_LOCK,
              SBX_OP_MUTEX_LOCK, (uint64_t)mutex, owner_of(mutex))
SBX_LOCK_HOOK(int, mutex_timedlock, (pthread_mutex_t * mutex, const struct timespec *until), (mutex, until),
              real_mutex_trylock(mutex), EBUSY, SBX_GROUP_LOCK, SBX_OP_MUTEX_TIMEDLOCK, (uint64_t)mutex,
              owner_of(mutex))
SBX_LOCK_HOOK(int, mtx_lock, (mtx_t * mutex), (mutex), real_mtx_trylock(mutex), thrd_busy, SBX_GROUP_LOCK,
              SBX_OP_MUTEX_LOCK, (uint64_t)mutex, owner_of(mutex))
SBX_LOCK_HOOK(int, mtx_timedlock, (mtx_t * mutex, const struct timespec *until), (mutex, until),
              real_mtx_trylock(mutex), thrd_busy, SBX_GROUP_LOCK, SBX_OP_MUTEX_TIMEDLOCK, (uint64_t)mutex,
              owner_of(mutex))

/* The clock is checked before the lock is tried: a bad one is EINVAL also when the mutex is free (glibc). */
static int (*real_mutex_clocklock)(pthread_mutex_t *, clockid_t, const struct timespec *);

SBX_NOINLINE static int wait_in_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
    struct sbx_blocking call;
    SBX_SAVE_FRAME_POINTER();
    sbx_wait_begin(&call, SBX_GROUP_LOCK, SBX_RECORD_LOCK, SBX_OP_MUTEX_CLOCKLOCK, (uint64_t)mutex, owner_of(mutex));
    int result = real_mutex_clocklock(mutex, clock, until);
    sbx_blocking_end(&call, 0, result != 0, -1);
    return result;
}

static int hook_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
    if (SBX_UNLIKELY(clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME)) {
        return real_mutex_clocklock(mutex, clock, until);
    }
    int result = real_mutex_trylock(mutex);
    return SBX_LIKELY(result != EBUSY) ? result : wait_in_mutex_clocklock(mutex, clock, until);
}

SBX_RELEASE_HOOK(mutex_unlock, pthread_mutex_t, SBX_OP_MUTEX_UNLOCK, SBX_WAKE_ONE)
SBX_RELEASE_HOOK(mtx_unlock, mtx_t, SBX_OP_MUTEX_UNLOCK, SBX_WAKE_ONE)
SBX_RELEASE_HOOK(cond_signal, pthread_cond_t, SBX_OP_COND_SIGNAL, SBX_WAKE_ONE)
SBX_RELEASE_HOOK(cnd_signal, cnd_t, SBX_OP_COND_SIGNAL, SBX_WAKE_ONE)
SBX_RELEASE_HOOK(cond_broadcast, pthread_cond_t, SBX_OP_COND_BROADCAST, SBX_WAKE_ALL)
SBX_RELEASE_HOOK(cnd_broadcast, cnd_t, SBX_OP_COND_BROADCAST, SBX_WAKE_ALL)

/* Waiting for a condition lets go of the mutex as well. */
#define COND_HOOK(name, parameters, arguments, op)                                                        \
    static int(*real_##name) parameters;                                                                  \
    static int hook_##name parameters                                                                     \
    {                                                                                                     \
        struct sbx_blocking call;                                                                         \
        SBX_SAVE_FRAME_POINTER();                                                                         \
        sbx_wake_check((uint64_t)mutex, op, SBX_WAKE_ONE);                                                \
        sbx_wait_begin(&call, SBX_GROUP_COND, SBX_RECORD_COND, op, (uint64_t)condition, 0);               \
        int result = real_##name arguments;                                                               \
        sbx_blocking_end(&call, 0, result != 0, -1);                                                      \
        return result;                                                                                    \
    }

COND_HOOK(cond_wait, (pthread_cond_t * condition, pthread_mutex_t *mutex), (condition, mutex), SBX_OP_COND_WAIT)
COND_HOOK(cond_timedwait, (pthread_cond_t * condition, pthread_mutex_t *mutex, const struct timespec *until),
          (condition, mutex, until), SBX_OP_COND_TIMEDWAIT)
COND_HOOK(cond_clockwait,
          (pthread_cond_t * condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until),
          (condition, mutex, clock, until), SBX_OP_COND_CLOCKWAIT)
COND_HOOK(cnd_wait, (cnd_t * condition, mtx_t *mutex), (condition, mutex), SBX_OP_COND_WAIT)
COND_HOOK(cnd_timedwait, (cnd_t * condition, mtx_t *mutex, const struct timespec *until), (condition, mutex, until),
          SBX_OP_COND_TIMEDWAIT)

static const struct sbx_point points[] = {
    /* not hooked, only resolved: the locks call them */
    SBX_POINT("pthread_mutex_trylock", NULL, real_mutex_trylock, SBX_GROUP_LOCK),
    SBX_POINT("mtx_trylock", NULL, real_mtx_trylock, SBX_GROUP_LOCK),
    SBX_POINT("pthread_mutex_lock", hook_mutex_lock, real_mutex_lock, SBX_GROUP_LOCK),
    SBX_POINT("pthread_mutex_timedlock", hook_mutex_timedlock, real_mutex_timedlock, SBX_GROUP_LOCK),
    SBX_POINT("pthread_mutex_clocklock", hook_mutex_clocklock, real_mutex_clocklock, SBX_GROUP_LOCK),
    SBX_POINT("mtx_lock", hook_mtx_lock, real_mtx_lock, SBX_GROUP_LOCK),
    SBX_POINT("mtx_timedlock", hook_mtx_timedlock, real_mtx_timedlock, SBX_GROUP_LOCK),
    SBX_POINT("pthread_cond_wait", hook_cond_wait, real_cond_wait, SBX_GROUP_COND),
    SBX_POINT("pthread_cond_timedwait", hook_cond_timedwait, real_cond_timedwait, SBX_GROUP_COND),
    SBX_POINT("pthread_cond_clockwait", hook_cond_clockwait, real_cond_clockwait, SBX_GROUP_COND),
    SBX_POINT("cnd_wait", hook_cnd_wait, real_cnd_wait, SBX_GROUP_COND),
    SBX_POINT("cnd_timedwait", hook_cnd_timedwait, real_cnd_timedwait, SBX_GROUP_COND),
    SBX_POINT("pthread_mutex_unlock", hook_mutex_unlock, real_mutex_unlock, SBX_GROUP_WAKE),
    SBX_POINT("mtx_unlock", hook_mtx_unlock, real_mtx_unlock, SBX_GROUP_WAKE),
    SBX_POINT("pthread_cond_signal", hook_cond_signal, real_cond_signal, SBX_GROUP_WAKE),
    SBX_POINT("cnd_signal", hook_cnd_signal, real_cnd_signal, SBX_GROUP_WAKE),
    SBX_POINT("pthread_cond_broadcast", hook_cond_broadcast, real_cond_broadcast, SBX_GROUP_WAKE),
    SBX_POINT("cnd_broadcast", hook_cnd_broadcast, real_cnd_broadcast, SBX_GROUP_WAKE),
};
const struct sbx_point_list sbx_points_lock = SBX_POINT_LIST(points);
