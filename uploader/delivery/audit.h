/* SPDX-License-Identifier: Apache-2.0 */
/* audit.h - SPOOL/audit.log: what was made of each snapshot, what was sent from this machine, and what the server
 * answered.
 *
 * The log is text for a person. Each event is one line, "TIME EVENT id=HEX key=value ...", which is appended completely
 * and never changed. The events:
 *
 *   packed    a snapshot became a payload, or a waiting payload was sealed: its size before and after, its digest, what
 *             redaction removed, the policy, the user's consent
 *   leaving   its bytes are about to be sent. The line is durable before the first byte is sent. If it cannot be
 *             written, nothing is sent
 *   answer    the server's answer, "stored" or a reason
 *   expired   this number of files had waited for too long, and were removed unsent
 *   active    the server is about to be told that the application runs on this machine today. Durable before, like
 *             `leaving`
 *   erasure   the server was asked to delete its data of this machine, and its answer
 *
 * At SBX_AUDIT_BYTES_MAX the file is renamed to audit.log.1, which replaces the previous one. So some thousand payloads
 * are remembered. A lock on the file allows one writer at a time, in any process. `stallbox audit` joins the lines of
 * each payload to one. */
#ifndef SBX_AUDIT_H
#define SBX_AUDIT_H

#include <stddef.h>
#include <stdint.h>

#include "envelope_format.h"
#include "marks.h"
#include "spool.h"

#define SBX_AUDIT_FILE     "audit.log"
#define SBX_AUDIT_OLD_FILE "audit.log.1"

enum {
    SBX_AUDIT_BYTES_MAX = 512 << 10, /* of one file */
    SBX_AUDIT_LINE_MAX = 640,
};

/* `plain` is the envelope before sealing, `envelope` the one in the spool (the same if it is not sealed). `raw_bytes`
 * is the snapshot's size, 0 if it is not known. Returns 0 or -errno. -EPERM: `plain` does not pass the privacy check,
 * which this function repeats. */
SBX_MUST_CHECK int sbx_audit_packed(struct sbx_spool *spool, const uint8_t *plain, size_t plain_bytes,
                                    const uint8_t *envelope, size_t bytes, size_t raw_bytes);

/* These bytes are about to be sent to `server_url`. If this returns 0, the line is durable. Else it returns -errno, and
 * the bytes must not be sent. */
SBX_MUST_CHECK int sbx_audit_leaving(struct sbx_spool *spool, const uint8_t id[SBX_PAYLOAD_ID_BYTES],
                                     const uint8_t *envelope, size_t bytes, const char *server_url);

/* The result of sending. `verdict` is one word, `http_status` is 0 if there was no answer, and `why` is a reason ("":
 * none). */
SBX_MUST_CHECK int sbx_audit_answer(struct sbx_spool *spool, const uint8_t id[SBX_PAYLOAD_ID_BYTES],
                                    const char *verdict, long http_status, const char *why);

/* An active day is about to be reported (active_day.h). If this returns 0, the line is durable. Else the day must not
 * be reported. */
SBX_MUST_CHECK int sbx_audit_active(struct sbx_spool *spool, const char *body, const char *server_url);

/* A request for deletion was sent. It named `ids` rotating ids. */
SBX_MUST_CHECK int sbx_audit_erasure(struct sbx_spool *spool, unsigned ids, const char *verdict, long http_status);

/* `count` files were removed unsent after `hours` in the spool. */
SBX_MUST_CHECK int sbx_audit_expired(struct sbx_spool *spool, unsigned count, unsigned hours);

/* ---- reading ---- */

/* Calls `each` for each line of the log in the open folder `spool`, oldest first, without the line end. Stops when
 * `each` returns a value other than 0, and returns this value; else 0, or -errno. A log that does not exist has no
 * lines. */
int sbx_audit_each(int spool, int (*each)(void *context, const char *line), void *context);

/* Copies the value of `key` in a line, truncated to the buffer; "" if it is not there. Never reads beyond the line. */
void sbx_audit_value(const char *line, const char *key, char *value_out, size_t value_bytes);

#endif
