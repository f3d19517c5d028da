/* SPDX-License-Identifier: Apache-2.0 */
/* consent_order.h - telling the applications that run what the user of their spool said.
 *
 * The word itself lies in the spool, and an agent that is awake reads it there every few seconds; this is for not having to
 * wait. An agent belongs to a spool when its recording says so, by whatever name it knows the folder. */
#ifndef SBX_CONSENT_ORDER_H
#define SBX_CONSENT_ORDER_H

#include <stdint.h>

#include "marks.h"
#include "recording_format.h"

struct sbx_consent_told {
    uint32_t told;       /* agents that have taken it */
    uint32_t silent;     /* agents that did not answer in time: it is there for them when they do */
    uint32_t silent_pid; /* one of them */
};

/* What an agent is to be told when the spool says this. */
enum sbx_consent_order sbx_consent_order_of(enum sbx_consent said);

/* Tell each agent with this spool, among the recordings in `recordings`; waits for each for at most `timeout_ms`. To READ is
 * told to those only that are not being told anything else. Returns 0, or -errno when the folder of recordings cannot be
 * read; one that is not there holds none. */
SBX_MUST_CHECK int sbx_consent_tell(const char *recordings, const char *spool_path, enum sbx_consent_order order,
                                    uint32_t timeout_ms, struct sbx_consent_told *told_out);

#endif
