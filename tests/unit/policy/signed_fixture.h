/* SPDX-License-Identifier: Apache-2.0 */
/* signed_fixture.h - keys that are the same in each run, and documents signed with them. Test code: aborts on
 * failure. */
#ifndef SBX_TEST_SIGNED_FIXTURE_H
#define SBX_TEST_SIGNED_FIXTURE_H

#include "policy_trust.h"

#define FIXTURE_NOW_S UINT64_C(1800000000) /* 2027-01-15 */

struct fixture_document {
    uint8_t bytes[SBX_BUNDLE_BYTES_MAX + 1024];
    size_t count;
};

/* The secret of a key by its name, and its public half. */
const uint8_t *fixture_secret(const char *name);
const uint8_t *fixture_key(const char *name);

/* A keyset of version 1, epoch 1: roots "root-a" "root-b" "root-c" (two must sign), policy key "policy", kill key "kill". */
struct sbx_keyset fixture_keyset(void);

/* A policy of epoch 1 with this number, issued now for 10 days. */
struct sbx_policy_document fixture_policy(uint64_t seq);

/* Sign a payload; `names` are key names separated by spaces. The document is appended to document_out, which starts
 * zeroed. */
void fixture_sign(enum sbx_signed_role role, const void *payload, size_t bytes, const char *names,
                  struct fixture_document *document_out);
void fixture_sign_keyset(const struct sbx_keyset *keyset, const char *names, struct fixture_document *document_out);
void fixture_sign_policy(const struct sbx_policy_document *policy, struct fixture_document *document_out);
void fixture_sign_kill(const struct sbx_policy_document *policy, const char *names,
                       struct fixture_document *document_out);

/* A trust that begins with fixture_keyset(). */
struct sbx_policy_trust fixture_trust(void);

/* Let the trust take the first document. */
enum sbx_policy_verdict fixture_take(struct sbx_policy_trust *trust, const struct fixture_document *document,
                                     uint64_t now_s);

#endif
