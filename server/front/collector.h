/* SPDX-License-Identifier: Apache-2.0 */
/* collector.h - POST /v1/snapshots: bounded, checked, durable, then answered.
 *
 *   200 "STALLBOX-STORED <id>\n"   it is on disk, by this post or an earlier one of the same bytes
 *   403 it is of another application than the token
 *   400 no valid payload           409 the id is taken by other bytes     413 over SBX_ENVELOPE_BYTES_MAX
 *   415 newer, or encoded          429 this machine sends too much   503 no room now; Retry-After says when to come again
 *
 * It does not know HTTP's machinery: http.c feeds it. Any number of uploads at a time, each by one thread at a time. */
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

/* All borrowed until destroy; `machines` (may be NULL: no limit) is how much one may send. But the keys, which are copied and may be NULL: then sealed payloads are stored unseen.
 * NULL without memory. */
struct sbx_collector *sbx_collector_create(struct sbx_store *store, struct sbx_sealed_store *sealed,
                                           const struct sbx_unseal_keys *unseal_keys, struct sbx_triager *triager,
                                           struct sbx_metrics *metrics, struct sbx_rate_limit *machines);
void sbx_collector_destroy(struct sbx_collector *collector);

/* A post begins; look at its headers (borrowed, NULL when missing). Returns an upload (given), or NULL with the refusal
 * in `reply`: the body is then not read. `app`: the one that its token is for (sbx_stall_tenant()), 0 all. */
struct sbx_upload *sbx_upload_begin(struct sbx_collector *collector, const char *content_length,
                                    const char *content_encoding, uint64_t app, struct sbx_reply *reply);
/* More of the body. What is over a bound is dropped and refused at the end. */
void sbx_upload_append(struct sbx_upload *upload, const void *bytes, size_t count);
/* The body is complete: decode, store, answer. */
void sbx_upload_end(struct sbx_upload *upload, struct sbx_reply *reply);
/* Release it, ended or not; NULL is fine. One that never ended is counted as incomplete. */
void sbx_upload_destroy(struct sbx_upload *upload);

#endif
