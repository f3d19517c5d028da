/* SPDX-License-Identifier: Apache-2.0 */
/* sample_handler.c - the signal's entry: the interrupted thread records itself.
 *
 * This folder is the handler's house: it includes itself, the recording, the unwinder and port/, and what it may call
 * is listed in docs/SIGNAL_SAFETY.md and checked by tests/lint. */
#include "sample_handler.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture.h"
#include "clock.h"

/* Where the kernel makes handlers return to; told by none of the rows there (unwind_aarch64.h). The next code map has it. */
SBX_SIGNAL_SAFE static void learn_signal_return(const void *place)
{
    if (sbx_is_signal_return(place)) {
        /* relaxed: one word, and always the same */
        sbx_store_relaxed(&sbx_the_capture.signal_return, (uint64_t)(uintptr_t)place);
    }
}

enum {
    DELAY_MIN_NS = 100000 /* a signal to a running thread takes some 10 us, a switch on a busy machine milliseconds */
};

/* May run at any instruction of any thread. Allowed: loads and stores in memory mapped before, clock_gettime, the walk,
 * the ring. Forbidden: everything else (docs/SIGNAL_SAFETY.md). If what you want to add is not on that list, count it
 * and do it in the watch thread. */
SBX_SIGNAL_SAFE void sbx_on_sample_signal(int number, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    (void)number;
    if (SBX_HAS_LINK_REGISTER && SBX_UNLIKELY(sbx_load_relaxed(&sbx_the_capture.signal_return) == 0)) {
        learn_signal_return(__builtin_return_address(0));
    }
    uint64_t value = (uint64_t)(uintptr_t)info->si_value.sival_ptr;
    if (info->si_code != SI_QUEUE || (value & ~UINT64_C(0xffff)) != SBX_SAMPLE_COOKIE || !sbx_capture_is_ours()) {
        errno = saved_errno;
        return;
    }
    struct sbx_thread *thread = sbx_self, *asked = thread;
    if (SBX_UNLIKELY(!sbx_thread_is_registered(thread))) {
        asked = sbx_thread_block_of((uint32_t)(value & 0xffff), (uint32_t)syscall(SYS_gettid));
        if (asked == NULL) {
            errno = saved_errno;
            return;
        }
        if (thread == NULL && sbx_capture_is_open()) {
            sbx_thread_become(asked); /* the watch thread adopted it, and it has not passed a hook yet */
            thread = asked;
        }
    }
    /* Every signal is answered, with or without a sample: who asked waits for it, a blocking call yields until it came, and
     * this thread is not asked again before. */
    if (!sbx_capture_is_open()) {
        goto answer;
    }
    /* Not registered: it is just about to be, or to end; that is our own code as well. */
    if (!sbx_thread_is_registered(thread) || thread->inside != 0) {
        sbx_count_drop(SBX_DROP_NESTED);
    } else {
        sbx_thread_enter(thread);
        if (SBX_UNLIKELY(sbx_load_relaxed(&sbx_the_capture.provider_count) != 0) && /* relaxed: a hint */
            sbx_logical_defer(thread, SBX_RECORD_ASYNC, SBX_OP_NONE,
                              (uint8_t)sbx_load_relaxed(&thread->signal_flags))) {
            goto leave;
        }
        const ucontext_t *interrupted = context;
        struct sbx_walk_registers registers;
        sbx_registers_interrupted(&registers, interrupted);
        struct sbx_record record = {.kind = SBX_RECORD_ASYNC,
                                    .flags = (uint8_t)sbx_load_relaxed(&thread->signal_flags)};
        struct sbx_times now = sbx_thread_times(thread);
        record.begin_ns = record.end_ns = now.wall_ns;
        record.cpu_ns = now.cpu_ns;
        /* How long the signal waited is how long the thread was runnable without running; what every signal takes is none. */
        uint64_t sent_ns = sbx_load_relaxed(&thread->signal_sent_ns);
        uint64_t waited_ns = record.end_ns > sent_ns ? record.end_ns - sent_ns : 0;
        record.amount = waited_ns >= DELAY_MIN_NS ? waited_ns : 0;
        record.stack = sbx_capture_stack(thread, &registers);
        sbx_capture_put(thread, &record);
        sbx_add_relaxed(&sbx_the_capture.header->captures_async, 1);
        if (sbx_cost_capture(&thread->cost, SBX_COST_SIGNAL)) {
            sbx_cost_timed(&thread->cost, SBX_COST_SIGNAL, sbx_thread_times(thread).cpu_ns - now.cpu_ns);
        }
    leave:
        sbx_thread_leave(thread);
    }
answer:
    sbx_store_seq_cst(&asked->signal_pending, 0); /* order: seq_cst signal_pending - Dekker with `blocking` */
    errno = saved_errno;
}
