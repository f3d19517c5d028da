/* SPDX-License-Identifier: Apache-2.0 */
/* consent_order.h - tells running applications what the user of their spool said. The spool has the word itself, and an
 * active agent reads it there every few seconds. This is only to avoid that wait. An agent belongs to a spool when its
 * recording names it, under any path of the same folder. */
#ifndef SBX_CONSENT_ORDER_H
#define SBX_CONSENT_ORDER_H

#include <stdint.h>

#include "marks.h"
#include "recording_format.h"

struct sbx_consent_told {
    uint32_t told;       /* agents that took the word */
    uint32_t silent;     /* agents that did not answer in time; they find the word later */
    uint32_t silent_pid; /* one of them */
};

/* What to tell an agent when the spool says this. */
enum sbx_consent_order sbx_consent_order_of(enum sbx_consent said);

/* Tell each agent with this spool that has a recording in `recordings`. Waits at most `timeout_ms` for each.
 * SBX_CONSENT_ORDER_READ is not told to an agent that still has another word to take. Returns 0, or -errno when the
 * folder of recordings cannot be read; a missing folder has no recordings. */
SBX_MUST_CHECK int sbx_consent_tell(const char *recordings, const char *spool_path, enum sbx_consent_order order,
                                    uint32_t timeout_ms, struct sbx_consent_told *told_out);

#endif
