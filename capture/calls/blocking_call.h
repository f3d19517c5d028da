/* SPDX-License-Identifier: Apache-2.0 */
/* blocking_call.h - around a call that may block.
 *
 * While the call lasts, other threads can see it in the thread's entry, and the sample signal is held back where it
 * would cut the call short. What the thread's block remembers of the call is described in open_calls.h. */
#ifndef SBX_BLOCKING_CALL_H
#define SBX_BLOCKING_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "lone_call.h"
#include "marks.h"
#include "open_calls.h"
#include "thread_block.h"

/* begin() makes the call visible to other threads. end() records the call when it took at least its group's threshold,
 * and otherwise counts it as a leaf. Both keep errno.
 *
 * begin() is one of three functions, which most hooks know when they are compiled: most calls have no peer, and
 * _always() is for those that SBX_BLOCKING_ALWAYS is for (lone_call.h). `what` is a SBX_CALL_WHAT(). */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_blocking_enter(struct sbx_blocking *call, uint32_t what, uint64_t object);
SBX_HOOK_SAFE SBX_NOINLINE void sbx_blocking_enter_with_peer(struct sbx_blocking *call, uint32_t what, uint64_t object,
                                                             uint32_t peer);
SBX_HOOK_SAFE SBX_NOINLINE void sbx_blocking_enter_always(struct sbx_blocking *call, uint32_t what, uint64_t object,
                                                          uint32_t peer);
SBX_HOOK_SAFE static inline void sbx_blocking_begin(struct sbx_blocking *call, uint8_t group, uint8_t kind, uint8_t op,
                                                    uint64_t object, uint32_t peer)
{
    uint32_t what = SBX_CALL_WHAT(kind, op, group);
    if (sbx_call_how_of(op) == SBX_BLOCKING_ALWAYS) {
        sbx_blocking_enter_always(call, what, object, peer);
    } else if (__builtin_constant_p(peer) && peer == 0) {
        sbx_blocking_enter(call, what, object);
    } else {
        sbx_blocking_enter_with_peer(call, what, object, peer);
    }
}

/* `moved` is what read() and its kind return: how much was moved, or -1 for a call that has failed. A call that has
 * failed after it moved something says the complement of how much. end() is for calls that say these two in other
 * ways. */
SBX_HOOK_SAFE void sbx_blocking_moved(struct sbx_blocking *call, int64_t moved, int fd);
SBX_HOOK_SAFE static inline void sbx_blocking_end(struct sbx_blocking *call, uint64_t amount, bool failed, int fd)
{
    sbx_blocking_moved(call, failed ? ~(int64_t)amount : (int64_t)amount, fd);
}

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
