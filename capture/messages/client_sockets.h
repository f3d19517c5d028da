/* SPDX-License-Identifier: Apache-2.0 */
/* client_sockets.h - which descriptors of this process are connections that somebody else opened: who is at the other end
 * waits for an answer.
 *
 * A descriptor is one from the accept() that gave it until its close(), or until it is connect()ed. Descriptors that a program
 * was given otherwise (by exec, over a socket, by dup()) are not known, and are none. A forked child has its parent's
 * descriptors, and this table with them: it is never to be cleared. */
#ifndef SBX_CLIENT_SOCKETS_H
#define SBX_CLIENT_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "known_fds.h"
#include "marks.h"

enum {
    SBX_CLIENT_SOCKETS_MOST = SBX_KNOWN_FDS_MOST /* descriptors with higher numbers are no clients */
};

/* One whose calls do not block, as far as calls that passed our hooks tell: prompt_call.h, which does not believe it for good. */
SBX_HOOK_SAFE static inline bool sbx_is_prompt(int fd)
{
    return (unsigned)fd < SBX_CLIENT_SOCKETS_MOST && sbx_fd_is_in(&sbx_known_fds[(unsigned)fd / 64].prompts, fd);
}

/* Calls on `fd`, a client's, do not block from here on, or may do so. */
SBX_HOOK_SAFE static inline void sbx_prompt_say(int fd, bool is_prompt)
{
    if ((unsigned)fd < SBX_CLIENT_SOCKETS_MOST && sbx_is_prompt(fd) != is_prompt) {
        sbx_fd_put(&sbx_known_fds[(unsigned)fd / 64].prompts, fd, is_prompt);
    }
}

/* A load and a test. Any thread. */
SBX_HOOK_SAFE static inline bool sbx_is_client(int fd)
{
    return (unsigned)fd < SBX_CLIENT_SOCKETS_MOST && sbx_fd_is_in(&sbx_known_fds[(unsigned)fd / 64].clients, fd);
}

/* accept() has returned `fd`; negative: it failed. */
SBX_HOOK_SAFE static inline void sbx_client_came(int fd, bool is_prompt)
{
    if ((unsigned)fd < SBX_CLIENT_SOCKETS_MOST) {
        sbx_fd_put(&sbx_known_fds[(unsigned)fd / 64].clients, fd, true);
        sbx_prompt_say(fd, is_prompt);
    }
}

/* `fd` is about to be closed, or connected to somebody. */
SBX_HOOK_SAFE static inline void sbx_client_went(int fd)
{
    if (SBX_UNLIKELY(sbx_is_client(fd))) {
        sbx_fd_put(&sbx_known_fds[(unsigned)fd / 64].clients, fd, false);
        sbx_prompt_say(fd, false);
    }
}

#endif
