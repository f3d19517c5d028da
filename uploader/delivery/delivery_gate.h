/* SPDX-License-Identifier: Apache-2.0 */
/* delivery_gate.h - decides whether a snapshot may become a payload, and whether a payload may be sent now.
 *
 * Functions and not numbers, because the numbers are a day's budget that several processes share and that must be asked at
 * the moment. Called by the thread that packs or delivers. */
#ifndef SBX_DELIVERY_GATE_H
#define SBX_DELIVERY_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "policy.h"

enum {
    SBX_GATE_PINS_MAX = 8
};

struct sbx_delivery_gate {
    void *context; /* handed to each */
    /* A snapshot of this trigger is to become a payload: counts it when it may; when it may not, it is removed unread. */
    bool (*may_pack)(void *context, uint32_t trigger_kind);
    /* A payload of this size is to be sent: counts nothing. When it may not, it waits. */
    bool (*may_send)(void *context, uint64_t bytes);
    /* It was sent. */
    void (*was_sent)(void *context, uint64_t bytes);
    /* The SHA-256 of the public keys one of which the server must have, SBX_GATE_PINS_MAX at most; returns how many.
     * NULL function or 0: any server that can prove its name. */
    uint32_t (*pins)(void *context, uint8_t pins_out[][32]);
    /* What else is held to: which snapshots are told and how many each stands for (stall_sampling.h), how much may wait,
     * for how long. NULL: each of them for itself, the spool's own limits, no wait. */
    void (*terms)(void *context, struct sbx_delivery_terms *terms_out);
};

#endif
