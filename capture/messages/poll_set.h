/* SPDX-License-Identifier: Apache-2.0 */
/* poll_set.h - which descriptors a poll call looks at, folded into one word.
 *
 * A descriptor is the bit (number mod 64). Two sets are only compared, never listed, so in a program with many
 * descriptors a collision costs one wrong comparison. An epoll descriptor stands for everything in its set and is
 * compared by its number. */
#ifndef SBX_POLL_SET_H
#define SBX_POLL_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "poll_place.h"

enum sbx_polled_form {
    SBX_POLLED_POLL,
    SBX_POLLED_SELECT,
    SBX_POLLED_EPOLL,
    SBX_POLLED_ACCEPT
};

/* The arguments of a poll call. The memory belongs to the program. It may not be readable before the call has returned
 * without an error. */
struct sbx_polled {
    const void *first,
        *second;    /* struct pollfd[]; fd_set of input and of output, or NULL; or the events of epoll_wait() */
    uint32_t count; /* number of descriptors; select(): highest + 1; epoll_wait() and accept(): the descriptor */
    uint8_t form;   /* enum sbx_polled_form */
    bool waits;     /* the call may wait: its time-out, where given as a number, is not 0 */
};

enum {
    SBX_POLL_SET_MOST = 64 /* the most pollfds that are read */
};

static inline bool sbx_polled_has_fds(const struct sbx_polled *polled)
{
    return polled->form == SBX_POLLED_EPOLL || polled->form == SBX_POLLED_ACCEPT || polled->count > 0;
}

/* The set, before the call. The kernel copies the memory and fails where a load would fault. Some 300 ns; nothing for
 * epoll. */
SBX_HOOK_SAFE struct sbx_poll_set sbx_poll_set_before(const struct sbx_polled *polled);

/* The ready descriptors and the set, after a call that returned without an error. A select() leaves nothing of its
 * set. */
SBX_HOOK_SAFE struct sbx_poll_set sbx_poll_set_after(const struct sbx_polled *polled, uint64_t *ready_out);

/* Before the call: does it look at a client (client_sockets.h)? */
SBX_HOOK_SAFE bool sbx_polled_has_client(const struct sbx_polled *polled);

/* Before the call: does it wait for a key at a terminal? A serial line does not count. Asks the kernel about the first
 * few descriptors. */
SBX_HOOK_SAFE bool sbx_polled_awaits_key(const struct sbx_polled *polled);

#endif
