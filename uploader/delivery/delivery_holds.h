/* SPDX-License-Identifier: Apache-2.0 */
/* delivery_holds.h - what a deliverer must not use yet, and until when: the server, and payloads whose sending failed.
 *
 * The waits are in the spool, too (delivery_memory.h), so that a restart, or another process that takes over, does not
 * try earlier. For the process that holds the spool's lock. Not thread-safe. */
#ifndef SBX_DELIVERY_HOLDS_H
#define SBX_DELIVERY_HOLDS_H

#include <stdbool.h>
#include <stddef.h>

#include "delivery_memory.h"

/* A payload that was tried and has to wait. */
struct sbx_waiting {
    struct sbx_hold hold;
    bool seen; /* it is in this step's listing; others are forgotten */
};

struct sbx_delivery_holds {
    struct sbx_hold server;      /* a wait for the server, not for one payload: nothing is sent before it is due */
    struct sbx_waiting *waiting; /* our own */
    size_t count, room;
    bool is_news; /* the waits here differ from those in the spool */
};

/* Read what the previous deliverer stored in the open folder `root` of the spool. Waits known here are forgotten. */
void sbx_delivery_holds_recall(struct sbx_delivery_holds *holds, int root, const char *server_url,
                               const struct sbx_delivery_now *now);

/* Store what the next deliverer must know, if it has changed. If this fails, only the next deliverer does not know
 * it. */
void sbx_delivery_holds_memorize(struct sbx_delivery_holds *holds, int root, const char *server_url,
                                 const struct sbx_delivery_now *now);

/* Finds a payload's wait. NULL: it was not tried. Borrowed until the next call that remembers or forgets. */
struct sbx_waiting *sbx_delivery_holds_find(const struct sbx_delivery_holds *holds,
                                            const uint8_t id[SBX_PAYLOAD_ID_BYTES]);

/* Remember that `id` must wait. NULL: no memory. Then it is tried again in the next step, which may be too early. */
struct sbx_waiting *sbx_delivery_holds_remember(struct sbx_delivery_holds *holds,
                                                const uint8_t id[SBX_PAYLOAD_ID_BYTES]);

/* A whole listing was read. Payloads that were not in it no longer exist. */
void sbx_delivery_holds_forget_unseen(struct sbx_delivery_holds *holds);

void sbx_delivery_holds_release(struct sbx_delivery_holds *holds);

#endif
