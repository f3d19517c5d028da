/* SPDX-License-Identifier: Apache-2.0 */
/* point_futex.c - futex(2) called through syscall(): GLib, libstdc++ and Rust's standard library lock and wait in this
 * way.
 *
 * The C library's own locks call the kernel directly, so no hook sees them. The word's address is the wait object. It
 * is only compared and never read, because the program's value may not be a valid address. */
#include "point.h"

#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "client_message.h"
#include "rest_place.h"
#include "raw_syscall.h"
#include "syscall_gate.h"

/* The system calls that are taken from syscall(). They are: futex; calls that the kernel does not restart after a
 * handler (signal(7)), or that end with a part done, from which the sample signal is held back (point_shield.c and
 * point_file.c do the same for the named functions); and calls that begin a sandbox. Not every architecture has all of
 * them. */
#ifdef SYS_poll
#define OLD_CALLS(X) X(SYS_poll) X(SYS_select) X(SYS_epoll_wait) X(SYS_pause)
#else
#define OLD_CALLS(X)
#endif
/* clang-format off */
#define GATED_CALLS(X)                                                                                                 \
    X(SYS_futex) X(SYS_ppoll) X(SYS_pselect6) X(SYS_epoll_pwait) X(SYS_nanosleep) X(SYS_clock_nanosleep)               \
    X(SYS_rt_sigsuspend) X(SYS_rt_sigtimedwait) X(SYS_msgrcv) X(SYS_msgsnd) X(SYS_semop) X(SYS_semtimedop)             \
    X(SYS_mq_timedsend) X(SYS_mq_timedreceive) X(SYS_io_getevents) X(SYS_getrandom) X(SYS_recvfrom) X(SYS_recvmsg) X(SYS_recvmmsg)      \
    X(SYS_read) X(SYS_write) X(SYS_readv) X(SYS_writev) X(SYS_pread64) X(SYS_pwrite64) X(SYS_preadv) X(SYS_pwritev)    \
    X(SYS_preadv2) X(SYS_pwritev2) X(SYS_sendfile) X(SYS_splice) X(SYS_copy_file_range) X(SYS_fallocate) X(SYS_close)  \
    X(SYS_sendto) X(SYS_sendmsg) X(SYS_sendmmsg) X(SYS_connect) X(SYS_accept) X(SYS_accept4) OLD_CALLS(X)              \
    X(SYS_seccomp) X(SYS_prctl) X(SYS_unshare) X(SYS_setns) X(LANDLOCK_RESTRICT_SELF)                                  \
    X(IO_PGETEVENTS) X(IO_URING_ENTER) X(EPOLL_PWAIT2) X(FUTEX_WAITV)
/* clang-format on */

enum { /* newer than some headers; from 424 on the numbers are the same on all architectures */
#ifdef __x86_64__
    IO_PGETEVENTS = 333,
#else
    IO_PGETEVENTS = 292,
#endif
    IO_URING_ENTER = 426,
    EPOLL_PWAIT2 = 441,
    LANDLOCK_RESTRICT_SELF = 446,
    FUTEX_WAITV = 449,
};

#define IN_WORD(word, call) ((call) / 64 == (word) ? UINT64_C(1) << ((call) % 64) : 0)
#define IN_0(call)          | IN_WORD(0, call)
#define IN_1(call)          | IN_WORD(1, call)
#define IN_2(call)          | IN_WORD(2, call)
#define IN_3(call)          | IN_WORD(3, call)
#define IN_4(call)          | IN_WORD(4, call)
#define IN_5(call)          | IN_WORD(5, call)
#define IN_6(call)          | IN_WORD(6, call)
#define IN_7(call)          | IN_WORD(7, call)
extern const uint64_t sbx_gated_calls[8];
__attribute__((visibility("hidden"))) const uint64_t sbx_gated_calls[8] = {
    0 GATED_CALLS(IN_0), 0 GATED_CALLS(IN_1), 0 GATED_CALLS(IN_2), 0 GATED_CALLS(IN_3),
    0 GATED_CALLS(IN_4), 0 GATED_CALLS(IN_5), 0 GATED_CALLS(IN_6), 0 GATED_CALLS(IN_7),
};

/* Seven words in registers and on the stack, as both architectures pass them in a variadic call with integers. */
typedef long syscall_function(long number, long a, long b, long c, long d, long e, long f);

/* Not static, because the gate uses them; hidden like everything here. */
extern syscall_function *sbx_real_syscall;
extern syscall_function sbx_hook_gated_call, sbx_hook_syscall;

syscall_function *sbx_real_syscall __attribute__((visibility("hidden")));

SBX_SYSCALL_GATE(sbx_hook_syscall, sbx_gated_calls, sbx_hook_gated_call, sbx_real_syscall);

/* The value of a lock without an owner while a thread waits for it: 0 free, 1 held, 2 held and waited for. This is from
 * Drepper, "Futexes Are Tricky", mutexes 2 and 3. GLib, Rust's standard library, libc itself and most locks that
 * programs write themselves use the same values. */
enum {
    CONTENDED = 2
};

/* The kinds of futex. */
enum use {
    USE_WAIT,  /* another thread will change the word: a condition, a counter, a flag */
    USE_LOCK,  /* a lock, judged by its word; but a counter may also be 2 */
    USE_OWNED, /* a lock of the kernel, with its owner in the word */
};

/* The value of the word. The kernel copies it, because the address comes from the program. 0 when it cannot be
 * copied. */
static uint32_t value_of(uint64_t word)
{
    uint32_t value = 0;
    struct iovec to = {&value, sizeof value}, from = {(void *)(uintptr_t)word, sizeof value};
    long got = sbx_raw_syscall(SYS_process_vm_readv, (long)sbx_the_capture.header->pid, (long)(uintptr_t)&to, 1,
                               (long)(uintptr_t)&from, 1, 0);
    return got == (long)sizeof value ? value : 0;
}

SBX_NOINLINE static long wait_in_futex(long a, long b, long c, long d, long e, long f, enum use use)
{
    struct sbx_blocking call;
    SBX_SAVE_FRAME_POINTER();
    uint32_t holder = use == USE_OWNED && sbx_capture_is_open() ? value_of((uint64_t)a) & FUTEX_TID_MASK : 0;
    sbx_wait_begin(&call, SBX_GROUP_FUTEX, use == USE_WAIT ? SBX_RECORD_WAIT : SBX_RECORD_LOCK, SBX_OP_FUTEX_WAIT,
                   (uint64_t)a, holder);
    if (use == USE_WAIT) {
        sbx_client_wait(&call, SBX_CALLED_FROM);
        sbx_rest_begin(&call);
    }
    long result = sbx_real_syscall(SYS_futex, a, b, c, d, e, f);
    if (use == USE_LOCK && call.thread != NULL && value_of((uint64_t)a) > CONTENDED) {
        call.kind = SBX_RECORD_WAIT; /* the word counts further, so it is no lock */
    }
    sbx_blocking_end(&call, 0, result != 0, -1);
    sbx_rest_end(&call);
    return result;
}

/* Is it a call that makes signals itself while it waits, or that any handler ends although the kernel would have
 * continued it? */
static bool is_always_shielded(long number)
{
    static const short numbers[] = {
        IO_URING_ENTER,    SYS_ppoll,  SYS_pselect6, SYS_nanosleep, SYS_clock_nanosleep,
        SYS_rt_sigsuspend, SYS_msgrcv, SYS_msgsnd,   IO_PGETEVENTS,
#ifdef SYS_poll
        SYS_poll,          SYS_select, SYS_pause,
#endif
    };
    bool is_one = false;
    for (size_t i = 0; i < SBX_COUNT_OF(numbers); i++) {
        is_one |= numbers[i] == number;
    }
    return is_one;
}

SBX_NOINLINE static long shielded(long number, long a, long b, long c, long d, long e, long f)
{
    SBX_SAVE_FRAME_POINTER();
    struct sbx_thread *thread = sbx_shield_begin(is_always_shielded(number));
    long result = sbx_real_syscall(number, a, b, c, d, e, f);
    sbx_shield_end(thread);
    return result;
}

static bool begins_sandbox(long number)
{
    return number == SYS_seccomp || number == SYS_prctl || number == SYS_unshare || number == SYS_setns ||
           number == LANDLOCK_RESTRICT_SELF;
}

static long sandboxed(long number, long a, long b, long c, long d, long e, long f)
{
    if (number == SYS_prctl && a == PR_SET_SECCOMP) {
        sbx_sandbox_begins((uint64_t)b, 0, (uint64_t)c);
    } else if (number == SYS_prctl && a == PR_SET_TSC) {
        sbx_counter_forbidden((uint64_t)b);
    } else if (number == SYS_seccomp && (a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER)) {
        sbx_sandbox_begins(a == SECCOMP_SET_MODE_STRICT ? SECCOMP_MODE_STRICT : SECCOMP_MODE_FILTER, (uint64_t)b,
                           (uint64_t)c);
    } else if (number == SYS_unshare) {
        sbx_unshare_begins((uint64_t)a);
    } else if (number == SYS_setns) {
        sbx_setns_begins((uint64_t)b);
    } else if (number == LANDLOCK_RESTRICT_SELF) {
        sbx_one_thread_wanted();
    }
    return sbx_real_syscall(number, a, b, c, d, e, f);
}

long sbx_hook_gated_call(long number, long a, long b, long c, long d, long e, long f)
{
    if (begins_sandbox(number)) {
        return sandboxed(number, a, b, c, d, e, f);
    }
    if (number != SYS_futex) {
        return shielded(number, a, b, c, d, e, f);
    }
    switch ((int)b & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        return wait_in_futex(a, b, c, d, e, f, (uint32_t)c == CONTENDED ? USE_LOCK : USE_WAIT);
    case FUTEX_WAIT_REQUEUE_PI:
        return wait_in_futex(a, b, c, d, e, f, USE_WAIT);
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
        return wait_in_futex(a, b, c, d, e, f, USE_OWNED);
    case FUTEX_WAKE_OP:
        sbx_wake_check((uint64_t)e, SBX_OP_FUTEX_WAKE, SBX_WAKE_ALL); /* may wake at the second word as well */
        break;
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_CMP_REQUEUE_PI:
    case FUTEX_UNLOCK_PI:
        break;
    default:
        return sbx_real_syscall(number, a, b, c, d, e, f);
    }
    bool is_one = ((int)b & FUTEX_CMD_MASK) == FUTEX_UNLOCK_PI || (int)c == 1;
    sbx_wake_check((uint64_t)a, SBX_OP_FUTEX_WAKE, is_one ? SBX_WAKE_ONE : SBX_WAKE_ALL);
    return sbx_real_syscall(number, a, b, c, d, e, f);
}

static const struct sbx_point points[] = {
    SBX_POINT("syscall", sbx_hook_syscall, sbx_real_syscall, SBX_GROUP_FUTEX),
};
const struct sbx_point_list sbx_points_futex = SBX_POINT_LIST(points);
