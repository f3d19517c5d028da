/* SPDX-License-Identifier: Apache-2.0 */
/* send.c - one attempt to deliver one payload. The only file that knows libcurl.
 *
 * It runs in processes that are not ours, with an environment that is not ours, against networks that answer whatever
 * they like. So nothing is taken from the environment (proxy, netrc, key log), no redirect is followed, everything
 * that comes back is bounded in size and time, and only the one agreed answer counts as a delivery. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#include <curl/curl.h>

#include "backoff.h"
#include "deliver.h"
#include "envelope_format.h"
#include "marks.h"

enum {
    CONNECT_TIMEOUT_MS = 10000,
    WHOLE_TIMEOUT_MS = 60000,
    SLOW_BYTES_PER_S = 1,
    SLOW_FOR_S = 30,
    ANSWER_BYTES_MAX = 64 << 10, /* body and headers each; ours is 50 bytes */
    STORED_BYTES = sizeof SBX_STORED_PREFIX - 1 + 2 * SBX_PAYLOAD_ID_BYTES + 1,
};

/* What came back. */
struct answer {
    char body[STORED_BYTES + 1]; /* as much as can matter */
    size_t body_bytes;           /* really received */
    size_t header_bytes;
    uint64_t retry_after_ms; /* the longest that was said */
    bool too_large;
};

static size_t take_body(char *content, size_t size, size_t count, void *context)
{
    struct answer *answer = context;
    size_t bytes = size * count;
    if (bytes > ANSWER_BYTES_MAX - answer->body_bytes) {
        answer->too_large = true;
        return 0; /* curl ends the transfer */
    }
    if (answer->body_bytes < sizeof answer->body) {
        size_t room = sizeof answer->body - answer->body_bytes;
        memcpy(answer->body + answer->body_bytes, content, bytes < room ? bytes : room);
    }
    answer->body_bytes += bytes;
    return bytes;
}

static size_t take_header(char *content, size_t size, size_t count, void *context)
{
    static const char name[] = "retry-after:";
    struct answer *answer = context;
    size_t bytes = size * count;
    if (bytes > ANSWER_BYTES_MAX - answer->header_bytes) {
        answer->too_large = true;
        return 0;
    }
    answer->header_bytes += bytes;
    char value[64];
    size_t value_bytes = bytes > sizeof name - 1 ? bytes - (sizeof name - 1) : 0;
    if (value_bytes != 0 && value_bytes < sizeof value && strncasecmp(content, name, sizeof name - 1) == 0) {
        memcpy(value, content + sizeof name - 1, value_bytes);
        value[value_bytes] = '\0';
        uint64_t wait_ms = sbx_retry_after_ms(value, (int64_t)time(NULL));
        if (wait_ms > answer->retry_after_ms) {
            answer->retry_after_ms = wait_ms;
        }
    }
    return bytes;
}

/* curl's own sockets leak into every program the host starts. */
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)context;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static void start_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* The host part names this machine: then plain http stays inside it. */
static bool is_loopback(const char *host)
{
    struct in_addr ipv4;
    struct in6_addr ipv6;
    if (strcasecmp(host, "localhost") == 0) {
        return true;
    }
    if (inet_pton(AF_INET, host, &ipv4) == 1) {
        return ntohl(ipv4.s_addr) >> 24 == 127;
    }
    char bare[INET6_ADDRSTRLEN] = "";
    size_t length = strlen(host);
    if (host[0] == '[' && length > 2 && length - 2 < sizeof bare) { /* "[::1]" */
        memcpy(bare, host + 1, length - 2);
        return inet_pton(AF_INET6, bare, &ipv6) == 1 && IN6_IS_ADDR_LOOPBACK(&ipv6);
    }
    return false;
}

/* Payloads are not sealed: in the clear they only go to this machine. NULL when the address may be used. */
static const char *check_url(const char *url)
{
    const char *reason = "no valid address";
    CURLU *parts = curl_url();
    char *scheme = NULL, *host = NULL;
    if (parts != NULL && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK) {
        if (strcasecmp(scheme, "https") == 0) {
            reason = NULL;
        } else if (strcasecmp(scheme, "http") != 0) {
            reason = "neither https nor http";
        } else {
            reason = is_loopback(host) ? NULL : "http to another machine would be readable on the way: use https";
        }
    }
    curl_free(scheme);
    curl_free(host);
    curl_url_cleanup(parts);
    return reason;
}

/* A token goes into a header: printable, so that it cannot end the line. */
static bool is_header_text(const char *token)
{
    for (const char *at = token; *at != '\0'; at++) {
        if (*at <= ' ' || *at > '~') {
            return false;
        }
    }
    return token[0] != '\0';
}

static bool append_header(struct curl_slist **headers, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*headers, line);
    if (longer == NULL) {
        return false;
    }
    *headers = longer;
    return true;
}

/* NULL without memory. Given: curl_slist_free_all(). */
static struct curl_slist *make_headers(const char *token, const char *id_hex)
{
    struct curl_slist *headers = NULL;
    char id_line[64];
    snprintf(id_line, sizeof id_line, "X-Stallbox-Payload-Id: %s", id_hex);
    bool whole =
        append_header(&headers, "Content-Type: application/x-stallbox-envelope") && append_header(&headers, id_line) &&
        append_header(&headers, "Expect:"); /* no extra round trip, and no waiting for a "100" that never comes */
    if (whole && token != NULL) {
        size_t bytes = strlen(token) + sizeof "Authorization: Bearer ";
        char *line = malloc(bytes);
        if (line == NULL) {
            whole = false;
        } else {
            snprintf(line, bytes, "Authorization: Bearer %s", token);
            whole = append_header(&headers, line);
            explicit_bzero(line, bytes);
            free(line);
        }
    }
    if (!whole) {
        curl_slist_free_all(headers);
        return NULL;
    }
    return headers;
}

/* Every option that is a decision. Returns the first error. */
static CURLcode set_options(CURL *curl, const char *url, struct curl_slist *headers, const void *envelope, size_t bytes,
                            struct answer *answer, char *error)
{
    CURLcode codes[] = {
        curl_easy_setopt(curl, CURLOPT_URL, url),
        curl_easy_setopt(curl, CURLOPT_POST, 1L),
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, (const char *)envelope),
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)bytes),
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers),
        curl_easy_setopt(curl, CURLOPT_USERAGENT, "stallbox"),
        curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1),
        curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L), /* else curl sets the process's SIGPIPE and SIGALRM */
        curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https"),
        curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L),
        curl_easy_setopt(curl, CURLOPT_PROXY, ""), /* not what the environment says */
        curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED),
        curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2),
        curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS),
        curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)WHOLE_TIMEOUT_MS),
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, (long)SLOW_BYTES_PER_S),
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)SLOW_FOR_S),
        curl_easy_setopt(curl, CURLOPT_MAXFILESIZE, (long)ANSWER_BYTES_MAX),
        curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket),
        curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body),
        curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer),
        curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header),
        curl_easy_setopt(curl, CURLOPT_HEADERDATA, answer),
        curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error),
    };
    for (size_t i = 0; i < SBX_COUNT_OF(codes); i++) {
        if (codes[i] != CURLE_OK) {
            return codes[i];
        }
    }
    return CURLE_OK;
}

/* With NOSIGNAL the TLS library may still raise SIGPIPE when the peer is gone. It is kept from the host: blocked on
 * this thread meanwhile, and taken back if it came. */
static CURLcode perform_quietly(CURL *curl)
{
    sigset_t pipe_only, before, waiting;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigpending(&waiting);
    bool was_waiting = sigismember(&waiting, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    CURLcode code = curl_easy_perform(curl);
    sigpending(&waiting);
    if (!was_waiting && sigismember(&waiting, SIGPIPE) == 1) {
        sigtimedwait(&pipe_only, NULL, &(struct timespec){.tv_sec = 0});
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

static bool is_stored(const struct answer *answer, const char *id_hex)
{
    char expected[STORED_BYTES + 1];
    snprintf(expected, sizeof expected, "%s%s\n", SBX_STORED_PREFIX, id_hex);
    return answer->body_bytes == STORED_BYTES && memcmp(answer->body, expected, STORED_BYTES) == 0;
}

/* Does this status speak of the payload itself, so that the same bytes will be refused again? Not 401, 403, 404 and their
 * like: those speak of a token or an address somebody got wrong, and mending that must find the payloads still there. */
static bool is_about_payload(long status)
{
    return status == 400 || status == 409 || status == 413 || status == 415 || status == 422;
}

/* What an answer means. Only a sure sign that the same bytes will be refused again gives a payload up. */
static void judge(const struct answer *answer, const char *id_hex, struct sbx_send_result *result)
{
    long status = result->http_status;
    result->retry_after_ms = answer->retry_after_ms;
    result->verdict = SBX_SEND_LATER;
    if (status == 200 || status == 201) {
        if (is_stored(answer, id_hex)) {
            result->verdict = SBX_SEND_STORED;
            snprintf(result->why, sizeof result->why, "stored");
        } else {
            snprintf(result->why, sizeof result->why,
                     "HTTP %ld, but not the answer of a Stallbox server (a captive portal or a wrong address?)",
                     status);
        }
    } else if (is_about_payload(status)) {
        result->verdict = SBX_SEND_NEVER;
        snprintf(result->why, sizeof result->why, "HTTP %ld: refused by the server", status);
    } else if (status == 401 || status == 403 || status == 404) {
        snprintf(result->why, sizeof result->why, "HTTP %ld: is the token or the address wrong?", status);
    } else if (status >= 300 && status < 400) {
        snprintf(result->why, sizeof result->why, "HTTP %ld: redirected, which is not followed", status);
    } else {
        snprintf(result->why, sizeof result->why, "HTTP %ld", status);
    }
}

static void fail(struct sbx_send_result *result, const char *reason)
{
    result->verdict = SBX_SEND_LATER;
    snprintf(result->why, sizeof result->why, "%s", reason);
}

static void attempt(CURL *curl, const char *url, struct curl_slist *headers, const char *id_hex, const void *envelope,
                    size_t bytes, struct sbx_send_result *result)
{
    struct answer answer = {.body_bytes = 0};
    char error[CURL_ERROR_SIZE] = "";
    CURLcode code = set_options(curl, url, headers, envelope, bytes, &answer, error);
    if (code == CURLE_OK) {
        code = perform_quietly(curl);
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &result->http_status);
    }
    if (code == CURLE_OK) {
        judge(&answer, id_hex, result);
        return;
    }
    /* A transfer that broke off is no answer, whatever status line came before. */
    result->http_status = 0;
    result->retry_after_ms = answer.retry_after_ms;
    fail(result, answer.too_large ? "the answer is too large" : error[0] != '\0' ? error : curl_easy_strerror(code));
}

struct sbx_send_result sbx_send(const char *server_url, const char *token, const uint8_t id[16], const void *envelope,
                                size_t bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static const char path[] = "/v1/snapshots";
    struct sbx_send_result result = {.verdict = SBX_SEND_LATER};
    const char *key_log = getenv("SSLKEYLOGFILE");
    if (key_log != NULL && key_log[0] != '\0') {
        fail(&result, "SSLKEYLOGFILE is set: not sending where the connection's keys are written down");
        return result;
    }
    if (token != NULL && !is_header_text(token)) {
        fail(&result, "the token is empty or not printable");
        return result;
    }
    pthread_once(&once, start_curl);
    size_t length = strlen(server_url);
    while (length > 0 && server_url[length - 1] == '/') {
        length--;
    }
    char *url = malloc(length + sizeof path);
    char id_hex[2 * SBX_PAYLOAD_ID_BYTES + 1];
    for (int i = 0; i < SBX_PAYLOAD_ID_BYTES; i++) {
        snprintf(id_hex + 2 * i, 3, "%02x", id[i]);
    }
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = make_headers(token, id_hex);
    if (url == NULL || curl == NULL || headers == NULL) {
        fail(&result, "out of memory");
    } else {
        memcpy(url, server_url, length);
        memcpy(url + length, path, sizeof path);
        const char *reason = check_url(url);
        if (reason != NULL) {
            snprintf(result.why, sizeof result.why, "%.80s: %s", server_url, reason);
        } else {
            attempt(curl, url, headers, id_hex, envelope, bytes, &result);
        }
    }
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    free(url);
    return result;
}
