/* SPDX-License-Identifier: Apache-2.0 */
/* admission.h - may this request come in? By its token or its session, by where it comes from (gate.h decides), and by how much was sent
 * with its token. Knows libmicrohttpd, as http.c does.
 *
 * The server's threads, at the same time: what an admission points to has locks of its own. */
#ifndef SBX_ADMISSION_H
#define SBX_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "gate.h"
#include "metrics.h"
#include "proxies.h"
#include "rate_limit.h"
#include "reply.h"
#include "sessions.h"

struct MHD_Connection;

struct sbx_admission { /* all borrowed */
    struct sbx_gate gate;
    const struct sbx_proxies *proxies;
    struct sbx_sessions *sessions;
    struct sbx_rate_limit *tokens; /* requests by token; NULL: not bounded */
    uint32_t token_rate;           /* of one an hour that says nothing of its own */
    struct sbx_metrics *metrics;
};

/* Check a request. A refusal is in `reply`, whose status is 0 otherwise. *token_out: the token of the request. */
void sbx_admission_check(const struct sbx_admission *admission, struct MHD_Connection *connection, const char *version,
                         const char *method, const char *path, struct sbx_token *token_out, struct sbx_reply *reply);

/* The same for a sender of too many requests with this token, or without one. Counts one request. */
void sbx_admission_check_rate(const struct sbx_admission *admission, const struct sbx_token *token,
                              struct sbx_reply *reply);

/* Did the browser come by TLS? A named proxy's word counts, nobody else's. */
bool sbx_admission_is_secure(const struct sbx_admission *admission, struct MHD_Connection *connection);

/* What the request says, borrowed from it; NULL: nothing. */
const char *sbx_http_header(struct MHD_Connection *connection, const char *name);
const char *sbx_admission_cookie(struct MHD_Connection *connection); /* of its session */

/* The clock of sessions: seconds of CLOCK_MONOTONIC. */
int64_t sbx_admission_now_s(void);

#endif
