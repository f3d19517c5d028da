/* SPDX-License-Identifier: Apache-2.0 */
/* blocked_call.h - system calls that threads sleep in: their names, and what their arguments tell about the wait.
 * Pure. */
#ifndef SBX_BLOCKED_CALL_H
#define SBX_BLOCKED_CALL_H

#include <stdint.h>

enum sbx_blocked_kind {
    SBX_BLOCKED_OTHER = 0,   /* only its name is known */
    SBX_BLOCKED_SLEEP,       /* a time */
    SBX_BLOCKED_FUTEX,       /* a word of memory: argument 0; operation: 1; expected value: 2 */
    SBX_BLOCKED_READ,        /* descriptor: argument 0 */
    SBX_BLOCKED_WRITE,       /* descriptor: argument 0 */
    SBX_BLOCKED_ACCEPT,      /* descriptor: argument 0 */
    SBX_BLOCKED_FILE,        /* descriptor: argument 0; a disk or a similar device */
    SBX_BLOCKED_FILE_LOCK,   /* descriptor: argument 0 */
    SBX_BLOCKED_POLL,        /* struct pollfd: argument 0; how many: 1; poll's milliseconds or ppoll's timespec: 2 */
    SBX_BLOCKED_SELECT,      /* descriptors below argument 0; sets: 1 to 3 */
    SBX_BLOCKED_EPOLL,       /* descriptor: argument 0 */
    SBX_BLOCKED_CHILD,       /* wait4: pid in argument 0 */
    SBX_BLOCKED_CHILD_BY_ID, /* waitid: kind in argument 0, id in 1 */
    SBX_BLOCKED_SIGNAL,      /* a signal */
    SBX_BLOCKED_OPEN,        /* a path: argument 0 */
    SBX_BLOCKED_OPEN_AT,     /* a path: argument 1 */
    SBX_BLOCKED_SEMAPHORE,   /* System V: id in argument 0 */
    SBX_BLOCKED_MESSAGE,     /* System V or POSIX message queue */
};

struct sbx_blocked_call {
    const char *name; /* "futex"; NULL: this table does not have the call */
    enum sbx_blocked_kind kind;
};

struct sbx_blocked_call sbx_blocked_call_of(int64_t number);

/* What a futex(2) operation waits for. */
enum sbx_futex_wait {
    SBX_FUTEX_NONE = 0, /* it does not wait */
    SBX_FUTEX_VALUE,    /* until the word is changed: a mutex, a condition variable, a thread's end, ... */
    SBX_FUTEX_PRIORITY, /* a mutex with priority inheritance: the word names its owner */
};
enum sbx_futex_wait sbx_futex_wait_of(uint64_t operation);

#endif
