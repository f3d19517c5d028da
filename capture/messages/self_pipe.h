/* SPDX-License-Identifier: Apache-2.0 */
/* self_pipe.h - descriptors by which one thread of the process wakes another that polls: an eventfd, a pipe, a pair of sockets.
 *
 * A loop with a queue of its own is woken so: whoever puts an item in writes some bytes, and the loop's poll call returns. The thread that writes
 * is then the one that hands over the work, and its first write that nobody has read yet is a task (calls/task.h): queued when it was written, begun
 * when the loop's poll call returns and that descriptor is all that is ready, over when the loop polls again. Further writes before that are the same
 * task, merged, and counted. Where other descriptors are ready, too, nobody knows which of them the message is about: then the task is taken out
 * of its queue, and has run for no time.
 *
 *   SP1  A write is noted before it is made, so no poll call returns for a write that is not noted.
 *   SP2  What was noted is taken once: by the poll call that returns, or by the read that empties the descriptor. So no later message is
 *        said to be about it. What is noted while it is taken may be lost, and is never told of the wrong message.
 *   SP3  Descriptors are known from the call that made them to their close(). What a program makes otherwise (by dup(), over a socket, before
 *        the recorder began) is not followed, and neither is what GLib, libuv, libevent or Qt make for their own loops while their points are in: those
 *        tell better who queued the work.
 *
 * A write to any other descriptor costs a load and a test; so does one to a self-pipe that no loop has polled so far. */
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
    SBX_SELF_PIPES = 64,     /* at a time */
    SBX_SELF_PIPE_FDS = 4096 /* descriptors with higher numbers are none */
};

/* By descriptor: 1 + the self-pipe that a write to it fills, that a read from it empties; 0: none. */
extern uint8_t sbx_self_pipe_writers[SBX_SELF_PIPE_FDS] __attribute__((visibility("hidden")));
extern uint8_t sbx_self_pipe_readers[SBX_SELF_PIPE_FDS] __attribute__((visibility("hidden")));

/* A bit each: those there are; those that this process has put into an epoll set, or a poll call of it has met; those in which something was written that nobody has taken. */
extern uint64_t sbx_self_pipes_used __attribute__((visibility("hidden")));
extern uint64_t sbx_self_pipes_met __attribute__((visibility("hidden")));
extern uint64_t sbx_self_pipes_filled __attribute__((visibility("hidden")));

enum sbx_self_pipe_sort {
    SBX_SELF_PIPE_COUNTER, /* an eventfd: a read takes all */
    SBX_SELF_PIPE_BYTES,   /* a pipe, or a stream: a read that gets less than it asked for has taken all */
    SBX_SELF_PIPE_PIECES   /* messages, or an eventfd of which a read takes one: a read that finds nothing tells */
};

/* The program has made it. */
SBX_HOOK_SAFE void sbx_self_pipe_made(int reader, int writer, enum sbx_self_pipe_sort sort);

/* `fd` is about to be closed, or to become another. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_self_pipe_forget(int fd);
/* Of one, or was of one: those alone are below SBX_SELF_PIPE_FDS for certain. */
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

/* Does a write of eight bytes to a descriptor of which so much is `known` (known_fds.h) never wait; does a read? Then nobody need look at a clock, or be
 * shown in it. Where it is wrong (something else was put there by a call that no hook saw), looks from outside tell of a wait, as of any in a call that is no
 * point. */
static inline bool sbx_write_is_count(uint32_t known)
{
    return (known & SBX_FD_IS_COUNTER) != 0;
}
static inline bool sbx_read_is_count(uint32_t known)
{
    return (known & (SBX_FD_IS_COUNTER | SBX_FD_IS_QUICK)) == (SBX_FD_IS_COUNTER | SBX_FD_IS_QUICK);
}

/* Reads from `fd` do not wait for who writes, as far as calls that passed our hooks tell: O_NONBLOCK. A hint: where it is wrong, a wait is told
 * without who ended it. */
SBX_HOOK_SAFE static inline void sbx_self_pipe_say_quick(int fd, bool is_quick)
{
    if (sbx_may_be_self_pipe(fd)) {
        sbx_fd_say(fd, SBX_FD_IS_QUICK, is_quick);
    }
}

/* It is in the epoll set `set` with that data from now on; -1: in none. */
SBX_HOOK_SAFE void sbx_self_pipe_in_set(int fd, int set, uint64_t data);

/* The calling thread is about to write to `fd`, by the function `op`; has asked it for so many bytes, and got so many. Keep errno. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_self_pipe_fill(int fd, uint8_t op);
SBX_HOOK_SAFE SBX_NOINLINE void sbx_self_pipe_take(int fd, size_t asked, int64_t result);
SBX_HOOK_SAFE static inline void sbx_self_pipe_write(int fd, uint8_t op)
{
    /* relaxed: who made it has handed it to this thread */
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

/* A poll call of the calling thread, made from return address `pc`, stack pointer `sp`, has returned `ready` descriptors. Behind sbx_poll_end(). Keeps errno. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_self_pipe_look(const struct sbx_blocking *call, const struct sbx_polled *polled,
                                                   uint32_t ready, uint64_t pc, uint64_t sp);
SBX_HOOK_SAFE static inline void sbx_self_pipe_polled(const struct sbx_blocking *call, const struct sbx_polled *polled,
                                                      int ready, uint64_t pc, uint64_t sp)
{
    if (call->thread == NULL) { /* in a forked child, which need not touch the words below for it */
        return;
    }
    /* relaxed: a write is noted before it is made (SP1), and the kernel orders it before the poll call's return. What is in an epoll set was met when it
     * was put there; but for a set that a forked child has from its parent. */
    uint64_t wanted = sbx_load_relaxed(&sbx_self_pipes_filled);
    if (polled->form != SBX_POLLED_EPOLL) {
        wanted |= sbx_load_relaxed(&sbx_self_pipes_used) ^ sbx_load_relaxed(&sbx_self_pipes_met);
    }
    if (SBX_UNLIKELY(wanted != 0 && ready >= 0)) {
        sbx_self_pipe_look(call, polled, (uint32_t)ready, pc, sp);
    }
}

#endif
