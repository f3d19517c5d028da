/* SPDX-License-Identifier: Apache-2.0 */
/* policy_document.h - the payloads of POLICY and KILL documents as values. */
#ifndef SBX_POLICY_DOCUMENT_H
#define SBX_POLICY_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keyset.h"
#include "policy.h"
#include "policy_verdict.h"
#include "rollout.h"

enum {
    SBX_ROLLOUTS_MAX = 16,
    SBX_POLICY_DAYS_MAX = 30, /* a policy is valid for 30 days at most: so long an attacker can freeze a machine */
    SBX_POLICY_EARLY_H = 48,  /* how wrong a clock may be before a document seems to come from the future */
};

/* Features that a document may require: a build that lacks one of them refuses the document, and does not misread
 * it. */
enum sbx_policy_feature {
    SBX_FEATURE_POINT_LIMITS = 1,
    SBX_FEATURE_ROLLOUTS = 2,
    SBX_FEATURE_BUDGETS = 4, /* limits of snapshots and bytes a day, upload conditions */
    SBX_FEATURES_ALL = 7,
};

struct sbx_policy_document {
    uint8_t app_id[SBX_APP_ID_BYTES];
    uint64_t issued_at_s, expires_at_s; /* Unix seconds */
    uint32_t min_agent, max_agent;      /* limits for sbx_agent_number(); 0: any */
    uint64_t required_features;         /* enum sbx_policy_feature */
    bool kill;                          /* nothing is recorded or sent until a later policy without it */
    struct sbx_policy policy;           /* with epoch and seq; missing fields have the default's values */
    uint32_t rollout_count;
    struct sbx_rollout rollouts[SBX_ROLLOUTS_MAX];
    const char *overflown; /* name of the first field with more than 32 bits; NULL: none */
};

/* A version of the agent as one number: 0.1.0 is 1000, 1.2.3 is 1002003. */
uint32_t sbx_agent_number(void);

/* Decode the payload of a POLICY, or of a KILL, which has the same first fields and no others. Returns
 * SBX_POLICY_ACCEPTED, PARSE or UNSUPPORTED. Limits are not checked here: a kill is obeyed whatever else the document
 * contains. Pure. */
enum sbx_policy_verdict sbx_policy_document_decode(const uint8_t *payload, size_t bytes,
                                                   struct sbx_policy_document *document_out,
                                                   struct sbx_policy_report *report);

/* Check every field against the compiled limits and the KEYSET's caps (`keyset` may be NULL). Returns
 * SBX_POLICY_ACCEPTED or RANGE, with the field's name in the report. Pure. */
enum sbx_policy_verdict sbx_policy_document_check(const struct sbx_policy_document *document,
                                                  const struct sbx_keyset *keyset, struct sbx_policy_report *report);

/* Encode it. Fields that equal the default are written as well, so that a later change of the default changes nothing.
 * With `is_kill_role` a KILL is written. Returns the bytes, or 0 when there is not enough room. Pure. */
size_t sbx_policy_document_encode(const struct sbx_policy_document *document, bool is_kill_role, uint8_t *bytes_out,
                                  size_t room);

/* The policy of the document on the machine with this rollout key: points of rollouts that do not include the machine
 * are removed. Returns 0 or -EIO. */
SBX_MUST_CHECK int sbx_policy_document_apply(const struct sbx_policy_document *document,
                                             const uint8_t rollout_key[SBX_ROLLOUT_KEY_BYTES],
                                             struct sbx_policy *policy_out);

#endif
