/* SPDX-License-Identifier: Apache-2.0 */
/* self_pipe.c - the self-pipes of this process, and the writes to them. */
#include "self_pipe.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "left_code.h"
#include "process_state.h"
#include "task.h"
#include "the_capture.h"
#include "thread_registry.h"

enum {
    NOBODY = 0,
    ABOUT_TO_BE_QUEUED = 1, /* `task`: a writer does not have the task's id yet */
    NOT_FOLLOWED = 2,       /* there was a write, but it is not recorded */
    ELSEWHERE_MOST = 16,    /* after this many polls elsewhere in a row, a thread's loop is there */
    LOOKS_AT_ONCE = 64,     /* poll calls that are searched for new self-pipes; then one in LOOKS_EVERY: */
    LOOKS_EVERY = 16,
};

uint8_t sbx_self_pipe_writers[SBX_SELF_PIPE_FDS], sbx_self_pipe_readers[SBX_SELF_PIPE_FDS];
uint64_t sbx_self_pipes_used, sbx_self_pipes_met, sbx_self_pipes_filled;
/* A forked child has its parent's descriptors, but it may or may not poll them. */
SBX_OF_ONE_PROCESS(sbx_self_pipes_met);
SBX_OF_ONE_PROCESS(sbx_self_pipes_filled);

static struct self_pipe {
    int32_t reader, writer; /* -1: closed */
    int32_t set;            /* the epoll set into which it was put last; -1: none */
    uint32_t sort;          /* enum sbx_self_pipe_sort */
    uint64_t data;          /* its data in that set */
} self_pipes[SBX_SELF_PIPES];

/* The content of each self-pipe. It is apart, because every writer writes it. */
static struct contents {
    _Alignas(64) uint64_t task; /* of the first unread write; or one of the values above */
    uint64_t writes;            /* number of later writes */
} contents[SBX_SELF_PIPES];
SBX_OF_ONE_PROCESS(contents);

static uint64_t bit_of(uint32_t number)
{
    return UINT64_C(1) << number;
}

/* Takes out the content. */
static uint64_t take(uint32_t number, uint64_t *writes_out)
{
    sbx_and_seq_cst(&sbx_self_pipes_filled, ~bit_of(number));
    uint64_t task = sbx_swap_acq_rel(&contents[number].task, NOBODY); /* order: acq_rel contents.task */
    uint64_t *writes = &contents[number].writes;                      /* relaxed: a counting writer saw the task */
    *writes_out = sbx_load_relaxed(writes) != 0 ? sbx_swap_acq_rel(writes, 0) : 0;
    return task > NOT_FOLLOWED ? task : 0;
}

static void throw_away(uint32_t number)
{
    uint64_t writes, task = take(number, &writes);
    sbx_task_cancelled(task);
}

/* ---- which self-pipes there are ---- */

SBX_HOOK_SAFE SBX_NOINLINE void sbx_self_pipe_forget(int fd)
{
    uint32_t writes_to = sbx_load_relaxed(&sbx_self_pipe_writers[fd]); /* relaxed: own thread, as in self_pipe.h */
    uint32_t reads_from = sbx_load_relaxed(&sbx_self_pipe_readers[fd]);
    int saved_errno = errno;
    if (sbx_capture_is_ours() && !sbx_capture_is_callers()) { /* a child of vfork() has its own descriptors */
        errno = saved_errno;
        return;
    }
    sbx_fd_say(fd, SBX_FD_IS_COUNTER, false);
    if (writes_to != 0) {
        sbx_store_relaxed(&sbx_self_pipe_writers[fd], 0);
        sbx_store_relaxed(&self_pipes[writes_to - 1].writer, -1); /* data that was written before can still be read */
    }
    if (reads_from != 0) {
        uint32_t number = reads_from - 1;
        int32_t writer = sbx_load_relaxed(&self_pipes[number].writer);
        sbx_store_relaxed(&sbx_self_pipe_readers[fd], 0);
        if (writer >= 0 && sbx_load_relaxed(&sbx_self_pipe_writers[writer]) == reads_from) {
            sbx_store_relaxed(&sbx_self_pipe_writers[writer], 0);
        }
        throw_away(number);
        sbx_and_seq_cst(&sbx_self_pipes_met, ~bit_of(number));
        sbx_and_seq_cst(&sbx_self_pipes_used, ~bit_of(number));
    }
    errno = saved_errno;
}

/* Takes a free number. SBX_SELF_PIPES: there is none. */
static uint32_t take_number(void)
{
    uint64_t used = sbx_load_relaxed(&sbx_self_pipes_used); /* relaxed: the exchange looks again */
    while (used != UINT64_MAX) {
        uint32_t number = (uint32_t)__builtin_ctzll(~used);
        if (sbx_cas_acq_rel(&sbx_self_pipes_used, &used, used | bit_of(number))) { /* order: acq_rel self_pipes.used */
            return number;
        }
    }
    return SBX_SELF_PIPES;
}

SBX_HOOK_SAFE void sbx_self_pipe_made(int reader, int writer, enum sbx_self_pipe_sort sort)
{
    if ((unsigned)reader >= SBX_SELF_PIPE_FDS || (unsigned)writer >= SBX_SELF_PIPE_FDS) {
        return;
    }
    int saved_errno = errno;
    /* The descriptor that had this number before was closed without the hook. */
    if (sbx_load_relaxed(&sbx_self_pipe_readers[reader]) != 0) {
        sbx_self_pipe_forget(reader);
    }
    uint32_t number = take_number();
    if (number != SBX_SELF_PIPES) {
        struct self_pipe *pipe = &self_pipes[number];
        sbx_store_relaxed(&pipe->reader, reader);
        sbx_store_relaxed(&pipe->writer, writer);
        sbx_store_relaxed(&pipe->set, -1);
        sbx_store_relaxed(&pipe->sort, (uint32_t)sort);
        sbx_store_release(&sbx_self_pipe_readers[reader], (uint8_t)(number + 1)); /* order: release self_pipe_readers */
        sbx_store_release(&sbx_self_pipe_writers[writer], (uint8_t)(number + 1)); /* order: release self_pipe_writers */
        sbx_fd_say(reader, SBX_FD_IS_END,
                   true); /* it stays set after the close: reads and writes then look once more */
        sbx_fd_say(writer, SBX_FD_IS_END, true);
        sbx_fd_say(reader, SBX_FD_IS_COUNTER, reader == writer);
    }
    errno = saved_errno;
}

SBX_HOOK_SAFE void sbx_self_pipe_in_set(int fd, int set, uint64_t data)
{
    uint32_t number = (unsigned)fd < SBX_SELF_PIPE_FDS ? sbx_load_relaxed(&sbx_self_pipe_readers[fd]) : 0;
    if (number != 0) { /* relaxed: a poll call that sees half of it misses one message */
        sbx_store_relaxed(&self_pipes[number - 1].data, data);
        sbx_store_relaxed(&self_pipes[number - 1].set, set);
        if (set >= 0 && sbx_capture_is_ours()) {
            sbx_or_seq_cst(&sbx_self_pipes_met, bit_of(number - 1)); /* this process will wait for it */
        }
    }
}

/* ---- writes and reads ---- */

SBX_HOOK_SAFE SBX_NOINLINE void sbx_self_pipe_fill(int fd, uint8_t op)
{
    uint32_t number = sbx_load_acquire(&sbx_self_pipe_writers[fd]) - 1u; /* order: acquire self_pipe_writers */
    if (number >= SBX_SELF_PIPES || !sbx_capture_is_open()) {
        return;
    }
    struct contents *here = &contents[number];
    int saved_errno = errno;
    if (sbx_load_relaxed(&here->task) == NOT_FOLLOWED) { /* relaxed: if just taken, this write is lost (SP2) */
        return;
    }
    bool is_due = sbx_task_is_due();
    uint64_t found = NOBODY, mark = is_due ? ABOUT_TO_BE_QUEUED : NOT_FOLLOWED;
    if (!sbx_cas_acq_rel(&here->task, &found, mark)) { /* order: acq_rel contents.task - one is the first */
        if (found != NOT_FOLLOWED) {
            uint64_t writes = 1 + sbx_add_relaxed(&here->writes, 1); /* relaxed: a count */
            sbx_task_merged_by(found != ABOUT_TO_BE_QUEUED ? found : 0, writes);
        }
        errno = saved_errno;
        return;
    }
    if (!is_due) { /* most are not, if a loop is woken often: two exchanges here, two when taken */
        sbx_or_seq_cst(&sbx_self_pipes_filled, bit_of(number));
        errno = saved_errno;
        return;
    }
    uint64_t task = sbx_task_queued(SBX_GROUP_SELF_PIPE, op, 0, 0, 0);
    if (sbx_cas_acq_rel(&here->task, &mark, task != 0 ? task : NOT_FOLLOWED)) { /* order: acq_rel contents.task */
        sbx_or_seq_cst(&sbx_self_pipes_filled, bit_of(number));
    } else {
        sbx_task_cancelled(task); /* the content was thrown away meanwhile */
    }
    errno = saved_errno;
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_self_pipe_take(int fd, size_t asked, int64_t result)
{
    uint32_t number = sbx_load_relaxed(&sbx_self_pipe_readers[fd]) - 1u; /* relaxed: as in self_pipe.h */
    if (number >= SBX_SELF_PIPES) {
        return;
    }
    uint32_t sort = sbx_load_relaxed(&self_pipes[number].sort);
    bool is_empty = result < 0                      ? errno == EAGAIN
                    : sort == SBX_SELF_PIPE_COUNTER ? result != 0
                    : sort == SBX_SELF_PIPE_BYTES   ? (uint64_t)result < asked
                                                    : false;
    if (is_empty) {
        int saved_errno = errno;
        throw_away(number);
        errno = saved_errno;
    }
}

/* ---- poll calls ---- */

static uint32_t number_of(int fd)
{
    uint32_t number = (unsigned)fd < SBX_SELF_PIPE_FDS ? sbx_load_acquire(&sbx_self_pipe_readers[fd]) : 0;
    return number - 1u; /* order: acquire self_pipe_readers */
}

/* The self-pipes in an epoll set that are named by the events. */
static uint64_t ready_in_set(const struct sbx_polled *polled, uint32_t ready)
{
    const struct epoll_event *events = (const struct epoll_event *)polled->first;
    uint64_t left = sbx_load_relaxed(&sbx_self_pipes_used), found = 0; /* relaxed: a hint, like all loads here */
    for (; left != 0; left &= left - 1) {
        const struct self_pipe *pipe = &self_pipes[__builtin_ctzll(left)];
        if (sbx_load_relaxed(&pipe->set) != (int32_t)polled->count) {
            continue;
        }
        for (uint32_t i = 0; i < ready; i++) {
            if (events[i].data.u64 == sbx_load_relaxed(&pipe->data) && (events[i].events & EPOLLIN) != 0) {
                found |= left & -left;
                break;
            }
        }
    }
    return found;
}

/* Which self-pipes a poll call that returned without an error found ready. `met_out`: those that it looked at, as far
 * as this is known. */
static uint64_t ready_of(const struct sbx_polled *polled, uint32_t ready, uint64_t *met_out)
{
    uint64_t found = 0, met = 0;
    if (polled->form == SBX_POLLED_EPOLL) {
        found = met = ready_in_set(polled, ready);
    } else if (polled->form == SBX_POLLED_POLL) {
        const struct pollfd *fds = (const struct pollfd *)polled->first;
        for (uint32_t i = 0; i < polled->count && i < SBX_POLL_SET_MOST; i++) {
            uint32_t number = number_of(fds[i].fd);
            if (number < SBX_SELF_PIPES && (fds[i].events & POLLIN) != 0) {
                met |= bit_of(number);
                found |= (fds[i].revents & POLLIN) != 0 ? bit_of(number) : 0;
            }
        }
    } else if (polled->form == SBX_POLLED_SELECT && polled->first != NULL) {
        const fd_set *in = (const fd_set *)polled->first;
        for (uint32_t i = 0; i < polled->count && i < FD_SETSIZE; i++) {
            uint32_t number = FD_ISSET(i, in) ? number_of((int)i) : SBX_SELF_PIPES;
            found |= number < SBX_SELF_PIPES ? bit_of(number) : 0;
        }
        met = found;
    }
    *met_out = met;
    return found;
}

/* Does the thread come back to this place for work? For the main thread the loop is known. For another thread it is the
 * place where it polls, until it has polled elsewhere ELSEWHERE_MOST times without coming back. */
static bool is_for_work(struct sbx_thread *thread, const struct sbx_blocking *call, uint64_t pc, uint64_t sp)
{
    struct sbx_thread_tasks *tasks = &thread->tasks;
    if (thread->has_loop) {
        return call->is_loop;
    }
    bool is_there = tasks->polled_sp == sp && tasks->polled_pc == pc;
    if (!is_there && tasks->polled_pc != 0 && ++tasks->polled_elsewhere < ELSEWHERE_MOST) {
        return false;
    }
    if (!is_there && thread->has_turns) {
        sbx_tasks_end_turn(thread, SBX_EVERY_TURN);
    }
    tasks->polled_pc = pc;
    tasks->polled_sp = sp;
    tasks->polled_elsewhere = 0;
    return true;
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_self_pipe_look(const struct sbx_blocking *call, const struct sbx_polled *polled,
                                                   uint32_t ready, uint64_t pc, uint64_t sp)
{
    struct sbx_thread *thread = call->thread;
    uint64_t filled = sbx_load_relaxed(&sbx_self_pipes_filled), met; /* relaxed: see sbx_self_pipe_is_awaited() */
    if (!sbx_thread_is_registered(thread) || thread != sbx_self) {
        return;
    }
    uint32_t looks = ++thread->tasks.looks;
    if ((filled == 0 && looks > LOOKS_AT_ONCE && looks % LOOKS_EVERY != 0) || sbx_thread_is_inside(thread) ||
        call->depth != 0 || !sbx_capture_is_open()) {
        return;
    }
    int saved_errno = errno;
    uint64_t found = ready_of(polled, ready, &met);
    if ((met & ~sbx_load_relaxed(&sbx_self_pipes_met)) != 0) {
        sbx_or_seq_cst(&sbx_self_pipes_met, met & sbx_load_relaxed(&sbx_self_pipes_used));
    }
    found &= filled;
    bool is_all = ready == 1 && is_for_work(thread, call, pc, sp);
    for (; found != 0; found &= found - 1) {
        uint64_t writes, task = take((uint32_t)__builtin_ctzll(found), &writes);
        sbx_task_merged_by(task, writes);
        if (is_all) {
            sbx_task_begin_turn(task, sp);
        } else {
            sbx_task_begin(task);
            sbx_task_end(task);
        }
    }
    errno = saved_errno;
}
