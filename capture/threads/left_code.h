/* SPDX-License-Identifier: Apache-2.0 */
/* left_code.h - finds our own code that a jump has left in the middle.
 *
 * A signal handler of the host may interrupt a hook at any instruction, and continue elsewhere by siglongjmp(). That is
 * allowed if the interrupted function looks async-signal-safe, as clock_gettime() does. Then `inside` would say for
 * ever that our code runs on the thread. Nothing of the thread would be recorded any more, and memory that walks may be
 * reading would never be freed. So `inside` has the place of the frame that our code runs in, and a part of its return
 * address. Three checks find out that this frame is gone:
 *
 *   - A jump through a hook, whose target is known (points/point_jump.c).
 *   - The thread's next hook or sample, in two cases. It lies where that frame was, or further out, on the thread's own
 *     stack. Or it lies further in, and the frame's return address has been overwritten (x86-64). The second case is
 *     needed because a thread may jump to a function that it does not leave again: all calls then lie further in.
 *   - The wait for every thread to be outside (sbx_thread_registry_is_quiet()), when the kernel shows the thread asleep
 *     with a stack pointer further out. This proves that the thread was outside at that moment. It changes nothing.
 *
 * Only proof counts. A thread taken for outside while it walks would write its records twice, and memory that it reads
 * could be unmapped. A handler that interrupts our code runs further in on the same stack, or on another stack, but
 * never further out. */
#ifndef SBX_LEFT_CODE_H
#define SBX_LEFT_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "thread_block.h"

enum {
    SBX_INSIDE_PLACE = 4096 /* smaller values of `inside` are not a place */
};

/* Is the frame that `inside` names gone, as seen from a frame at `here` of the same thread? True only when it must
 * be. */
SBX_SIGNAL_SAFE bool sbx_inside_is_stale(const struct sbx_thread *thread, uint64_t inside, uint64_t here);

/* Repair what our code had half done on the calling thread: the clock's lines, the record being written, the run, the
 * replay. After this the thread is outside. */
SBX_SIGNAL_SAFE SBX_NOINLINE void sbx_code_was_left(struct sbx_thread *thread);

/* For hooks, and for handlers of ours with the stack pointer that they interrupted, when `inside` is set. Returns true
 * when a jump left our code; everything is then repaired. */
SBX_SIGNAL_SAFE SBX_NOINLINE bool sbx_code_is_found_left(struct sbx_thread *thread, uint64_t here);

/* Does our code run on the calling thread, further out than the caller? */
__attribute__((always_inline)) static inline bool sbx_thread_is_inside(struct sbx_thread *thread)
{
    return SBX_UNLIKELY(thread->inside != 0) &&
           !sbx_code_is_found_left(thread, (uint64_t)(uintptr_t)__builtin_dwarf_cfa());
}

#endif
