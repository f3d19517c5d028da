/* SPDX-License-Identifier: Apache-2.0 */
/* admission.c - decides by headers, tokens and sessions whether to refuse a request. */
#include "admission.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "login.h"
#include "routes.h"

const char *sbx_http_header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

const char *sbx_admission_cookie(struct MHD_Connection *connection)
{
    return MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, SBX_SESSION_COOKIE);
}

int64_t sbx_admission_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Did a proxy forward this request? When the operator named no proxy, any sign of one counts, so that no remote visitor
 * is taken for this machine. HTTP/1.0 is such a sign, because nginx uses it towards its backend by default. */
static bool is_handed_on(const struct sbx_admission *admission, struct MHD_Connection *connection, const char *version)
{
    static const char *const signs[] = {"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
                                        "X-Real-IP",       "Forwarded",        "Via"};
    if (admission->proxies->count > 0 || strcmp(version, "HTTP/1.1") != 0)
        return true;
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
        if (sbx_http_header(connection, signs[i]))
            return true;
    return false;
}

/* Did the browser come by TLS? Only the word of a named proxy counts. */
bool sbx_admission_is_secure(const struct sbx_admission *admission, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *peer = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const char *scheme = sbx_http_header(connection, "X-Forwarded-Proto");
    return scheme && strcasecmp(scheme, "https") == 0 && peer && sbx_proxies_has(admission->proxies, peer->client_addr);
}

/* Does a browser ask for a page for people? */
static bool is_for_people(struct MHD_Connection *connection, const char *path)
{
    const char *accept = sbx_http_header(connection, "Accept");
    return accept && strstr(accept, "text/html") && strncmp(path, "/v1/", 4) != 0;
}

/* Find the token of a session. The session is valid only while that token exists. */
static bool find_session(const struct sbx_admission *admission, const struct sbx_gate *gate,
                         struct MHD_Connection *connection, struct sbx_token *token_out)
{
    uint8_t digest[SBX_TOKEN_DIGEST];
    return sbx_sessions_find(admission->sessions, sbx_admission_cookie(connection), sbx_admission_now_s(), digest) &&
           sbx_token_ring_find_digest(gate->tokens, digest, token_out);
}

/* A write in a session must come from one of our own pages, as Origin tells. */
static enum sbx_entry check_session(const struct sbx_admission *admission, const struct sbx_gate *gate,
                                    struct MHD_Connection *connection, unsigned rights, bool is_write,
                                    struct sbx_token *token)
{
    const char *origin = sbx_http_header(connection, "Origin");
    if (!find_session(admission, gate, connection, token))
        return SBX_ENTRY_NEEDS_TOKEN;
    if (is_write && !origin)
        return SBX_ENTRY_FROM_PAGE;
    return sbx_gate_check(gate, rights, is_write, token, sbx_http_header(connection, "Host"), origin);
}

/* Refuse the request in `reply` when too much was sent with this token, or by senders without a token. */
void sbx_admission_check_rate(const struct sbx_admission *admission, const struct sbx_token *token,
                              struct sbx_reply *reply)
{
    enum {
        AT_ONCE_MIN = 10
    };
    struct timespec now;
    uint64_t number;
    uint32_t an_hour = token->an_hour ? token->an_hour : admission->token_rate;
    uint32_t at_once = an_hour / 60 < AT_ONCE_MIN ? AT_ONCE_MIN : an_hour / 60; /* what may be sent in one minute */
    memcpy(&number, token->digest, sizeof(number));
    clock_gettime(CLOCK_MONOTONIC, &now);
    unsigned after_s = admission->tokens ? sbx_rate_limit_take_of(admission->tokens, number, an_hour,
                                                                  at_once < an_hour ? at_once : an_hour,
                                                                  now.tv_sec * 1000ll + now.tv_nsec / 1000000)
                                         : 0;
    if (after_s == 0)
        return;
    sbx_metrics_add(admission->metrics, SBX_METRIC_REJECTED_RATE, 1);
    sbx_reply_text(reply, 429, "more was sent with this token than it may; the rest can come later");
    reply->retry_after_s = after_s;
}

/* Check a request. A refusal is in `reply`. *token_out: the token of the request. */
void sbx_admission_check(const struct sbx_admission *admission, struct MHD_Connection *connection, const char *version,
                         const char *method, const char *path, struct sbx_token *token_out, struct sbx_reply *reply)
{
    bool is_write = strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0;
    if (!is_write && sbx_route_is_open(path))
        return;
    unsigned rights = sbx_route_rights(path, is_write);
    struct sbx_gate gate = admission->gate;
    const char *authorization = sbx_http_header(connection, "Authorization");
    bool was_handed_on = gate.is_loopback && is_handed_on(admission, connection, version);
    gate.is_loopback = gate.is_loopback && !was_handed_on;
    bool has_tokens = sbx_token_ring_has_any(gate.tokens);
    if (was_handed_on && !has_tokens) {
        sbx_reply_text(reply, 403,
                       "this came through a proxy: a server behind one needs a token (stallbox serve"
                       " --token-file FILE --behind-proxy ADDRESS)");
        return;
    }
    const struct sbx_token *given = sbx_gate_token(&gate, authorization, token_out) ? token_out : NULL;
    enum sbx_entry entry = authorization || !sbx_admission_cookie(connection)
                               ? sbx_gate_check(&gate, rights, is_write, given, sbx_http_header(connection, "Host"),
                                                sbx_http_header(connection, "Origin"))
                               : check_session(admission, &gate, connection, rights, is_write, token_out);
    if (entry == SBX_ENTRY_NEEDS_TOKEN && gate.is_loopback && !is_write && !authorization)
        entry = sbx_gate_check(&gate, rights, false, NULL, sbx_http_header(connection, "Host"), NULL);
    if (entry == SBX_ENTRY_ALLOWED) {
        if (token_out->app_number != 0 && sbx_route_is_of_all(path))
            sbx_reply_text(reply, 403, "these are numbers of the whole server, and this token is for one application");
        return;
    }
    if (entry == SBX_ENTRY_NEEDS_TOKEN && !is_write && is_for_people(connection, path)) {
        sbx_login_page(path, 401, NULL, reply);
        reply->challenge = "Bearer realm=\"stallbox\"";
    } else if (entry == SBX_ENTRY_NEEDS_TOKEN) {
        sbx_reply_text(reply, 401, "this needs the server's token: Authorization: Bearer TOKEN%s",
                       is_write ? "" : ", or the token as the password in a browser");
        reply->challenge = is_write ? "Bearer realm=\"stallbox\"" : "Basic realm=\"stallbox\", charset=\"UTF-8\"";
    } else if (entry == SBX_ENTRY_NO_RIGHT) {
        sbx_reply_text(reply, 403, "this token is for something else (stallbox token add --role says what one is for)");
    } else if (entry == SBX_ENTRY_FOREIGN_HOST) {
        sbx_reply_text(reply, 403,
                       "this server is for this machine alone: open it as localhost or 127.0.0.1, or give it"
                       " a token");
    } else {
        sbx_reply_text(reply, 403, "web pages may not send here");
    }
    if (is_write && sbx_route_is_collector(path))
        sbx_metrics_add(admission->metrics,
                        entry == SBX_ENTRY_NEEDS_TOKEN || entry == SBX_ENTRY_NO_RIGHT ? SBX_METRIC_REJECTED_UNAUTHORIZED
                                                                                      : SBX_METRIC_REJECTED_FOREIGN,
                        1);
    if (is_write && sbx_route_is_symbols(path))
        sbx_metrics_add(admission->metrics, SBX_METRIC_SYMBOLS_REFUSED, 1);
}
