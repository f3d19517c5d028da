/* SPDX-License-Identifier: Apache-2.0 */
/* sealed_store.h - payloads that this server cannot read, or has not read yet. They are kept as received, by the id in
 * their unsealed part.
 *
 *   POST --> sealed table --(a process with the key: this one, or a later one on the same data)--> store.h
 *
 * One table of DATA/store.db with its own connection. When a payload was opened, its envelope is removed. Its digest is
 * kept for a while, to recognize the same bytes when they come again. Any thread may call. Every function returns 0 or
 * -errno. */
#ifndef SBX_SEALED_STORE_H
#define SBX_SEALED_STORE_H

#include "store.h"
#include "unseal.h"

struct sbx_sealed_store;

struct sbx_sealed_counts {
    int64_t waiting; /* waiting for a key */
    int64_t failed;  /* opened, but not a payload */
};

/* Open it when a store is open at the same place. `version` (copied): payloads that another version failed to open are
 * tried again. `now_ms`: digests that are too old are removed. */
int sbx_sealed_store_open(const char *where, const char *version, int64_t now_ms, struct sbx_sealed_store **store_out,
                          char *why, size_t why_bytes);
void sbx_sealed_store_close(struct sbx_sealed_store *store); /* NULL is fine */

/* Is it known? SBX_STORED_NEW: it is not. */
int sbx_sealed_store_look(struct sbx_sealed_store *store, const uint8_t id[SBX_ID_BYTES], const void *envelope,
                          size_t bytes, enum sbx_stored *stored_out);
/* Keep it; with 0 and NEW or BEFORE it is durable. CONFLICT: other bytes have that id. `app`: the application that its
 * sender may send for (sbx_stall_tenant()), 0 for all; it is checked when the payload is opened. */
int sbx_sealed_store_put(struct sbx_sealed_store *store, const struct sbx_sealed *sealed, uint64_t app,
                         const void *envelope, size_t bytes, int64_t received_ms, enum sbx_stored *stored_out);

/* Append the oldest payload that waits for one of these keys to `envelope_out`. -ENOENT: none. */
int sbx_sealed_store_next(struct sbx_sealed_store *store, const struct sbx_unseal_keys *keys,
                          uint8_t id_out[SBX_ID_BYTES], uint64_t *app_out, int64_t *received_ms_out,
                          struct sbx_byte_buffer *envelope_out);
/* The content is stored elsewhere now, durably. */
int sbx_sealed_store_opened(struct sbx_sealed_store *store, const uint8_t id[SBX_ID_BYTES]);
/* The content cannot be stored. The payload is kept, but this version does not try it again. */
int sbx_sealed_store_failed(struct sbx_sealed_store *store, const uint8_t id[SBX_ID_BYTES], const char *reason);

/* Remove the oldest payload received before `before_ms` that was never opened. Returns 1, 0 when there is none, or
 * -errno. */
int sbx_sealed_store_age_one(struct sbx_sealed_store *store, int64_t before_ms);
/* Remove the digests of payloads that were opened long ago. */
int sbx_sealed_store_forget(struct sbx_sealed_store *store, int64_t now_ms);

/* Counts for the senders of one application; `app` 0: for all. */
int sbx_sealed_store_count(struct sbx_sealed_store *store, uint64_t app, struct sbx_sealed_counts *counts_out);

#endif
