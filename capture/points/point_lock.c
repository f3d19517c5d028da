/* SPDX-License-Identifier: Apache-2.0 */
/* point_lock.c - mutexes and condition variables.
 *
 * An uncontended lock costs one trylock, which is what the lock itself would have cost; only a lock that is held by
 * another is measured. glibc's mutexes name their owner while held: it is read when the wait begins. */
#include "point.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static int (*real_mutex_lock)(pthread_mutex_t *);
static int (*real_mutex_trylock)(pthread_mutex_t *);
static int (*real_mutex_timedlock)(pthread_mutex_t *, const struct timespec *);

static uint32_t owner_of(const pthread_mutex_t *mutex)
{
#ifdef __GLIBC__
    return (uint32_t)sbx_load_relaxed(&mutex->__data.__owner); /* relaxed: a hint; it may change at any time */
#else
    (void)mutex;
    return 0;
#endif
}

static int hook_mutex_lock(pthread_mutex_t *mutex)
{
    int result = real_mutex_trylock(mutex);
    if (SBX_LIKELY(result != EBUSY)) {
        return result; /* ours now, or an error that lock would report as well */
    }
    struct sbx_blocking call;
    SBX_SAVE_FRAME_POINTER();
    sbx_blocking_begin(&call, SBX_GROUP_LOCK, SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, (uint64_t)mutex, owner_of(mutex));
    result = real_mutex_lock(mutex);
    sbx_blocking_end(&call, 0, result != 0, -1);
    return result;
}

static int hook_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
    int result = real_mutex_trylock(mutex);
    if (SBX_LIKELY(result != EBUSY)) {
        return result;
    }
    struct sbx_blocking call;
    SBX_SAVE_FRAME_POINTER();
    sbx_blocking_begin(&call, SBX_GROUP_LOCK, SBX_RECORD_LOCK, SBX_OP_MUTEX_TIMEDLOCK, (uint64_t)mutex, owner_of(mutex));
    result = real_mutex_timedlock(mutex, until);
    sbx_blocking_end(&call, 0, result != 0, -1);
    return result;
}

SBX_BLOCKING_HOOK(int, cond_wait, (pthread_cond_t * condition, pthread_mutex_t *mutex), (condition, mutex),
                  SBX_GROUP_COND, SBX_RECORD_COND, SBX_OP_COND_WAIT, (uint64_t)condition, 0, result != 0, -1)
SBX_BLOCKING_HOOK(int, cond_timedwait,
                  (pthread_cond_t * condition, pthread_mutex_t *mutex, const struct timespec *until),
                  (condition, mutex, until), SBX_GROUP_COND, SBX_RECORD_COND, SBX_OP_COND_TIMEDWAIT, (uint64_t)condition, 0,
                  result != 0, -1)
SBX_BLOCKING_HOOK(int, cond_clockwait,
                  (pthread_cond_t * condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until),
                  (condition, mutex, clock, until), SBX_GROUP_COND, SBX_RECORD_COND, SBX_OP_COND_CLOCKWAIT, (uint64_t)condition, 0,
                  result != 0, -1)

static const struct sbx_point points[] = {
    /* not hooked, only resolved: hook_mutex_lock() calls it */
    SBX_POINT("pthread_mutex_trylock", NULL, real_mutex_trylock, SBX_GROUP_LOCK),
    SBX_POINT("pthread_mutex_lock", hook_mutex_lock, real_mutex_lock, SBX_GROUP_LOCK),
    SBX_POINT("pthread_mutex_timedlock", hook_mutex_timedlock, real_mutex_timedlock, SBX_GROUP_LOCK),
    SBX_POINT("pthread_cond_wait", hook_cond_wait, real_cond_wait, SBX_GROUP_COND),
    SBX_POINT("pthread_cond_timedwait", hook_cond_timedwait, real_cond_timedwait, SBX_GROUP_COND),
    SBX_POINT("pthread_cond_clockwait", hook_cond_clockwait, real_cond_clockwait, SBX_GROUP_COND),
};
const struct sbx_point_list sbx_points_lock = SBX_POINT_LIST(points);
