/* SPDX-License-Identifier: Apache-2.0 */
/* delivery_holds.h - what a deliverer has to leave alone, and until when: the server, and payloads that were tried in vain.
 *
 * It is in the spool too (delivery_memory.h), so that a restart, or another process that takes over, asks no sooner. For the
 * process that holds the spool's lock; not thread-safe. */
#ifndef SBX_DELIVERY_HOLDS_H
#define SBX_DELIVERY_HOLDS_H

#include <stdbool.h>
#include <stddef.h>

#include "delivery_memory.h"

/* A payload that was tried and has to wait. */
struct sbx_waiting {
    struct sbx_hold hold;
    bool seen; /* in this step's listing; those not seen are forgotten */
};

struct sbx_delivery_holds {
    struct sbx_hold server;      /* the server, not a payload, is the matter: nothing is sent before it is due */
    struct sbx_waiting *waiting; /* ours */
    size_t count, room;
    bool is_news; /* what the spool remembers is not what is known here */
};

/* Look up what the one before knew, in the open folder `root` of the spool; what was known here is forgotten. */
void sbx_delivery_holds_recall(struct sbx_delivery_holds *holds, int root, const char *server_url,
                               const struct sbx_delivery_now *now);

/* Write down what the next one must know, where that is news. What cannot be written is only not known to it. */
void sbx_delivery_holds_memorize(struct sbx_delivery_holds *holds, int root, const char *server_url,
                                 const struct sbx_delivery_now *now);

/* NULL: it has not been tried. Borrowed until the next call that remembers or forgets. */
struct sbx_waiting *sbx_delivery_holds_find(const struct sbx_delivery_holds *holds,
                                            const uint8_t id[SBX_PAYLOAD_ID_BYTES]);

/* Remember that `id` has to wait. NULL without memory: then it is tried again in the next step, too soon at worst. */
struct sbx_waiting *sbx_delivery_holds_remember(struct sbx_delivery_holds *holds,
                                                const uint8_t id[SBX_PAYLOAD_ID_BYTES]);

/* A whole listing is done: what was not seen in it is there no more. */
void sbx_delivery_holds_forget_unseen(struct sbx_delivery_holds *holds);

void sbx_delivery_holds_release(struct sbx_delivery_holds *holds);

#endif
