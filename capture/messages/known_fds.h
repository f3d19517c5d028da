/* SPDX-License-Identifier: Apache-2.0 */
/* known_fds.h - what reads and writes must know about their descriptor first: one byte for each, with 64 neighbours in
 * one cache line.
 *
 * A read or a write asks several of these questions, and a cache line that is in no cache costs more than the rest of
 * the check. There are bytes and not bits because of servers that switch each connection between blocking and
 * non-blocking (Java's own http server does so): with bits, each switch would cost an atomic exchange.
 *
 * The thread that changes the byte of a descriptor got the descriptor from the program. No other thread changes the
 * byte at the same time, unless the program itself has a race about that descriptor. Then the byte may be wrong until
 * the descriptor's close().
 *
 * A forked child has its parent's descriptors and this table with them, so the table must never be cleared. */
#ifndef SBX_KNOWN_FDS_H
#define SBX_KNOWN_FDS_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "order.h"

enum {
    SBX_KNOWN_FDS_MOST = 65536 /* descriptors with higher numbers are not in the table */
};

enum sbx_known_fd {
    SBX_FD_IS_CLIENT = 1,   /* client_sockets.h */
    SBX_FD_IS_PROMPT = 2,   /* the same; only together with SBX_FD_IS_CLIENT */
    SBX_FD_IS_END = 4,      /* self_pipe.h: an end of a self-pipe, now or earlier */
    SBX_FD_IS_QUICK = 8,    /* the same: a read from that end does not wait */
    SBX_FD_IS_COUNTER = 16, /* the same: an eventfd, where only a write that fills 64 bits waits */
};

extern uint8_t sbx_known_fds[SBX_KNOWN_FDS_MOST] __attribute__((visibility("hidden"), aligned(64)));

/* The bits of enum sbx_known_fd for `fd`. One load; any thread. */
SBX_HOOK_SAFE static inline uint32_t sbx_fd_known(int fd)
{
    return (unsigned)fd < SBX_KNOWN_FDS_MOST ? sbx_load_relaxed(&sbx_known_fds[(unsigned)fd])
                                             : 0; /* relaxed: see above */
}

SBX_HOOK_SAFE static inline void sbx_fd_say(int fd, uint32_t what, bool is_so)
{
    if ((unsigned)fd < SBX_KNOWN_FDS_MOST) {
        uint32_t known = sbx_load_relaxed(&sbx_known_fds[(unsigned)fd]);
        uint32_t now = is_so ? known | what : known & ~what;
        if (now != known) { /* many threads read this line, so write it seldom */
            sbx_store_relaxed(&sbx_known_fds[(unsigned)fd], (uint8_t)now);
        }
    }
}

#endif
