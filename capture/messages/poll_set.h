/* SPDX-License-Identifier: Apache-2.0 */
/* poll_set.h - what a poll call looks at: its descriptors, folded into one word.
 *
 * A descriptor is bit (number mod 64). Two sets are compared, never listed, so a collision costs one wrong comparison in a
 * program with many descriptors. An epoll descriptor stands for all that is in it and is compared by its number. */
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

/* The arguments of a poll call. The memory is the program's: it may not be there before the call has returned well. */
struct sbx_polled {
    const void *first,
        *second; /* struct pollfd[]; fd_set of input and of output, either may be NULL; or where epoll_wait() puts its events */
    uint32_t count; /* descriptors; of select() one more than the highest; of epoll_wait() and accept() which */
    uint8_t form;   /* enum sbx_polled_form */
    bool waits;     /* it may: its time-out is not 0, as far as that was given as a number */
};

enum {
    SBX_POLL_SET_MOST = 64 /* pollfds looked at */
};

static inline bool sbx_polled_has_fds(const struct sbx_polled *polled)
{
    return polled->form == SBX_POLLED_EPOLL || polled->form == SBX_POLLED_ACCEPT || polled->count > 0;
}

/* Before the call: copied by the kernel, which fails where a load would fault. Some 300 ns; nothing for epoll. */
SBX_HOOK_SAFE struct sbx_poll_set sbx_poll_set_before(const struct sbx_polled *polled);

/* After a call that returned well: which were ready, and the set, of which a select() leaves nothing. */
SBX_HOOK_SAFE struct sbx_poll_set sbx_poll_set_after(const struct sbx_polled *polled, uint64_t *ready_out);

/* Before the call: is a client (client_sockets.h) among what it looks at? */
SBX_HOOK_SAFE bool sbx_polled_has_client(const struct sbx_polled *polled);

/* Before the call: does it wait for a key, at a terminal? A serial line is none. Asks the kernel of the first few. */
SBX_HOOK_SAFE bool sbx_polled_awaits_key(const struct sbx_polled *polled);

#endif
