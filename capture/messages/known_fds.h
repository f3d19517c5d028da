/* SPDX-License-Identifier: Apache-2.0 */
/* known_fds.h - what reads and writes ask of their descriptor first: a byte each, of 64 neighbours in one cache line.
 *
 * Each has several of these questions, and a line that is in no cache costs more than the rest of the look. Bytes and not bits: a
 * server that makes each connection blocking and not blocking in turns (Java's own http server) would pay an exchange for each. Who changes
 * the byte of a descriptor has it from the program, and nobody else changes it meanwhile, unless the program races with itself about what
 * that descriptor is: then what is known may be wrong until its close().
 *
 * A forked child has its parent's descriptors, and this table with them: it is never to be cleared. */
#ifndef SBX_KNOWN_FDS_H
#define SBX_KNOWN_FDS_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "order.h"

enum {
    SBX_KNOWN_FDS_MOST = 65536 /* of descriptors with higher numbers nothing is known */
};

enum sbx_known_fd {
    SBX_FD_IS_CLIENT = 1,   /* client_sockets.h */
    SBX_FD_IS_PROMPT = 2,   /* the same */
    SBX_FD_IS_END = 4,      /* self_pipe.h: of a self-pipe, or was of one */
    SBX_FD_IS_QUICK = 8,    /* the same: a read from that end does not wait */
    SBX_FD_IS_COUNTER = 16, /* the same: an eventfd, so no write waits that does not fill 64 bits */
};

extern uint8_t sbx_known_fds[SBX_KNOWN_FDS_MOST] __attribute__((visibility("hidden"), aligned(64)));

/* Some of enum sbx_known_fd. A load; any thread. */
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
        if (now != known) { /* a line that many read is seldom written */
            sbx_store_relaxed(&sbx_known_fds[(unsigned)fd], (uint8_t)now);
        }
    }
}

#endif
