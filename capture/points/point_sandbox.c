/* SPDX-License-Identifier: Apache-2.0 */
/* point_sandbox.c - the program is about to forbid itself system calls: seccomp by prctl(), or by seccomp(2) through
 * syscall() (point_futex.c), which libseccomp calls. Or the time stamp counter, by prctl(). Nothing is recorded.
 *
 * A filter that kills or traps whoever calls what the program itself does not would end the program for what we do. It is
 * judged before it is in force (sandbox_filter.h), and when it would, the recorder ends first. One that refuses with an
 * error costs what it refuses, and no more. Our group is the loader's, which is hooked for as long as anything is. */
#include "point.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "pages.h"
#include "raw_syscall.h"
#include "sandbox_filter.h"
#include "signal_stack.h"

/* The program's memory, copied by the kernel because the address is the program's. */
static bool copy_from(uint64_t address, void *to, size_t bytes)
{
    struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)address, bytes};
    return sbx_raw_syscall(SYS_process_vm_readv, (long)sbx_the_capture.header->pid, (long)(uintptr_t)&local, 1,
                           (long)(uintptr_t)&remote, 1, 0) == (long)bytes;
}

struct judgement {
    struct sock_filter code[SBX_FILTER_LENGTH_MAX];
    struct sbx_filter_step steps[SBX_FILTER_LENGTH_MAX];
};

/* Would the filter at `address`, a struct sock_fprog, harm us? What cannot be read cannot be judged. One that harms only the
 * samples of running threads ends these. */
static bool harms(uint64_t address, bool for_all_threads)
{
    struct sock_fprog program;
    struct judgement *judgement = sbx_pages_map(sizeof *judgement);
    bool is_harmful = true;
    if (judgement != NULL && copy_from(address, &program, sizeof program) && program.len <= SBX_FILTER_LENGTH_MAX &&
        copy_from((uint64_t)(uintptr_t)program.filter, judgement->code, program.len * sizeof program.filter[0])) {
        is_harmful = sbx_filter_harms_us(judgement->code, program.len, for_all_threads, sbx_the_capture.copies_by_file,
                                         judgement->steps);
        if (sbx_filter_can_harm(judgement->code, program.len)) {
            sbx_store_relaxed(&sbx_the_capture.bars_children, 1); /* relaxed: read behind a fork of this thread */
        }
        if (!is_harmful && sbx_filter_harms_asking(judgement->code, program.len, judgement->steps)) {
            sbx_thread_forbid_asking();
        }
    }
    if (judgement != NULL) {
        munmap(judgement, sizeof *judgement);
    }
    return is_harmful;
}

void sbx_sandbox_begins(uint64_t mode, uint64_t flags, uint64_t program)
{
    if (SBX_UNLIKELY(sbx_the_capture.settle != NULL)) { /* one that has not begun stays out of a sandbox */
        sbx_the_capture.settle(SBX_SETTLE_SANDBOX);
    }
    /* order: acquire capture.leave - set once the recorder runs */
    void (*leave)(void) = sbx_load_acquire(&sbx_the_capture.leave);
    if (leave == NULL || !sbx_capture_is_ours()) {
        return; /* a forked child has no recorder */
    }
    int saved_errno = errno;
    bool is_for_all = (flags & SECCOMP_FILTER_FLAG_TSYNC) != 0;
    if (mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && harms(program, is_for_all))) {
        leave();
    }
    errno = saved_errno;
}

/* A thread that has the time stamp counter forbidden to itself dies of the next look at a clock, the vdso's as well. */
void sbx_counter_forbidden(uint64_t mode)
{
    if (mode != PR_TSC_SIGSEGV) {
        return;
    }
    if (SBX_UNLIKELY(sbx_the_capture.settle != NULL)) {
        sbx_the_capture.settle(SBX_SETTLE_SANDBOX);
    }
    void (*leave)(void) = sbx_load_acquire(&sbx_the_capture.leave); /* order: acquire capture.leave */
    if (leave != NULL && sbx_capture_is_ours()) {
        int saved_errno = errno;
        leave();
        errno = saved_errno;
    }
}

static int (*real_prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long);

/* prctl() takes a number of arguments nobody tells, all of them words; those that were not given are passed on as they
 * are, and nobody looks at them. */
static int hook_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    if (SBX_UNLIKELY(option == PR_SET_SECCOMP)) {
        sbx_sandbox_begins(a, 0, b);
    } else if (SBX_UNLIKELY(option == PR_SET_TSC)) {
        sbx_counter_forbidden(a);
    }
    return real_prctl(option, a, b, c, d);
}

static const struct sbx_point points[] = {
    SBX_POINT("prctl", hook_prctl, real_prctl, SBX_GROUP_LOADER),
};
const struct sbx_point_list sbx_points_sandbox = SBX_POINT_LIST(points);
