/* SPDX-License-Identifier: Apache-2.0 */
/* message_loop.h - messages: those of the main thread, recognised from its poll calls alone, and those that any thread
 * reports itself.
 *
 * A message is the time from a return of the loop's poll call to the loop's next poll call. loop_call.h says which poll
 * calls are the loop's: those of the outermost loop, and those of a loop that turns inside one of its handlers, as a
 * modal dialog's does. A handler that polls for something it needs, such as a reply, waits, and that wait is part of
 * its message. */
#ifndef SBX_MESSAGE_LOOP_H
#define SBX_MESSAGE_LOOP_H

#include <stdint.h>

#include "loop_call.h"
#include "open_calls.h"
#include "poll_set.h"
#include "thread_block.h"

/* A poll-family function is about to be called from return address `pc` and stack pointer `sp`, with the arguments
 * `polled`. Like sbx_blocking_begin(). A call without descriptors and away from the loop is recorded as a sleep. */
SBX_HOOK_SAFE void sbx_poll_begin(struct sbx_blocking *call, uint8_t op, uint64_t pc, uint64_t sp,
                                  const struct sbx_polled *polled);

/* A faster path that is tried first when the loop may be about to make a plain turn (sbx_loop_is_plain()). False: the
 * turn is not plain, and the call has not begun. */
SBX_HOOK_SAFE SBX_NOINLINE bool sbx_turn_begin(struct sbx_blocking *call, uint8_t op, uint64_t pc, uint64_t sp);
SBX_HOOK_SAFE static inline bool sbx_turn_begins(struct sbx_blocking *call, uint8_t op, uint64_t pc, uint64_t sp)
{
    const struct sbx_thread *thread = sbx_self;
    return sbx_thread_is_registered(thread) && sbx_loop_is_plain(&thread->loop) && sbx_turn_begin(call, op, pc, sp);
}

/* A call that began with sbx_turn_begins() has returned and did not fail. False: the turn was not plain in the end, and
 * the call has not ended yet. `epoll_fd` is the polled set; -1: none. */
SBX_HOOK_SAFE SBX_NOINLINE bool sbx_turn_end(const struct sbx_blocking *call, int epoll_fd);

/* The poll call returned. Like sbx_blocking_end(). `fd` is one of the descriptors, away from the loop; -1: not
 * known. */
SBX_HOOK_SAFE void sbx_poll_end(struct sbx_blocking *call, const struct sbx_polled *polled, bool failed, int fd);

/* May accept() on `fd` be the calling thread's wait for work? If so, call sbx_poll_begin() and _end() around it. For
 * the main thread it is not, if the call cannot wait, or if the loop's poll call has reported that a client is there.
 * One system call in the main thread. */
SBX_HOOK_SAFE bool sbx_accept_waits(int fd);

/* The thread is about to wait for a signal without a time limit. Like sbx_blocking_begin(). If the call is not made by
 * a handler of the thread's loop, the thread has come back to rest, and the message is over. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_signal_wait_begin(struct sbx_blocking *call, uint8_t op);

/* Has the function with the loop been left in the open message of `thread`, although it handled all earlier messages?
 * Then the loop has probably ended, and what the program does now is not a message. It is also not known to be a
 * message while the thread waits in a call that may be the first of another loop. For the watch thread; the answer may
 * be wrong by one look. */
SBX_HOOK_SAFE bool sbx_message_loop_was_left(const struct sbx_thread *thread);

/* Has `thread` begun a call that may be another loop's, less than `limit_ns` ago? Then its message has perhaps ended
 * there. For the watch thread; the answer may be wrong by one look. */
SBX_HOOK_SAFE bool sbx_message_may_have_turned(const struct sbx_thread *thread, uint64_t now_ns, uint64_t limit_ns);

/* How much of the open message of `thread` was a wait for a user at a terminal, or for a connection in accept(). Such a
 * wait is not a stall. For the watch thread. */
SBX_HOOK_SAFE uint64_t sbx_message_awaited_ns(const struct sbx_thread *thread, uint64_t now_ns);

/* The calling thread begins to handle a message of this kind (at most SBX_MESSAGE_KIND_MAX, else 0), or has handled it.
 * A message that is entered inside another one, or inside one that a poll call began, is part of that message. A poll
 * call inside an entered message is a wait. A leave without its enter does nothing. Any thread may call them; they take
 * no lock and keep errno. */
enum {
    SBX_MESSAGE_KIND_MAX = SBX_OP_MAX - 1
};
SBX_HOOK_SAFE void sbx_message_enter(uint32_t kind);

/* The calling thread ends the process in the middle of its message. If the message was reported as hung, this is its
 * end. If a client waits for an answer, the message is judged like any other that ends. */
SBX_HOOK_SAFE void sbx_message_exit(void);
SBX_HOOK_SAFE void sbx_message_leave(void);

#endif
