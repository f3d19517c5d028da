/* SPDX-License-Identifier: Apache-2.0 */
/* admission.h - decides whether a request is let in: by its token or session, by where it comes from (gate.h), and by
 * how much was sent with its token. Knows libmicrohttpd, as http.c does.
 *
 * The server's threads use it at the same time; the objects that an admission points to have their own locks. */
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
    uint32_t token_rate;           /* requests per hour, for a token that has no limit of its own */
    struct sbx_metrics *metrics;
};

/* Check a request. A refusal is in `reply`, whose status is 0 otherwise. *token_out: the token of the request. */
void sbx_admission_check(const struct sbx_admission *admission, struct MHD_Connection *connection, const char *version,
                         const char *method, const char *path, struct sbx_token *token_out, struct sbx_reply *reply);

/* The same for a sender that sends too many requests with this token, or without a token. It counts one request. */
void sbx_admission_check_rate(const struct sbx_admission *admission, const struct sbx_token *token,
                              struct sbx_reply *reply);

/* Did the browser come by TLS? Only the word of a named proxy counts. */
bool sbx_admission_is_secure(const struct sbx_admission *admission, struct MHD_Connection *connection);

/* A header of the request, borrowed from it; NULL when it is missing. */
const char *sbx_http_header(struct MHD_Connection *connection, const char *name);
const char *sbx_admission_cookie(struct MHD_Connection *connection); /* the cookie of its session */

/* The clock of sessions: seconds of CLOCK_MONOTONIC. */
int64_t sbx_admission_now_s(void);

#endif
