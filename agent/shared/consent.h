/* SPDX-License-Identifier: Apache-2.0 */
/* consent.h - the user's answer about recording, as a file in the spool.
 *
 * SPOOL/consent holds "granted" or "denied" and a line end. The agent writes it; the next start and the delivery read
 * it (uploader/spool/spool.h). No file: the user was not asked. */
#ifndef SBX_CONSENT_H
#define SBX_CONSENT_H

#include <stdbool.h>

#include "marks.h"
#include "recording_format.h"

#define SBX_CONSENT_FILE  "consent"
#define SBX_IDENTITY_FILE "identity"
#define SBX_ERASE_SUFFIX  ".erase"

/* The answer in the spool. A file with any other content counts as a no, and so does a spool that is a symbolic link,
 * belongs to a user other than ours or root, or may be written by others (own_folder.h). If there is no folder, or it
 * may not be read, the answer is unknown. */
enum sbx_consent sbx_consent_read(const char *spool_path);

/* The same while the agent runs, when only an answer that was really read is new. A missing folder or file, or one that
 * cannot be read now or cannot be trusted, may be caused by a new root, a sandbox or a full descriptor table. Returns
 * whether a file was read. For a file with other content *said_out is DENIED and *in_words_out is false. */
bool sbx_consent_look(const char *spool_path, enum sbx_consent *said_out, bool *in_words_out);

/* Write the answer durably. UNKNOWN removes the file; DENIED also asks the server to delete what it has. Returns 0 or
 * -errno. */
SBX_MUST_CHECK int sbx_consent_write(const char *spool_path, enum sbx_consent consent);

/* Delete what waits in the spool: payloads and snapshots that were not sent, and files that could not be read. Sent
 * payloads are kept for the user to look at. Returns 0 or the first -errno. */
SBX_MUST_CHECK int sbx_consent_delete_unsent(const char *spool_path);

#endif
