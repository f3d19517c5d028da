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

/* A load and a test. Any thread. */
SBX_HOOK_SAFE static inline bool sbx_is_client(int fd)
{
    return (sbx_fd_known(fd) & SBX_FD_IS_CLIENT) != 0;
}

/* One whose calls do not block, as far as calls that passed our hooks tell: prompt_call.h, which does not believe it for good. */
SBX_HOOK_SAFE static inline bool sbx_is_prompt(int fd)
{
    return (sbx_fd_known(fd) & SBX_FD_IS_PROMPT) != 0;
}

/* Calls on `fd`, a client's, do not block from here on, or may do so. */
SBX_HOOK_SAFE static inline void sbx_prompt_say(int fd, bool is_prompt)
{
    sbx_fd_say(fd, SBX_FD_IS_PROMPT, is_prompt);
}

/* accept() has returned `fd`; negative: it failed. */
SBX_HOOK_SAFE static inline void sbx_client_came(int fd, bool is_prompt)
{
    sbx_fd_say(fd, SBX_FD_IS_CLIENT, true);
    sbx_prompt_say(fd, is_prompt);
}

/* `fd` is about to be closed, or connected to somebody. */
SBX_HOOK_SAFE static inline void sbx_client_went(int fd)
{
    sbx_fd_say(fd, SBX_FD_IS_CLIENT | SBX_FD_IS_PROMPT, false);
}

#endif
