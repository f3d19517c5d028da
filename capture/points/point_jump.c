/* SPDX-License-Identifier: Apache-2.0 */
/* point_jump.c - the program continues elsewhere. It may leave a blocking call or a hook by longjmp(), as a signal
 * handler does to end a lookup (alarm()). Or it may switch to another stack, by swapcontext() in a stream's own write
 * function. Nothing is recorded.
 *
 * The hook's frame of such a call does not return, or not soon. Without this code, what the hook has noted for the
 * thread would stay: a thread that computes would be shown asleep and would never be sampled by signal until its next
 * blocking call (open_calls.h), and the agent's code would seem to run for ever (left_code.h).
 *
 * The target of a jump is in the program's jmp_buf, at a place that the C library does not document. With glibc on
 * x86-64 the stack pointer is the seventh word, mangled with the word at fs:0x30
 * (sysdeps/unix/sysv/linux/x86_64/pointer_guard.h). With musl it is the same word, not mangled
 * (src/setjmp/x86_64/setjmp.s). On other systems nothing is looked for, and the thread's next call finds out. A
 * ucontext_t contains the stack pointer openly. These points are in the loader's group: they are hooked as long as
 * anything is. */
#include "point.h"

#include <errno.h>
#include <ucontext.h>

typedef void jump_function(void *environment, int value);

#if defined(__x86_64__)
enum {
    STACK_POINTER = 6
}; /* word of a jmp_buf */

static bool is_on_own_stack(const struct sbx_thread *thread, uint64_t sp)
{
    return sp % 8 == 0 && sp >= thread->stack_low && sp <= thread->stack_high;
}

/* The stack pointer after a jump with `environment`; 0: not known. */
static uint64_t target_of(const struct sbx_thread *thread, const void *environment)
{
    const uint64_t lowest = 65536, highest = UINT64_C(1) << 47;
    uint64_t word = ((const uint64_t *)environment)[STACK_POINTER];
    if (is_on_own_stack(thread, word)) {
        return word;
    }
#ifdef __GLIBC__
    uint64_t guard;
    __asm__("movq %%fs:0x30, %0" : "=r"(guard));
    word = (word >> 17 | word << 47) ^ guard;
#endif
    return word % 8 == 0 && word >= lowest && word < highest ? word
                                                             : 0; /* another stack is a coroutine's or a handler's */
}
#else
static uint64_t target_of(const struct sbx_thread *thread, const void *environment)
{
    (void)thread;
    (void)environment;
    return 0;
}
#endif

/* Only a thread in a blocking call or in the agent's code has something to leave behind. */
static inline struct sbx_thread *with_something_open(void)
{
    struct sbx_thread *thread = sbx_self;
    return sbx_thread_is_registered(thread) &&
                   SBX_UNLIKELY(thread->call_depth != 0 || thread->blocking != 0 || thread->inside != 0) &&
                   sbx_capture_is_ours()
               ? thread
               : NULL;
}

SBX_NOINLINE static void leave_for(struct sbx_thread *thread, uint64_t sp)
{
    int saved_errno = errno;
    uint64_t inside = thread->inside;
    if (inside != 0) {
        if (inside < SBX_INSIDE_PLACE || sbx_place_may_be_around(thread, SBX_INSIDE_PLACE_OF(inside), sp)) {
            errno = saved_errno;
            return; /* the jump stays inside: code that the agent's code calls may jump by itself */
        }
        sbx_code_was_left(thread);
    }
    if (thread->call_depth != 0) {
        sbx_calls_forget(thread, sp);
    } else {
        sbx_store_relaxed(&thread->blocking, 0); /* only a shield: relaxed, a late look only spares us one signal */
    }
    errno = saved_errno;
}

static inline void leave_calls(const void *environment)
{
    struct sbx_thread *thread = with_something_open();
    uint64_t sp = thread != NULL ? target_of(thread, environment) : 0;
    if (sp != 0) {
        leave_for(thread, sp);
    }
}

#define JUMPS(name)                                          \
    static jump_function *real_##name; /* does not return */ \
    static void hook_##name(void *environment, int value)    \
    {                                                        \
        leave_calls(environment);                            \
        real_##name(environment, value);                     \
    }

JUMPS(longjmp)
JUMPS(_longjmp)
JUMPS(siglongjmp)
JUMPS(__longjmp_chk) /* called by fortified programs */

#ifdef __GLIBC__
static uint64_t stack_pointer_of(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uint64_t)context->uc_mcontext.gregs[REG_RSP];
#else
    return context->uc_mcontext.sp;
#endif
}

static inline void leave_calls_for(const ucontext_t *context)
{
    struct sbx_thread *thread = with_something_open();
    if (thread != NULL) {
        leave_for(thread, stack_pointer_of(context));
    }
}

/* These are tail calls: then the saved context is the caller's own, and it may be resumed more than once. */
static int (*real_setcontext)(const ucontext_t *);
static int hook_setcontext(const ucontext_t *to)
{
    leave_calls_for(to);
    return real_setcontext(to);
}

static int (*real_swapcontext)(ucontext_t *, const ucontext_t *);
static int hook_swapcontext(ucontext_t *from, const ucontext_t *to)
{
    leave_calls_for(to);
    return real_swapcontext(from, to);
}
#endif

#define POINT(name) SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_LOADER)
static const struct sbx_point points[] = {
    POINT(longjmp),    POINT(_longjmp),    POINT(siglongjmp), POINT(__longjmp_chk),
#ifdef __GLIBC__
    POINT(setcontext), POINT(swapcontext),
#endif
};
const struct sbx_point_list sbx_points_jump = SBX_POINT_LIST(points);
