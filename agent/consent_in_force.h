/* SPDX-License-Identifier: Apache-2.0 */
/* consent_in_force.h - what the user said, put in force in this process: said by the application, or found in the spool. */
#ifndef SBX_CONSENT_IN_FORCE_H
#define SBX_CONSENT_IN_FORCE_H

#include "recording_format.h"

/* The user said something: make it true now, then write it down in the spool. Returns 0, -ESRCH when not running, or
 * -errno of the file. Any thread; one at a time. */
int sbx_agent_set_consent(enum sbx_consent consent);

/* Has somebody else said something, in the spool? Then it is put in force. Reads a file, of a disk that may be slow:
 * module thread. */
void sbx_agent_follow_consent(void);

#endif
