/* SPDX-License-Identifier: Apache-2.0 */
/* descriptor_hooks.h - hooks of calls that read from descriptor `fd` or write to it, when it may be a client's.
 *
 * `group` is FILE or SOCKET: SBX_GROUP_FILE and SBX_RECORD_FILE, or SBX_GROUP_SOCKET and SBX_RECORD_SOCKET. These are macros because other
 * threads see the place of the call, which must be the hook. */
#ifndef SBX_DESCRIPTOR_HOOKS_H
#define SBX_DESCRIPTOR_HOOKS_H

#include "client_message.h"
#include "point.h"
#include "prompt_call.h"

/* A read of at most `asked` bytes. */
#define SBX_READ_HOOK(name, parameters, arguments, group, op, asked)                                             \
    static ssize_t(*real_##name) parameters;                                                                     \
    static ssize_t hook_##name parameters                                                                        \
    {                                                                                                            \
        uint32_t known = sbx_fd_known(fd);                                                                       \
        SBX_PROMPT_READ(ssize_t, fd, known, real_##name arguments, op, SBX_GROUP_##group);                       \
        SBX_READ_BODY(ssize_t, fd, known, SBX_CALL_WHAT(SBX_RECORD_##group, op, SBX_GROUP_##group),              \
                      sbx_blocking_begin(&call, SBX_GROUP_##group, SBX_RECORD_##group, op, (uint64_t)fd + 1, 0), \
                      asked, real_##name arguments);                                                             \
    }

/* A write. `first` may make the call as a prompt call. `seen` runs when bytes were written. */
#define SBX_WRITE_HOOK(name, parameters, arguments, group, op, first, seen)                          \
    static ssize_t(*real_##name) parameters;                                                         \
    static ssize_t hook_##name parameters                                                            \
    {                                                                                                \
        uint32_t known = sbx_fd_known(fd);                                                           \
        first;                                                                                       \
        if (SBX_UNLIKELY((known & SBX_FD_IS_END) != 0)) {                                            \
            sbx_self_pipe_write(fd, op);                                                             \
        }                                                                                            \
        SBX_WRITE_BODY(ssize_t, fd, known, SBX_CALL_WHAT(SBX_RECORD_##group, op, SBX_GROUP_##group), \
                       real_##name arguments, seen);                                                 \
    }

#endif
