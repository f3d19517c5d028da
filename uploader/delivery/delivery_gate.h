/* SPDX-License-Identifier: Apache-2.0 */
/* delivery_gate.h - decides whether a snapshot may become a payload, and whether a payload may be sent now.
 *
 * These are functions and not numbers, because several processes share a day's budget, which must be read at the moment
 * of the decision. They are called by the thread that packs or delivers. */
#ifndef SBX_DELIVERY_GATE_H
#define SBX_DELIVERY_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "policy.h"

enum {
    SBX_GATE_PINS_MAX = 8
};

struct sbx_delivery_gate {
    void *context; /* passed to each function */
    /* May a snapshot of this trigger become a payload? If yes, it is counted. If no, it is removed unread. */
    bool (*may_pack)(void *context, uint32_t trigger_kind);
    /* May a payload of this size be sent? This counts nothing. If no, the payload waits. */
    bool (*may_send)(void *context, uint64_t bytes);
    /* A payload was sent. */
    void (*was_sent)(void *context, uint64_t bytes);
    /* The SHA-256 of public keys, at most SBX_GATE_PINS_MAX. The server must have one of these keys. Returns their
     * number. NULL function or 0: any server that can prove its name. */
    uint32_t (*pins)(void *context, uint8_t pins_out[][32]);
    /* Other limits: which snapshots are sent and how many each stands for (stall_sampling.h), how much may wait, and
     * for how long. NULL: each snapshot stands for itself, the spool's own limits are used, and there is no wait. */
    void (*terms)(void *context, struct sbx_delivery_terms *terms_out);
};

#endif
