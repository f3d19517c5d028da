/* SPDX-License-Identifier: Apache-2.0 */
/* webhook.h - one URL that receives changes: a signed POST of JSON.
 *
 *     Stallbox-Signature: t=SECONDS,v1=HEX      HMAC-SHA256 with the secret, of "SECONDS." and the body
 *
 * The receiver checks the signature, and that SECONDS is a few minutes old at most, so that an old request cannot be
 * repeated. The operator chooses the URL, which may be in the internal network. Answers are not read, and redirects are
 * not followed. One thread at a time. */
#ifndef SBX_WEBHOOK_H
#define SBX_WEBHOOK_H

#include <stddef.h>
#include <stdint.h>

struct sbx_webhook;

/* `url` begins with http:// or https://. `secret` may be "": then requests are not signed. Both are copied. Returns
 * NULL without memory, or for an invalid URL. */
struct sbx_webhook *sbx_webhook_create(const char *url, const char *secret);
void sbx_webhook_destroy(struct sbx_webhook *webhook); /* NULL is fine */

/* Returns 0 when the receiver accepted it (2xx), -EAGAIN to try again, with the reason in `why`, or -EPROTO when that
 * would not help (4xx except 408 and 429). */
int sbx_webhook_post(struct sbx_webhook *webhook, const char *body, size_t bytes, int64_t now_s, char *why,
                     size_t why_bytes);

/* The pause after so many tries, in seconds; 0: give up. */
int64_t sbx_webhook_pause_s(int tries);

/* "t=...,v1=..." */
enum {
    SBX_WEBHOOK_SIGNATURE_BYTES = 100
};
void sbx_webhook_sign(const char *secret, int64_t now_s, const char *body, size_t bytes,
                      char out[SBX_WEBHOOK_SIGNATURE_BYTES]);

#endif
