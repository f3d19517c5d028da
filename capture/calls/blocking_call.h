/* SPDX-License-Identifier: Apache-2.0 */
/* blocking_call.h - around a call that may block.
 *
 * While the call lasts, other threads can see it in the thread's entry, and the sample signal is held back where it
 * would cut the call short. What the thread's block remembers of the call is described in open_calls.h. */
#ifndef SBX_BLOCKING_CALL_H
#define SBX_BLOCKING_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "open_calls.h"
#include "thread_block.h"

/* begin() makes the call visible to other threads. end() records the call when it took at least its group's threshold,
 * and otherwise counts it as a leaf. Both keep errno. `what` is a SBX_CALL_WHAT(). */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_blocking_enter(struct sbx_blocking *call, uint32_t what, uint64_t object,
                                                   uint32_t peer);
SBX_HOOK_SAFE static inline void sbx_blocking_begin(struct sbx_blocking *call, uint8_t group, uint8_t kind, uint8_t op,
                                                    uint64_t object, uint32_t peer)
{
    sbx_blocking_enter(call, SBX_CALL_WHAT(kind, op, group), object, peer);
}
SBX_HOOK_SAFE void sbx_blocking_end(struct sbx_blocking *call, uint64_t amount, bool failed, int fd);

/* Around a call that the kernel would not restart after a handler and that is not recorded otherwise. The sample signal
 * is held back, and the watch thread treats the thread like any other blocked thread. end() takes the value that
 * begin() returned. Where the kernel makes timer signals only outside of calls, nothing has to be held back, except for
 * calls that make signals themselves: `always`. */
SBX_HOOK_SAFE struct sbx_thread *sbx_shield_begin(bool always);
SBX_HOOK_SAFE void sbx_shield_end(struct sbx_thread *thread);

/* Does a call of this kind let time pass, or wait for what the program itself has started? Programs without a message
 * loop get their pace from such calls (messages/loop_turn.h). system() and similar calls do not count, because a
 * message's handler may run a program with them. */
static inline bool sbx_is_pause(uint32_t kind, uint32_t op)
{
    return kind == SBX_RECORD_SLEEP || (kind == SBX_RECORD_PROCESS && (op == SBX_OP_WAITPID || op == SBX_OP_WAITID));
}

#endif
