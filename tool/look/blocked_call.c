/* SPDX-License-Identifier: Apache-2.0 */
/* blocked_call.c - the table. */
#include "blocked_call.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>

struct row {
    long number;
    struct sbx_blocked_call call;
};

#define CALL(name, kind) \
    {                    \
        SYS_##name,      \
        {                \
#name, kind  \
        }                \
    }

/* Calls that sleep until another thread, process or device lets them go on. aarch64 has only the newer ones. */
static const struct row rows[] = {
    CALL(nanosleep, SBX_BLOCKED_SLEEP),
    CALL(clock_nanosleep, SBX_BLOCKED_SLEEP),
    CALL(futex, SBX_BLOCKED_FUTEX),
    CALL(read, SBX_BLOCKED_READ),
    CALL(readv, SBX_BLOCKED_READ),
    CALL(pread64, SBX_BLOCKED_FILE),
    CALL(preadv, SBX_BLOCKED_FILE),
    CALL(preadv2, SBX_BLOCKED_FILE),
    CALL(recvfrom, SBX_BLOCKED_READ),
    CALL(recvmsg, SBX_BLOCKED_READ),
    CALL(recvmmsg, SBX_BLOCKED_READ),
    CALL(write, SBX_BLOCKED_WRITE),
    CALL(writev, SBX_BLOCKED_WRITE),
    CALL(pwrite64, SBX_BLOCKED_FILE),
    CALL(pwritev, SBX_BLOCKED_FILE),
    CALL(pwritev2, SBX_BLOCKED_FILE),
    CALL(sendto, SBX_BLOCKED_WRITE),
    CALL(sendmsg, SBX_BLOCKED_WRITE),
    CALL(sendmmsg, SBX_BLOCKED_WRITE),
    CALL(sendfile, SBX_BLOCKED_WRITE),
    CALL(splice, SBX_BLOCKED_READ),
    CALL(connect, SBX_BLOCKED_WRITE),
    CALL(accept, SBX_BLOCKED_ACCEPT),
    CALL(accept4, SBX_BLOCKED_ACCEPT),
    CALL(fsync, SBX_BLOCKED_FILE),
    CALL(fdatasync, SBX_BLOCKED_FILE),
    CALL(syncfs, SBX_BLOCKED_FILE),
    CALL(ftruncate, SBX_BLOCKED_FILE),
    CALL(fallocate, SBX_BLOCKED_FILE),
    CALL(getdents64, SBX_BLOCKED_FILE),
    CALL(fstat, SBX_BLOCKED_FILE),
    CALL(flock, SBX_BLOCKED_FILE_LOCK),
    CALL(fcntl, SBX_BLOCKED_FILE_LOCK),
    CALL(ioctl, SBX_BLOCKED_FILE),
    CALL(ppoll, SBX_BLOCKED_POLL),
    CALL(pselect6, SBX_BLOCKED_SELECT),
    CALL(epoll_pwait, SBX_BLOCKED_EPOLL),
    CALL(epoll_pwait2, SBX_BLOCKED_EPOLL),
    CALL(wait4, SBX_BLOCKED_CHILD),
    CALL(waitid, SBX_BLOCKED_CHILD_BY_ID),
    CALL(rt_sigsuspend, SBX_BLOCKED_SIGNAL),
    CALL(rt_sigtimedwait, SBX_BLOCKED_SIGNAL),
    CALL(openat, SBX_BLOCKED_OPEN_AT),
    CALL(newfstatat, SBX_BLOCKED_OPEN_AT),
    CALL(unlinkat, SBX_BLOCKED_OPEN_AT),
    CALL(faccessat, SBX_BLOCKED_OPEN_AT),
    CALL(semop, SBX_BLOCKED_SEMAPHORE),
    CALL(semtimedop, SBX_BLOCKED_SEMAPHORE),
    CALL(msgrcv, SBX_BLOCKED_MESSAGE),
    CALL(msgsnd, SBX_BLOCKED_MESSAGE),
    CALL(mq_timedreceive, SBX_BLOCKED_MESSAGE),
    CALL(mq_timedsend, SBX_BLOCKED_MESSAGE),
    CALL(sync, SBX_BLOCKED_OTHER),
    CALL(restart_syscall, SBX_BLOCKED_OTHER),
    CALL(io_uring_enter, SBX_BLOCKED_FILE),
    CALL(io_getevents, SBX_BLOCKED_OTHER),
    CALL(mmap, SBX_BLOCKED_OTHER),
    CALL(munmap, SBX_BLOCKED_OTHER),
    CALL(madvise, SBX_BLOCKED_OTHER),
    CALL(execve, SBX_BLOCKED_OTHER),
    CALL(exit, SBX_BLOCKED_OTHER),
    CALL(exit_group, SBX_BLOCKED_OTHER),
#ifdef SYS_poll
    CALL(poll, SBX_BLOCKED_POLL),
    CALL(select, SBX_BLOCKED_SELECT),
    CALL(epoll_wait, SBX_BLOCKED_EPOLL),
    CALL(pause, SBX_BLOCKED_SIGNAL),
    CALL(open, SBX_BLOCKED_OPEN),
    CALL(stat, SBX_BLOCKED_OPEN),
    CALL(lstat, SBX_BLOCKED_OPEN),
    CALL(access, SBX_BLOCKED_OPEN),
    CALL(unlink, SBX_BLOCKED_OPEN),
    CALL(vfork, SBX_BLOCKED_OTHER),
#endif
};

struct sbx_blocked_call sbx_blocked_call_of(int64_t number)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].number == number) {
            return rows[i].call;
        }
    }
    return (struct sbx_blocked_call){NULL, SBX_BLOCKED_OTHER};
}

enum sbx_futex_wait sbx_futex_wait_of(uint64_t operation)
{
    switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAIT_REQUEUE_PI:
        return SBX_FUTEX_VALUE;
    case FUTEX_LOCK_PI:
    case 13 /* FUTEX_LOCK_PI2, Linux 5.14 */:
        return SBX_FUTEX_PRIORITY;
    default:
        return SBX_FUTEX_NONE;
    }
}
