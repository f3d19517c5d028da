/* SPDX-License-Identifier: Apache-2.0 */
/* point_wait.c - semaphores, barriers, the end of a thread, event counters.
 *
 * No thread holds any of these objects. So there is no holder to name, only the thread that ended the wait. For a join
 * that thread is known beforehand. */
#include "point.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <threads.h>
#include <time.h>

#include "client_message.h"
#include "rest_place.h"
#include "self_pipe.h"
#include "shared_wait.h"

/* ---- semaphores ---- */

/* Can the semaphore be taken without a wait? The count is in the low bits of the first word, in glibc (from 2.21, on
 * machines with 64-bit atomics) and in musl. In musl before 1.2.4 all bits are set while a thread waits. This is only a
 * hint: if it is wrong, one wait is not measured, or a call that does not wait is measured. sem_trywait() is not used,
 * because it is no cancellation point, and a wait is one even when it need not sleep. */
static bool has_count(const sem_t *semaphore)
{
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the count is in the first bytes");
    uint32_t word = sbx_load_relaxed((const uint32_t *)(const void *)semaphore); /* relaxed: a hint */
    return (word & INT32_MAX) != 0 && word != UINT32_MAX;
}

/* May another process wait for the semaphore? musl does not show this in the same way and is left out. */
static bool is_between_processes(const sem_t *semaphore)
{
#ifdef __GLIBC__
    return sbx_load_relaxed((const uint32_t *)(const void *)semaphore + 2) != 0; /* relaxed: it never changes */
#else
    (void)semaphore;
    return false;
#endif
}

static bool wakes_nobody(const sem_t *semaphore)
{
    return !sbx_waiter_is_likely((uint64_t)semaphore) && !is_between_processes(semaphore);
}

SBX_NOINLINE static int take_shared(int result, sem_t *semaphore)
{
    if (result == 0) {
        sbx_shared_taken((uint64_t)semaphore);
    }
    return result;
}

#define SEM_HOOK(name, parameters, arguments, op)                                                               \
    static int(*real_##name) parameters;                                                                        \
    SBX_NOINLINE static int wait_in_##name parameters                                                           \
    {                                                                                                           \
        struct sbx_blocking call;                                                                               \
        bool is_shared = is_between_processes(semaphore);                                                       \
        uint32_t turns = is_shared ? sbx_shared_turns((uint64_t)semaphore) : 0;                                 \
        if (is_shared && has_count(semaphore)) {                                                                \
            return take_shared(real_##name arguments, semaphore);                                               \
        }                                                                                                       \
        SBX_SAVE_FRAME_POINTER();                                                                               \
        sbx_wait_begin(&call, SBX_GROUP_SEMAPHORE, SBX_RECORD_WAIT, op, (uint64_t)semaphore, 0);                \
        sbx_client_wait(&call, SBX_CALLED_FROM);                                                                \
        sbx_rest_begin(&call);                                                                                  \
        int result = real_##name arguments;                                                                     \
        while (SBX_UNLIKELY(result != 0) && errno == EINTR && sbx_call_was_cut(&call)) {                        \
            result = real_##name arguments; /* until the same time */                                           \
        }                                                                                                       \
        sbx_blocking_end(&call, 0, result != 0, -1);                                                            \
        sbx_rest_end(&call);                                                                                    \
        if (is_shared && result == 0) {                                                                         \
            sbx_shared_wait_end(&call, turns);                                                                  \
            sbx_shared_taken((uint64_t)semaphore);                                                              \
        }                                                                                                       \
        return result;                                                                                          \
    }                                                                                                           \
    static int hook_##name parameters                                                                           \
    {                                                                                                           \
        return SBX_LIKELY(has_count(semaphore) && !is_between_processes(semaphore)) ? real_##name arguments     \
                                                                                    : wait_in_##name arguments; \
    }

SEM_HOOK(sem_wait, (sem_t * semaphore), (semaphore), SBX_OP_SEM_WAIT)
SEM_HOOK(sem_timedwait, (sem_t * semaphore, const struct timespec *until), (semaphore, until), SBX_OP_SEM_TIMEDWAIT)
SEM_HOOK(sem_clockwait, (sem_t * semaphore, clockid_t clock, const struct timespec *until), (semaphore, clock, until),
         SBX_OP_SEM_TIMEDWAIT)
SBX_RELEASE_HOOK(sem_post, sem_t, SBX_OP_SEM_POST, SBX_WAKE_ONE)

/* ---- barriers ---- */

static int (*real_barrier_wait)(pthread_barrier_t *);

/* Was this call the one that released the others? glibc returns the special value to the last thread that came
 * (nptl/pthread_barrier_wait.c). In other libraries any thread may get it, so a thread that hardly waited is taken for
 * the last. */
static bool came_last(int result, const struct sbx_blocking *call, uint64_t now_ns)
{
#ifdef __GLIBC__
    (void)call;
    (void)now_ns;
    return result == PTHREAD_BARRIER_SERIAL_THREAD;
#else
    (void)result;
    return now_ns - call->begin_ns < sbx_load_relaxed(&sbx_the_capture.threshold_ns[SBX_GROUP_BARRIER]);
#endif
}

static int hook_barrier_wait(pthread_barrier_t *barrier)
{
    struct sbx_blocking call;
    struct sbx_waiter waiters[SBX_WAKE_RECORDS_MOST];
    uint32_t seen = 0, count = 0;
    SBX_SAVE_FRAME_POINTER();
    if (SBX_UNLIKELY(sbx_waiter_is_likely((uint64_t)barrier))) {
        count = sbx_wake_prepare((uint64_t)barrier, waiters, &seen); /* before this thread is a waiter itself */
    }
    sbx_wait_begin(&call, SBX_GROUP_BARRIER, SBX_RECORD_WAIT, SBX_OP_BARRIER_WAIT, (uint64_t)barrier, 0);
    int result = real_barrier_wait(barrier);
    bool is_last = count != 0 && call.thread != NULL && call.thread == sbx_self &&
                   came_last(result, &call, sbx_thread_wall_ns(call.thread));
    sbx_blocking_end(&call, 0, result != 0 && result != PTHREAD_BARRIER_SERIAL_THREAD, -1);
    if (is_last) {
        sbx_wake_record(waiters, count, seen, SBX_OP_BARRIER_LAST);
    }
    return result;
}

/* ---- the end of a thread ---- */

/* The tid of the live thread with this handle, if it has registered; 0: not known. */
static uint32_t tid_of(uint64_t handle)
{
    uint32_t count = sbx_capture_is_open() ? sbx_thread_count() : 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct sbx_thread *thread = sbx_thread_at(i);
        if (thread != NULL && sbx_load_relaxed(&thread->handle) == handle) {
            return thread->tid;
        }
    }
    return 0;
}

SBX_WAIT_HOOK(int, join, (pthread_t thread, void **result_out), (thread, result_out), SBX_GROUP_JOIN, SBX_RECORD_WAIT,
              SBX_OP_JOIN, (uint64_t)thread, tid_of((uint64_t)thread), result != 0)
SBX_WAIT_HOOK(int, thrd_join, (thrd_t thread, int *result_out), (thread, result_out), SBX_GROUP_JOIN, SBX_RECORD_WAIT,
              SBX_OP_JOIN, (uint64_t)thread, tid_of((uint64_t)thread), result != thrd_success)
SBX_WAIT_HOOK(int, timedjoin, (pthread_t thread, void **result_out, const struct timespec *until),
              (thread, result_out, until), SBX_GROUP_JOIN, SBX_RECORD_WAIT, SBX_OP_TIMEDJOIN, (uint64_t)thread,
              tid_of((uint64_t)thread), result != 0)
SBX_WAIT_HOOK(int, clockjoin, (pthread_t thread, void **result_out, clockid_t clock, const struct timespec *until),
              (thread, result_out, clock, until), SBX_GROUP_JOIN, SBX_RECORD_WAIT, SBX_OP_TIMEDJOIN, (uint64_t)thread,
              tid_of((uint64_t)thread), result != 0)

/* ---- event counters ---- */

static int (*real_eventfd_read)(int, eventfd_t *);
static int hook_eventfd_read(int fd, eventfd_t *value)
{
    struct sbx_blocking call;
    SBX_SAVE_FRAME_POINTER();
    sbx_wait_begin(&call, SBX_GROUP_EVENTFD, SBX_RECORD_WAIT, SBX_OP_EVENTFD_READ, (uint64_t)fd + 1, 0);
    int result = real_eventfd_read(fd, value);
    sbx_self_pipe_read(fd, sizeof *value, result == 0 ? (int64_t)sizeof *value : -1);
    sbx_blocking_end(&call, 0, result != 0, -1);
    return result;
}

static int (*real_eventfd_write)(int, eventfd_t);

static int hook_eventfd_write(int fd, eventfd_t value)
{
    sbx_self_pipe_write(fd, SBX_OP_EVENTFD_WRITE);
    sbx_wake_check((uint64_t)fd + 1, SBX_OP_EVENTFD_WRITE, SBX_WAKE_ALL);
    return real_eventfd_write(fd, value);
}

static const struct sbx_point points[] = {
    SBX_POINT("sem_wait", hook_sem_wait, real_sem_wait, SBX_GROUP_SEMAPHORE),
    SBX_POINT("sem_timedwait", hook_sem_timedwait, real_sem_timedwait, SBX_GROUP_SEMAPHORE),
    SBX_POINT("sem_clockwait", hook_sem_clockwait, real_sem_clockwait, SBX_GROUP_SEMAPHORE),
    SBX_POINT("sem_post", hook_sem_post, real_sem_post, SBX_GROUP_WAKE),
    SBX_POINT("pthread_barrier_wait", hook_barrier_wait, real_barrier_wait, SBX_GROUP_BARRIER),
    SBX_POINT("pthread_join", hook_join, real_join, SBX_GROUP_JOIN),
    SBX_POINT("thrd_join", hook_thrd_join, real_thrd_join, SBX_GROUP_JOIN),
    SBX_POINT("pthread_timedjoin_np", hook_timedjoin, real_timedjoin, SBX_GROUP_JOIN),
    SBX_POINT("pthread_clockjoin_np", hook_clockjoin, real_clockjoin, SBX_GROUP_JOIN),
    SBX_POINT("eventfd_read", hook_eventfd_read, real_eventfd_read, SBX_GROUP_EVENTFD),
    SBX_POINT("eventfd_write", hook_eventfd_write, real_eventfd_write, SBX_GROUP_EVENTFD),
};
const struct sbx_point_list sbx_points_wait = SBX_POINT_LIST(points);
