/* SPDX-License-Identifier: Apache-2.0 */
/* message_loop.h - messages: of the main thread, understood from its poll calls alone, and those that any thread says
 * it handles.
 *
 * A message is the time from a return of the loop's poll call to its next call. Which poll call is the loop's says
 * loop_call.h: that of the outermost loop, and that of a loop which turns inside one of its handlers, as a modal dialog's
 * does. A handler that polls for something of its own, a reply, waits, and that is part of its message. */
#ifndef SBX_MESSAGE_LOOP_H
#define SBX_MESSAGE_LOOP_H

#include <stdint.h>

#include "loop_call.h"
#include "open_calls.h"
#include "poll_set.h"
#include "thread_block.h"

/* A poll-family function is about to be called from return address `pc`, stack pointer `sp`, for what is `polled`. Like
 * sbx_blocking_begin(). Without descriptors and away from the loop it is recorded as a sleep. */
SBX_HOOK_SAFE void sbx_poll_begin(struct sbx_blocking *call, uint8_t op, uint64_t pc, uint64_t sp,
                                  const struct sbx_polled *polled);

/* The same first, where the loop may do what it does in nearly all of its turns (sbx_loop_is_plain()). False: it was not that, and the call has not
 * begun. */
SBX_HOOK_SAFE SBX_NOINLINE bool sbx_turn_begin(struct sbx_blocking *call, uint8_t op, uint64_t pc, uint64_t sp);
SBX_HOOK_SAFE static inline bool sbx_turn_begins(struct sbx_blocking *call, uint8_t op, uint64_t pc, uint64_t sp)
{
    const struct sbx_thread *thread = sbx_self;
    return sbx_thread_is_registered(thread) && sbx_loop_is_plain(&thread->loop) && sbx_turn_begin(call, op, pc, sp);
}

/* A call that began so has returned, and did not fail. False: it was no such turn in the end, and has not ended yet. `epoll_fd`: the set that was polled;
 * -1: none. */
SBX_HOOK_SAFE SBX_NOINLINE bool sbx_turn_end(const struct sbx_blocking *call, int epoll_fd);

/* It returned. Like sbx_blocking_end(). `fd`: one of the descriptors, away from the loop; -1 not known. */
SBX_HOOK_SAFE void sbx_poll_end(struct sbx_blocking *call, const struct sbx_polled *polled, bool failed, int fd);

/* May accept() on `fd` be the calling thread's wait for work? Then sbx_poll_begin() and _end() are around it. The main thread's is
 * not where it cannot wait, or the loop's poll call has said that somebody is there. One system call there. */
SBX_HOOK_SAFE bool sbx_accept_waits(int fd);

/* The thread is about to wait for a signal without an end. Like sbx_blocking_begin(). Where no handler of its loop does so, it has
 * come back to rest: the message is over. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_signal_wait_begin(struct sbx_blocking *call, uint8_t op);

/* Has the function with the loop been left in the open message of `thread`, although it handled all of those before? Then the
 * loop has probably ended, and what the program does now is no message. Nor is it known to be one while the thread waits in what may
 * be the first call of another loop. For the watch thread, which may be wrong by one
 * look. */
SBX_HOOK_SAFE bool sbx_message_loop_was_left(const struct sbx_thread *thread);

/* Has `thread` begun a call less than `limit_ns` ago that may be another loop's? Then its message has perhaps ended there. For the watch
 * thread, as above. */
SBX_HOOK_SAFE bool sbx_message_may_have_turned(const struct sbx_thread *thread, uint64_t now_ns, uint64_t limit_ns);

/* For how long of the open message of `thread` somebody at a terminal was awaited, or a connection by accept(), for the watch thread. That is
 * nobody's stall. */
SBX_HOOK_SAFE uint64_t sbx_message_awaited_ns(const struct sbx_thread *thread, uint64_t now_ns);

/* The calling thread begins to handle a message of this kind (at most SBX_MESSAGE_KIND_MAX, else 0), and has handled it.
 * What is entered inside another message, or inside one that a poll call began, is part of that; a poll call inside one
 * is a wait. A leave without its enter does nothing. For any thread; takes no lock; errno is kept. */
enum {
    SBX_MESSAGE_KIND_MAX = SBX_OP_MAX - 1
};
SBX_HOOK_SAFE void sbx_message_enter(uint32_t kind);

/* The calling thread ends the process in the middle of its message: if that was told as hung, it has come to its end, and if a client
 * waits for an answer, the message is judged as any that ends. */
SBX_HOOK_SAFE void sbx_message_exit(void);
SBX_HOOK_SAFE void sbx_message_leave(void);

#endif
