/* SPDX-License-Identifier: Apache-2.0 */
/* client_message.h - messages of threads without a known loop: their work for a client.
 *
 * When a thread has read from a connection that the process accepted (client_sockets.h), the client waits until the
 * thread has answered. So the thread's message begins when a read from a client returns data. It ends with the first of
 * these events:
 *   - the thread writes to a client, or closes the connection: that was the answer, or its beginning;
 *   - it reads from a client again, or polls a set that contains a client;
 *   - it goes back to where it waits for work. That is accept(), or the place of a wait that was followed by a read
 *     from a client before, or any epoll set. A set that is polled further in than a set that leads to clients does not
 *     count: that is a wait for something else.
 * A wait for anything else is part of the message. Where nothing was read, no client is known to wait, and nothing is
 * judged.
 *
 * The main thread has its loop (message_loop.h). If that loop waits in a blocking accept(), the thread serves one
 * client at a time. Then its wait for the next part of a request counts as idle, like its wait for the next client.
 *
 * The functions are called by the thread itself, allocate nothing, take no lock and, unless stated otherwise, keep
 * errno. A call that has no client costs a load and a test. */
#ifndef SBX_CLIENT_MESSAGE_H
#define SBX_CLIENT_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "client_sockets.h"
#include "lone_call.h"
#include "open_calls.h"
#include "poll_set.h"
#include "self_pipe.h"
#include "the_capture.h"
#include "thread_block.h"

/* From now on the governor keeps the points that clients need. Called for a thread without a loop that accepts a client
 * or has read from one. */
SBX_HOOK_SAFE static inline void sbx_serves_clients(void)
{
    if (SBX_UNLIKELY(sbx_load_relaxed(&sbx_the_capture.serves) == 0)) { /* relaxed: the governor may be a second late */
        sbx_store_relaxed(&sbx_the_capture.serves, 1);
    }
}

/* Called after accept() has begun. */
SBX_HOOK_SAFE static inline void sbx_client_awaited(const struct sbx_blocking *call)
{
    if (call->thread != NULL && !call->thread->has_loop) {
        sbx_serves_clients();
    }
}

/* A call reads from the client `fd`, or is about to write to it (`is_answer`). Replaces sbx_blocking_begin(). `what` is
 * a SBX_CALL_WHAT(). */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_client_begin(struct sbx_blocking *call, uint32_t what, int fd, bool is_answer);
/* A read ends. Replaces sbx_blocking_moved(). `result` is that of read(). An answer is ended by sbx_blocking_moved(). */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_client_read_end(struct sbx_blocking *call, int64_t result, int fd);

/* The answer to a client is about to be written. Is nothing but its begin to be followed? Then the message has ended
 * now, a sample was taken if one was due, and the hook hands the call on: it makes the call as the last thing that it
 * does. So nothing of ours is needed after the call, where the kernel has left the caches cold.
 *
 * This is so while the governor has nothing else left to give up (docs/GOVERNOR.md). The call belongs to no message, so
 * it cannot be a stall. If it lasts, the watch thread sees the thread as in any call that is not a point. */
SBX_HOOK_SAFE SBX_NOINLINE bool sbx_client_may_hand_on(uint32_t what);
SBX_HOOK_SAFE static inline bool sbx_client_hands_on(uint32_t what)
{
    /* relaxed: late by a call or two */
    return sbx_load_relaxed(&sbx_the_capture.follows_lightly) != 0 && sbx_client_may_hand_on(what);
}

/* A client is about to be closed. Called after sbx_blocking_begin(). */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_client_answer(const struct sbx_blocking *call);

/* The thread with the loop has read from a client (asked), or is about to answer one (answered). sbx_client_asked()
 * keeps errno. */
SBX_HOOK_SAFE void sbx_client_asked(struct sbx_thread *thread);
SBX_HOOK_SAFE void sbx_client_answered(struct sbx_thread *thread, uint64_t now_ns);

/* A thread without a loop is about to poll or to accept, from return address `pc` and stack pointer `sp`. */
SBX_HOOK_SAFE void sbx_client_poll(struct sbx_thread *thread, const struct sbx_blocking *call, uint64_t pc, uint64_t sp,
                                   const struct sbx_polled *polled);

/* The thread with the loop is about to poll, but not for the loop. May change errno. */
SBX_HOOK_SAFE void sbx_client_poll_of_loop(struct sbx_thread *thread, const struct sbx_blocking *call,
                                           const struct sbx_polled *polled);

/* A thread without a loop is about to wait for a condition, a semaphore or a futex that is not a lock. Called after
 * sbx_wait_begin(). */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_client_wait_at(struct sbx_thread *thread, uint64_t begin_ns, uint64_t pc,
                                                   uint64_t sp);
SBX_HOOK_SAFE static inline void sbx_client_wait(const struct sbx_blocking *call, uint64_t pc, uint64_t sp)
{
    struct sbx_thread *thread = call->thread;
    if (thread == NULL || thread->has_loop || call->depth != 0) {
        return;
    }
    if (SBX_UNLIKELY(thread->entry->message_begin_ns != 0)) {
        sbx_client_wait_at(thread, call->begin_ns, pc, sp);
    } else {
        sbx_store_relaxed(&thread->loop.has_waited, true); /* relaxed: the watch thread only looks */
        thread->work.last = (struct sbx_work_place){.pc = pc, .sp = sp, .epoll_fd = -1};
    }
}

/* A thread is about to wait for a condition, from return address `pc` and stack pointer `sp`, with the function `op`. Is
 * the wait not to be followed at all? Then the hook hands the call on, as with an answer.
 *
 * This is so only for a thread that is in no message, and whose last wait was at the same place and was followed by a
 * read from a client. The coming wait is taken to be short if the last one was: if since the begin of that one less
 * time has passed than a wait must take to be recorded. So where a queue is empty for longer, as in a server that has
 * little to do, only the first of these waits is missed, with the thread that queued the next work. */
SBX_HOOK_SAFE SBX_NOINLINE bool sbx_client_wait_may_hand_on(uint8_t op, uint64_t pc, uint64_t sp);

/* Return address and stack pointer of a hook's call. They name the place of a wait. */
#define SBX_CALLED_FROM (uint64_t) __builtin_return_address(0), (uint64_t)__builtin_dwarf_cfa()

/* The rest of a hook whose call reads from `fd` (at most `asked` bytes) or writes to it. `known` is what known_fds.h
 * says about `fd`. If `fd` is not a client's, `begin` begins the call. Then the call is made and ended, and the hook
 * returns. */
#define SBX_READ_BODY(type, fd, known, what, begin, asked, real) \
    struct sbx_blocking call;                                    \
    SBX_SAVE_FRAME_POINTER();                                    \
    if (((known)&SBX_FD_IS_CLIENT) != 0) {                       \
        sbx_client_begin(&call, what, fd, false);                \
        type moved = real;                                       \
        sbx_client_read_end(&call, moved, fd);                   \
        return moved;                                            \
    }                                                            \
    begin;                                                       \
    type result = real;                                          \
    if (SBX_UNLIKELY(((known)&SBX_FD_IS_END) != 0)) {            \
        sbx_self_pipe_read(fd, asked, result);                   \
    }                                                            \
    sbx_blocking_moved(&call, result, fd);                       \
    return result

#define SBX_WRITE_BODY(type, fd, known, what, real, seen)               \
    SBX_SAVE_FRAME_POINTER();                                           \
    if (((known)&SBX_FD_IS_CLIENT) != 0 && sbx_client_hands_on(what)) { \
        return real;                                                    \
    }                                                                   \
    struct sbx_blocking call;                                           \
    if (((known)&SBX_FD_IS_CLIENT) != 0) {                              \
        sbx_client_begin(&call, what, fd, true);                        \
        type moved = real;                                              \
        sbx_blocking_moved(&call, moved, fd);                           \
        return moved;                                                   \
    }                                                                   \
    sbx_blocking_enter(&call, what, (uint64_t)(fd) + 1);                \
    type result = real;                                                 \
    sbx_blocking_moved(&call, result, fd);                              \
    if (result > 0) {                                                   \
        seen;                                                           \
    }                                                                   \
    return result

#endif
