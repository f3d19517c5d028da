/* SPDX-License-Identifier: Apache-2.0 */
/* poll_place.h - a place from which a thread polls, as its block keeps it (messages/loop_call.h says what for). */
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
    uint64_t key;               /* of the functions that lead to the call; 0: free */
    struct sbx_poll_set always; /* what every call there has looked at */
    uint64_t ready;             /* what was ready the last time, and in turns inside of its handlers since */
    uint64_t waited_ns;         /* how long its calls took, those that took a millisecond */
    uint32_t passes;
    bool is_clients; /* what it led to was read from a client (messages/client_sockets.h) */
    bool accepts;    /* it is a call of accept() */
    uint32_t met;    /* when the thread came or went there last, in such moves */
};

#endif
