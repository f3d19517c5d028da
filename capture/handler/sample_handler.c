/* SPDX-License-Identifier: Apache-2.0 */
/* sample_handler.c - the signal's entry: the interrupted thread records itself.
 *
 * Files of this folder include only this folder, the recording, the unwinder and port/. What they may call is listed in
 * docs/SIGNAL_SAFETY.md and checked by tests/lint. */
#include "sample_handler.h"

#include <errno.h>

#include "capture_record.h"
#include "crash_handler.h"
#include "handler_frames.h"
#include "left_code.h"
#include "logical_stack.h"
#include "registers.h"
#include "signal_changes.h"
#include "signal_frame.h"
#include "stack_copy.h"
#include "the_capture.h"
#include "thread_block.h"
#include "thread_timer.h"

/* Learns the address to which the kernel makes handlers return. No unwind row there describes it (unwind_aarch64.h).
 * The next code map contains it. */
SBX_SIGNAL_SAFE static void learn_signal_return(const void *place)
{
    if (sbx_is_signal_return(place)) {
        /* relaxed: one word, and always the same value */
        sbx_store_relaxed(&sbx_the_capture.signal_return, (uint64_t)(uintptr_t)place);
    }
}

uint32_t sbx_sample_probe_hit;

/* Does this kernel's signal frame contain the words by which frames of the program's handlers are found
 * (handler_frames.h)? */
SBX_SIGNAL_SAFE static void learn_frame(const ucontext_t *interrupted)
{
    uint64_t low = (uint64_t)(uintptr_t)interrupted;
    if (sbx_is_in_frame(sbx_frame_words(interrupted), low, low + sizeof *interrupted)) {
        sbx_store_relaxed(&sbx_signal_frames_are_known, 1); /* relaxed: once set, it stays set */
    }
}

/* Did the signal interrupt the thread right behind a system call? The kernel copies the code, because the program may
 * have mapped it without read access. */
SBX_SIGNAL_SAFE static bool is_behind_call(const ucontext_t *interrupted)
{
    static const uint8_t call[] = SBX_CALL_INSTRUCTION;
    uint8_t found[SBX_CALL_BYTES];
    struct sbx_walk_registers registers;
    sbx_registers_interrupted(&registers, interrupted);
    return sbx_copy_stack(registers.pc - sizeof found, sizeof found, found) == sizeof found &&
           __builtin_memcmp(found, call, sizeof found) == 0;
}

/* Was this handler called by the kernel, and not by a handler of the program that found it installed before? Only when
 * the kernel calls it are all signals blocked, including the C library's own (sample_number.c). Four signals are left
 * out: the last two, which qemu-user does not know, and the two that cannot be blocked. */
SBX_SIGNAL_SAFE static bool is_called_by_kernel(void)
{
    const uint64_t others = UINT64_C(3) << 62 | UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1);
    return (sbx_raw_signal_mask() | others) == UINT64_MAX;
}

/* A signal of this number that another sender meant for the program. It is handled as it would be without the agent.
 *
 * If this handler is the installed one, the program has no handler for the signal, and without the agent the signal
 * would end the process. If the program has set its own handler since the kernel called this one, or had set it when
 * the agent's was installed (sample_number.h), the signal is sent to this thread once more and arrives when this
 * handler returns. If a handler of the program calls this one, nothing more is done. */
SBX_SIGNAL_SAFE static void pass_on(int number, siginfo_t *info)
{
    bool is_settled = !sbx_capture_is_ours() || sbx_signal_changes_await(number, SBX_SIGNAL_TAKING);
    if (is_settled && sbx_raw_handler_of(number) == (void *)(uintptr_t)sbx_on_sample_signal) {
        sbx_end_by_default(number, info);
    } else if (is_called_by_kernel()) {
        sbx_send_again(number, info);
    }
}

/* The thread answers its question. False when `question` is not one that this thread has been asked.
 *
 * The sender writes the number of a question before its timer. So the number that is read second belongs to the timer
 * that was read first, or to a newer timer; in the second case the exchange fails. A question marked SBX_QUESTION_AHEAD
 * stays valid after its answer. If it is taken back at this moment, it is answered once more, which does no harm. */
SBX_SIGNAL_SAFE static bool answer(struct sbx_thread *thread, uint16_t question)
{
    uint32_t timer = sbx_load_acquire(&thread->sample_timer); /* order: acquire sample_timer - the question it asks */
    if (timer == 0 || (timer & SBX_TIMER_ANSWERED) != 0 || sbx_load_relaxed(&thread->question) != question) {
        return false;
    }
    if ((question & SBX_QUESTION_AHEAD) != 0) {
        sbx_store_relaxed(&thread->answers, thread->answers + 1); /* relaxed: a count */
        return true;
    }
    return sbx_cas_acq_rel(&thread->sample_timer, &timer, timer | SBX_TIMER_ANSWERED);
}

/* Does this code run on the stack that the agent believes to be the thread's signal stack? If not, the program has
 * changed that stack without calling the hook. */
SBX_SIGNAL_SAFE static bool is_on_known_stack(const struct sbx_thread *thread)
{
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    return here >= sbx_load_relaxed(&thread->signal_stack_low) && here < sbx_load_relaxed(&thread->signal_stack_high);
}

/* Is the answer to a standing question not worth its record? Such a question comes with each 30 ms of the thread's CPU
 * time, so that a message that computes for 60 ms has a look in it. The messages of a server's pool are shorter, and
 * one look says as much about them as twenty. So while a message is young, or none is open, looks are at least an
 * interval of CPU time apart, like the thread's samples of itself. A message that lasts meets the next question when it
 * is old enough. Other threads are always looked at. The short messages of a loop may be a stall together. */
SBX_SIGNAL_SAFE static bool is_too_early(const struct sbx_thread *thread, const struct sbx_times *now)
{
    enum {
        YOUNG_NS = 10000000
    };
    uint64_t begin_ns = sbx_load_relaxed(&thread->entry->message_begin_ns); /* relaxed, all: this thread's own */
    bool is_young = begin_ns == 0 || now->wall_ns - begin_ns < YOUNG_NS;
    return (sbx_load_relaxed(&thread->question) & SBX_QUESTION_AHEAD) != 0 && sbx_is_of_pool(thread) && is_young &&
           now->cpu_ns - sbx_load_relaxed(&thread->sampled_cpu_ns) < sbx_load_relaxed(&sbx_the_capture.interval_ns);
}

SBX_SIGNAL_SAFE static void record_sample(struct sbx_thread *thread, const ucontext_t *interrupted,
                                          struct sbx_times now)
{
    struct sbx_walk_registers registers;
    sbx_registers_interrupted(&registers, interrupted);
    struct sbx_record record = {.kind = SBX_RECORD_ASYNC, .flags = (uint8_t)sbx_load_relaxed(&thread->signal_flags)};
    record.begin_ns = record.end_ns = now.wall_ns;
    record.cpu_ns = now.cpu_ns;
    /* amount is 0: the delay of a timer is the wait for the tick plus the wait for its thread, and the two cannot be
     * separated. The kernel counts how long the thread waited for a processor (kernel_counts.h). */
    record.stack = sbx_capture_stack(thread, &registers);
    sbx_capture_put(thread, &record);
    sbx_store_relaxed(&thread->sampled_cpu_ns, now.cpu_ns); /* relaxed, both: hints */
    if ((sbx_load_relaxed(&thread->question) & SBX_QUESTION_AHEAD) != 0) {
        sbx_store_relaxed(&thread->signal_sent_ns, now.wall_ns);
    }
    sbx_add_relaxed(&sbx_the_capture.header->captures_async, 1);
    if (sbx_cost_capture(&thread->cost, SBX_COST_SIGNAL)) {
        sbx_cost_timed(&thread->cost, SBX_COST_SIGNAL, sbx_thread_times(thread).cpu_ns - now.cpu_ns);
    }
}

SBX_SIGNAL_SAFE static uint64_t stack_pointer_of(const ucontext_t *interrupted)
{
    struct sbx_walk_registers registers;
    sbx_registers_interrupted(&registers, interrupted);
    return registers.sp;
}

/* The thread has answered. */
SBX_SIGNAL_SAFE static void sample(struct sbx_thread *thread, const ucontext_t *interrupted)
{
    if (!is_on_known_stack(thread)) {
        sbx_store_relaxed(&thread->may_be_asked, 0); /* until the thread shows its stack to the hook */
    } else if (thread->inside != 0 && !sbx_code_is_found_left(thread, stack_pointer_of(interrupted))) {
        sbx_count_drop(SBX_DROP_NESTED);
    } else {
        sbx_thread_enter(thread);
        struct sbx_times now = sbx_thread_times(thread);
        if (is_too_early(thread, &now)) {
            sbx_store_relaxed(&thread->cost.declined, thread->cost.declined + 1);        /* relaxed: statistics */
        } else if (SBX_LIKELY(sbx_load_relaxed(&sbx_the_capture.provider_count) == 0) || /* relaxed: a hint */
                   !sbx_logical_defer(thread, SBX_RECORD_ASYNC, SBX_OP_NONE,
                                      (uint8_t)sbx_load_relaxed(&thread->signal_flags))) {
            record_sample(thread, interrupted, now);
        }
        sbx_thread_leave(thread);
    }
}

/* Will a handler of the program run here when this one returns?
 *
 * Any thread may take a signal that is pending for the whole process. So one such signal is taken here and sent to this
 * thread alone. This is not done with a real-time signal, because several of one number may be pending, and they have
 * an order. Where the answer cannot be found out, it is yes. */
SBX_SIGNAL_SAFE static bool handles_next(const ucontext_t *interrupted)
{
    enum {
        LOOKS = 4, /* another thread may be faster this many times */
        KERNEL_SIGRTMIN = 32,
    };
    const struct {
        int64_t s, ns;
    } at_once = {0, 0};
    const uint64_t one_of_each = (UINT64_C(1) << (KERNEL_SIGRTMIN - 1)) - 1;
    uint64_t blocked;
    __builtin_memcpy(&blocked, &interrupted->uc_sigmask, sizeof blocked);
    for (int look = 0; look < LOOKS; look++) {
        siginfo_t info;
        uint64_t pending = UINT64_MAX;
        sbx_raw_syscall(SYS_rt_sigpending, (long)(uintptr_t)&pending, sizeof pending, 0, 0, 0, 0);
        pending &= ~blocked;
        if ((pending & one_of_each) == 0) {
            return pending != 0;
        }
        pending &= one_of_each;
        long number = sbx_raw_syscall(SYS_rt_sigtimedwait, (long)(uintptr_t)&pending, (long)(uintptr_t)&info,
                                      (long)(uintptr_t)&at_once, sizeof pending, 0, 0);
        if (number > 0) {
            sbx_send_again((int)number, &info);
            return true;
        }
        if (number != -EAGAIN) {
            return true; /* a filter forbids it */
        }
    }
    return true;
}

/* Has the sample signal cut a call short?
 *
 * After an interruption for which no handler runs, the kernel continues some calls: poll(), nanosleep(),
 * sem_timedwait(). When any handler runs, it ends them with EINTR. Where the kernel makes timer signals on the way out
 * of calls, the sample signal ends such a call after a stop, a tracer, or a signal that another thread took has
 * interrupted it. The hook makes the call once more if no signal handler of the program is about to run. Otherwise the
 * cut call is counted. This check is the last one in the handler, so that hardly anything can happen between it and the
 * hook's own check. */
SBX_SIGNAL_SAFE static void tell_cut_call(struct sbx_thread *thread, const ucontext_t *interrupted)
{
    enum {
        CALL_BYTES = 1024 /* libc's frames between hook and call take less; one more handler takes more */
    };
    if (SBX_LIKELY(!sbx_was_call_cut(interrupted)) || !is_behind_call(interrupted) || handles_next(interrupted)) {
        return;
    }
    const struct sbx_open_call *call = thread->call_depth != 0 ? &thread->calls[thread->call_depth - 1] : NULL;
    if (call != NULL && call->place - stack_pointer_of(interrupted) < CALL_BYTES) {
        sbx_store_relaxed(&thread->cut_call, call->serial); /* relaxed: own thread */
    }
    bool is_mended =
        call != NULL && thread->cut_call == call->serial &&
        (call->group == SBX_GROUP_POLL || call->group == SBX_GROUP_SLEEP || call->group == SBX_GROUP_SEMAPHORE);
    if (!is_mended) {
        sbx_count_drop(SBX_DROP_CALL_CUT);
    }
}

/* May run at any instruction of any thread. Allowed: loads and stores in memory that was mapped before, clock_gettime,
 * the walk, the ring. Forbidden: everything else (docs/SIGNAL_SAFETY.md). If what you want to add is not on that list,
 * count it here and do it in the watch thread. */
SBX_SIGNAL_SAFE SBX_CALLED_BY_KERNEL void sbx_on_sample_signal(int number, siginfo_t *info, void *context)
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
    bool has_value = info->si_code == SI_TIMER || info->si_code == SI_QUEUE; /* else the value is undefined */
    bool is_marked = has_value && (value & ~UINT64_C(0xffffffff)) == SBX_SAMPLE_COOKIE;
    struct sbx_thread *thread = sbx_self;
    if (!is_marked || (info->si_code != SI_TIMER && index != SBX_SAMPLE_NOBODY)) {
        pass_on(number, info);
    } else if (index == SBX_SAMPLE_PROBE) {
        sbx_store_relaxed(&sbx_sample_probe_hit, is_behind_call(context) ? SBX_PROBE_BEHIND_CALL : SBX_PROBE_ELSEWHERE);
    } else if (sbx_capture_is_ours() && sbx_thread_is_registered(thread) && thread->index == index) {
        if (answer(thread, (uint16_t)(value >> 16)) && sbx_capture_is_open()) {
            sample(thread, context);
        }
        tell_cut_call(thread, context);
    }
    errno = saved_errno;
}
