/* SPDX-License-Identifier: Apache-2.0 */
/* client_message.h - messages of threads without a loop that is known: what they do for a client.
 *
 * Somebody waits for a thread that has read from a connection which the process accepted (client_sockets.h) and has not answered.
 * So its message begins when a read from a client brings something, and ends with whatever of these comes first:
 *   - it writes to a client, or closes the connection: that was the answer, or its beginning;
 *   - it reads from a client again, or polls a set in which there is one;
 *   - it goes back to where it waits for work. That is accept(); the place of a wait that was followed by a read from a client
 *     before; and any epoll set, but for one further in than a set that leads to clients: a wait for something else.
 * A wait for anything else is part of the message. Where nothing was read nobody is known to wait, and nothing is judged.
 *
 * The main thread has its loop (message_loop.h). Where that is a blocking accept() it serves one client at a time, and waits for
 * the next part of a request as idly as for the next client.
 *
 * All of it is for the thread itself, allocates nothing, takes no lock and keeps errno. A call that is none of a client's costs a load
 * and a test. */
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

/* The governor leaves the points of clients in from now on. For a thread without a loop that accepts a client, or has read from one. */
SBX_HOOK_SAFE static inline void sbx_serves_clients(void)
{
    if (SBX_UNLIKELY(sbx_load_relaxed(&sbx_the_capture.serves) == 0)) { /* relaxed: the governor is late by a second */
        sbx_store_relaxed(&sbx_the_capture.serves, 1);
    }
}

/* Behind the begin of accept(). */
SBX_HOOK_SAFE static inline void sbx_client_awaited(const struct sbx_blocking *call)
{
    if (call->thread != NULL && !call->thread->has_loop) {
        sbx_serves_clients();
    }
}

/* A call reads from `fd`, a client, or is about to write to it (`is_answer`): in place of sbx_blocking_begin(). `what` is a SBX_CALL_WHAT(). Returns the
 * thread's entry if the call is followed lightly (lone_call.h), which only an answer is, else NULL. */
SBX_HOOK_SAFE SBX_NOINLINE struct sbx_thread_entry *sbx_client_begin(struct sbx_blocking *call, uint32_t what, int fd,
                                                                     bool is_answer);
/* A read ends, in place of sbx_blocking_end(); `result` as read() returns it. An answer is ended by sbx_light_call_ends(), or by sbx_blocking_end(). */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_client_read_end(struct sbx_blocking *call, int64_t result, int fd);

/* A client is about to be closed: behind sbx_blocking_begin(). */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_client_answer(const struct sbx_blocking *call);

/* The thread with the loop has read from a client; it is about to answer one. The first keeps errno. */
SBX_HOOK_SAFE void sbx_client_asked(struct sbx_thread *thread);
SBX_HOOK_SAFE void sbx_client_answered(struct sbx_thread *thread, uint64_t now_ns);

/* A thread without a loop is about to poll, or accept, from return address `pc`, stack pointer `sp`. */
SBX_HOOK_SAFE void sbx_client_poll(struct sbx_thread *thread, const struct sbx_blocking *call, uint64_t pc, uint64_t sp,
                                   const struct sbx_polled *polled);

/* The thread with the loop is about to poll, and not for the loop. Keeps no errno. */
SBX_HOOK_SAFE void sbx_client_poll_of_loop(struct sbx_thread *thread, const struct sbx_blocking *call,
                                           const struct sbx_polled *polled);

/* It is about to wait for a condition, a semaphore or a futex that is no lock. Behind sbx_wait_begin(). */
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
        thread->loop.has_waited = true;
        thread->work.last = (struct sbx_work_place){.pc = pc, .sp = sp, .epoll_fd = -1};
    }
}

/* Return address and stack pointer of a hook's call: the place of a wait. */
#define SBX_CALLED_FROM (uint64_t) __builtin_return_address(0), (uint64_t)__builtin_dwarf_cfa()

/* The rest of a hook whose call reads from `fd` (`asked`: so many bytes at most), of which so much is `known` (known_fds.h), or writes to it:
 * begins the call by `begin` where it is no client's, makes it, ends it, returns. */
#define SBX_READ_BODY(type, fd, known, what, begin, asked, real)                \
    struct sbx_blocking call;                                                   \
    SBX_SAVE_FRAME_POINTER();                                                   \
    if (((known)&SBX_FD_IS_CLIENT) != 0) {                                      \
        (void)sbx_client_begin(&call, what, fd, false);                         \
        type moved = real;                                                      \
        sbx_client_read_end(&call, moved, fd);                                  \
        return moved;                                                           \
    }                                                                           \
    begin;                                                                      \
    type result = real;                                                         \
    if (SBX_UNLIKELY(((known)&SBX_FD_IS_END) != 0)) {                           \
        sbx_self_pipe_read(fd, asked, result);                                  \
    }                                                                           \
    sbx_blocking_end(&call, result > 0 ? (uint64_t)result : 0, result < 0, fd); \
    return result

#define SBX_WRITE_BODY(type, fd, known, what, real, seen)                            \
    struct sbx_blocking call;                                                        \
    SBX_SAVE_FRAME_POINTER();                                                        \
    if (((known)&SBX_FD_IS_CLIENT) != 0) {                                           \
        struct sbx_thread_entry *light = sbx_client_begin(&call, what, fd, true);    \
        type moved = real;                                                           \
        if (light == NULL || !sbx_light_call_ends(&call, light)) {                   \
            sbx_blocking_end(&call, moved > 0 ? (uint64_t)moved : 0, moved < 0, fd); \
        }                                                                            \
        return moved;                                                                \
    }                                                                                \
    sbx_blocking_enter(&call, what, (uint64_t)(fd) + 1, 0);                          \
    type result = real;                                                              \
    sbx_blocking_end(&call, result > 0 ? (uint64_t)result : 0, result < 0, fd);      \
    if (result > 0) {                                                                \
        seen;                                                                        \
    }                                                                                \
    return result

#endif
