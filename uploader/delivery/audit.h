/* SPDX-License-Identifier: Apache-2.0 */
/* audit.h - SPOOL/audit.log: what was made of which snapshot, what of it left this machine, and what the server said.
 *
 * Text, for a person: one line an event, "TIME EVENT id=HEX key=value ...", appended whole and never changed. The
 * events:
 *
 *   packed   a snapshot became a payload, or a waiting one was sealed: its size before and after, its digest, what
 *            redaction took out, the policy, what the user said
 *   leaving  its bytes are about to be sent. Durable before the first of them goes: where this cannot be written,
 *            nothing is sent
 *   answer   what the server said, "stored" or a reason
 *   expired  so many files had waited for too long, and were removed unsent
 *   active   the server is about to be told that the application runs on this machine today. Durable before, as `leaving`
 *   erasure  the server was asked to delete what it has of this machine, and its answer
 *
 * At most SBX_AUDIT_BYTES_MAX, then it becomes audit.log.1 and the one before goes: some thousand payloads are
 * remembered. One writer at a time, by a lock on the file; any process. `stallbox audit` joins the lines to one a
 * payload. */
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

/* `plain` is the envelope as it was before sealing, `envelope` as it lies in the spool (the same, when it is not
 * sealed); `raw_bytes` the snapshot's size, 0 when it is not known. Returns 0 or -errno; -EPERM when `plain` does not
 * pass the privacy check, which is asked once more here. */
SBX_MUST_CHECK int sbx_audit_packed(struct sbx_spool *spool, const uint8_t *plain, size_t plain_bytes,
                                    const uint8_t *envelope, size_t bytes, size_t raw_bytes);

/* These bytes are about to be sent to `server_url`. Durable when it returns 0; else -errno, and they must not be. */
SBX_MUST_CHECK int sbx_audit_leaving(struct sbx_spool *spool, const uint8_t id[SBX_PAYLOAD_ID_BYTES],
                                     const uint8_t *envelope, size_t bytes, const char *server_url);

/* What came of it: `verdict` is one word, `http_status` 0 when there was no answer, `why` a reason ("": none). */
SBX_MUST_CHECK int sbx_audit_answer(struct sbx_spool *spool, const uint8_t id[SBX_PAYLOAD_ID_BYTES],
                                    const char *verdict, long http_status, const char *why);

/* A machine-day is about to be told (active_day.h). Durable when it returns 0; else it must not be. */
SBX_MUST_CHECK int sbx_audit_active(struct sbx_spool *spool, const char *body, const char *server_url);

/* A request to delete was sent: `ids` rotating ids were named. */
SBX_MUST_CHECK int sbx_audit_erasure(struct sbx_spool *spool, unsigned ids, const char *verdict, long http_status);

/* `count` files were removed unsent, after `hours` in the spool. */
SBX_MUST_CHECK int sbx_audit_expired(struct sbx_spool *spool, unsigned count, unsigned hours);

/* ---- reading ---- */

/* Each line of the log in the open folder `spool`, oldest first, without its end, until `each` returns something else than 0,
 * and returns that; else 0, or -errno. No log has no lines. */
int sbx_audit_each(int spool, int (*each)(void *context, const char *line), void *context);

/* The value of `key` in a line, copied and cut; "" when it is not there. Never reads beyond the line. */
void sbx_audit_value(const char *line, const char *key, char *value_out, size_t value_bytes);

#endif
