/* SPDX-License-Identifier: Apache-2.0 */
/* cause.c - what a blocking call says about why a thread did not run. */
#include "cause.h"

#include <stdio.h>
#include <string.h>

#include "names.h"
#include "record_kinds.h"

#define ENTRIES(table) (sizeof(table) / sizeof((table)[0]))

const char *sbx_cause_name(enum sbx_cause cause)
{
    static const char *const names[] = {
        [SBX_CAUSE_UNKNOWN] = "unknown",
        [SBX_CAUSE_CPU] = "cpu",
        [SBX_CAUSE_HIGH_FREQUENCY] = "high_frequency",
        [SBX_CAUSE_LOCK] = "lock",
        [SBX_CAUSE_DEADLOCK] = "deadlock",
        [SBX_CAUSE_WAIT] = "wait",
        [SBX_CAUSE_SLEEP] = "sleep",
        [SBX_CAUSE_IO] = "io",
        [SBX_CAUSE_NETWORK] = "network",
        [SBX_CAUSE_IPC] = "ipc",
        [SBX_CAUSE_MEMORY] = "memory",
        [SBX_CAUSE_GC] = "gc",
        [SBX_CAUSE_CPU_CONTENTION] = "cpu_contention",
        [SBX_CAUSE_CRASH] = "crash",
        [SBX_CAUSE_QUEUE] = "queue",
        [SBX_CAUSE_DEOPTIMIZATION] = "deoptimization",
    };
    return (size_t)cause < ENTRIES(names) ? names[cause] : names[SBX_CAUSE_UNKNOWN];
}

const char *sbx_class_name(enum sbx_class class_)
{
    switch (class_) {
    case SBX_CLASS_ON_CPU:
        return "on_cpu";
    case SBX_CLASS_RUNNABLE:
        return "runnable";
    case SBX_CLASS_OFF_CPU:
        return "off_cpu";
    }
    return "unknown";
}

/* The cause of a call on a descriptor, by what the descriptor leads to. */
static enum sbx_cause cause_of_descriptor(uint32_t fd_class, enum sbx_cause otherwise)
{
    switch (fd_class) {
    case SBX_FD_SOCKET:
        return SBX_CAUSE_NETWORK;
    case SBX_FD_PIPE:
    case SBX_FD_UNIX:
        return SBX_CAUSE_IPC;
    case SBX_FD_OTHER: /* an event counter, a timer, an inotify: waits for a notification */
        return SBX_CAUSE_WAIT;
    case SBX_FD_REGULAR:
    case SBX_FD_DIRECTORY:
    case SBX_FD_DEVICE:
        return SBX_CAUSE_IO;
    case SBX_FD_TTY: /* waits for a person */
        return SBX_CAUSE_WAIT;
    default:
        return otherwise;
    }
}

static enum sbx_cause cause_of_syscall(uint64_t number, uint32_t fd_class)
{
    static const struct {
        const char *name;
        enum sbx_cause cause;
        bool takes_descriptor;
    } calls[] = {
        {"nanosleep", SBX_CAUSE_SLEEP, false},
        {"clock_nanosleep", SBX_CAUSE_SLEEP, false},
        {"pause", SBX_CAUSE_WAIT, false},
        {"futex", SBX_CAUSE_WAIT, false},
        {"poll", SBX_CAUSE_WAIT, true},
        {"ppoll", SBX_CAUSE_WAIT, true},
        {"select", SBX_CAUSE_WAIT, true},
        {"pselect6", SBX_CAUSE_WAIT, true},
        {"epoll_wait", SBX_CAUSE_WAIT, true},
        {"epoll_pwait", SBX_CAUSE_WAIT, true},
        {"epoll_pwait2", SBX_CAUSE_WAIT, true},
        {"rt_sigtimedwait", SBX_CAUSE_WAIT, false},
        {"rt_sigsuspend", SBX_CAUSE_WAIT, false},
        {"io_getevents", SBX_CAUSE_IO, false},
        {"io_uring_enter", SBX_CAUSE_IO, false},
        {"wait4", SBX_CAUSE_IPC, false},
        {"waitid", SBX_CAUSE_IPC, false},
        {"msgrcv", SBX_CAUSE_IPC, false},
        {"msgsnd", SBX_CAUSE_IPC, false},
        {"semop", SBX_CAUSE_IPC, false},
        {"semtimedop", SBX_CAUSE_IPC, false},
        {"mq_timedsend", SBX_CAUSE_IPC, false},
        {"mq_timedreceive", SBX_CAUSE_IPC, false},
        {"vfork", SBX_CAUSE_IPC, false},
        {"connect", SBX_CAUSE_NETWORK, false},
        {"accept", SBX_CAUSE_NETWORK, false},
        {"accept4", SBX_CAUSE_NETWORK, false},
        {"sendto", SBX_CAUSE_NETWORK, false},
        {"recvfrom", SBX_CAUSE_NETWORK, false},
        {"sendmsg", SBX_CAUSE_NETWORK, false},
        {"recvmsg", SBX_CAUSE_NETWORK, false},
        {"sendmmsg", SBX_CAUSE_NETWORK, false},
        {"recvmmsg", SBX_CAUSE_NETWORK, false},
        {"mmap", SBX_CAUSE_MEMORY, false},
        {"munmap", SBX_CAUSE_MEMORY, false},
        {"mremap", SBX_CAUSE_MEMORY, false},
        {"mprotect", SBX_CAUSE_MEMORY, false},
        {"madvise", SBX_CAUSE_MEMORY, false},
        {"brk", SBX_CAUSE_MEMORY, false},
        {"mlock", SBX_CAUSE_MEMORY, false},
        {"mlock2", SBX_CAUSE_MEMORY, false},
        {"mlockall", SBX_CAUSE_MEMORY, false},
        {"sched_yield", SBX_CAUSE_WAIT, false},
        {"restart_syscall", SBX_CAUSE_WAIT, false},
        {"futex_wait", SBX_CAUSE_WAIT, false},
        {"futex_waitv", SBX_CAUSE_WAIT, false},
        {"futex_wake", SBX_CAUSE_WAIT, false},
        {"getrandom", SBX_CAUSE_WAIT, false},
        {"membarrier", SBX_CAUSE_WAIT, false},
        {"rt_sigpending", SBX_CAUSE_WAIT, false},
        {"fork", SBX_CAUSE_IPC, false},
        {"clone", SBX_CAUSE_IPC, false},
        {"clone3", SBX_CAUSE_IPC, false},
        {"execve", SBX_CAUSE_IPC, false},
        {"shutdown", SBX_CAUSE_NETWORK, false},
    };
    const char *name = sbx_syscall_name(number);
    if (name == NULL) {
        return SBX_CAUSE_UNKNOWN;
    }
    for (size_t i = 0; i < ENTRIES(calls); i++) {
        if (strcmp(name, calls[i].name) == 0) {
            return calls[i].takes_descriptor ? cause_of_descriptor(fd_class, calls[i].cause) : calls[i].cause;
        }
    }
    return cause_of_descriptor(fd_class, SBX_CAUSE_IO); /* the other calls of the table are calls on files */
}

/* Calls whose name says more than their kind of record. */
static enum sbx_cause cause_of_op(uint32_t op)
{
    switch (op) {
    case SBX_OP_PAUSE: /* no time limit: until a signal comes */
    case SBX_OP_SIGSUSPEND:
    case SBX_OP_SIGTIMEDWAIT:
        return SBX_CAUSE_WAIT;
    case SBX_OP_PAGE_FAULT:
        return SBX_CAUSE_MEMORY;
    default:
        return SBX_CAUSE_UNKNOWN;
    }
}

enum sbx_cause sbx_cause_of_call(uint32_t kind, uint32_t op, uint32_t fd_class, uint64_t amount)
{
    if (kind == SBX_RECORD_BLOCKED && op == SBX_OP_SYSCALL) {
        return cause_of_syscall(amount, fd_class);
    }
    enum sbx_cause by_op = sbx_kind_is_wait(kind) || kind == SBX_RECORD_BLOCKED ? cause_of_op(op) : SBX_CAUSE_UNKNOWN;
    if (by_op != SBX_CAUSE_UNKNOWN) {
        return by_op;
    }
    switch (kind == SBX_RECORD_BLOCKED ? sbx_kind_of_op(op) : kind) {
    case SBX_RECORD_LOCK:
        return SBX_CAUSE_LOCK;
    case SBX_RECORD_COND:
    case SBX_RECORD_WAIT:
        return SBX_CAUSE_WAIT;
    case SBX_RECORD_PROCESS:
        return SBX_CAUSE_IPC;
    case SBX_RECORD_LOADER:
        return SBX_CAUSE_IO;
    case SBX_RECORD_MEMORY:
        return SBX_CAUSE_MEMORY;
    case SBX_RECORD_SLEEP:
        return SBX_CAUSE_SLEEP;
    case SBX_RECORD_SYNC:
        return SBX_CAUSE_IO;
    case SBX_RECORD_POLL:
        return cause_of_descriptor(fd_class, SBX_CAUSE_WAIT);
    case SBX_RECORD_FILE:
        return cause_of_descriptor(fd_class, SBX_CAUSE_IO);
    case SBX_RECORD_SOCKET:
        return cause_of_descriptor(fd_class == SBX_FD_SOCKET ? SBX_FD_UNKNOWN : fd_class, SBX_CAUSE_NETWORK);
    default:
        return SBX_CAUSE_UNKNOWN;
    }
}

void sbx_call_name(uint32_t kind, uint32_t op, uint64_t amount, char *out, size_t out_bytes)
{
    if (op != SBX_OP_SYSCALL) {
        snprintf(out, out_bytes, "%s", op == SBX_OP_NONE ? sbx_record_name(kind) : sbx_op_name(op));
        return;
    }
    const char *name = sbx_syscall_name(amount);
    if (name != NULL) {
        snprintf(out, out_bytes, "%s", name);
    } else {
        snprintf(out, out_bytes, "system call %llu", (unsigned long long)amount);
    }
}
