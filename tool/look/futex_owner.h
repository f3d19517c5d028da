/* SPDX-License-Identifier: Apache-2.0 */
/* futex_owner.h - which thread has what a thread waits for in futex(2): read from the words of the C library's own objects.
 *
 * futex(2) itself knows no owner. glibc and musl write one into mutexes, glibc into read-write locks too, and a thread's end is waited for at a word
 * that holds its number. What does not look exactly so is not claimed. */
#ifndef SBX_FUTEX_OWNER_H
#define SBX_FUTEX_OWNER_H

#include <stdbool.h>
#include <stdint.h>

enum sbx_futex_object {
    SBX_FUTEX_UNKNOWN = 0, /* a word that something waits to change: no owner is written there */
    SBX_FUTEX_MUTEX,
    SBX_FUTEX_THREAD_END, /* pthread_join() */
    SBX_FUTEX_WRITE_LOCK, /* a read-write lock that a writer holds */
};

enum {
    SBX_FUTEX_WORDS_BEFORE = 3, /* of the object, in front of the futex's word */
    SBX_FUTEX_WORDS = 12        /* altogether */
};

struct sbx_futex_owner {
    enum sbx_futex_object object;
    uint32_t tid; /* as the process numbers its threads */
};

/* Is this number a thread of the process (or, for an object shared by processes, of the machine)? */
typedef bool sbx_is_thread(void *context, uint32_t tid);

/* Pure. `function` is the public function of the C library that waits ("pthread_cond_wait"), by the stack; NULL: not known. `words`: from SBX_FUTEX_WORDS_BEFORE words before the futex on; what cannot be read is 0. `operation` and `expected` are arguments 1 and 2
 * of the call; `waiter` is the waiting thread. */
struct sbx_futex_owner sbx_futex_owner_of(const char *function, uint64_t operation, uint32_t expected,
                                          const uint32_t words[SBX_FUTEX_WORDS], uint32_t waiter,
                                          sbx_is_thread *is_thread, void *context);

#endif
