/* SPDX-License-Identifier: Apache-2.0 */
/* self_pipe.h - self-pipes: descriptors by which one thread of the process wakes another that polls. They are an
 * eventfd, a pipe, or a pair of sockets.
 *
 * A loop with its own queue is woken in this way: the thread that queues an item writes some bytes, and the loop's poll
 * call returns. So the thread that writes is the one that hands over the work, and its first unread write is a task
 * (calls/task.h). The task is queued when the bytes are written. It begins when the loop's poll call returns and that
 * descriptor is the only one that is ready. It is over when the loop polls again. Further writes before that belong to
 * the same task; they are merged and counted. If other descriptors are ready too, it is not known which of them the
 * message is about. Then the task is taken out of its queue and has run for no time.
 *
 *   SP1  A write is noted before it is made, so no poll call returns for a write that is not noted.
 *   SP2  A note is taken once: by the poll call that returns, or by the read that empties the descriptor. So no later
 *        message is said to be about it. A write that is noted while the note is taken may be lost, but it is never
 *        recorded for the wrong message.
 *   SP3  Descriptors are known from the call that made them to their close(). Descriptors that a program gets in
 *        another way (by dup(), over a socket, before the recorder began) are not followed. Neither are those that
 *        GLib, libuv, libevent or Qt make for their own loops while the points of these libraries are in use, because
 *        those points know better which thread queued the work.
 *
 * A write to any other descriptor costs a load and a test. So does a write to a self-pipe that no loop has polled so
 * far. */
#ifndef SBX_SELF_PIPE_H
#define SBX_SELF_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "known_fds.h"
#include "marks.h"
#include "open_calls.h"
#include "order.h"
#include "poll_set.h"
#include "thread_block.h"

enum {
    SBX_SELF_PIPES = 64,     /* at one time */
    SBX_SELF_PIPE_FDS = 4096 /* descriptors with higher numbers are not followed */
};

/* For each descriptor: the number + 1 of the self-pipe that a write to it fills (writers) or that a read from it
 * empties (readers); 0: none. */
extern uint8_t sbx_self_pipe_writers[SBX_SELF_PIPE_FDS] __attribute__((visibility("hidden")));
extern uint8_t sbx_self_pipe_readers[SBX_SELF_PIPE_FDS] __attribute__((visibility("hidden")));

/* One bit for each self-pipe: used: it exists. met: this process has put it into an epoll set, or one of its poll calls
 * has looked at it. filled: it has a write that no thread has taken. */
extern uint64_t sbx_self_pipes_used __attribute__((visibility("hidden")));
extern uint64_t sbx_self_pipes_met __attribute__((visibility("hidden")));
extern uint64_t sbx_self_pipes_filled __attribute__((visibility("hidden")));

enum sbx_self_pipe_sort {
    SBX_SELF_PIPE_COUNTER, /* an eventfd: a read takes everything */
    SBX_SELF_PIPE_BYTES,   /* a pipe or a stream: a read that gets less than it asked for has taken everything */
    SBX_SELF_PIPE_PIECES   /* messages, or an eventfd where a read takes one: only a read that finds nothing shows it */
};

/* The program has made a self-pipe. */
SBX_HOOK_SAFE void sbx_self_pipe_made(int reader, int writer, enum sbx_self_pipe_sort sort);

/* `fd` is about to be closed, or to become another file. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_self_pipe_forget(int fd);
/* Is `fd` an end of a self-pipe, now or earlier? Only such descriptors are certain to be below SBX_SELF_PIPE_FDS. */
SBX_HOOK_SAFE static inline bool sbx_may_be_self_pipe(int fd)
{
    return (sbx_fd_known(fd) & SBX_FD_IS_END) != 0;
}
SBX_HOOK_SAFE static inline bool sbx_is_self_pipe(int fd)
{
    return sbx_may_be_self_pipe(fd) && (sbx_load_relaxed(&sbx_self_pipe_writers[fd]) != 0 || /* relaxed: of */
                                        sbx_load_relaxed(&sbx_self_pipe_readers[fd]) != 0);  /* this thread's */
}
SBX_HOOK_SAFE static inline void sbx_self_pipe_closes(int fd)
{
    if (SBX_UNLIKELY(sbx_is_self_pipe(fd))) {
        sbx_self_pipe_forget(fd);
    }
}

/* Does a write of eight bytes to a descriptor with this `known` (known_fds.h) never wait; does a read never wait? Then
 * no clock is read and the call is not shown to other threads. If that is wrong, because a call without a hook put
 * another file there, the watch thread still sees the wait, like any wait in a call that is not a point. */
static inline bool sbx_write_is_count(uint32_t known)
{
    return (known & SBX_FD_IS_COUNTER) != 0;
}
static inline bool sbx_read_is_count(uint32_t known)
{
    return (known & (SBX_FD_IS_COUNTER | SBX_FD_IS_QUICK)) == (SBX_FD_IS_COUNTER | SBX_FD_IS_QUICK);
}

/* Reads from `fd` do not wait for a writer (O_NONBLOCK), as far as the hooked calls show. This is a hint: where it is
 * wrong, a wait is recorded without the thread that ended it. */
SBX_HOOK_SAFE static inline void sbx_self_pipe_say_quick(int fd, bool is_quick)
{
    if (sbx_may_be_self_pipe(fd)) {
        sbx_fd_say(fd, SBX_FD_IS_QUICK, is_quick);
    }
}

/* From now on `fd` is in the epoll set `set` with that data. -1: it is in no set. */
SBX_HOOK_SAFE void sbx_self_pipe_in_set(int fd, int set, uint64_t data);

/* The calling thread is about to write to `fd` with the function `op` (fill), or has asked `fd` for `asked` bytes and
 * got `result` (take). Both keep errno. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_self_pipe_fill(int fd, uint8_t op);
SBX_HOOK_SAFE SBX_NOINLINE void sbx_self_pipe_take(int fd, size_t asked, int64_t result);
SBX_HOOK_SAFE static inline void sbx_self_pipe_write(int fd, uint8_t op)
{
    /* relaxed: the thread that made it has handed it to this thread */
    uint32_t number = SBX_UNLIKELY(sbx_may_be_self_pipe(fd)) ? sbx_load_relaxed(&sbx_self_pipe_writers[fd]) : 0;
    if (SBX_UNLIKELY(number != 0) && (sbx_load_relaxed(&sbx_self_pipes_met) >> (number - 1) & 1) != 0) {
        sbx_self_pipe_fill(fd, op);
    }
}
SBX_HOOK_SAFE static inline void sbx_self_pipe_read(int fd, size_t asked, int64_t result)
{
    /* relaxed: as above */
    uint32_t number = SBX_UNLIKELY(sbx_may_be_self_pipe(fd)) ? sbx_load_relaxed(&sbx_self_pipe_readers[fd]) : 0;
    if (SBX_UNLIKELY(number != 0) && (sbx_load_relaxed(&sbx_self_pipes_filled) >> (number - 1) & 1) != 0) {
        sbx_self_pipe_take(fd, asked, result);
    }
}

/* A poll call of the calling thread, made from return address `pc` and stack pointer `sp`, has returned `ready`
 * descriptors. Called after the end of that call. Keeps errno. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_self_pipe_look(const struct sbx_blocking *call, const struct sbx_polled *polled,
                                                   uint32_t ready, uint64_t pc, uint64_t sp);
/* Must it be called after a poll call of that form? */
SBX_HOOK_SAFE static inline bool sbx_self_pipe_is_awaited(const struct sbx_blocking *call, uint8_t form)
{
    if (call->thread == NULL) { /* in a forked child, to keep it from touching the words below */
        return false;
    }
    /* relaxed: a write is noted before it is made (SP1), and the kernel orders it before the poll call's return. A
     * self-pipe in an epoll set was met when it was put there, except in a set that a forked child has from its
     * parent. */
    uint64_t wanted = sbx_load_relaxed(&sbx_self_pipes_filled);
    if (form != SBX_POLLED_EPOLL) {
        wanted |= sbx_load_relaxed(&sbx_self_pipes_used) ^ sbx_load_relaxed(&sbx_self_pipes_met);
    }
    return SBX_UNLIKELY(wanted != 0);
}

#endif
