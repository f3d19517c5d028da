/* SPDX-License-Identifier: Apache-2.0 */
/* point_self_pipe.c - the calls that make and end self-pipes (self_pipe.h), and that put them into an epoll set.
 *
 * Writes to them and reads from them use the hooks of point_file.c, point_socket.c and point_wait.c. Poll calls use
 * those of point_poll.c.
 *
 * A library whose own points show which thread queued the work makes such a descriptor for its loop, too. Its work is
 * recorded only once, by the points of that library. The code that calls eventfd() or pipe() shows to which library a
 * descriptor belongs. */
#include "point.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <linux/close_range.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frame_walker.h"
#include "self_pipe.h"

/* A function of each of those libraries. */
static void *glib_function, *uv_function, *qt_function, *libevent_function;

static const struct {
    void **function;
    uint32_t group;
} libraries_that_tell[] = {{&glib_function, SBX_GROUP_GLIB},
                           {&uv_function, SBX_GROUP_UV},
                           {&qt_function, SBX_GROUP_QT},
                           {&libevent_function, SBX_GROUP_LIBEVENT}};

/* Does the caller at `pc` belong to a library whose points are in use? */
static bool is_told_by_library(uint64_t pc)
{
    struct sbx_thread *thread = sbx_self;
    if (SBX_UNLIKELY(thread == NULL) && sbx_capture_is_open()) {
        thread = sbx_thread_register_self();
    }
    if (!sbx_thread_is_registered(thread) || sbx_thread_is_inside(thread)) {
        return false;
    }
    bool is_told = false;
    uint64_t points = sbx_load_relaxed(&sbx_the_capture.control->in_force.points); /* relaxed: a hint */
    sbx_thread_enter(thread);
    const struct sbx_code_map *map = sbx_load_acquire(&sbx_the_capture.map); /* order: acquire code_map */
    const struct sbx_code_range *range = map != NULL ? sbx_code_map_find(map, pc - 1) : NULL;
    for (uint32_t i = 0; i < SBX_COUNT_OF(libraries_that_tell) && range != NULL; i++) {
        uint64_t code = (uint64_t)(uintptr_t)sbx_load_relaxed(libraries_that_tell[i].function);
        is_told |= (points & SBX_POINT_BIT(libraries_that_tell[i].group)) != 0 &&
                   code - range->start < range->end - range->start;
    }
    sbx_thread_leave(thread);
    return is_told;
}

/* Nothing is noted while nothing is recorded, because then it is not seen whether the descriptor is polled. */
SBX_NOINLINE static void note_made(int reader, int writer, enum sbx_self_pipe_sort sort, bool is_quick, uint64_t pc)
{
    int saved_errno = errno;
    if (!sbx_capture_is_ours() || is_told_by_library(pc)) {
        sbx_self_pipe_closes(reader);
        sbx_self_pipe_closes(writer);
    } else {
        sbx_self_pipe_made(reader, writer, sort);
        sbx_self_pipe_say_quick(reader, is_quick);
    }
    errno = saved_errno;
}

#define CALLER (uint64_t) __builtin_return_address(0)

static int (*real_eventfd)(unsigned, int);
static int hook_eventfd(unsigned count, int flags)
{
    int fd = real_eventfd(count, flags);
    if (fd >= 0) {
        note_made(fd, fd, (flags & EFD_SEMAPHORE) != 0 ? SBX_SELF_PIPE_PIECES : SBX_SELF_PIPE_COUNTER,
                  (flags & EFD_NONBLOCK) != 0, CALLER);
    }
    return fd;
}

static int (*real_pipe)(int[2]);
static int hook_pipe(int ends[2])
{
    int result = real_pipe(ends);
    if (result == 0) {
        note_made(ends[0], ends[1], SBX_SELF_PIPE_BYTES, false, CALLER);
    }
    return result;
}

static int (*real_pipe2)(int[2], int);
static int hook_pipe2(int ends[2], int flags)
{
    int result = real_pipe2(ends, flags);
    if (result == 0) {
        note_made(ends[0], ends[1], SBX_SELF_PIPE_BYTES, (flags & O_NONBLOCK) != 0, CALLER);
    }
    return result;
}

/* Both ends read and write. */
static int (*real_socketpair)(int, int, int, int[2]);
static int hook_socketpair(int domain, int type, int protocol, int ends[2])
{
    int result = real_socketpair(domain, type, protocol, ends);
    if (result == 0) {
        bool is_stream = (type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) == SOCK_STREAM;
        enum sbx_self_pipe_sort sort = is_stream ? SBX_SELF_PIPE_BYTES : SBX_SELF_PIPE_PIECES;
        bool is_quick = (type & SOCK_NONBLOCK) != 0;
        note_made(ends[0], ends[1], sort, is_quick, CALLER);
        note_made(ends[1], ends[0], sort, is_quick, CALLER);
    }
    return result;
}

/* An event of the set does not contain the descriptor, only the data that the program gave. */
static int (*real_epoll_ctl)(int, int, int, struct epoll_event *);
static int hook_epoll_ctl(int set, int what, int fd, struct epoll_event *event)
{
    if (SBX_LIKELY(!sbx_may_be_self_pipe(fd))) {
        return real_epoll_ctl(set, what, fd, event);
    }
    int result = real_epoll_ctl(set, what, fd, event);
    if (result == 0 && sbx_is_self_pipe(fd)) {
        bool is_in = what != EPOLL_CTL_DEL && event != NULL;
        sbx_self_pipe_in_set(fd, is_in ? set : -1, is_in ? event->data.u64 : 0);
    }
    return result;
}

/* ---- descriptors that become other files ---- */

static int (*real_dup2)(int, int);
static int hook_dup2(int from, int to)
{
    if (from != to) {
        sbx_self_pipe_closes(to);
    }
    return real_dup2(from, to);
}

static int (*real_dup3)(int, int, int);
static int hook_dup3(int from, int to, int flags)
{
    if (from != to) {
        sbx_self_pipe_closes(to);
    }
    return real_dup3(from, to, flags);
}

static void forget_range(unsigned first, unsigned last)
{
    for (unsigned fd = first; fd <= last && fd < SBX_SELF_PIPE_FDS && sbx_load_relaxed(&sbx_self_pipes_used) != 0;
         fd++) {
        sbx_self_pipe_closes((int)fd);
    }
}

static int (*real_close_range)(unsigned, unsigned, int);
static int hook_close_range(unsigned first, unsigned last, int flags)
{
    if ((flags & CLOSE_RANGE_CLOEXEC) == 0) {
        forget_range(first, last);
    }
    return real_close_range(first, last, flags);
}

static void (*real_closefrom)(int);
static void hook_closefrom(int first)
{
    forget_range(first > 0 ? (unsigned)first : 0, SBX_SELF_PIPE_FDS);
    real_closefrom(first);
}

#define POINT(name) SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_SELF_PIPE)
static const struct sbx_point points[] = {
    POINT(eventfd),
    POINT(pipe),
    POINT(pipe2),
    POINT(socketpair),
    POINT(epoll_ctl),
    POINT(dup2),
    POINT(dup3),
    POINT(close_range),
    POINT(closefrom),
    SBX_POINT("g_idle_add", NULL, glib_function, SBX_GROUP_GLIB),
    SBX_POINT("uv_async_send", NULL, uv_function, SBX_GROUP_UV),
    SBX_POINT("_ZN16QCoreApplication9postEventEP7QObjectP6QEventi", NULL, qt_function, SBX_GROUP_QT),
    SBX_POINT("event_add", NULL, libevent_function, SBX_GROUP_LIBEVENT),
};
const struct sbx_point_list sbx_points_self_pipe = SBX_POINT_LIST(points);
