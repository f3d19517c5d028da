/* SPDX-License-Identifier: Apache-2.0 */
/* collector.h - POST /v1/snapshots: bounded, checked, durable, then answered.
 *
 *   200 "STALLBOX-STORED <id>\n"   it is on disk, by this post or an earlier one of the same bytes
 *   403 it belongs to another application than the token
 *   400 no valid payload           409 the id is taken by other bytes     413 over SBX_ENVELOPE_BYTES_MAX
 *   415 newer, or encoded          429 this machine sends too much   503 no room now; Retry-After: when to try again
 *
 * It does not know the HTTP library; http.c feeds it. There may be any number of uploads at a time. One thread at a
 * time may work on each. */
#ifndef SBX_COLLECTOR_H
#define SBX_COLLECTOR_H

#include <stddef.h>

#include "metrics.h"
#include "reply.h"
#include "sealed_store.h"
#include "store.h"
#include "triager.h"

struct sbx_collector;
struct sbx_rate_limit;
struct sbx_upload; /* the body of one post */

/* All objects are borrowed until destroy, except the keys, which are copied. `machines` limits what one machine may
 * send; NULL: no limit. `unseal_keys` NULL: sealed payloads are stored unopened. Returns NULL without memory. */
struct sbx_collector *sbx_collector_create(struct sbx_store *store, struct sbx_sealed_store *sealed,
                                           const struct sbx_unseal_keys *unseal_keys, struct sbx_triager *triager,
                                           struct sbx_metrics *metrics, struct sbx_rate_limit *machines);
void sbx_collector_destroy(struct sbx_collector *collector);

/* Begin a post, and check its headers (borrowed, NULL when missing). Returns an upload (given), or NULL with the
 * refusal in `reply`; the body is then not read. `app`: the application of the token (sbx_stall_tenant()), 0 for
 * all. */
struct sbx_upload *sbx_upload_begin(struct sbx_collector *collector, const char *content_length,
                                    const char *content_encoding, uint64_t app, struct sbx_reply *reply);
/* Add a piece of the body. Bytes over a limit are dropped, and sbx_upload_end() then refuses the post. */
void sbx_upload_append(struct sbx_upload *upload, const void *bytes, size_t count);
/* The body is complete: decode, store, answer. */
void sbx_upload_end(struct sbx_upload *upload, struct sbx_reply *reply);
/* Release the upload, whether it has ended or not; NULL is fine. An upload that has not ended is counted as
 * incomplete. */
void sbx_upload_destroy(struct sbx_upload *upload);

#endif
