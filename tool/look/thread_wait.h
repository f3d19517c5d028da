/* SPDX-License-Identifier: Apache-2.0 */
/* thread_wait.h - what a sleeping thread of another process waits for, from its system call, the arguments and the
 * memory they point to. */
#ifndef SBX_THREAD_WAIT_H
#define SBX_THREAD_WAIT_H

#include <stdint.h>
#include <sys/types.h>

#include "blocked_call.h"
#include "thread_status.h"

enum {
    SBX_WAIT_TEXT = 1024
};

struct sbx_thread_wait {
    const char *call; /* "futex"; "" when it sleeps in no call, NULL when the name is unknown */
    enum sbx_blocked_kind kind;
    uint64_t object;          /* address of the futex; 0: none */
    pid_t holder_pid;         /* process of the holder; 0: unknown */
    pid_t holder;             /* the thread, by its number on this machine; 0: unknown, or the whole process */
    char text[SBX_WAIT_TEXT]; /* in words: "for a mutex", "for input of TCP ..."; "": unknown */
};

/* The threads of the process, to check whether a number is one of them. */
struct sbx_thread_numbers {
    pid_t pid;
    size_t count;
    const pid_t *tids;          /* numbers on this machine */
    const uint32_t *inner_tids; /* numbers inside the process */
};

/* `function`: the public function that the thread is in ("pthread_mutex_lock"), from its stack; NULL: unknown. */
void sbx_thread_wait_find(const struct sbx_thread_numbers *threads, size_t waiter,
                          const struct sbx_thread_position *position, const char *function,
                          struct sbx_thread_wait *wait_out);

#endif
