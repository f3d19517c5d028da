/* SPDX-License-Identifier: Apache-2.0 */
/* wait_links.h - the thread that each wait was for: the arrows of the pictures. Pure.
 *
 * A wait that ended is joined by its id with the WAKE record of the thread that ended it. A wait for a lock names the
 * holder at the begin of the wait. */
#ifndef SBX_WAIT_LINKS_H
#define SBX_WAIT_LINKS_H

#include <stdbool.h>
#include <stddef.h>

#include "stall.h"

struct sbx_wait_link {
    uint32_t waiter, other;   /* thread ordinals, never equal */
    int64_t begin_ns, end_ns; /* of the wait */
    int64_t at_ns;            /* when `other` woke the waiter; for a holder: begin_ns, when it held the lock */
    uint32_t object;          /* ordinal + 1; 0 none */
    uint32_t stack;           /* of `other` at at_ns; 0: not known, because only the waiter recorded it */
    uint8_t kind, op;         /* of the wait */
    bool woke;                /* `other` is the waker; false: it is the holder */
};

/* The longest waits first; for one wait, the waker first. SBX_WAIT_LINKS_MAX at most. Returns 0 and malloc'ed links
 * (given: free), or -ENOMEM. */
enum {
    SBX_WAIT_LINKS_MAX = 4096,
};
int sbx_wait_links_create(const struct sbx_stall *stall, struct sbx_wait_link **links_out, size_t *count_out);

#endif
