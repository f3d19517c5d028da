/* SPDX-License-Identifier: Apache-2.0 */
/* store_blobs.h - payloads whose bytes are outside the database.
 *
 *   put     debt(key), durable -> bytes under the key -> row with the key, and the debt goes: one commit
 *   remove  the row goes and debt(key) comes: one commit -> the bytes go -> the debt goes
 *
 * A debt is a key that must not have bytes. A server that is killed at any moment leaves either a whole payload or a
 * debt, but never bytes without a record. So an erasure finds all bytes of a machine, also of a payload that was never
 * acknowledged. Keys are used once. */
#ifndef SBX_STORE_BLOBS_H
#define SBX_STORE_BLOBS_H

#include "operator_log.h"
#include "store.h"

struct sbx_blobs;

/* Keep the bytes of new payloads in `blobs` (borrowed until the store closes; NULL: in the database). `log` (NULL:
 * silent) gets a line when that fails, and when it works again. Call this before the store is used. -EINVAL when
 * payloads are stored outside and `blobs` is NULL. */
int sbx_store_use_blobs(struct sbx_store *store, struct sbx_blobs *blobs, const struct sbx_operator_log *log);

/* Settle at most `max` due debts: those of removed rows, and those of a put that did not end within an hour. Returns
 * the number of settled debts, or -errno of the first that failed. */
int sbx_store_settle_blobs(struct sbx_store *store, int64_t now_ms, size_t max);

#endif
