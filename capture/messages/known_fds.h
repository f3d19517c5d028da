/* SPDX-License-Identifier: Apache-2.0 */
/* known_fds.h - what reads and writes ask of their descriptor first, a bit each: is it a client's, is it prompt, is it a self-pipe's,
 * may it wait?
 *
 * The answers on 128 neighbours lie in one cache line, because each read and write has most of these questions, and a line that is
 * not in the cache costs more than the rest of the look. */
#ifndef SBX_KNOWN_FDS_H
#define SBX_KNOWN_FDS_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "order.h"

enum {
    SBX_KNOWN_FDS_MOST = 65536 /* of descriptors with higher numbers nothing is known */
};

struct sbx_known_fds {
    uint64_t clients;    /* client_sockets.h */
    uint64_t prompts;    /* the same */
    uint64_t self_pipes; /* self_pipe.h: a look there is worth while */
    uint64_t quick_ends; /* of self-pipes, on which a read does not wait: the same */
};

extern struct sbx_known_fds sbx_known_fds[SBX_KNOWN_FDS_MOST / 64] __attribute__((visibility("hidden"), aligned(64)));

SBX_HOOK_SAFE static inline bool sbx_fd_is_in(const uint64_t *word, int fd)
{
    return (sbx_load_relaxed(word) >> ((unsigned)fd % 64) & 1) != 0; /* relaxed: what this thread knows, or is told late */
}

SBX_HOOK_SAFE static inline void sbx_fd_put(uint64_t *word, int fd, bool is_in)
{
    uint64_t bit = UINT64_C(1) << ((unsigned)fd % 64);
    if (is_in) {
        sbx_or_seq_cst(word, bit);
    } else {
        sbx_and_seq_cst(word, ~bit);
    }
}

#endif
