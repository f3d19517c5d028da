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
    SBX_POLICY_DAYS_MAX = 30, /* a policy lives 30 days at most: what a frozen machine may hold on to it */
    SBX_POLICY_EARLY_H = 48,  /* a clock may be wrong by this much before a document looks like one of the future */
};

/* Features that a document may require: a build without one of them refuses the document instead of misreading it. */
enum sbx_policy_feature {
    SBX_FEATURE_POINT_LIMITS = 1,
    SBX_FEATURE_ROLLOUTS = 2,
    SBX_FEATURE_BUDGETS = 4, /* snapshots and bytes a day, upload conditions */
    SBX_FEATURES_ALL = 7,
};

struct sbx_policy_document {
    uint8_t app_id[SBX_APP_ID_BYTES];
    uint64_t issued_at_s, expires_at_s; /* Unix seconds */
    uint32_t min_agent, max_agent;      /* of sbx_agent_number(); 0: any */
    uint64_t required_features;         /* enum sbx_policy_feature */
    bool kill;                          /* nothing is recorded or sent until a later policy without it */
    struct sbx_policy policy;           /* epoch and seq are here; what the document leaves out is the default's */
    uint32_t rollout_count;
    struct sbx_rollout rollouts[SBX_ROLLOUTS_MAX];
    const char *overflown; /* name of the first field that holds more than 32 bits; NULL: none */
};

/* A version of the agent as one number: 0.1.0 is 1000, 1.2.3 is 1002003. */
uint32_t sbx_agent_number(void);

/* Read the payload of a POLICY, or of a KILL, which has the same first fields and no others. Returns SBX_POLICY_ACCEPTED,
 * PARSE or UNSUPPORTED. Limits are not looked at here: a kill is obeyed whatever else the document says. Pure. */
enum sbx_policy_verdict sbx_policy_document_decode(const uint8_t *payload, size_t bytes,
                                                   struct sbx_policy_document *document_out,
                                                   struct sbx_policy_report *report);

/* Every field against the compiled limits and the KEYSET's caps (`keyset` may be NULL). Returns SBX_POLICY_ACCEPTED or
 * RANGE, with the field's name in the report. Pure. */
enum sbx_policy_verdict sbx_policy_document_check(const struct sbx_policy_document *document,
                                                  const struct sbx_keyset *keyset, struct sbx_policy_report *report);

/* Write it: fields that equal the default's are written as well, so that a later default changes nothing. A KILL is
 * written when `is_kill_role`. Returns the bytes, or 0 when they do not fit. Pure. */
size_t sbx_policy_document_encode(const struct sbx_policy_document *document, bool is_kill_role, uint8_t *bytes_out,
                                  size_t room);

/* What the document means on the machine with this rollout key: rollouts it is outside of are taken away.
 * Returns 0 or -EIO. */
SBX_MUST_CHECK int sbx_policy_document_apply(const struct sbx_policy_document *document,
                                             const uint8_t rollout_key[SBX_ROLLOUT_KEY_BYTES],
                                             struct sbx_policy *policy_out);

#endif
