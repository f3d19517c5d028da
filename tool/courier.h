/* SPDX-License-Identifier: Apache-2.0 */
/* courier.h - the companion's other thread: snapshots become payloads, payloads reach the server.
 *
 * A thread of its own, because an attempt to send may take a minute, and the program's signals and its end must not wait
 * for that. */
#ifndef SBX_COURIER_H
#define SBX_COURIER_H

#include <stdint.h>

#include "redaction.h"
#include "spool.h"

struct sbx_courier;

/* `spool`, `server_url` (NULL: encode only) and `token` (may be NULL) are borrowed until finish. Returns NULL without
 * memory or threads. */
struct sbx_courier *sbx_courier_start(struct sbx_spool *spool, const struct sbx_redaction *redaction,
                                      const char *server_url, const char *token);

/* There may be something new in raw/. */
void sbx_courier_call(struct sbx_courier *courier);

struct sbx_courier_counts {
    uint64_t packed, unreadable; /* snapshots encoded, and those that could not be */
    uint64_t sent, waiting;      /* payloads delivered, and left in the spool */
};

/* Encode what is there, try to deliver it for at most `grace_ms`, end the thread and release. */
void sbx_courier_finish(struct sbx_courier *courier, uint64_t grace_ms, struct sbx_courier_counts *counts_out);

#endif
