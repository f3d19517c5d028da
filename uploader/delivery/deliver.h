/* SPDX-License-Identifier: Apache-2.0 */
/* deliver.h - spool to server: what to send now, what came of it, when to try again.
 *
 * The companion (`stallbox run`) and `stallbox deliver` run this; both may work on one spool at a time, a lock in the
 * spool makes one of them the deliverer. */
#ifndef SBX_DELIVER_H
#define SBX_DELIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "delivery_gate.h"
#include "sealer.h"
#include "spool.h"

enum sbx_send_verdict {
    SBX_SEND_STORED = 0, /* the server has it, now or since an earlier try */
    SBX_SEND_LATER = 1,  /* try again, not before retry_after_ms when that is not 0 */
    SBX_SEND_NEVER = 2,  /* refused for good: 400, 409, 413, 415, 422 */
};

struct sbx_send_result {
    enum sbx_send_verdict verdict;
    long http_status;        /* 0: no answer */
    uint64_t retry_after_ms; /* from the server, clamped to 24 h; 0: it said nothing */
    char why[160];
};

/* One attempt: POST `bytes` to URL/v1/snapshots. `token` may be NULL. Blocks at most 60 s. */
struct sbx_send_result sbx_send(const char *server_url, const char *token, const uint8_t id[16], const void *envelope,
                                size_t bytes);

/* Where, and how to know that it is there. All borrowed. */
struct sbx_destination {
    const char *url, *token;   /* token: NULL: none */
    const uint8_t (*pins)[32]; /* as those of struct sbx_http_question */
    uint32_t pin_count;
    bool (*is_unwanted)(void *context); /* asked meanwhile: true breaks it off; NULL: never */
    void *context;
};

/* The same with all that can be said of the server. */
struct sbx_send_result sbx_send_to(const struct sbx_destination *to, const uint8_t id[16], const void *envelope,
                                   size_t bytes);

/* Pure: how long to wait before attempt number `attempt` (1 is the first retry): full jitter over 1 s * 2^(attempt - 1)
 * up to 10 min, on top of what the server asked, and over half of that where it is longer (10 min at most). `random` is
 * any 64 random bits. (Full jitter: Brooker, AWS, 2015.) */
uint64_t sbx_backoff_ms(uint32_t attempt, uint64_t server_ms, uint64_t random);

struct sbx_deliverer;
struct sbx_deliver_counts {
    uint64_t sent, later, refused, unreadable; /* sent: stalls; how one ended goes with it */
    uint64_t unsealed; /* times that a payload was kept back: sealing is demanded and no key holds */
};

/* `spool` and `server_url` are borrowed until destroy. */
struct sbx_deliverer *sbx_deliverer_create(struct sbx_spool *spool, const char *server_url, const char *token);
/* Ask `gate` (borrowed until destroy) before each payload; NULL: none. A payload that may not be sent waits in the spool. */
void sbx_deliverer_set_gate(struct sbx_deliverer *deliverer, const struct sbx_delivery_gate *gate);
/* What `sealer` (borrowed until destroy; NULL: none) demands to be sealed does not leave plain: a payload that waits
 * from before it did is sealed first, in the spool. */
void sbx_deliverer_set_sealer(struct sbx_deliverer *deliverer, struct sbx_sealer *sealer);
/* Tell it another time than CLOCK_BOOTTIME in ms and CLOCK_REALTIME in s, for simulations. Borrowed until destroy. */
struct sbx_delivery_clock {
    void (*read)(void *context, uint64_t *boot_ms_out, uint64_t *wall_ms_out);
    void *context;
};
void sbx_deliverer_set_clock(struct sbx_deliverer *deliverer, const struct sbx_delivery_clock *clock);
/* Ask `is_over` before each payload and during each transfer (by the thread that steps); once it says yes, nothing more
 * is begun and what is under way is broken off. It waits in the spool as it was. */
void sbx_deliverer_set_end(struct sbx_deliverer *deliverer, bool (*is_over)(void *context), void *context);
/* A person wants it tried now: waits of our own are over, those that the server asked for are not. */
void sbx_deliverer_hurry(struct sbx_deliverer *deliverer);
/* Send what is due. Returns the milliseconds until something may be due again (UINT64_MAX: the spool is empty). Never
 * blocks longer than one attempt per waiting payload. */
uint64_t sbx_deliverer_step(struct sbx_deliverer *deliverer);
void sbx_deliverer_counts(const struct sbx_deliverer *deliverer, struct sbx_deliver_counts *counts_out);
const char *sbx_deliverer_last_error(const struct sbx_deliverer *deliverer); /* "" when the last attempt went well */
void sbx_deliverer_destroy(struct sbx_deliverer *deliverer);

#endif
