/* SPDX-License-Identifier: Apache-2.0 */
/* store_blobs.h - payloads whose bytes lie outside the database.
 *
 *   put     debt(key), durable -> bytes under the key -> row with the key, and the debt goes: one commit
 *   remove  the row goes and debt(key) comes: one commit -> the bytes go -> the debt goes
 *
 * A debt is a key that must not have bytes. Whoever is killed anywhere leaves either a whole payload or a debt, never bytes that nobody
 * knows of; so what a machine wants erased is found, also when its payload was never acknowledged. Keys are used once. */
#ifndef SBX_STORE_BLOBS_H
#define SBX_STORE_BLOBS_H

#include "operator_log.h"
#include "store.h"

struct sbx_blobs;

/* Keep the bytes of new payloads there (borrowed until the store closes; NULL: in the database). `log` (NULL: silent) is told once when
 * it fails and once when it works again. Before anybody asks. -EINVAL when there are payloads outside and `blobs` is NULL. */
int sbx_store_use_blobs(struct sbx_store *store, struct sbx_blobs *blobs, const struct sbx_operator_log *log);

/* Pay debts that are due, `max` at most: those of removed rows, and those of writers that began a put and did not end it within an hour. Returns how
 * many were paid, or -errno of the first that could not be. */
int sbx_store_settle_blobs(struct sbx_store *store, int64_t now_ms, size_t max);

#endif
