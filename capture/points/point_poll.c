/* SPDX-License-Identifier: Apache-2.0 */
/* point_poll.c - the poll family: a message boundary in the main thread's loop, a wait elsewhere (message_loop.h).
 *
 * Debian's programs really call the fortified names. */
#include "point.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "client_message.h"
#include "fork_path.h"
#include "message_loop.h"
#include "self_pipe.h"

/* A descriptor that shows the kind of the wait. The call has returned without an error, so its arguments can be
 * read. */
static int first_polled(const struct pollfd *fds, nfds_t count)
{
    return count > 0 ? fds[0].fd : -1;
}

static int first_ready(int count, const fd_set *in, const fd_set *out)
{
    for (int fd = 0; fd < count && fd < FD_SETSIZE; fd++) {
        if ((in != NULL && FD_ISSET(fd, in)) || (out != NULL && FD_ISSET(fd, out))) {
            return fd;
        }
    }
    return -1;
}

static int ms_left(const struct sbx_blocking *call, int timeout_ms)
{
    uint64_t left_ns = timeout_ms <= 0 ? 0 : sbx_call_ns_left(call, (uint64_t)timeout_ms * 1000000);
    return timeout_ms <= 0 ? timeout_ms : (int)((left_ns + 999999) / 1000000);
}

/* glibc, or the kernel, has stored the remaining time in `timeout`; musl leaves it unchanged. */
static struct timeval *time_left(const struct sbx_blocking *call, struct timeval *timeout, struct timeval *left_out)
{
#ifdef __GLIBC__
    (void)call;
    (void)left_out;
    return timeout;
#else
    struct timespec whole, left;
    if (timeout == NULL) {
        return NULL;
    }
    whole = (struct timespec){timeout->tv_sec, timeout->tv_usec * 1000};
    const struct timespec *now = sbx_call_left(call, &whole, &left);
    *left_out = (struct timeval){now->tv_sec, now->tv_nsec / 1000};
    return left_out;
#endif
}

/* -1: it is no epoll call. */
static inline int epoll_set_of(struct sbx_polled polled)
{
    return polled.form == SBX_POLLED_EPOLL ? (int)polled.count : -1;
}

/* What is polled, from the parameters of each kind of call. A time-out in the program's memory is not read. */
#define POLLED_FDS(is_timed)                                                                                      \
    (struct sbx_polled)                                                                                           \
    {                                                                                                             \
        .first = fds, .count = count <= INT_MAX ? (uint32_t)count : 0, .form = SBX_POLLED_POLL, .waits = is_timed \
    }
#define POLLED_SETS                                                                                                    \
    (struct sbx_polled)                                                                                                \
    {                                                                                                                  \
        .first = in, .second = out, .count = count > 0 ? (uint32_t)count : 0, .form = SBX_POLLED_SELECT, .waits = true \
    }
#define POLLED_EPOLL(is_timed)                                                              \
    (struct sbx_polled)                                                                     \
    {                                                                                       \
        .first = events, .count = (uint32_t)fd, .form = SBX_POLLED_EPOLL, .waits = is_timed \
    }

/* The return address and the frame of the call name the place of the loop. A call without a descriptor is a sleep.
 * `again` makes the call for the remaining time, for calls that the kernel continues after an interruption for which no
 * handler was called (sbx_call_was_cut()). epoll_wait() ends then, so it is not made again.
 *
 * A plain turn needs nothing of `what` but the epoll set, so the rest is only built when it is needed. */
#define POLL_HOOK(name, parameters, arguments, op, what, fd, again)                                     \
    static int(*real_##name) parameters;                                                                \
    SBX_FORK_CODE static int hook_##name parameters                                                     \
    {                                                                                                   \
        struct sbx_blocking call;                                                                       \
        struct sbx_polled polled;                                                                       \
        SBX_SAVE_FRAME_POINTER();                                                                       \
        bool is_turn = sbx_turn_begins(&call, op, SBX_CALLED_FROM), has_ended = false;                  \
        if (!is_turn) {                                                                                 \
            polled = what;                                                                              \
            sbx_poll_begin(&call, op, SBX_CALLED_FROM, &polled);                                        \
        }                                                                                               \
        int result = real_##name arguments;                                                             \
        while (SBX_UNLIKELY(result < 0) && errno == EINTR && sbx_call_was_cut(&call)) {                 \
            again                                                                                       \
        }                                                                                               \
        if (is_turn) {                                                                                  \
            has_ended = SBX_LIKELY(result >= 0) && SBX_LIKELY(sbx_turn_end(&call, epoll_set_of(what))); \
            if (SBX_LIKELY(has_ended && !sbx_self_pipe_is_awaited(&call, (what).form))) {               \
                return result;                                                                          \
            }                                                                                           \
            polled = what;                                                                              \
        }                                                                                               \
        if (!has_ended) {                                                                               \
            sbx_poll_end(&call, &polled, result < 0, result < 0 || call.is_loop ? -1 : (fd));           \
        }                                                                                               \
        if (SBX_UNLIKELY(result >= 0 && sbx_self_pipe_is_awaited(&call, (what).form))) {                \
            sbx_self_pipe_look(&call, &polled, (uint32_t)result, SBX_CALLED_FROM);                      \
        }                                                                                               \
        return result;                                                                                  \
    }

POLL_HOOK(poll, (struct pollfd * fds, nfds_t count, int timeout_ms), (fds, count, timeout_ms), SBX_OP_POLL,
          POLLED_FDS(timeout_ms != 0), first_polled(fds, count),
          result = real_poll(fds, count, ms_left(&call, timeout_ms));)
POLL_HOOK(poll_chk, (struct pollfd * fds, nfds_t count, int timeout_ms, size_t fds_bytes),
          (fds, count, timeout_ms, fds_bytes), SBX_OP_POLL, POLLED_FDS(timeout_ms != 0), first_polled(fds, count),
          result = real_poll_chk(fds, count, ms_left(&call, timeout_ms), fds_bytes);)
POLL_HOOK(ppoll, (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask),
          (fds, count, timeout, mask), SBX_OP_PPOLL, POLLED_FDS(true), first_polled(fds, count), struct timespec left;
          result = real_ppoll(fds, count, sbx_call_left(&call, timeout, &left), mask);)
POLL_HOOK(ppoll_chk,
          (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask, size_t fds_bytes),
          (fds, count, timeout, mask, fds_bytes), SBX_OP_PPOLL, POLLED_FDS(true), first_polled(fds, count),
          struct timespec left;
          result = real_ppoll_chk(fds, count, sbx_call_left(&call, timeout, &left), mask, fds_bytes);)
POLL_HOOK(epoll_wait, (int fd, struct epoll_event *events, int count, int timeout_ms), (fd, events, count, timeout_ms),
          SBX_OP_EPOLL_WAIT, POLLED_EPOLL(timeout_ms != 0), fd, break;)
POLL_HOOK(epoll_pwait, (int fd, struct epoll_event *events, int count, int timeout_ms, const sigset_t *mask),
          (fd, events, count, timeout_ms, mask), SBX_OP_EPOLL_PWAIT, POLLED_EPOLL(timeout_ms != 0), fd, break;)
POLL_HOOK(epoll_pwait2,
          (int fd, struct epoll_event *events, int count, const struct timespec *timeout, const sigset_t *mask),
          (fd, events, count, timeout, mask), SBX_OP_EPOLL_PWAIT2, POLLED_EPOLL(true), fd, break;)
POLL_HOOK(select, (int count, fd_set *in, fd_set *out, fd_set *odd, struct timeval *timeout),
          (count, in, out, odd, timeout), SBX_OP_SELECT, POLLED_SETS, first_ready(count, in, out), struct timeval left;
          result = real_select(count, in, out, odd, time_left(&call, timeout, &left));)
POLL_HOOK(pselect,
          (int count, fd_set *in, fd_set *out, fd_set *odd, const struct timespec *timeout, const sigset_t *mask),
          (count, in, out, odd, timeout, mask), SBX_OP_PSELECT, POLLED_SETS, first_ready(count, in, out),
          struct timespec left;
          result = real_pselect(count, in, out, odd, sbx_call_left(&call, timeout, &left), mask);)

static const struct sbx_point points[] = {
    SBX_POINT("poll", hook_poll, real_poll, SBX_GROUP_POLL),
    SBX_POINT("__poll_chk", hook_poll_chk, real_poll_chk, SBX_GROUP_POLL),
    SBX_POINT("ppoll", hook_ppoll, real_ppoll, SBX_GROUP_POLL),
    SBX_POINT("__ppoll_chk", hook_ppoll_chk, real_ppoll_chk, SBX_GROUP_POLL),
    SBX_POINT("epoll_wait", hook_epoll_wait, real_epoll_wait, SBX_GROUP_POLL),
    SBX_POINT("epoll_pwait", hook_epoll_pwait, real_epoll_pwait, SBX_GROUP_POLL),
    SBX_POINT("epoll_pwait2", hook_epoll_pwait2, real_epoll_pwait2, SBX_GROUP_POLL),
    SBX_POINT("select", hook_select, real_select, SBX_GROUP_POLL),
    SBX_POINT("pselect", hook_pselect, real_pselect, SBX_GROUP_POLL),
};
const struct sbx_point_list sbx_points_poll = SBX_POINT_LIST(points);
