/* SPDX-License-Identifier: Apache-2.0 */
/* point_file_lock.c - locks on files, held by other processes or by other descriptors.
 *
 * fcntl() has dozens of commands with arguments of any type. Only the two that wait for a lock are measured, and
 * F_SETFL is looked at. For all other commands the original is called as a tail call, with the one register that may
 * contain an argument. */
#include "point.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "client_sockets.h"
#include "self_pipe.h"
#include "wide_names.h"

#define LOCKS(type, name, parameters, arguments, op)                                                                 \
    SBX_BLOCKING_HOOK(type, name, parameters, arguments, SBX_GROUP_FILE_LOCK, SBX_RECORD_FILE, op, (uint64_t)fd + 1, \
                      0, result < 0, fd)

LOCKS(int, flock, (int fd, int operation), (fd, operation), SBX_OP_FLOCK)
LOCKS(int, lockf, (int fd, int command, off_t bytes), (fd, command, bytes), SBX_OP_LOCKF)
LOCKS(int, lockf64, (int fd, int command, off64_t bytes), (fd, command, bytes), SBX_OP_LOCKF)

static int (*real_fcntl)(int, int, ...);
static int (*real_fcntl64)(int, int, ...);

SBX_NOINLINE static int wait_for_lock(int (*original)(int, int, ...), int fd, int command, void *lock)
{
    struct sbx_blocking call;
    SBX_SAVE_FRAME_POINTER();
    sbx_blocking_begin(&call, SBX_GROUP_FILE_LOCK, SBX_RECORD_FILE, SBX_OP_FCNTL_LOCK, (uint64_t)fd + 1, 0);
    int result = original(fd, command, lock);
    sbx_blocking_end(&call, 0, result < 0, fd);
    return result;
}

/* This call says whether calls on a client's connection or on a self-pipe may block (prompt_call.h, self_pipe.h). It is
 * noted before the original is called, so that no call in between is taken for prompt and then waits. If the flag could
 * not be set, the first call that waits shows it. */
static inline void note_flags(int fd, const void *flags)
{
    uint32_t known = sbx_fd_known(fd);
    if (known != 0) {
        uint32_t what = (known & SBX_FD_IS_CLIENT) != 0 ? SBX_FD_IS_PROMPT : 0;
        what |= (known & SBX_FD_IS_END) != 0 ? SBX_FD_IS_QUICK : 0;
        sbx_fd_say(fd, what, ((uintptr_t)flags & O_NONBLOCK) != 0);
    }
}

static int hook_fcntl(int fd, int command, void *argument)
{
    if (SBX_UNLIKELY(command == F_SETLKW || command == F_OFD_SETLKW)) {
        return wait_for_lock(real_fcntl, fd, command, argument);
    }
    if (command == F_SETFL) {
        note_flags(fd, argument);
    }
    return real_fcntl(fd, command, argument);
}

static int hook_fcntl64(int fd, int command, void *argument)
{
    if (SBX_UNLIKELY(command == F_SETLKW || command == F_OFD_SETLKW)) {
        return wait_for_lock(real_fcntl64, fd, command, argument);
    }
    if (command == F_SETFL) {
        note_flags(fd, argument);
    }
    return real_fcntl64(fd, command, argument);
}

#define POINT(name) SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_FILE_LOCK)
static const struct sbx_point points[] = {
    POINT(flock), POINT(lockf), POINT(lockf64), POINT(fcntl), POINT(fcntl64),
};
const struct sbx_point_list sbx_points_file_lock = SBX_POINT_LIST(points);
