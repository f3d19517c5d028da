/* SPDX-License-Identifier: Apache-2.0 */
/* signal_stack.c - gives alternate stacks to threads and takes them back, and with them the permission to ask for
 * samples. */
#include "signal_stack.h"

#include <signal.h>
#include <sys/syscall.h>

#include "process_barrier.h"
#include "raw_syscall.h"
#include "thread_timer.h"

bool sbx_gives_signal_stacks = true;

/* A child of vfork() runs on its parent's TLS. It must not act for its parent, because what it asks of the kernel
 * concerns only itself. */
static bool is_thread_itself(const struct sbx_thread *thread)
{
    return (uint32_t)sbx_raw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0) == thread->tid;
}

SBX_HOOK_SAFE bool sbx_thread_give_back_signal_stack(struct sbx_thread *thread)
{
    const stack_t none = {.ss_flags = SS_DISABLE};
    stack_t now;
    if (!is_thread_itself(thread)) {
        return false;
    }
    uint32_t was_asked = sbx_load_relaxed(&thread->may_be_asked);
    sbx_store_before_look(&thread->may_be_asked, 0); /* order: barrier may_be_asked - Dekker with sample_timer */
    sbx_sample_take_back(thread);
    /* Ask the kernel and not our notes, because a handler may have interrupted the code that notes it. */
    if (sbx_load_relaxed(&sbx_asking_is_forbidden) != 0) {
        return !thread->has_our_signal_stack;
    }
    if (sbx_raw_sigaltstack(NULL, &now) == 0 &&
        (now.ss_sp != thread->signal_stack || sbx_raw_sigaltstack(&none, NULL) == 0)) {
        thread->has_our_signal_stack = false;
        return true;
    }
    sbx_store_release(&thread->may_be_asked, was_asked); /* order: release may_be_asked - it is where it was */
    return false;
}

SBX_HOOK_SAFE void sbx_thread_take_signal_stack(struct sbx_thread *thread)
{
    const stack_t ours = {.ss_sp = thread->signal_stack, .ss_size = sizeof thread->signal_stack};
    stack_t now;
    thread->has_our_signal_stack = false;
    sbx_store_relaxed(&thread->may_be_asked, 0);
    if (sbx_load_relaxed(&sbx_asking_is_forbidden) != 0 || sbx_raw_sigaltstack(NULL, &now) != 0) {
        return;
    }
    if ((now.ss_flags & SS_DISABLE) != 0) {
        if (!sbx_gives_signal_stacks) {
            return;
        }
        if (sbx_raw_sigaltstack(&ours, NULL) != 0) {
            return;
        }
        now = ours;
    }
    thread->has_our_signal_stack = now.ss_sp == thread->signal_stack;
    thread->signal_stack_low = (uint64_t)(uintptr_t)now.ss_sp;
    thread->signal_stack_high = thread->signal_stack_low + now.ss_size;
    sbx_store_release(&thread->may_be_asked, 1); /* order: release may_be_asked - the bounds are whole */
}

SBX_HOOK_SAFE bool sbx_thread_take_back_all(void)
{
    bool is_one_out = false;
    for (uint32_t i = 0, count = sbx_thread_count(); i < count; i++) {
        struct sbx_thread *thread = sbx_load_acquire(&sbx_thread_blocks[i]); /* order: acquire block */
        if (thread != NULL) {
            uint32_t timer = sbx_load_relaxed(&thread->sample_timer); /* relaxed: the exchange decides */
            is_one_out |= timer != 0 && (timer & SBX_TIMER_ANSWERED) == 0;
            sbx_sample_take_back(thread);
        }
    }
    return is_one_out;
}

SBX_HOOK_SAFE void sbx_thread_forbid_asking(void)
{
    for (uint32_t i = 0, count = sbx_thread_count(); i < count; i++) {
        struct sbx_thread *thread = sbx_load_acquire(&sbx_thread_blocks[i]); /* order: acquire block */
        if (thread != NULL) {
            sbx_store_relaxed(&thread->may_be_asked, 0);
        }
    }
    sbx_fence_seq_cst(); /* order: seq_cst may_be_asked - Dekker with sample_timer */
    (void)sbx_thread_take_back_all();
    sbx_store_seq_cst(&sbx_asking_is_forbidden, 1);
}

SBX_HOOK_SAFE bool sbx_thread_is_our_signal_stack(const void *low)
{
    for (uint32_t i = 0; low != NULL && i < SBX_THREADS_MAX; i++) {
        const struct sbx_thread *thread = sbx_load_acquire(&sbx_thread_blocks[i]); /* order: acquire block */
        if (thread != NULL && thread->signal_stack == low) {
            return true;
        }
    }
    return false;
}
