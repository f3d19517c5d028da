/* SPDX-License-Identifier: Apache-2.0 */
/* sealed_store.h - payloads that this server cannot read, or has not read yet: kept as they came, by the id on the
 * outside.
 *
 *   POST --> sealed table --(a process with the key: this one, or a later one on the same data)--> store.h
 *
 * One table of DATA/store.db with a connection of its own. What was opened keeps its digest for a while, so that the
 * same bytes coming again are known; its envelope goes. Any thread may call. Every function returns 0 or -errno. */
#ifndef SBX_SEALED_STORE_H
#define SBX_SEALED_STORE_H

#include "store.h"
#include "unseal.h"

struct sbx_sealed_store;

struct sbx_sealed_counts {
    int64_t waiting; /* for a key */
    int64_t failed;  /* opened to nothing that is a payload */
};

/* Open it beside a store that is open at the same place. `version` (copied): what another version failed to open is tried again.
 * `now_ms`: what was opened long before is forgotten. */
int sbx_sealed_store_open(const char *where, const char *version, int64_t now_ms, struct sbx_sealed_store **store_out,
                          char *why, size_t why_bytes);
void sbx_sealed_store_close(struct sbx_sealed_store *store); /* NULL is fine */

/* Is it known? NEW: no. */
int sbx_sealed_store_look(struct sbx_sealed_store *store, const uint8_t id[SBX_ID_BYTES], const void *envelope,
                          size_t bytes, enum sbx_stored *stored_out);
/* Keep it: when this returns 0 with NEW or BEFORE it is durable. CONFLICT: the id is taken by other bytes. `app`: the one that its sender
 * may send for (sbx_stall_tenant()), 0 all; whoever opens it looks. */
int sbx_sealed_store_put(struct sbx_sealed_store *store, const struct sbx_sealed *sealed, uint64_t app,
                         const void *envelope, size_t bytes, int64_t received_ms, enum sbx_stored *stored_out);

/* The oldest that waits for one of these keys, appended to `envelope_out`. -ENOENT: none. */
int sbx_sealed_store_next(struct sbx_sealed_store *store, const struct sbx_unseal_keys *keys,
                          uint8_t id_out[SBX_ID_BYTES], uint64_t *app_out, int64_t *received_ms_out,
                          struct sbx_byte_buffer *envelope_out);
/* What was inside is stored elsewhere now, durably. */
int sbx_sealed_store_opened(struct sbx_sealed_store *store, const uint8_t id[SBX_ID_BYTES]);
/* There was nothing inside that can be stored. It is kept, and not tried again by this version. */
int sbx_sealed_store_failed(struct sbx_sealed_store *store, const uint8_t id[SBX_ID_BYTES], const char *reason);

/* Take the oldest away that came before `before_ms` and was never opened. Returns 1, 0 when there is none, or -errno. */
int sbx_sealed_store_age_one(struct sbx_sealed_store *store, int64_t before_ms);
/* Forget the digests of what was opened long before. */
int sbx_sealed_store_forget(struct sbx_sealed_store *store, int64_t now_ms);

/* Of one application's senders; `app` 0: of all. */
int sbx_sealed_store_count(struct sbx_sealed_store *store, uint64_t app, struct sbx_sealed_counts *counts_out);

#endif
