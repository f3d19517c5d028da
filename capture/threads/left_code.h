/* SPDX-License-Identifier: Apache-2.0 */
/* left_code.h - our own code that a jump has left in the middle.
 *
 * A handler of the host's may interrupt a hook at any instruction, and go on elsewhere by siglongjmp(): lawful where what it
 * interrupted looks async-signal-safe, as clock_gettime() does. Then `inside` would say for ever that our code runs on the
 * thread: nothing of it would be recorded any more, and what walks may be reading would never be given back. So `inside` has
 * the place of the frame that our code runs in, and a part of its return address, and three find out that it is gone:
 *
 *   - a jump through a hook, whose target is known (points/point_jump.c);
 *   - the thread's next hook or sample, when it lies where that frame was, or further out, on the thread's own stack; or
 *     further in, and the frame's return address has been overwritten (x86-64): a thread may have jumped to a function that
 *     it does not leave again, and all it calls then lies further in;
 *   - who waits for every thread to be outside (sbx_thread_registry_is_quiet()), when the kernel shows the thread asleep with
 *     a stack pointer further out: this proves that it was outside at that moment, and changes nothing.
 *
 * Only what is certain counts: a thread that is taken for outside while it walks would write its records twice over, and what
 * it reads could be unmapped. A handler that interrupts our code runs further in on the same stack, or on another stack, and
 * never further out. */
#ifndef SBX_LEFT_CODE_H
#define SBX_LEFT_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "thread_block.h"

enum {
    SBX_INSIDE_PLACE = 4096 /* below this `inside` is no place */
};

/* Can the frame that holds `inside` not be there any more, seen from a frame at `here` of the same thread? */
SBX_SIGNAL_SAFE bool sbx_inside_is_stale(const struct sbx_thread *thread, uint64_t inside, uint64_t here);

/* Put right what our code had half done on the calling thread: the clock's lines, the record being written, the run, the
 * replay. Then it is outside. */
SBX_SIGNAL_SAFE SBX_NOINLINE void sbx_code_was_left(struct sbx_thread *thread);

/* For hooks, and for handlers of ours with the stack pointer that they interrupted: `inside` is set; did a jump leave it so?
 * Then it is put right. */
SBX_SIGNAL_SAFE SBX_NOINLINE bool sbx_code_is_found_left(struct sbx_thread *thread, uint64_t here);

/* Does our code run on the calling thread, further out than the caller? */
__attribute__((always_inline)) static inline bool sbx_thread_is_inside(struct sbx_thread *thread)
{
    return SBX_UNLIKELY(thread->inside != 0) &&
           !sbx_code_is_found_left(thread, (uint64_t)(uintptr_t)__builtin_dwarf_cfa());
}

#endif
