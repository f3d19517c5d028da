/* SPDX-License-Identifier: Apache-2.0 */
/* client_sockets.h - which descriptors of this process are connections that a client opened: the client at the other
 * end waits for an answer.
 *
 * A descriptor belongs to a client from the accept() that returned it until its close(), or until it is connect()ed.
 * Descriptors that the program received in another way (by exec, over a socket, by dup()) are not known and do not
 * count. A forked child has its parent's descriptors and this table with them, so the table must never be cleared. */
#ifndef SBX_CLIENT_SOCKETS_H
#define SBX_CLIENT_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "known_fds.h"
#include "marks.h"

/* Is `fd` a client's connection? A load and a test. Any thread. */
SBX_HOOK_SAFE static inline bool sbx_is_client(int fd)
{
    return (sbx_fd_known(fd) & SBX_FD_IS_CLIENT) != 0;
}

/* Is `fd` a connection whose calls do not block, as far as the hooked calls show? prompt_call.h uses this as a hint and
 * checks it. */
SBX_HOOK_SAFE static inline bool sbx_is_prompt(int fd)
{
    return (sbx_fd_known(fd) & SBX_FD_IS_PROMPT) != 0;
}

/* From here on, calls on the client `fd` do not block, or may block again. */
SBX_HOOK_SAFE static inline void sbx_prompt_say(int fd, bool is_prompt)
{
    sbx_fd_say(fd, SBX_FD_IS_PROMPT, is_prompt);
}

/* accept() has returned `fd`. It may be negative: accept() failed. */
SBX_HOOK_SAFE static inline void sbx_client_came(int fd, bool is_prompt)
{
    sbx_fd_say(fd, SBX_FD_IS_CLIENT, true);
    sbx_prompt_say(fd, is_prompt);
}

/* `fd` is about to be closed or connected. */
SBX_HOOK_SAFE static inline void sbx_client_went(int fd)
{
    sbx_fd_say(fd, SBX_FD_IS_CLIENT | SBX_FD_IS_PROMPT, false);
}

#endif
