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

#include "marks.h"
#include "order.h"

enum {
    SBX_CLIENT_SOCKETS_MOST = 65536 /* descriptors with higher numbers are no clients */
};

extern uint64_t sbx_client_sockets[SBX_CLIENT_SOCKETS_MOST / 64] __attribute__((visibility("hidden")));

/* Those of them whose calls do not block, as far as calls that passed our hooks tell: prompt_call.h, which does not believe it for
 * good. */
extern uint64_t sbx_prompt_sockets[SBX_CLIENT_SOCKETS_MOST / 64] __attribute__((visibility("hidden")));

SBX_HOOK_SAFE static inline bool sbx_is_prompt(int fd)
{
    return (unsigned)fd < SBX_CLIENT_SOCKETS_MOST &&
           (sbx_load_relaxed(&sbx_prompt_sockets[(unsigned)fd / 64]) >> ((unsigned)fd % 64) & 1) != 0;
}

/* Calls on `fd`, a client's, do not block from here on, or may do so. */
SBX_HOOK_SAFE static inline void sbx_prompt_say(int fd, bool is_prompt)
{
    uint64_t bit = UINT64_C(1) << ((unsigned)fd % 64);
    if ((unsigned)fd < SBX_CLIENT_SOCKETS_MOST && sbx_is_prompt(fd) != is_prompt) {
        if (is_prompt) {
            sbx_or_seq_cst(&sbx_prompt_sockets[(unsigned)fd / 64], bit);
        } else {
            sbx_and_seq_cst(&sbx_prompt_sockets[(unsigned)fd / 64], ~bit);
        }
    }
}

/* A load and a test. Any thread. */
SBX_HOOK_SAFE static inline bool sbx_is_client(int fd)
{
    return (unsigned)fd < SBX_CLIENT_SOCKETS_MOST &&
           (sbx_load_relaxed(&sbx_client_sockets[(unsigned)fd / 64]) >> ((unsigned)fd % 64) & 1) != 0;
}

/* accept() has returned `fd`; negative: it failed. */
SBX_HOOK_SAFE static inline void sbx_client_came(int fd, bool is_prompt)
{
    if ((unsigned)fd < SBX_CLIENT_SOCKETS_MOST) {
        sbx_or_seq_cst(&sbx_client_sockets[(unsigned)fd / 64], UINT64_C(1) << ((unsigned)fd % 64));
        sbx_prompt_say(fd, is_prompt);
    }
}

/* `fd` is about to be closed, or connected to somebody. */
SBX_HOOK_SAFE static inline void sbx_client_went(int fd)
{
    if (SBX_UNLIKELY(sbx_is_client(fd))) {
        sbx_and_seq_cst(&sbx_client_sockets[(unsigned)fd / 64], ~(UINT64_C(1) << ((unsigned)fd % 64)));
        sbx_prompt_say(fd, false);
    }
}

#endif
