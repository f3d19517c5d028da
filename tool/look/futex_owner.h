/* SPDX-License-Identifier: Apache-2.0 */
/* futex_owner.h - finds which thread has what another thread waits for in futex(2), by reading the C library's own
 * objects.
 *
 * futex(2) itself knows no owner. glibc and musl store the owner in mutexes, and glibc also in read-write locks. The
 * end of a thread is waited for at a word that has its number. When an object does not have exactly this form, no owner
 * is reported. */
#ifndef SBX_FUTEX_OWNER_H
#define SBX_FUTEX_OWNER_H

#include <stdbool.h>
#include <stdint.h>

enum sbx_futex_object {
    SBX_FUTEX_UNKNOWN = 0, /* a word that a thread waits for to change; it has no owner */
    SBX_FUTEX_MUTEX,
    SBX_FUTEX_THREAD_END, /* pthread_join() */
    SBX_FUTEX_WRITE_LOCK, /* a read-write lock held by a writer */
};

enum {
    SBX_FUTEX_WORDS_BEFORE = 3, /* words of the object before the futex's word */
    SBX_FUTEX_WORDS = 12        /* words of the object in all */
};

struct sbx_futex_owner {
    enum sbx_futex_object object;
    uint32_t tid; /* number of the thread inside its process */
};

/* Is this the number of a thread of the process (or, for an object shared by processes, of the machine)? */
typedef bool sbx_is_thread(void *context, uint32_t tid);

/* Pure. `function`: the public function of the C library that waits ("pthread_cond_wait"), from the stack; NULL:
 * unknown. `words`: begin SBX_FUTEX_WORDS_BEFORE words before the futex; unreadable words are 0. `operation` and
 * `expected`: arguments 1 and 2 of the call. `waiter`: the waiting thread. */
struct sbx_futex_owner sbx_futex_owner_of(const char *function, uint64_t operation, uint32_t expected,
                                          const uint32_t words[SBX_FUTEX_WORDS], uint32_t waiter,
                                          sbx_is_thread *is_thread, void *context);

#endif
