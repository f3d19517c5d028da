/* SPDX-License-Identifier: Apache-2.0 */
/* handler_frames.c - a look through the calling thread's stack for the frames of signal handlers. */
#include "handler_frames.h"

#include <signal.h>

#include "order.h"
#include "signal_frame.h"
#include "thread_timer.h"

uint32_t sbx_signal_frames_are_known;

SBX_HOOK_SAFE SBX_NOINLINE SBX_READS_FOREIGN_STACKS bool sbx_may_be_in_handler(uint64_t stack_low, uint64_t stack_high,
                                                                               uint64_t from)
{
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0) & ~UINT64_C(7);
    here = from > here && from < stack_high ? from & ~UINT64_C(7) : here;
    stack_t now;
    if (sbx_load_relaxed(&sbx_signal_frames_are_known) == 0 || here < stack_low || here >= stack_high ||
        stack_high - here > SBX_LOOK_FOR_HANDLERS_MOST) { /* relaxed: once set, it stays set */
        return true;
    }
    const uint64_t *end = (const uint64_t *)(uintptr_t)(stack_high & ~UINT64_C(7)) - 1;
    for (const uint64_t *word = (const uint64_t *)(uintptr_t)here; word < end; word++) {
        if (SBX_UNLIKELY(sbx_is_in_frame(word, here, stack_high))) {
            return true;
        }
    }
    /* An alternate stack may be an array on the thread's own stack. */
    return sbx_raw_sigaltstack(NULL, &now) != 0 || (now.ss_flags & SS_ONSTACK) != 0;
}
