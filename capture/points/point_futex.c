/* SPDX-License-Identifier: Apache-2.0 */
/* point_futex.c - futex(2) called through syscall(), as GLib, libstdc++ and Rust's standard library lock and wait.
 *
 * The C library's own locks call the kernel inside it, past every hook. The word's address is the wait object; it is
 * compared, never read: what the program gave may be no address at all. */
#include "point.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "raw_syscall.h"
#include "syscall_gate.h"

#if defined(__x86_64__)
#define FUTEX_NUMBER "202"
static_assert(SYS_futex == 202, "the gate has the number as text");
#elif defined(__aarch64__)
#define FUTEX_NUMBER "98"
static_assert(SYS_futex == 98, "the gate has the number as text");
#endif

/* Seven words in the registers and on the stack, as a variadic call of integers passes them on both architectures. */
typedef long syscall_function(long number, long a, long b, long c, long d, long e, long f);

/* Seen by the gate, so not static; hidden like everything here. */
extern syscall_function *sbx_real_syscall;
extern syscall_function sbx_hook_futex, sbx_hook_syscall;

syscall_function *sbx_real_syscall __attribute__((visibility("hidden")));

SBX_SYSCALL_GATE(sbx_hook_syscall, FUTEX_NUMBER, sbx_hook_futex, sbx_real_syscall);

/* The holder of a priority-inheriting futex: the kernel's own reading of the word (FUTEX_TID_MASK), copied by the
 * kernel because the address is the program's. */
static uint32_t holder_of(uint64_t word)
{
    uint32_t value = 0;
    struct iovec to = {&value, sizeof value}, from = {(void *)(uintptr_t)word, sizeof value};
    long got = sbx_raw_syscall(SYS_process_vm_readv, (long)sbx_the_capture.header->pid, (long)(uintptr_t)&to, 1,
                               (long)(uintptr_t)&from, 1, 0);
    return got == (long)sizeof value ? value & FUTEX_TID_MASK : 0;
}

SBX_NOINLINE static long wait_in_futex(long a, long b, long c, long d, long e, long f, bool is_lock)
{
    struct sbx_blocking call;
    SBX_SAVE_FRAME_POINTER();
    uint32_t holder = is_lock && sbx_capture_is_open() ? holder_of((uint64_t)a) : 0;
    sbx_wait_begin(&call, SBX_GROUP_FUTEX, is_lock ? SBX_RECORD_LOCK : SBX_RECORD_WAIT, SBX_OP_FUTEX_WAIT, (uint64_t)a,
                   holder);
    long result = sbx_real_syscall(SYS_futex, a, b, c, d, e, f);
    sbx_blocking_end(&call, 0, result != 0, -1);
    return result;
}

long sbx_hook_futex(long number, long a, long b, long c, long d, long e, long f)
{
    switch ((int)b & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAIT_REQUEUE_PI:
        return wait_in_futex(a, b, c, d, e, f, false);
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
        return wait_in_futex(a, b, c, d, e, f, true);
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
