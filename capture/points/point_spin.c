/* SPDX-License-Identifier: Apache-2.0 */
/* point_spin.c - spin locks.
 *
 * A spin lock is usually held for nanoseconds. So the hook tries a few times before it measures anything: the two clock
 * reads of a measured wait would otherwise cost more than the wait. The case worth a record is a spin lock whose holder
 * was taken off its CPU, which lasts for milliseconds. A spin lock does not contain its holder's name. If the original
 * is a wrapper of another library, it is called to lock, and the lock is not tried (point.h). Then a lock that looks
 * held is measured at once. */
#include "point.h"

#include <errno.h>
#include <pthread.h>

enum {
    TRIES = 100
}; /* some microseconds, as the real function would spend */

static int (*real_spin_lock)(pthread_spinlock_t *);

/* A hint, for a lock that may not be tried. */
static inline bool is_free(const pthread_spinlock_t *lock)
{
#if defined(__GLIBC__) && defined(__x86_64__)
    const int free_word = 1; /* nptl/pthread_spin_init.c of that architecture */
#else
    const int free_word = 0;
#endif
    return (int)sbx_load_relaxed((const uint32_t *)(const volatile void *)lock) == free_word; /* relaxed: a hint */
}

static inline void pause_cpu(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

SBX_NOINLINE static int measure_spin_lock(pthread_spinlock_t *lock)
{
    struct sbx_blocking call;
    SBX_SAVE_FRAME_POINTER();
    sbx_wait_begin(&call, SBX_GROUP_SPIN, SBX_RECORD_LOCK, SBX_OP_SPIN_LOCK, (uint64_t)lock, 0);
    int result = real_spin_lock(lock);
    sbx_blocking_end(&call, 0, result != 0, -1);
    return result;
}

SBX_NOINLINE static int wait_in_spin_lock(pthread_spinlock_t *lock)
{
    for (int i = 0; i < TRIES; i++) {
        pause_cpu();
        if (pthread_spin_trylock(lock) == 0) { /* no look first: a free one differs from libc to libc */
            return 0;
        }
    }
    return measure_spin_lock(lock);
}

static int hook_spin_lock(pthread_spinlock_t *lock)
{
    if (SBX_UNLIKELY(real_spin_lock != pthread_spin_lock)) { /* the library's own binding; a wrapper comes next */
        return is_free(lock) ? real_spin_lock(lock) : measure_spin_lock(lock);
    }
    int result = pthread_spin_trylock(lock);
    return SBX_LIKELY(result != EBUSY) ? result : wait_in_spin_lock(lock);
}

static int (*real_spin_unlock)(pthread_spinlock_t *);

SBX_NOINLINE static int wake_in_spin_unlock(pthread_spinlock_t *lock)
{
    sbx_wake_look((uint64_t)lock, SBX_OP_SPIN_UNLOCK, SBX_WAKE_ONE);
    return real_spin_unlock(lock);
}

static int hook_spin_unlock(pthread_spinlock_t *lock)
{
    return SBX_UNLIKELY(sbx_waiter_is_likely((uint64_t)lock)) ? wake_in_spin_unlock(lock) : real_spin_unlock(lock);
}

static const struct sbx_point points[] = {
    SBX_POINT("pthread_spin_lock", hook_spin_lock, real_spin_lock, SBX_GROUP_SPIN),
    SBX_POINT("pthread_spin_unlock", hook_spin_unlock, real_spin_unlock, SBX_GROUP_WAKE),
};
const struct sbx_point_list sbx_points_spin = SBX_POINT_LIST(points);
