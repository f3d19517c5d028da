/* SPDX-License-Identifier: Apache-2.0 */
/* http.c - from the library's callbacks to gate, collector and routes, and from replies to its responses.
 *
 * The library calls on_request once with the headers of a request, again for each piece of its body and once at its
 * end, and then on_completed. A refusal is sent at the first call, before any byte of the body is read. It calls
 * on_connection at the begin and the end of a connection. */
#include "http.h"

#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "active_replies.h"
#include "admission.h"
#include "deadlines.h"
#include "erasure_replies.h"
#include "issue_replies.h"
#include "login.h"
#include "policy_replies.h"
#include "symbol_replies.h"

enum {
    THREADS = 4, /* a slow page keeps a quarter of the visitors waiting */
    SESSIONS_MAX = 1024,
    HEADER_BYTES_MAX = 16 << 10, /* the library's memory per connection: request line, headers, headers of the answer */
    IDLE_SECONDS = 15,           /* time-out between two bytes, and between two requests */
    CROWDED_SECONDS = 2,         /* the same for new connections while three quarters of the places are taken */
    RENEW_BYTES = 1 << 20,       /* symbol bytes due in one deadline; a slower sender is cut */
};

struct sbx_http {
    struct sbx_http_settings settings;
    struct sbx_deadlines *deadlines;
    struct sbx_admission admission; /* this object owns its sessions */
    _Atomic unsigned connections;   /* open connections */
    struct MHD_Daemon *daemon;
};

/* One request: the state between its callbacks. */
struct exchange {
    struct sbx_upload *upload;         /* a post to the collector */
    struct sbx_symbol_upload *symbols; /* symbols that are being put */
    bool is_submitted;                 /* the symbols were passed to the intake, which will have an answer */
    bool wants_text;                   /* the sender wants that answer as text */
    /* bytes of the symbols so far, and their value when the deadline was last renewed */
    uint64_t bytes, renewed_at;
    struct sbx_token token; /* the token of the request; zeroes: none */
    bool is_policy;         /* a policy is being put */
    bool is_erasures;       /* a machine asks to be forgotten */
    bool is_active;         /* a machine says that an application runs on it */
    bool is_login;          /* a person logs in, or out */
    bool is_issue;          /* a person changes the issue `app_id` */
    uint8_t app_id[SBX_ID_BYTES];
    struct sbx_byte_buffer body; /* body of a request of the five kinds above */
    struct sbx_reply reply;      /* status 0: there is no reply yet */
    bool has_wished;             /* a rendering was asked for; `wish` is with the triager, or has its result */
    struct sbx_wish wish;
};

/* ---- replies ---- */

static const struct {
    const char *name, *value;
} headers_of_all[] = {
    /* Only scripts and styles of this server run, nothing is loaded from elsewhere, and no page may be framed. The one
     * inline style belongs to the flame graph library; tests/lint/page_libraries.sh checks its hash. */
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self' "
     "'sha256-PjPkXjWPssRCMzB6p5SnF25xrwIH7ThbVHWlE+SG1DE='; img-src 'self'; form-action 'self'; "
     "base-uri 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

static enum MHD_Result add_headers(struct MHD_Response *response, const struct sbx_reply *reply)
{
    char text[128];
    enum MHD_Result result = MHD_add_response_header(response, "Content-Type", reply->content_type);
    for (size_t i = 0; result == MHD_YES && i < sizeof(headers_of_all) / sizeof(headers_of_all[0]); i++)
        result = MHD_add_response_header(response, headers_of_all[i].name, headers_of_all[i].value);
    if (result == MHD_YES)
        result = MHD_add_response_header(response, "Cache-Control",
                                         reply->is_immutable    ? "max-age=31536000, immutable"
                                         : reply->may_be_cached ? "max-age=60"
                                         : *reply->tag          ? "no-cache"
                                                                : "no-store");
    if (result == MHD_YES && *reply->tag)
        result = MHD_add_response_header(response, "ETag", reply->tag);
    if (result == MHD_YES && *reply->location)
        result = MHD_add_response_header(response, "Location", reply->location);
    if (result == MHD_YES && *reply->cookie)
        result = MHD_add_response_header(response, "Set-Cookie", reply->cookie);
    if (result == MHD_YES && reply->allow)
        result = MHD_add_response_header(response, "Allow", reply->allow);
    if (result == MHD_YES && reply->challenge)
        result = MHD_add_response_header(response, "WWW-Authenticate", reply->challenge);
    if (result == MHD_YES && reply->retry_after_s) {
        snprintf(text, sizeof(text), "%u", reply->retry_after_s);
        result = MHD_add_response_header(response, "Retry-After", text);
    }
    if (result == MHD_YES && *reply->file_name) {
        snprintf(text, sizeof(text), "attachment; filename=\"%s\"", reply->file_name);
        result = MHD_add_response_header(response, "Content-Disposition", text);
    }
    return result;
}

/* Send the reply. What it holds is passed to the response. MHD_NO closes the connection. */
static enum MHD_Result send_reply(struct MHD_Connection *connection, struct sbx_reply *reply)
{
    if (reply->body.failed) {
        sbx_reply_finish(reply);
        sbx_reply_text(reply, 503, "no memory for the answer");
        reply->retry_after_s = 1;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(reply->body.used, reply->body.data, MHD_RESPMEM_MUST_FREE);
    if (!response)
        return MHD_NO;
    reply->body = (struct sbx_byte_buffer){0}; /* the response owns it now */
    enum MHD_Result result = add_headers(response, reply);
    if (result == MHD_YES)
        result = MHD_queue_response(connection, reply->status, response);
    MHD_destroy_response(response);
    return result;
}

/* ---- requests ---- */

static bool is_method(const char *method, const char *name)
{
    return strcmp(method, name) == 0;
}

/* ---- symbols ---- */

struct claim_reading {
    struct sbx_intake_claims *claims;
    bool is_bad; /* an unknown argument, one given twice, or one with a zero byte in it */
};

static enum MHD_Result read_claim(void *context, enum MHD_ValueKind kind, const char *key, size_t key_bytes,
                                  const char *value, size_t value_bytes)
{
    struct claim_reading *reading = context;
    const char **claim = strcmp(key, "build-id") == 0 ? &reading->claims->build_id
                         : strcmp(key, "name") == 0   ? &reading->claims->name
                                                      : NULL;
    (void)kind;
    if (!claim || *claim || strlen(key) != key_bytes || !value || strlen(value) != value_bytes)
        reading->is_bad = true;
    else
        *claim = value;
    return MHD_YES;
}

static void begin_symbols(struct sbx_http *http, struct MHD_Connection *connection, struct exchange *exchange)
{
    struct sbx_intake_claims claims = {0};
    struct sbx_intake_answer answer = {.outcome = SBX_INTAKE_REFUSED, .status = 400};
    struct claim_reading reading = {.claims = &claims};
    claims.sender = exchange->token.app_number;
    const char *accept = sbx_http_header(connection, "Accept"),
               *encoding = sbx_http_header(connection, "Content-Encoding"),
               *length = sbx_http_header(connection, "Content-Length");
    exchange->wants_text = accept && strstr(accept, "text/plain") != NULL;
    claims.is_zstd = encoding && strcasecmp(encoding, "zstd") == 0;
    MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, read_claim, &reading);
    if (encoding && *encoding && !claims.is_zstd && strcasecmp(encoding, "identity") != 0) {
        answer.status = 415;
        snprintf(answer.why, sizeof(answer.why), "Content-Encoding can be zstd, and nothing else");
    } else if (reading.is_bad) {
        snprintf(answer.why, sizeof(answer.why), "a request has the arguments build-id and name, and no others");
    } else {
        exchange->symbols = sbx_symbol_upload_begin(http->settings.routes.symbols, &claims,
                                                    length ? strtoull(length, NULL, 10) : 0, &answer);
        if (exchange->symbols)
            return;
        sbx_symbol_reply_upload(&answer, exchange->wants_text, &exchange->reply);
        return;
    }
    sbx_metrics_add(http->settings.metrics, SBX_METRIC_SYMBOLS_REFUSED, 1);
    sbx_symbol_reply_upload(&answer, exchange->wants_text, &exchange->reply);
}

static struct sbx_deadline *deadline_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *slot = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return slot ? slot->socket_context : NULL;
}

static void append_symbols(struct sbx_http *http, struct MHD_Connection *connection, struct exchange *exchange,
                           const char *bytes, size_t count)
{
    sbx_symbol_upload_append(exchange->symbols, bytes, count);
    exchange->bytes += count;
    if (exchange->bytes - exchange->renewed_at >= RENEW_BYTES) {
        exchange->renewed_at = exchange->bytes;
        sbx_deadline_renew(http->deadlines, deadline_of(connection));
    }
}

static void resume(void *connection)
{
    MHD_resume_connection(connection);
}

/* Pass the symbols to the thread of the intake. The connection is suspended until there is an answer. */
static void submit_symbols(struct sbx_http *http, struct MHD_Connection *connection, struct exchange *exchange)
{
    exchange->is_submitted = true;
    sbx_deadline_pause(http->deadlines, deadline_of(connection));
    MHD_suspend_connection(connection);
    sbx_symbol_upload_submit(exchange->symbols, resume, connection);
}

/* ---- people who log in ---- */

/* Compares "https://stalls.example" with "stalls.example". */
static bool is_own_origin(const char *origin, const char *host)
{
    const char *name = origin ? strstr(origin, "://") : NULL;
    return name && host && strcasecmp(name + 3, host) == 0;
}

static void begin_login(struct sbx_http *http, struct MHD_Connection *connection, const char *method, const char *path,
                        struct exchange *exchange)
{
    bool is_login = strcmp(path, "/login") == 0;
    if (!sbx_token_ring_has_any(http->settings.gate.tokens)) {
        sbx_reply_text(&exchange->reply, 404, "this server has no tokens: there is nothing to log in with");
    } else if (is_login && (is_method(method, "GET") || is_method(method, "HEAD"))) {
        sbx_login_page(MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "next"), 200, NULL,
                       &exchange->reply);
    } else if (!is_method(method, "POST")) {
        sbx_reply_text(&exchange->reply, 405, "this path takes %s", is_login ? "GET and POST" : "POST");
        exchange->reply.allow = is_login ? "GET, HEAD, POST" : "POST";
    } else if (!is_own_origin(sbx_http_header(connection, "Origin"), sbx_http_header(connection, "Host"))) {
        sbx_reply_text(&exchange->reply, 403,
                       "log in from this server's own page (a proxy in front has to pass the"
                       " Host on: proxy_set_header Host $host)");
    } else {
        exchange->is_login = true;
        exchange->body.limit = SBX_LOGIN_FORM_MAX;
    }
}

static void end_login(struct sbx_http *http, struct MHD_Connection *connection, const char *path,
                      struct exchange *exchange)
{
    if (strcmp(path, "/login") == 0)
        sbx_login_post(http->admission.sessions, &http->settings.gate, &exchange->body,
                       sbx_admission_is_secure(&http->admission, connection), sbx_admission_now_s(), &exchange->reply);
    else
        sbx_logout_post(http->admission.sessions, sbx_admission_cookie(connection), &exchange->reply);
}

/* A token for one application may put the policies of that application only. */
static bool may_put_policy(const struct sbx_token *token, const uint8_t app_id[SBX_ID_BYTES])
{
    static_assert((int)SBX_TOKEN_POLICY_ID == (int)SBX_ID_BYTES, "a policy's application is as long as an id");
    return token->app_number == 0 || (token->has_policy_id && memcmp(token->policy_id, app_id, SBX_ID_BYTES) == 0);
}

static struct sbx_store_view view_of(const struct sbx_http *http, const struct exchange *exchange)
{
    return (struct sbx_store_view){http->settings.routes.store, exchange->token.app_number};
}

/* The headers are read: refuse the request, or begin it. */
static void begin_exchange(struct sbx_http *http, struct MHD_Connection *connection, const char *method,
                           const char *path, const char *version, struct exchange *exchange)
{
    if (sbx_login_is_path(path)) {
        begin_login(http, connection, method, path, exchange);
        return;
    }
    bool is_post = is_method(method, "POST") && sbx_route_is_collector(path);
    if (is_post)
        sbx_metrics_add(http->settings.metrics, SBX_METRIC_RECEIVED, 1);
    sbx_admission_check(&http->admission, connection, version, method, path, &exchange->token, &exchange->reply);
    if (exchange->reply.status == 0 &&
        (is_post || sbx_route_is_active(path) || (is_method(method, "PUT") && sbx_route_is_symbols(path))))
        sbx_admission_check_rate(&http->admission, &exchange->token, &exchange->reply);
    if (exchange->reply.status)
        return;
    if (is_post) {
        exchange->upload = sbx_upload_begin(http->settings.collector, sbx_http_header(connection, "Content-Length"),
                                            sbx_http_header(connection, "Content-Encoding"), exchange->token.app_number,
                                            &exchange->reply);
    } else if (is_method(method, "PUT") && sbx_route_is_policy(path, exchange->app_id)) {
        if (!may_put_policy(&exchange->token, exchange->app_id)) {
            sbx_reply_text(&exchange->reply, 403, "this token is for another application");
            return;
        }
        exchange->is_policy = true;
        exchange->body.limit = SBX_POLICY_FILE_MAX;
    } else if (is_method(method, "PUT") && sbx_route_is_symbols(path)) {
        begin_symbols(http, connection, exchange);
    } else if (is_method(method, "POST") && sbx_route_is_erasures(path)) {
        exchange->is_erasures = true;
        exchange->body.limit = SBX_ERASURES_MAX * (2 * SBX_ERASURE_PROOF_BYTES + 1);
    } else if (is_method(method, "POST") && sbx_route_is_active(path)) {
        exchange->is_active = true;
        exchange->body.limit = SBX_ACTIVE_BODY_MAX;
    } else if (is_method(method, "POST") && sbx_issue_reply_is_issue(path, exchange->app_id)) {
        exchange->is_issue = true;
        exchange->body.limit = SBX_ISSUE_FORM_MAX;
    } else if (!is_method(method, "GET") && !is_method(method, "HEAD")) {
        const struct sbx_request request = {.method = method, .path = path, .view = view_of(http, exchange)};
        /* this answers 404 or 405, so the body is not read */
        sbx_route(&http->settings.routes, &request, &exchange->reply);
    }
}

/* Ask for a rendering. The connection is suspended until it is made or has failed. */
static void begin_wish(struct sbx_http *http, struct MHD_Connection *connection, const struct sbx_need *need,
                       struct exchange *exchange)
{
    exchange->has_wished = true;
    exchange->wish = (struct sbx_wish){.kind = need->kind, .done = resume, .context = connection};
    memcpy(exchange->wish.id, need->id, SBX_ID_BYTES);
    sbx_deadline_pause(http->deadlines, deadline_of(connection));
    MHD_suspend_connection(connection);
    int result = sbx_triager_wish(http->settings.routes.triager, &exchange->wish);
    if (result < 0) {
        exchange->wish.result = result;
        MHD_resume_connection(connection);
    }
}

static enum MHD_Result read_argument(void *context, enum MHD_ValueKind kind, const char *key, size_t key_bytes,
                                     const char *value, size_t value_bytes)
{
    struct sbx_arguments *arguments = context;
    (void)kind;
    if (arguments->count == sizeof(arguments->each) / sizeof(arguments->each[0]) || strlen(key) != key_bytes ||
        !value || strlen(value) != value_bytes) {
        arguments->is_broken = true;
        return MHD_YES;
    }
    arguments->each[arguments->count].name = key;
    arguments->each[arguments->count++].value = value;
    return MHD_YES;
}

/* The request is complete: answer it, unless a rendering must be made first. */
static void end_exchange(struct sbx_http *http, struct MHD_Connection *connection, const char *method, const char *path,
                         struct exchange *exchange)
{
    if (exchange->upload) {
        sbx_upload_end(exchange->upload, &exchange->reply);
        return;
    }
    if (exchange->symbols) {
        sbx_symbol_reply_upload(sbx_symbol_upload_answer(exchange->symbols), exchange->wants_text, &exchange->reply);
        return;
    }
    if (exchange->is_login) {
        end_login(http, connection, path, exchange);
        return;
    }
    if (exchange->is_policy) {
        sbx_policy_reply_put(http->settings.routes.policies, exchange->app_id, &exchange->body, &exchange->reply);
        return;
    }
    if (exchange->is_erasures) {
        const struct sbx_routes *routes = &http->settings.routes;
        sbx_erasure_reply(
            &(struct sbx_erasure_places){routes->store, routes->renderings, routes->metrics, routes->eraser},
            &exchange->body, &exchange->reply);
        return;
    }
    if (exchange->is_active) {
        sbx_active_reply(http->settings.routes.active, &exchange->body, exchange->token.app_number, &exchange->reply);
        return;
    }
    if (exchange->is_issue) {
        struct sbx_store_view view = view_of(http, exchange);
        sbx_route_post_issue(&view, path, exchange->app_id, &exchange->body, &exchange->reply);
        return;
    }
    struct sbx_need need = {0};
    struct sbx_request request = {
        .method = method,
        .path = path,
        .view = view_of(http, exchange),
        .need = &need,
        .made = exchange->has_wished ? &exchange->wish : NULL,
        .before = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "before"),
        .limit = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "limit"),
        .if_none_match = sbx_http_header(connection, "If-None-Match"),
        .host = sbx_http_header(connection, "Host"),
    };
    MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, read_argument, &request.arguments);
    sbx_route(&http->settings.routes, &request, &exchange->reply);
    if (exchange->has_wished)
        sbx_deadline_renew(http->deadlines, deadline_of(connection));
    if (need.is_there)
        begin_wish(http, connection, &need, exchange);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *body, size_t *body_bytes,
                                  void **exchange_slot)
{
    struct sbx_http *http = context;
    struct exchange *exchange = *exchange_slot;
    if (!exchange) {
        exchange = calloc(1, sizeof(*exchange));
        if (!exchange)
            return MHD_NO;
        *exchange_slot = exchange;
        begin_exchange(http, connection, method, path, version, exchange);
        return exchange->reply.status ? send_reply(connection, &exchange->reply) : MHD_YES;
    }
    if (*body_bytes) {
        if (exchange->upload)
            sbx_upload_append(exchange->upload, body, *body_bytes);
        else if (exchange->symbols)
            append_symbols(http, connection, exchange, body, *body_bytes);
        else if (exchange->is_login || exchange->is_policy || exchange->is_erasures || exchange->is_active ||
                 exchange->is_issue)
            sbx_byte_buffer_append(&exchange->body, body, *body_bytes);
        *body_bytes = 0; /* the body of a GET has no meaning */
        return MHD_YES;
    }
    if (exchange->symbols && !exchange->is_submitted) {
        submit_symbols(http, connection, exchange);
        return MHD_YES; /* the library calls again when the connection is resumed */
    }
    end_exchange(http, connection, method, path, exchange);
    /* without a reply the library calls again */
    return exchange->reply.status ? send_reply(connection, &exchange->reply) : MHD_YES;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **exchange_slot,
                         enum MHD_RequestTerminationCode code)
{
    struct sbx_http *http = context;
    struct exchange *exchange = *exchange_slot;
    (void)code;
    if (exchange) {
        sbx_upload_destroy(exchange->upload);
        sbx_symbol_upload_destroy(exchange->symbols);
        sbx_byte_buffer_finish(&exchange->body);
        sbx_wish_finish(&exchange->wish);
        sbx_reply_finish(&exchange->reply);
        free(exchange);
        *exchange_slot = NULL;
    }
    sbx_deadline_renew(http->deadlines, deadline_of(connection));
}

static void on_connection(void *context, struct MHD_Connection *connection, void **deadline_slot,
                          enum MHD_ConnectionNotificationCode code)
{
    struct sbx_http *http = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *deadline_slot = fd ? sbx_deadline_open(http->deadlines, fd->connect_fd) : NULL;
        if (atomic_fetch_add(&http->connections, 1) >= http->settings.connections_max / 4 * 3)
            MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned int)CROWDED_SECONDS);
    } else {
        sbx_deadline_close(http->deadlines, *deadline_slot);
        *deadline_slot = NULL;
        atomic_fetch_sub(&http->connections, 1);
    }
}

/* ---- life ---- */

int sbx_http_start(int fd, const struct sbx_http_settings *settings, struct sbx_http **http_out, char *why,
                   size_t why_bytes)
{
    struct sbx_http *http = calloc(1, sizeof(*http));
    if (!http) {
        snprintf(why, why_bytes, "no memory");
        return -ENOMEM;
    }
    http->settings = *settings;
    http->admission = (struct sbx_admission){.gate = settings->gate,
                                             .proxies = &http->settings.proxies,
                                             .sessions = sbx_sessions_create(SESSIONS_MAX),
                                             .tokens = settings->tokens,
                                             .token_rate = settings->token_rate,
                                             .metrics = settings->metrics};
    if (!http->admission.sessions) {
        snprintf(why, why_bytes, "no memory");
        free(http);
        return -ENOMEM;
    }
    int result = sbx_deadlines_create(settings->request_deadline_ms, settings->metrics, &http->deadlines);
    if (result < 0) {
        snprintf(why, why_bytes, "no thread for deadlines: %s", strerror(-result));
        sbx_sessions_destroy(http->admission.sessions);
        free(http);
        return result;
    }
    /* STRICT refuses input that two parsers could read in different ways (two lengths, bare line ends). */
    http->daemon =
        MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
                         on_request, http, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE,
                         (unsigned int)THREADS, MHD_OPTION_CONNECTION_LIMIT, http->settings.connections_max,
                         MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
                         (unsigned int)IDLE_SECONDS, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED,
                         on_completed, http, MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_END);
    if (!http->daemon) {
        snprintf(why, why_bytes, "the HTTP library did not start: %s", strerror(errno));
        sbx_deadlines_destroy(http->deadlines);
        sbx_sessions_destroy(http->admission.sessions);
        free(http);
        return -EIO;
    }
    *http_out = http;
    return 0;
}

void sbx_http_stop(struct sbx_http *http)
{
    if (!http)
        return;
    MHD_stop_daemon(http->daemon);
    sbx_deadlines_destroy(http->deadlines);
    sbx_sessions_destroy(http->admission.sessions);
    free(http);
}
