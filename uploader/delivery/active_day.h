/* SPDX-License-Identifier: Apache-2.0 */
/* active_day.h - once a day, reports to the server that an application runs on a machine. So the server can tell which
 * share of the machines had a stall. The report contains the application (the number that payloads have) and its
 * version, and nothing else. It has no id, so the reports of two days cannot be linked to one machine
 * (docs/PRIVACY.md).
 *
 * SPOOL/active has a line "DAY BODY" for each application and version that was reported on the last day. The file is
 * locked during a report, because any number of processes may use one spool. A report without an answer is sent again,
 * so a day is sometimes counted twice. */
#ifndef SBX_ACTIVE_DAY_H
#define SBX_ACTIVE_DAY_H

#include <stdint.h>

#include "marks.h"
#include "spool.h"

#define SBX_ACTIVE_FILE "active"

struct sbx_active_place { /* all borrowed */
    const char *server_url;
    const char *token;         /* NULL: none */
    const uint8_t (*pins)[32]; /* as of sbx_http_question */
    uint32_t pin_count;
};

enum sbx_active_told {
    SBX_ACTIVE_TOLD = 0,    /* now */
    SBX_ACTIVE_KNOWN = 1,   /* it was reported today, by this process or another */
    SBX_ACTIVE_REFUSED = 2, /* the server does not accept reports; it is not asked again today */
    SBX_ACTIVE_LATER = 3,   /* no answer, a refusal for now, or another process is reporting */
};

/* Report that application `app` (sbx_app_what(), not 0) of this version (all 0: not reported) runs here on `day`, in
 * UTC days since 1970. Nothing is reported if the spool's user has said no, or if the log cannot be written. Blocks for
 * at most `timeout_ms`. Any thread. */
enum sbx_active_told sbx_active_day_tell(struct sbx_spool *spool, const struct sbx_active_place *place, uint64_t app,
                                         const uint32_t version[3], uint64_t day, uint32_t timeout_ms);

#endif
