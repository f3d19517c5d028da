/* SPDX-License-Identifier: Apache-2.0 */
/* poll_place.h - a place from which a thread polls, as the thread's block stores it (messages/loop_call.h says what it
 * is used for). */
#ifndef SBX_POLL_PLACE_H
#define SBX_POLL_PLACE_H

#include <stdbool.h>
#include <stdint.h>

/* The descriptors that a call looks at, folded into one word: messages/poll_set.h. */
struct sbx_poll_set {
    uint64_t fds;     /* 0: none, or not known */
    int32_t epoll_fd; /* -1: no epoll call */
};

struct sbx_poll_place {
    uint64_t key;               /* hash of the functions that lead to the call; 0: free */
    struct sbx_poll_set always; /* descriptors that every call there has looked at */
    uint64_t ready;             /* descriptors ready the last time, and in turns inside its handlers since then */
    uint64_t waited_ns;         /* how long its calls of at least one millisecond took */
    uint32_t passes;
    bool is_clients; /* what it reported as ready was read from a client (messages/client_sockets.h) */
    bool accepts;    /* it is a call of accept() */
    uint32_t met;    /* value of `moves` when the thread last came to this place or left it */
};

#endif
