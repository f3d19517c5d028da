/* SPDX-License-Identifier: Apache-2.0 */
/* sample_handler.c - the signal's entry: the interrupted thread records itself.
 *
 * This folder is the handler's house: it includes itself, the recording, the unwinder and port/, and what it may call
 * is listed in docs/SIGNAL_SAFETY.md and checked by tests/lint. */
#include "sample_handler.h"

#include <errno.h>

#include "capture.h"
#include "crash_handler.h"
#include "signal_frame.h"
#include "stack_copy.h"
#include "thread_timer.h"

/* Where the kernel makes handlers return to; told by none of the rows there (unwind_aarch64.h). The next code map has it. */
SBX_SIGNAL_SAFE static void learn_signal_return(const void *place)
{
    if (sbx_is_signal_return(place)) {
        /* relaxed: one word, and always the same */
        sbx_store_relaxed(&sbx_the_capture.signal_return, (uint64_t)(uintptr_t)place);
    }
}

uint32_t sbx_sample_probe_hit;
uint32_t sbx_signal_frames_are_known;

/* Has this kernel's frame the words by which handlers of the host's are found (handler_frames.h)? */
SBX_SIGNAL_SAFE static void learn_frame(const ucontext_t *interrupted)
{
    if (sbx_is_in_frame(sbx_frame_words(interrupted))) {
        sbx_store_relaxed(&sbx_signal_frames_are_known, 1); /* relaxed: for good */
    }
}

/* Is what was interrupted right behind a system call? The code is read by the kernel: it may be there to be run only. */
SBX_SIGNAL_SAFE static bool is_behind_call(const ucontext_t *interrupted)
{
    static const uint8_t call[] = SBX_CALL_INSTRUCTION;
    uint8_t found[SBX_CALL_BYTES];
    struct sbx_walk_registers registers;
    sbx_registers_interrupted(&registers, interrupted);
    return sbx_copy_stack(registers.pc - sizeof found, sizeof found, found) == sizeof found &&
           __builtin_memcmp(found, call, sizeof found) == 0;
}

/* A signal of this number that is none of ours, sent by somebody who meant the program: it fares as it would alone. Where
 * ours is the installed handler nobody of the host's wants the signal, and alone it would end the process; a handler of
 * the host's that calls ours, having found it there, does what it does. */
SBX_SIGNAL_SAFE static void pass_on(int number, siginfo_t *info)
{
    if (sbx_raw_handler_of(number) == (void *)(uintptr_t)sbx_on_sample_signal) {
        sbx_end_by_default(number, info);
    }
}

/* The thread's own answer: false when the timer is none that is out for it. */
SBX_SIGNAL_SAFE static bool answer(struct sbx_thread *thread, uint32_t timer)
{
    uint32_t expected = timer + 1;
    return sbx_cas_acq_rel(&thread->sample_timer, &expected, expected | SBX_TIMER_ANSWERED);
}

/* Do we run on the stack that we believe the thread has for handlers? If not the host has changed it past our hook. */
SBX_SIGNAL_SAFE static bool is_on_known_stack(const struct sbx_thread *thread)
{
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    return here >= sbx_load_relaxed(&thread->signal_stack_low) && here < sbx_load_relaxed(&thread->signal_stack_high);
}

SBX_SIGNAL_SAFE static void record_sample(struct sbx_thread *thread, const ucontext_t *interrupted)
{
    struct sbx_walk_registers registers;
    sbx_registers_interrupted(&registers, interrupted);
    struct sbx_record record = {.kind = SBX_RECORD_ASYNC, .flags = (uint8_t)sbx_load_relaxed(&thread->signal_flags)};
    struct sbx_times now = sbx_thread_times(thread);
    record.begin_ns = record.end_ns = now.wall_ns;
    record.cpu_ns = now.cpu_ns;
    /* amount is 0: a timer waits for the tick and for its thread, and nobody can tell one from the other. What the thread
     * waited for a processor is the kernel's count (kernel_counts.h). */
    record.stack = sbx_capture_stack(thread, &registers);
    sbx_capture_put(thread, &record);
    sbx_add_relaxed(&sbx_the_capture.header->captures_async, 1);
    if (sbx_cost_capture(&thread->cost, SBX_COST_SIGNAL)) {
        sbx_cost_timed(&thread->cost, SBX_COST_SIGNAL, sbx_thread_times(thread).cpu_ns - now.cpu_ns);
    }
}

/* May run at any instruction of any thread. Allowed: loads and stores in memory mapped before, clock_gettime, the walk,
 * the ring. Forbidden: everything else (docs/SIGNAL_SAFETY.md). If what you want to add is not on that list, count it
 * and do it in the watch thread. */
SBX_SIGNAL_SAFE void sbx_on_sample_signal(int number, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    if (SBX_HAS_LINK_REGISTER && SBX_UNLIKELY(sbx_load_relaxed(&sbx_the_capture.signal_return) == 0)) {
        learn_signal_return(__builtin_return_address(0));
    }
    if (SBX_UNLIKELY(sbx_load_relaxed(&sbx_signal_frames_are_known) == 0)) {
        learn_frame(context);
    }
    uint64_t value = (uint64_t)(uintptr_t)info->si_value.sival_ptr;
    uint32_t index = (uint32_t)(value & 0xffff);
    bool is_marked = (value & ~UINT64_C(0xffff)) == SBX_SAMPLE_COOKIE;
    struct sbx_thread *thread = sbx_self;
    if (!is_marked || (info->si_code != SI_TIMER && index != SBX_SAMPLE_NOBODY)) {
        pass_on(number, info);
    } else if (index == SBX_SAMPLE_PROBE) {
        sbx_store_relaxed(&sbx_sample_probe_hit, is_behind_call(context) ? SBX_PROBE_BEHIND_CALL : SBX_PROBE_ELSEWHERE);
    } else if (sbx_capture_is_ours() && sbx_thread_is_registered(thread) && thread->index == index &&
               answer(thread, (uint32_t)info->si_timerid) && sbx_capture_is_open()) {
        if (!is_on_known_stack(thread)) {
            sbx_store_relaxed(&thread->may_be_asked, 0); /* until it shows its stack to our hook */
        } else if (thread->inside != 0) {
            sbx_count_drop(SBX_DROP_NESTED);
        } else {
            sbx_thread_enter(thread);
            if (SBX_UNLIKELY(sbx_load_relaxed(&sbx_the_capture.calls_are_safe) == 0) && sbx_was_call_cut(context) &&
                is_behind_call(context)) {
                sbx_count_drop(SBX_DROP_CALL_CUT);
            }
            if (SBX_LIKELY(sbx_load_relaxed(&sbx_the_capture.provider_count) == 0) || /* relaxed: a hint */
                !sbx_logical_defer(thread, SBX_RECORD_ASYNC, SBX_OP_NONE,
                                   (uint8_t)sbx_load_relaxed(&thread->signal_flags))) {
                record_sample(thread, context);
            }
            sbx_thread_leave(thread);
        }
    }
    errno = saved_errno;
}
