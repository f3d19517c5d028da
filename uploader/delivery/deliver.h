/* SPDX-License-Identifier: Apache-2.0 */
/* deliver.h - from the spool to the server: what to send now, what the result was, and when to try again.
 *
 * The companion (`stallbox run`) and `stallbox deliver` run this. Both may work on one spool at the same time. A lock
 * in the spool makes one of them the deliverer. */
#ifndef SBX_DELIVER_H
#define SBX_DELIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "delivery_gate.h"
#include "sealer.h"
#include "spool.h"

enum sbx_send_verdict {
    SBX_SEND_STORED = 0, /* the server has it, from this try or an earlier one */
    SBX_SEND_LATER = 1,  /* try again, but not before retry_after_ms if that is not 0 */
    SBX_SEND_NEVER = 2,  /* refused for good: 400, 409, 413, 415, 422 */
};

struct sbx_send_result {
    enum sbx_send_verdict verdict;
    long http_status;        /* 0: no answer */
    uint64_t retry_after_ms; /* from the server, at most 24 h; 0: none */
    char why[160];
};

/* One attempt: POST `bytes` to URL/v1/snapshots. `token` may be NULL. Blocks at most 60 s. */
struct sbx_send_result sbx_send(const char *server_url, const char *token, const uint8_t id[16], const void *envelope,
                                size_t bytes);

/* The destination, and how to verify it. All borrowed. */
struct sbx_destination {
    const char *url, *token;   /* token: NULL: none */
    const uint8_t (*pins)[32]; /* as in struct sbx_http_question */
    uint32_t pin_count;
    bool (*is_unwanted)(void *context); /* called during a transfer: true breaks it off; NULL: never */
    void *context;
};

/* The same, with everything that is known about the server. */
struct sbx_send_result sbx_send_to(const struct sbx_destination *to, const uint8_t id[16], const void *envelope,
                                   size_t bytes);

/* How long to wait before attempt number `attempt` (1 is the first retry). Pure. Full jitter over 1 s * 2^(attempt -
 * 1), at most 10 min. The wait that the server asked for is added. If half of that wait is longer, the jitter is over
 * this half (at most 10 min). `random` is any 64 random bits. (Full jitter: Brooker, AWS, 2015.) */
uint64_t sbx_backoff_ms(uint32_t attempt, uint64_t server_ms, uint64_t random);

struct sbx_deliverer;
struct sbx_deliver_counts {
    uint64_t sent, later, refused, unreadable; /* sent: stalls; the payload about a stall's end is part of it */
    uint64_t unsealed; /* how often a payload was held back because sealing is required and no key is valid */
};

/* `spool` and `server_url` are borrowed until destroy. */
struct sbx_deliverer *sbx_deliverer_create(struct sbx_spool *spool, const char *server_url, const char *token);
/* Call `gate` (borrowed until destroy) before each payload; NULL: none. A payload that may not be sent waits in the
 * spool. */
void sbx_deliverer_set_gate(struct sbx_deliverer *deliverer, const struct sbx_delivery_gate *gate);
/* If `sealer` (borrowed until destroy; NULL: none) requires sealing, no payload is sent plain. A payload that is
 * waiting since before this requirement is sealed in the spool first. */
void sbx_deliverer_set_sealer(struct sbx_deliverer *deliverer, struct sbx_sealer *sealer);
/* Use another clock than CLOCK_BOOTTIME in ms and CLOCK_REALTIME in s, for simulations. Borrowed until destroy. */
struct sbx_delivery_clock {
    void (*read)(void *context, uint64_t *boot_ms_out, uint64_t *wall_ms_out);
    void *context;
};
void sbx_deliverer_set_clock(struct sbx_deliverer *deliverer, const struct sbx_delivery_clock *clock);
/* Call `is_over` before each payload and during each transfer, on the thread that calls step. Once it returns true, no
 * transfer begins and the current one is broken off. Its payload stays unchanged in the spool. */
void sbx_deliverer_set_end(struct sbx_deliverer *deliverer, bool (*is_over)(void *context), void *context);
/* A person wants to send now. Our own waits end, but not those that the server asked for. */
void sbx_deliverer_hurry(struct sbx_deliverer *deliverer);
/* Send what is due. Returns the milliseconds until something may be due again (UINT64_MAX: the spool is empty). For
 * each waiting payload, it blocks at most for one attempt. */
uint64_t sbx_deliverer_step(struct sbx_deliverer *deliverer);
void sbx_deliverer_counts(const struct sbx_deliverer *deliverer, struct sbx_deliver_counts *counts_out);
const char *sbx_deliverer_last_error(const struct sbx_deliverer *deliverer); /* "" if the last attempt succeeded */
void sbx_deliverer_destroy(struct sbx_deliverer *deliverer);

#endif
