/* SPDX-License-Identifier: Apache-2.0 */
/* futex_owner.c - the layouts, and the checks before one is trusted.
 *
 * glibc 2.36, sysdeps/nptl/bits/struct_mutex.h (x86-64, aarch64): lock, count, owner, users (64-bit), kind. A waiter
 * sets lock to 2 and waits for that value; robust and priority-inheriting ones keep the owner's number in lock itself
 * (robust_list(2), FUTEX_LOCK_PI). struct_rwlock.h: readers, writers, wrphase_futex, writers_futex, pad, pad,
 * cur_writer; waits are at the third and the fourth word. A thread's number lies in the word that pthread_join() waits
 * at until the kernel clears it (CLONE_CHILD_CLEARTID). */
#include "futex_owner.h"

#include <linux/futex.h>
#include <string.h>

#include "blocked_call.h"

enum {
    MUTEX_CONTENDED = 2,
    MUTEX_OWNER = 2, /* words behind the lock */
    MUTEX_USERS = 3,
    MUTEX_KIND = 4,
    MUTEX_KIND_BITS = 0x7ff,
    RWLOCK_WRITE_PHASE = 2, /* words behind the lock's begin */
    RWLOCK_WRITERS = 3,
    RWLOCK_OWNER = 6
};

static bool is_owner(uint32_t tid, uint32_t waiter, sbx_is_thread *is_thread, void *context)
{
    return tid != 0 && tid != waiter && is_thread(context, tid);
}

static bool begins_with(const char *text, const char *beginning)
{
    return text != NULL && strncmp(text, beginning, strlen(beginning)) == 0;
}

/* These objects have no owner, although the word after theirs may belong to a mutex. */
static bool has_no_owner(const char *function)
{
    return begins_with(function, "pthread_cond") || begins_with(function, "cnd_") || begins_with(function, "sem_") ||
           begins_with(function, "pthread_barrier");
}

/* Readers and writers of a read-write lock wait at its third or its fourth word. */
static struct sbx_futex_owner write_lock_owner(const uint32_t *at, uint32_t waiter, sbx_is_thread *is_thread,
                                               void *context)
{
    const uint32_t owners[] = {at[RWLOCK_OWNER - RWLOCK_WRITE_PHASE], at[RWLOCK_OWNER - RWLOCK_WRITERS]};
    for (unsigned i = 0; i < 2; i++) {
        if (is_owner(owners[i], waiter, is_thread, context)) {
            return (struct sbx_futex_owner){SBX_FUTEX_WRITE_LOCK, owners[i]};
        }
    }
    return (struct sbx_futex_owner){SBX_FUTEX_UNKNOWN, 0};
}

struct sbx_futex_owner sbx_futex_owner_of(const char *function, uint64_t operation, uint32_t expected,
                                          const uint32_t words[SBX_FUTEX_WORDS], uint32_t waiter,
                                          sbx_is_thread *is_thread, void *context)
{
    const struct sbx_futex_owner nobody = {SBX_FUTEX_UNKNOWN, 0};
    const uint32_t *at = &words[SBX_FUTEX_WORDS_BEFORE];
    enum sbx_futex_wait wait = sbx_futex_wait_of(operation);
    if (wait == SBX_FUTEX_PRIORITY) {
        uint32_t tid = at[0] & FUTEX_TID_MASK;
        return is_owner(tid, waiter, is_thread, context) ? (struct sbx_futex_owner){SBX_FUTEX_MUTEX, tid} : nobody;
    }
    if (wait != SBX_FUTEX_VALUE || at[0] != expected || has_no_owner(function)) {
        return nobody;
    }
    if (begins_with(function, "pthread_rwlock")) {
        return write_lock_owner(at, waiter, is_thread, context);
    }
    bool may_be_mutex =
        (at[MUTEX_KIND] & ~(uint32_t)MUTEX_KIND_BITS) == 0 && at[MUTEX_USERS] >= 1 && at[MUTEX_USERS] <= FUTEX_TID_MASK;
    if (expected == MUTEX_CONTENDED && may_be_mutex && is_owner(at[MUTEX_OWNER], waiter, is_thread, context)) {
        return (struct sbx_futex_owner){SBX_FUTEX_MUTEX, at[MUTEX_OWNER]};
    }
    uint32_t tid = expected & FUTEX_TID_MASK;
    if ((expected & FUTEX_WAITERS) != 0) { /* a robust mutex */
        return is_owner(tid, waiter, is_thread, context) ? (struct sbx_futex_owner){SBX_FUTEX_MUTEX, tid} : nobody;
    }
    if (expected > MUTEX_CONTENDED && is_owner(expected, waiter, is_thread, context)) {
        return (struct sbx_futex_owner){SBX_FUTEX_THREAD_END, expected};
    }
    return nobody;
}
