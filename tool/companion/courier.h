/* SPDX-License-Identifier: Apache-2.0 */
/* courier.h - the companion's other thread: snapshots become payloads, payloads reach the server.
 *
 * It is a thread of its own, because an attempt to send may take a minute, and neither the program's signals nor its
 * end may wait for that. */
#ifndef SBX_COURIER_H
#define SBX_COURIER_H

#include <stdint.h>

#include "delivery_gate.h"
#include "lost_images.h"
#include "redaction.h"
#include "sealer.h"
#include "spool.h"

struct sbx_courier;

/* `spool`, `server_url` (NULL: encode only), `token`, `gate`, `sealer` and `images` (all four may be NULL) are borrowed until
 * finish. Returns NULL without memory or threads. */
struct sbx_courier *sbx_courier_start(struct sbx_spool *spool, const struct sbx_redaction *redaction,
                                      const char *server_url, const char *token, const struct sbx_delivery_gate *gate,
                                      struct sbx_sealer *sealer, struct sbx_lost_images *images);

/* Encode by these rules from the next snapshot on, and check once whether something may be sent now. Any thread. */
void sbx_courier_redact(struct sbx_courier *courier, const struct sbx_redaction *redaction);

/* There may be a new file in raw/. */
void sbx_courier_call(struct sbx_courier *courier);

struct sbx_courier_counts {
    uint64_t packed,
        unreadable;    /* snapshots of any program that this courier encoded; and those that it could not encode */
    uint64_t unsealed; /* snapshots not encoded at the last try, because there was no key to seal to */
    uint64_t expired;  /* removed unsent, because they had waited too long */
    /* stalls of any program that this courier delivered (reports of ends not counted), and stalls left in the spool */
    uint64_t sent, waiting;
    char error[256]; /* why the last attempt to send failed; "": it succeeded, or there was none */
};

/* Encode what is there, try to deliver it for at most `grace_ms`, end the thread, and release everything. */
void sbx_courier_finish(struct sbx_courier *courier, uint64_t grace_ms, struct sbx_courier_counts *counts_out);

#endif
