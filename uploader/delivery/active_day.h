/* SPDX-License-Identifier: Apache-2.0 */
/* active_day.h - once a day the server is told that an application runs on a machine, so that it knows of how many machines those are
 * that had a stall. What is told is the application (the number that payloads have), its version, and nothing else: no id, so
 * no two days of one machine can be put together (docs/PRIVACY.md).
 *
 * SPOOL/active has a line "DAY BODY" for each application and version that was told on its last day, and is locked while one is told:
 * any number of processes may use one spool. What was told and got no answer is told again, so a day may count twice, seldom. */
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
    SBX_ACTIVE_KNOWN = 1,   /* it was told today, by this process or another */
    SBX_ACTIVE_REFUSED = 2, /* the server does not take it; it is not asked again today */
    SBX_ACTIVE_LATER = 3,   /* no answer, not now, or another process is about it */
};

/* Tell that application `app` (sbx_app_what(), not 0) of this version (all 0: not told) runs here on `day`, UTC days since 1970. Nothing
 * is told where the spool's user has said no, or where the log cannot be written. Blocks for `timeout_ms` at most; any thread. */
enum sbx_active_told sbx_active_day_tell(struct sbx_spool *spool, const struct sbx_active_place *place, uint64_t app,
                                         const uint32_t version[3], uint64_t day, uint32_t timeout_ms);

#endif
