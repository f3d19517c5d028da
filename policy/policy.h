/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - one immutable value that says what may be recorded and sent; numbers only.
 *
 * Only the embedded default exists yet. A signed document will make other values of the same struct; everything behind
 * sbx_policy_settings() and sbx_policy_redaction() stays as it is. */
#ifndef SBX_POLICY_H
#define SBX_POLICY_H

#include <stdint.h>

#include "capture_settings.h"
#include "redaction.h"

struct sbx_policy {
    uint32_t epoch;
    uint64_t seq; /* 0, 0: the embedded default */
    struct sbx_capture_settings capture;
    enum sbx_module_rule module_rule;
};

/* The compiled-in default: conservative, and what runs when nothing else was ever heard. */
const struct sbx_policy *sbx_policy_default(void);

/* Check every field against the compiled limits. Returns NULL when all hold, else the name of the first that does not
 * ("interval_us"): a document with one bad field is refused whole. */
const char *sbx_policy_check(const struct sbx_policy *policy);

/* Policy -> the numbers capture takes. The only way from one to the other. */
void sbx_policy_settings(const struct sbx_policy *policy, struct sbx_capture_settings *settings_out);
void sbx_policy_redaction(const struct sbx_policy *policy, struct sbx_redaction *redaction_out);

#endif
