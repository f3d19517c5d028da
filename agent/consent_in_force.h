/* SPDX-License-Identifier: Apache-2.0 */
/* consent_in_force.h - puts the user's consent in force in this process: set by the application, or found in the
 * spool. */
#ifndef SBX_CONSENT_IN_FORCE_H
#define SBX_CONSENT_IN_FORCE_H

#include "recording_format.h"

/* The user answered: put the answer in force now, then write it to the spool. Returns 0, -ESRCH when not running, or
 * -errno of the file. Any thread; one at a time. */
int sbx_agent_set_consent(enum sbx_consent consent);

/* Has another process written an answer to the spool? Then put it in force. Reads a file, perhaps from a slow disk:
 * module thread only. */
void sbx_agent_follow_consent(void);

#endif
