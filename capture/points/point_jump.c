/* SPDX-License-Identifier: Apache-2.0 */
/* point_jump.c - longjmp() out of a call that blocks, as a signal handler does to end it (alarm() around a lookup). Nothing is
 * recorded. The hook's frame of that call never returns: what it told of the thread would stay, and a thread that computes
 * would be shown asleep, and never be sampled by signal, until its next call that blocks.
 *
 * Where the jump leads is in the program's jmp_buf, in a place the C library does not tell: with glibc the stack pointer lies in
 * the seventh word on x86-64, mangled with the word at fs:0x30 (sysdeps/unix/sysv/linux/x86_64/pointer_guard.h), with
 * musl in the same word as it is (src/setjmp/x86_64/setjmp.s). What does not come out as a place of this thread's stack
 * above the jump is not believed, and then the next blocking call finds out as before. Elsewhere nothing is looked for.
 * In the loader's group: hooked for as long as anything is. */
#include "point.h"

typedef void jump_function(void *environment, int value);

#if defined(__x86_64__)
enum {
    STACK_POINTER = 6
}; /* word of a jmp_buf */

static bool is_believable(const struct sbx_thread *thread, uint64_t sp, uint64_t here)
{
    const uint64_t far = UINT64_C(64) << 20; /* of a stack whose bounds are not known */
    if (sp % 8 != 0) {
        return false;
    }
    return thread->stack_high > 1 ? sp >= thread->stack_low && sp <= thread->stack_high : sp > here && sp - here < far;
}

static uint64_t target_of(const struct sbx_thread *thread, const void *environment)
{
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    uint64_t word = ((const uint64_t *)environment)[STACK_POINTER], guard;
    if (is_believable(thread, word, here)) {
        return word;
    }
    __asm__("movq %%fs:0x30, %0" : "=r"(guard));
    word = (word >> 17 | word << 47) ^ guard;
    return is_believable(thread, word, here) ? word : 0;
}
#else
static uint64_t target_of(const struct sbx_thread *thread, const void *environment)
{
    (void)thread;
    (void)environment;
    return 0;
}
#endif

/* Only who is in a blocking call has anything to leave behind; a program that jumps a million times a second pays two loads. */
static inline void leave_calls(const void *environment)
{
    struct sbx_thread *thread = sbx_self;
    if (sbx_thread_is_registered(thread) && SBX_UNLIKELY(thread->call_depth != 0) && sbx_capture_is_ours()) {
        uint64_t sp = target_of(thread, environment);
        if (sp != 0) {
            sbx_calls_forget_below(thread, sp);
        }
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
JUMPS(__longjmp_chk) /* what a fortified program calls */

#define POINT(name) SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_LOADER)
static const struct sbx_point points[] = {POINT(longjmp), POINT(_longjmp), POINT(siglongjmp), POINT(__longjmp_chk)};
const struct sbx_point_list sbx_points_jump = SBX_POINT_LIST(points);
