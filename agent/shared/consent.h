/* SPDX-License-Identifier: Apache-2.0 */
/* consent.h - what the user said about recording, as a file in the spool.
 *
 * SPOOL/consent holds "granted" or "denied" and a line end. The agent writes it, the next start and whoever delivers read
 * it (uploader/spool/spool.h). No file: the user was not asked. */
#ifndef SBX_CONSENT_H
#define SBX_CONSENT_H

#include <stdbool.h>

#include "marks.h"
#include "recording_format.h"

#define SBX_CONSENT_FILE  "consent"
#define SBX_IDENTITY_FILE "identity"
#define SBX_ERASE_SUFFIX  ".erase"

/* What the spool says. A file that says something else is taken for a no, and so is a spool that is a link, belongs to another user but root,
 * or may be written by others (own_folder.h). No folder, or one that may not be looked into, says nothing. */
enum sbx_consent sbx_consent_read(const char *spool_path);

/* The same while the agent runs, where only what was really read is news: no folder, no file, or one that cannot be read now, or is not to be believed,
 * may be a new root, a sandbox or a full table of files. Returns whether there is a word; *said_out is DENIED, too, for a
 * file that says something else, and *in_words_out false then. */
bool sbx_consent_look(const char *spool_path, enum sbx_consent *said_out, bool *in_words_out);

/* Write it down, durably; UNKNOWN takes the file away, DENIED has the server asked to delete what it has. Returns 0 or
 * -errno. */
SBX_MUST_CHECK int sbx_consent_write(const char *spool_path, enum sbx_consent consent);

/* Delete what waits in the spool: payloads and snapshots that were not sent, and those nobody could read. What was sent is
 * kept for the user to look at. Returns 0 or the first -errno. */
SBX_MUST_CHECK int sbx_consent_delete_unsent(const char *spool_path);

#endif
