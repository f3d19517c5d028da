/* SPDX-License-Identifier: Apache-2.0 */
/* point_lock.c - mutexes and condition variables, POSIX and C11.
 *
 * Only a lock that is held is measured. glibc's mutexes show in words of a public struct whether they are free, and who
 * owns them while they are held. The owner is read when the wait begins. Where these words are not known, every lock is
 * tried first. A try that does not return EBUSY has the same result as a lock: a recursive mutex of the caller counts
 * on; a robust one returns EOWNERDEAD or ENOTRECOVERABLE in both cases; and both return the same errors for an invalid
 * mutex. After EBUSY the real lock is called, which can also return EDEADLK. libc's own C11 functions call its POSIX
 * functions internally, where there is no hook, so they are points of their own. */
#include "point.h"

#include <errno.h>
#include <pthread.h>
#include <threads.h>
#include <time.h>

#include "client_message.h"
#include "rest_place.h"
#include "shared_wait.h"

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

/* 0 means free for every kind of mutex except those with a priority ceiling. Those are always tried. */
static inline bool is_free(const void *mutex)
{
#ifdef __GLIBC__
    return sbx_load_relaxed(&((const pthread_mutex_t *)mutex)->__data.__lock) == 0; /* relaxed: a hint */
#else
    (void)mutex;
    return false;
#endif
}

static bool is_known(clockid_t clock)
{
    return clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME;
}

SBX_LOCK_HOOK(int, mutex_lock, (pthread_mutex_t * mutex), (mutex), is_free(mutex), pthread_mutex_trylock(mutex), EBUSY,
              SBX_GROUP_LOCK, SBX_OP_MUTEX_LOCK, (uint64_t)mutex, owner_of(mutex))
SBX_LOCK_HOOK(int, mutex_timedlock, (pthread_mutex_t * mutex, const struct timespec *until), (mutex, until),
              is_free(mutex), pthread_mutex_trylock(mutex), EBUSY, SBX_GROUP_LOCK, SBX_OP_MUTEX_TIMEDLOCK,
              (uint64_t)mutex, owner_of(mutex))
/* The clock is checked before the lock: glibc returns EINVAL for an invalid clock even when the mutex is free. */
SBX_LOCK_HOOK(int, mutex_clocklock, (pthread_mutex_t * mutex, clockid_t clock, const struct timespec *until),
              (mutex, clock, until), is_free(mutex) || !is_known(clock), pthread_mutex_trylock(mutex), EBUSY,
              SBX_GROUP_LOCK, SBX_OP_MUTEX_CLOCKLOCK, (uint64_t)mutex, owner_of(mutex))
SBX_LOCK_HOOK(int, mtx_lock, (mtx_t * mutex), (mutex), is_free(mutex), mtx_trylock(mutex), thrd_busy, SBX_GROUP_LOCK,
              SBX_OP_MUTEX_LOCK, (uint64_t)mutex, owner_of(mutex))
SBX_LOCK_HOOK(int, mtx_timedlock, (mtx_t * mutex, const struct timespec *until), (mutex, until), is_free(mutex),
              mtx_trylock(mutex), thrd_busy, SBX_GROUP_LOCK, SBX_OP_MUTEX_TIMEDLOCK, (uint64_t)mutex, owner_of(mutex))

/* Is it certain that this unlock wakes no thread? 1 means held without sleepers, 2 held with sleepers (Drepper, Futexes
 * are tricky); in the kinds that the kernel knows the word is a tid. The unlock needs this word anyway, but the table
 * of waiters is another cache line. A thread that was woken and has not run yet still has its seat in that table. So a
 * lock that is released and taken again meanwhile does not cost a look each time. */
static inline bool wakes_no_sleeper(const void *mutex)
{
#ifdef __GLIBC__
    return sbx_load_relaxed(&((const pthread_mutex_t *)mutex)->__data.__lock) == 1; /* relaxed: this thread holds it */
#else
    return !sbx_waiter_is_likely((uint64_t)mutex);
#endif
}

/* Is it a recursive mutex that stays held after this unlock? */
static bool stays_held(const void *mutex)
{
#ifdef __GLIBC__
    return sbx_load_relaxed(&((const pthread_mutex_t *)mutex)->__data.__count) > 1; /* relaxed: this thread holds it */
#else
    (void)mutex;
    return false;
#endif
}

#define UNLOCK_HOOK(name, type)                                                                  \
    static int (*real_##name)(type *);                                                           \
    SBX_NOINLINE static int wake_in_##name(type *mutex)                                          \
    {                                                                                            \
        if (!stays_held(mutex)) {                                                                \
            sbx_wake_check((uint64_t)mutex, SBX_OP_MUTEX_UNLOCK, SBX_WAKE_ONE);                  \
        }                                                                                        \
        return real_##name(mutex);                                                               \
    }                                                                                            \
    static int hook_##name(type *mutex)                                                          \
    {                                                                                            \
        return SBX_LIKELY(wakes_no_sleeper(mutex)) ? real_##name(mutex) : wake_in_##name(mutex); \
    }

UNLOCK_HOOK(mutex_unlock, pthread_mutex_t)
UNLOCK_HOOK(mtx_unlock, mtx_t)

/* May another process wait for the condition? This is glibc's own bit (nptl/pthread_cond_common.c,
 * __PTHREAD_COND_SHARED_MASK). A C11 condition is a POSIX one inside, and is never shared. */
static inline bool is_between_processes(const void *condition)
{
#ifdef __GLIBC__
    return (sbx_load_relaxed(&((const pthread_cond_t *)condition)->__data.__wrefs) & 1) !=
           0; /* relaxed: it never changes */
#else
    (void)condition;
    return false;
#endif
}

/* Is it certain that no thread waits for the condition, in this process or another? glibc counts waiters from the
 * fourth bit of that word on, and its own signal returns at once when there are none. The first bit is the one above,
 * the second is the clock's (nptl/pthread_cond_common.c). */
static inline bool wakes_nobody(const void *condition)
{
#ifdef __GLIBC__
    enum {
        CLOCK_BIT = 2
    };
    /* relaxed: a waiter that comes just now has not waited */
    return (sbx_load_relaxed(&((const pthread_cond_t *)condition)->__data.__wrefs) & ~(unsigned)CLOCK_BIT) == 0;
#else
    return !sbx_waiter_is_likely((uint64_t)condition);
#endif
}

SBX_RELEASE_HOOK(cond_signal, pthread_cond_t, SBX_OP_COND_SIGNAL, SBX_WAKE_ONE)
SBX_RELEASE_HOOK(cnd_signal, cnd_t, SBX_OP_COND_SIGNAL, SBX_WAKE_ONE)
SBX_RELEASE_HOOK(cond_broadcast, pthread_cond_t, SBX_OP_COND_BROADCAST, SBX_WAKE_ALL)
SBX_RELEASE_HOOK(cnd_broadcast, cnd_t, SBX_OP_COND_BROADCAST, SBX_WAKE_ALL)

/* A wait for a condition releases the mutex as well. */
#define COND_HOOK(name, parameters, arguments, op)                                            \
    static int(*real_##name) parameters;                                                      \
    static int hook_##name parameters                                                         \
    {                                                                                         \
        bool is_shared = is_between_processes(condition);                                     \
        SBX_SAVE_FRAME_POINTER();                                                             \
        sbx_wake_check((uint64_t)mutex, op, SBX_WAKE_ONE);                                    \
        if (sbx_load_relaxed(&sbx_the_capture.follows_lightly) != 0 && !is_shared &&          \
            sbx_client_wait_may_hand_on(op, SBX_CALLED_FROM)) { /* relaxed: late by a call */ \
            return real_##name arguments;                                                     \
        }                                                                                     \
        struct sbx_blocking call;                                                             \
        uint32_t turns = SBX_UNLIKELY(is_shared) ? sbx_shared_turns((uint64_t)condition) : 0; \
        sbx_wait_begin(&call, SBX_GROUP_COND, SBX_RECORD_COND, op, (uint64_t)condition, 0);   \
        sbx_client_wait(&call, SBX_CALLED_FROM);                                              \
        sbx_rest_begin(&call);                                                                \
        int result = real_##name arguments;                                                   \
        sbx_blocking_end(&call, 0, result != 0, -1);                                          \
        sbx_rest_end(&call);                                                                  \
        if (SBX_UNLIKELY(is_shared) && result == 0) {                                         \
            sbx_shared_wait_end(&call, turns);                                                \
        }                                                                                     \
        return result;                                                                        \
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
