/* SPDX-License-Identifier: Apache-2.0 */
/* point_signal.c - the program's signal handlers, masks and alternate stacks: the program must not find the agent's
 * signal in any of them. Nothing is recorded.
 *
 *   - A program that asks for the handler of the sample signal gets the answer that it would get without the agent: the
 *     default action. If the program wants the signal, it gets it: first all armed timers are taken back, and the
 *     sampler takes another signal.
 *   - The handler for fatal signals is not shown while the program starts. So the program installs its own handlers as
 *     it would without the agent.
 *   - Before a thread blocks the sample signal, its timer is taken back. So no such signal becomes pending that the
 *     thread's sigwait() or signalfd() would report.
 *   - A thread without an alternate stack has one of the agent's (signal_stack.c), which it is not shown. A stack that
 *     the thread sets replaces it. When the thread removes its own stack, the agent's comes back.
 *
 * For changes that do not pass these hooks (direct system calls, siglongjmp(), setcontext()) the watch thread asks the
 * kernel (sample_signal.c). These points are in the loader's group: they are hooked as long as anything is. */
#include "point.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "process_barrier.h"
#include "raw_syscall.h"
#include "sample_number.h"
#include "signal_stack.h"
#include "thread_timer.h"

typedef void handler_function(int);

/* ---- handlers ---- */

static bool is_our_handler(handler_function *handler)
{
    return handler != NULL && (void *)(uintptr_t)handler == sbx_the_capture.sample_handler;
}

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 && is_our_handler(action->sa_handler); /* a union with sa_sigaction */
}

/* Is it a handler of the agent that must not be shown? That of the sample signal never is. That of fatal signals is
 * hidden while the program installs its own (crash_signals.c). Also in a child, where the agent has no right to say
 * whose the handler is. */
static bool is_hidden(handler_function *handler)
{
    void *unshown = sbx_load_relaxed(&sbx_the_capture.unshown_handler); /* relaxed: set before the kernel has it */
    return is_our_handler(handler) || (handler != NULL && (void *)(uintptr_t)handler == unshown);
}

static bool is_our_number(int number)
{
    return number > 0 && number <= 64 && sbx_load_relaxed(&sbx_the_capture.sample_signal) == (uint32_t)number &&
           sbx_capture_is_ours();
}

/* Is this the recorded process, and not a child of vfork(), which shares the memory but has its own signal handlers? */
static bool is_own_process(void)
{
    return (uint32_t)sbx_raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0) == sbx_the_capture.header->pid;
}

/* Has the program set no handler for the sample signal? The kernel is asked, because the program may have set one
 * without a hook. */
static bool is_ours_still(int number)
{
    return SBX_UNLIKELY(is_our_number(number)) && is_own_process() &&
           sbx_raw_handler_of(number) == sbx_the_capture.sample_handler;
}

/* The program is about to set the action of that signal. From here on the signal belongs to the program
 * (sample_number.h). */
static bool begin_set(int number, bool is_kept)
{
    return sbx_capture_is_ours() && number >= SBX_SIGNAL_LAST && number <= SBX_SIGNAL_FIRST && is_own_process() &&
           sbx_sample_number_begin_set(number, is_kept);
}

static void end_set(int number, bool has_begun)
{
    if (SBX_UNLIKELY(has_begun)) {
        sbx_sample_number_end_set(number);
    }
}

/* An action that is set already need not be set again. So a sample signal that is just being delivered never meets the
 * default action, which would end the program. */
static bool is_default(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) == 0 && action->sa_handler == SIG_DFL;
}

#define SETS_ACTION(name)                                                                         \
    static int (*real_##name)(int, const struct sigaction *, struct sigaction *);                 \
    static int hook_##name(int number, const struct sigaction *wanted, struct sigaction *was_out) \
    {                                                                                             \
        if (SBX_UNLIKELY(wanted != NULL && is_default(wanted)) && is_ours_still(number)) {        \
            if (was_out == NULL) {                                                                \
                return 0;                                                                         \
            }                                                                                     \
            wanted = NULL; /* the action is already set, so only read it */                       \
        }                                                                                         \
        bool has_begun = wanted != NULL && begin_set(number, false);                              \
        int result = real_##name(number, wanted, was_out);                                        \
        end_set(number, has_begun);                                                               \
        if (result == 0 && was_out != NULL && (was_out->sa_flags & SA_SIGINFO) != 0 &&            \
            SBX_UNLIKELY(is_hidden(was_out->sa_handler))) {                                       \
            memset(was_out, 0, sizeof *was_out);                                                  \
            was_out->sa_handler = SIG_DFL;                                                        \
        }                                                                                         \
        return result;                                                                            \
    }

SETS_ACTION(sigaction)
SETS_ACTION(__sigaction)

/* The older functions. Their result is the previous handler. */
#define SETS_HANDLER(name)                                                     \
    static handler_function *(*real_##name)(int, handler_function *);          \
    static handler_function *hook_##name(int number, handler_function *wanted) \
    {                                                                          \
        if (wanted == SIG_DFL && is_ours_still(number)) {                      \
            return SIG_DFL;                                                    \
        }                                                                      \
        bool has_begun = begin_set(number, false);                             \
        handler_function *was = real_##name(number, wanted);                   \
        end_set(number, has_begun);                                            \
        return is_hidden(was) ? SIG_DFL : was;                                 \
    }

SETS_HANDLER(signal)
SETS_HANDLER(bsd_signal)
SETS_HANDLER(ssignal)
SETS_HANDLER(sysv_signal)
SETS_HANDLER(__sysv_signal)

static int (*real_sigignore)(int);

static int hook_sigignore(int number)
{
    bool has_begun = begin_set(number, false);
    int result = real_sigignore(number);
    end_set(number, has_begun);
    return result;
}

static int (*real_siginterrupt)(int, int);

/* siginterrupt() sets the present handler once more, with other flags. If that is the agent's, it must be set again. A
 * handler that the program sets later has the flags that the program gave. */
static int hook_siginterrupt(int number, int is_wanted)
{
    struct sigaction ours;
    bool is_kept = is_our_number(number) && is_own_process() && real_sigaction != NULL &&
                   real_sigaction(number, NULL, &ours) == 0 && is_ours(&ours);
    bool has_begun = begin_set(number, is_kept);
    int result = real_siginterrupt(number, is_wanted);
    end_set(number, has_begun);
    if (SBX_UNLIKELY(is_kept)) {
        int saved_errno = errno;
        real_sigaction(number, &ours, NULL);
        errno = saved_errno;
    }
    return result;
}

/* ---- masks ---- */

static uint64_t word_of(const sigset_t *set)
{
    uint64_t word;
    memcpy(&word, set, sizeof word); /* signal n is bit n - 1, in glibc, in musl and in the kernel */
    return word;
}

/* The thread's mask is about to change. From here on, signals that it will block count as blocked. */
static struct sbx_thread *begin_mask(uint64_t added)
{
    struct sbx_thread *thread = sbx_self;
    if (!sbx_thread_is_registered(thread) || !sbx_capture_is_ours()) {
        return NULL;
    }
    sbx_store_relaxed(&thread->blocked_signals, thread->blocked_signals | added);
    /* order: barrier mask_changes - Dekker with sample_timer */
    sbx_store_before_look(&thread->mask_changes, thread->mask_changes + 1);
    uint32_t number = sbx_load_relaxed(&sbx_the_capture.sample_signal);
    if (number != 0 && number <= 64 && (thread->blocked_signals >> (number - 1) & 1) != 0) {
        sbx_sample_take_back(thread);
    }
    return thread;
}

/* A signal handler of the program may have run meanwhile and given the seat back (seat_turns.h). A sanitizer's run-time
 * calls handlers even without a signal frame of the kernel. */
static bool is_still_ours(const struct sbx_thread *thread)
{
    return thread != NULL && thread == sbx_self;
}

static void end_mask(struct sbx_thread *thread, uint64_t mask)
{
    if (is_still_ours(thread)) {
        sbx_store_relaxed(&thread->blocked_signals, mask); /* relaxed: a late look spares us one sample */
    }
}

/* Called around a call with `how` and `set` of sigprocmask(). */
static struct sbx_thread *begin_change(int how, const sigset_t *set)
{
    return set == NULL ? NULL : begin_mask(how == SIG_UNBLOCK ? 0 : word_of(set));
}

static void end_change(struct sbx_thread *thread, int how, uint64_t word, bool is_done)
{
    if (!is_still_ours(thread)) {
        return;
    }
    if (!is_done) {
        word = sbx_raw_signal_mask();
        how = SIG_SETMASK;
    }
    end_mask(thread, how == SIG_BLOCK     ? thread->blocked_signals
                     : how == SIG_UNBLOCK ? thread->blocked_signals & ~word
                                          : word);
}

#define CHANGES_MASK(name)                                                    \
    static int (*real_##name)(int, const sigset_t *, sigset_t *);             \
    static int hook_##name(int how, const sigset_t *set, sigset_t *was_out)   \
    {                                                                         \
        uint64_t word = set != NULL ? word_of(set) : 0; /* may be *was_out */ \
        struct sbx_thread *thread = begin_change(how, set);                   \
        int result = real_##name(how, set, was_out);                          \
        end_change(thread, how, word, result == 0);                           \
        return result;                                                        \
    }

CHANGES_MASK(pthread_sigmask)
CHANGES_MASK(sigprocmask)

/* One signal, or those of the first word of a mask as in BSD. Afterwards the kernel is asked for the mask. */
static void end_unknown(struct sbx_thread *thread)
{
    if (thread != NULL) {
        end_mask(thread, sbx_raw_signal_mask());
    }
}

#define CHANGES_MASK_SOMEHOW(name, type)                    \
    static int (*real_##name)(type);                        \
    static int hook_##name(type what)                       \
    {                                                       \
        struct sbx_thread *thread = begin_mask(UINT64_MAX); \
        int result = real_##name(what);                     \
        end_unknown(thread);                                \
        return result;                                      \
    }

CHANGES_MASK_SOMEHOW(sigblock, int)
CHANGES_MASK_SOMEHOW(sigsetmask, int)
CHANGES_MASK_SOMEHOW(sighold, int)
CHANGES_MASK_SOMEHOW(sigrelse, int)

static handler_function *(*real_sigset)(int, handler_function *);

/* Blocks the signal (SIG_HOLD), or sets a handler and unblocks the signal. */
static handler_function *hook_sigset(int number, handler_function *wanted)
{
    const uintptr_t hold = 2; /* SIG_HOLD of libraries that have it */
    bool is_hold = (uintptr_t)wanted == hold;
    bool is_default_already = wanted == SIG_DFL && is_ours_still(number);
    bool has_begun = !is_hold && !is_default_already && begin_set(number, false);
    struct sbx_thread *thread = begin_mask(UINT64_MAX);
    handler_function *was;
    if (SBX_UNLIKELY(is_default_already)) {
        uint64_t bit = UINT64_C(1) << (number - 1), before = 0;
        (void)sbx_raw_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)(uintptr_t)&bit, (long)(uintptr_t)&before,
                              sizeof bit, 0, 0);
        was = (before & bit) != 0 ? (handler_function *)hold : SIG_DFL;
    } else {
        was = real_sigset(number, wanted);
        end_set(number, has_begun);
    }
    end_unknown(thread);
    return is_hidden(was) ? SIG_DFL : was;
}

/* ---- alternate stacks ---- */

static int (*real_sigaltstack)(const stack_t *, stack_t *);

/* While the stack is exchanged, this thread is not asked for a sample. */
static struct sbx_thread *begin_stack(void)
{
    struct sbx_thread *thread = sbx_self;
    if (!sbx_thread_is_registered(thread) || !sbx_capture_is_ours() || !is_own_process()) {
        return NULL;
    }
    sbx_store_before_look(&thread->may_be_asked, 0); /* order: barrier may_be_asked - Dekker with sample_timer */
    sbx_sample_take_back(thread);
    return thread;
}

static int hook_sigaltstack(const stack_t *wanted, stack_t *was_out)
{
    stack_t was;
    struct sbx_thread *thread = wanted != NULL ? begin_stack() : NULL;
    int result = real_sigaltstack(wanted, &was);
    if (is_still_ours(
            thread)) { /* set or refused: the stack now is the agent's, the program's, or none, and then the agent's */
        int saved_errno = errno;
        sbx_thread_take_signal_stack(thread);
        errno = saved_errno;
    }
    if (result == 0 && was_out != NULL) {
        *was_out = sbx_thread_is_our_signal_stack(was.ss_sp) ? (stack_t){.ss_flags = SS_DISABLE} : was;
    }
    return result;
}

#define POINT(name) SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_LOADER)
static const struct sbx_point points[] = {
    POINT(sigaction),     POINT(signal),      POINT(bsd_signal),   POINT(ssignal),         POINT(sysv_signal),
    POINT(__sysv_signal), POINT(sigignore),   POINT(siginterrupt), POINT(pthread_sigmask), POINT(sigprocmask),
    POINT(sigblock),      POINT(sigsetmask),  POINT(sighold),      POINT(sigrelse),        POINT(sigset),
    POINT(sigaltstack),   POINT(__sigaction),
};
const struct sbx_point_list sbx_points_signal = SBX_POINT_LIST(points);
