/* SPDX-License-Identifier: Apache-2.0 */
/* point_sandbox.c - the program is about to forbid itself system calls: seccomp by prctl(), or by seccomp(2) through
 * syscall() (point_futex.c), which libseccomp uses. Or it forbids itself the time stamp counter, by prctl(). Nothing is
 * recorded.
 *
 * A filter may kill or trap callers of system calls that the program itself does not make. It would end the program
 * because of the agent's system calls. So the filter is judged before it is in force (sandbox_filter.h), and if it
 * would do so, the recorder ends first. A filter that refuses with an error only costs the agent what it refuses. These
 * points are in the loader's group: they are hooked as long as anything is. */
#include "point.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "pages.h"
#include "raw_syscall.h"
#include "sandbox_filter.h"
#include "signal_stack.h"

/* Copies the program's memory. The kernel copies it, because the address comes from the program. */
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

/* Would the filter at `address`, a struct sock_fprog, harm the agent? A filter that cannot be read counts as harmful.
 * If a filter harms only the samples of running threads, these samples end. */
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
            sbx_store_relaxed(&sbx_the_capture.bars_children, 1); /* relaxed: read after a fork of this thread */
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
    if (SBX_UNLIKELY(sbx_the_capture.settle != NULL)) { /* a recorder that has not begun does not begin in a sandbox */
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

/* A thread that has forbidden itself the time stamp counter dies at its next clock read, including a read in the
 * vdso. */
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

/* It is not known how many arguments prctl() takes; all of them are words. Arguments that were not given are passed on
 * as they are, and nothing reads them. */
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
