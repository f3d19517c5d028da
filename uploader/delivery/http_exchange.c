/* SPDX-License-Identifier: Apache-2.0 */
/* http_exchange.c - libcurl, with every option that needs a decision. Only this file uses libcurl. */
#include "http_exchange.h"

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

enum {
    CONNECT_TIMEOUT_MS = 10000,
    WHOLE_TIMEOUT_MS = 60000,
    SLOW_BYTES_PER_S = 1,
    SLOW_FOR_S = 30,
    HEADER_BYTES_MAX = 64 << 10,
    PIN_TEXT_BYTES = 8 + 44 + 2, /* "sha256//", base64 of 32 bytes, ";" and a NUL */
    PINS_MAX = 8,
    RETRY_AFTERS_MAX = 4, /* headers of this name in one answer; a server normally sends one */
    RETRY_AFTER_BYTES = 64,
};

static char *trusted_pem; /* sbx_http_trust() */

/* The answer as it arrives. */
struct arrival {
    struct sbx_http_reply *answer;
    uint8_t *body;
    size_t room, bytes_max, header_bytes;
    bool too_large;
    char retry_after[RETRY_AFTERS_MAX][RETRY_AFTER_BYTES]; /* decoded at the end: a date needs the Date header */
    unsigned retry_after_count;
    int64_t server_s; /* the server's time; 0: not given */
};

static size_t take_body(char *content, size_t size, size_t count, void *context)
{
    struct arrival *arrival = context;
    size_t bytes = size * count, at = arrival->answer->body_bytes;
    if (bytes > arrival->bytes_max - at) {
        arrival->too_large = true;
        return 0; /* this makes curl end the transfer */
    }
    if (at < arrival->room) {
        size_t room = arrival->room - at;
        memcpy(arrival->body + at, content, bytes < room ? bytes : room);
    }
    arrival->answer->body_bytes += bytes;
    return bytes;
}

/* If the header line has this name ("retry-after:"), copies its value without surrounding white space to `value`. */
static bool has_header(const char *content, size_t bytes, const char *name, char *value, size_t value_bytes)
{
    size_t name_bytes = strlen(name);
    if (bytes <= name_bytes || strncasecmp(content, name, name_bytes) != 0) {
        return false;
    }
    content += name_bytes;
    bytes -= name_bytes;
    while (bytes > 0 && (*content == ' ' || *content == '\t')) {
        content++;
        bytes--;
    }
    while (bytes > 0 && (content[bytes - 1] == '\r' || content[bytes - 1] == '\n' || content[bytes - 1] == ' ')) {
        bytes--;
    }
    if (bytes == 0 || bytes >= value_bytes) {
        return false;
    }
    memcpy(value, content, bytes);
    value[bytes] = '\0';
    return true;
}

static size_t take_header(char *content, size_t size, size_t count, void *context)
{
    struct arrival *arrival = context;
    size_t bytes = size * count;
    char value[80];
    if (bytes > HEADER_BYTES_MAX - arrival->header_bytes) {
        arrival->too_large = true;
        return 0;
    }
    arrival->header_bytes += bytes;
    if (arrival->retry_after_count < RETRY_AFTERS_MAX &&
        has_header(content, bytes, "retry-after:", arrival->retry_after[arrival->retry_after_count],
                   RETRY_AFTER_BYTES)) {
        arrival->retry_after_count++;
    }
    if (has_header(content, bytes, "date:", value, sizeof value) && !sbx_http_date_s(value, &arrival->server_s)) {
        arrival->server_s = 0;
    }
    if (has_header(content, bytes, "etag:", value, sizeof value)) {
        memcpy(arrival->answer->tag, value, sizeof value);
    }
    return bytes;
}

/* The longest of the waits that the server asked for. A date is compared with the server's own clock if the answer has
 * it, because this machine's clock may be a year off. */
static uint64_t longest_wait_ms(const struct arrival *arrival)
{
    uint64_t longest_ms = 0;
    int64_t now_s = arrival->server_s != 0 ? arrival->server_s : (int64_t)time(NULL);
    for (unsigned i = 0; i < arrival->retry_after_count; i++) {
        uint64_t wait_ms = sbx_retry_after_ms(arrival->retry_after[i], now_s);
        longest_ms = wait_ms > longest_ms ? wait_ms : longest_ms;
    }
    return longest_ms;
}

static int look_whether_unwanted(void *context, curl_off_t down_all, curl_off_t down, curl_off_t up_all, curl_off_t up)
{
    const struct sbx_http_question *question = context;
    (void)down_all, (void)down;
    if (question->progress != NULL && up_all > 0) {
        question->progress(question->context, (uint64_t)up, (uint64_t)up_all);
    }
    return question->is_unwanted != NULL && question->is_unwanted(question->context); /* true makes curl break it off */
}

/* Opens a socket with close-on-exec. curl's own sockets would be inherited by every program that the host starts. */
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

/* Does the host part name this machine? Then plain http does not leave the machine. */
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
    if (host[0] == '[' && length > 2 && length - 2 < sizeof bare) { /* for example "[::1]" */
        memcpy(bare, host + 1, length - 2);
        return inet_pton(AF_INET6, bare, &ipv6) == 1 && IN6_IS_ADDR_LOOPBACK(&ipv6);
    }
    return false;
}

/* Not every payload is sealed, and tokens never are. So plain http is allowed to this machine only. Returns NULL if the
 * address may be used. *is_local_out says whether it is this machine's own. */
static const char *check_url(const char *url, bool *is_local_out)
{
    const char *reason = "no valid address";
    CURLU *parts = curl_url();
    char *scheme = NULL, *host = NULL;
    if (parts != NULL && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK) {
        *is_local_out = is_loopback(host);
        if (strcasecmp(scheme, "https") == 0) {
            reason = NULL;
        } else if (strcasecmp(scheme, "http") != 0) {
            reason = "neither https nor http";
        } else {
            reason = *is_local_out ? NULL : "http to another machine would be readable on the way: use https";
        }
    }
    curl_free(scheme);
    curl_free(host);
    curl_url_cleanup(parts);
    return reason;
}

const char *sbx_http_refusal(const char *server_url, bool *is_local_out)
{
    *is_local_out = false;
    return check_url(server_url, is_local_out);
}

/* A token is put into a header. It must be printable, so that it cannot end the line. */
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
static struct curl_slist *make_headers(const struct sbx_http_question *question)
{
    struct curl_slist *headers = NULL;
    /* An empty "Expect:" avoids an extra round trip, and a wait for a "100" that may never come. */
    bool whole = append_header(&headers, question->asks_first ? "Expect: 100-continue" : "Expect:");
    for (const char *const *line = question->headers; whole && line != NULL && *line != NULL; line++) {
        whole = append_header(&headers, *line);
    }
    if (whole && question->token != NULL) {
        size_t bytes = strlen(question->token) + sizeof "Authorization: Bearer ";
        char *line = malloc(bytes);
        if (line == NULL) {
            whole = false;
        } else {
            snprintf(line, bytes, "Authorization: Bearer %s", question->token);
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

/* Prints "sha256//BASE64;sha256//...". */
static void print_pins(const struct sbx_http_question *question, char *text_out)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    *text_out = '\0';
    for (uint32_t i = 0; i < question->pin_count && i < PINS_MAX; i++) {
        const uint8_t *pin = question->pins[i];
        text_out += sprintf(text_out, "%ssha256//", i == 0 ? "" : ";");
        for (int at = 0; at < 33; at += 3) { /* 32 bytes and one padding byte */
            uint32_t bits = (uint32_t)pin[at] << 16 | (uint32_t)pin[at + 1] << 8 | (at + 2 < 32 ? pin[at + 2] : 0);
            *text_out++ = letters[bits >> 18];
            *text_out++ = letters[bits >> 12 & 63];
            *text_out++ = letters[bits >> 6 & 63];
            *text_out++ = at + 2 < 32 ? letters[bits & 63] : '=';
        }
        *text_out = '\0';
    }
}

/* Sets every option that needs a decision. Returns the first error. */
static CURLcode set_options(CURL *curl, const struct sbx_http_question *question, const char *url,
                            struct curl_slist *headers, struct arrival *arrival, char *error)
{
    char pins[PINS_MAX * PIN_TEXT_BYTES + 1];
    bool is_tls = strncasecmp(url, "https:", 6) == 0;
    long timeout_ms = question->timeout_ms != 0 ? (long)question->timeout_ms : (long)WHOLE_TIMEOUT_MS;
    CURLcode codes[] = {
        curl_easy_setopt(curl, CURLOPT_URL, url),
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers),
        curl_easy_setopt(curl, CURLOPT_USERAGENT, "stallbox"),
        curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1),
        curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L), /* else curl changes the process's SIGPIPE and SIGALRM */
        curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, is_tls ? "https" : "http"),
        curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "https"), /* no redirect is followed: */
        curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L),
        curl_easy_setopt(curl, CURLOPT_PROXY, ""), /* ignores the environment */
        curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED),
        curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2),
        curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS),
        curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout_ms),
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, (long)SLOW_BYTES_PER_S),
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                         question->patience_s != 0 ? (long)question->patience_s : (long)SLOW_FOR_S),
        curl_easy_setopt(curl, CURLOPT_MAXFILESIZE, (long)question->answer_bytes_max),
        curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket),
        curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body),
        curl_easy_setopt(curl, CURLOPT_WRITEDATA, arrival),
        curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header),
        curl_easy_setopt(curl, CURLOPT_HEADERDATA, arrival),
        curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error),
    };
    for (size_t i = 0; i < SBX_COUNT_OF(codes); i++) {
        if (codes[i] != CURLE_OK) {
            return codes[i];
        }
    }
    CURLcode code = CURLE_OK;
    if (question->body != NULL) {
        code = curl_easy_setopt(curl, CURLOPT_POST, 1L);
        if (code == CURLE_OK) {
            code = curl_easy_setopt(curl, CURLOPT_POSTFIELDS, (const char *)question->body);
        }
        if (code == CURLE_OK) {
            code = curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)question->body_bytes);
        }
    }
    if (code == CURLE_OK && question->method != NULL) {
        code = curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, question->method);
    }
#if LIBCURL_VERSION_NUM >= 0x075700
    /* A name server that does not answer must not delay the end of an attempt that is over. (Otherwise curl waits up to
     * half a minute for its resolver thread.) */
    if (code == CURLE_OK) {
        code = curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
    }
#endif
    if (code == CURLE_OK && (question->is_unwanted != NULL || question->progress != NULL)) {
        curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_whether_unwanted);
        curl_easy_setopt(curl, CURLOPT_XFERINFODATA, question);
        code = curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    }
    if (code == CURLE_OK && trusted_pem != NULL) {
        struct curl_blob blob = {.data = trusted_pem, .len = strlen(trusted_pem), .flags = CURL_BLOB_NOCOPY};
        code = curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &blob);
        if (code == CURLE_OK) {
            code = curl_easy_setopt(curl, CURLOPT_CAPATH, NULL); /* else the system's authorities are accepted, too */
        }
    }
    if (code == CURLE_OK && question->pin_count != 0) {
        print_pins(question, pins);
        code = curl_easy_setopt(curl, CURLOPT_PINNEDPUBLICKEY, pins);
    }
    return code;
}

/* With NOSIGNAL, the TLS library may still raise SIGPIPE when the peer is gone. The host must not get this signal. So
 * it is blocked on this thread during the call, and removed if it is pending afterwards. */
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

static void attempt(CURL *curl, const struct sbx_http_question *question, const char *url, struct curl_slist *headers,
                    struct arrival *arrival)
{
    struct sbx_http_reply *answer = arrival->answer;
    char error[CURL_ERROR_SIZE] = "";
    CURLcode code = set_options(curl, question, url, headers, arrival, error);
    if (code == CURLE_OK) {
        code = perform_quietly(curl);
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer->status);
        answer->retry_after_ms = longest_wait_ms(arrival);
    }
    if (code != CURLE_OK) {
        /* A transfer that broke off counts as no answer, even if a status line arrived before. */
        answer->status = 0;
        snprintf(answer->why, sizeof answer->why, "%.159s",
                 arrival->too_large || code == CURLE_FILESIZE_EXCEEDED ? "the answer is too large"
                 : code == CURLE_ABORTED_BY_CALLBACK                   ? "broken off: it is not wanted any more"
                 : error[0] != '\0'                                    ? error
                                                                       : curl_easy_strerror(code));
    }
}

bool sbx_http_exchange(const struct sbx_http_question *question, uint8_t *body_out, size_t room,
                       struct sbx_http_reply *answer_out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct arrival arrival = {
        .answer = answer_out, .body = body_out, .room = room, .bytes_max = question->answer_bytes_max};
    const char *key_log = getenv("SSLKEYLOGFILE");
    memset(answer_out, 0, sizeof *answer_out);
    if (key_log != NULL && key_log[0] != '\0') {
        snprintf(answer_out->why, sizeof answer_out->why,
                 "SSLKEYLOGFILE is set: not sending where the connection's keys are written down");
        return false;
    }
    if (question->token != NULL && !is_header_text(question->token)) {
        snprintf(answer_out->why, sizeof answer_out->why, "the token is empty or not printable");
        return false;
    }
    pthread_once(&once, start_curl);
    size_t length = strlen(question->server_url), path_bytes = strlen(question->path) + 1;
    while (length > 0 && question->server_url[length - 1] == '/') {
        length--;
    }
    char *url = malloc(length + path_bytes);
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = make_headers(question);
    if (url == NULL || curl == NULL || headers == NULL) {
        snprintf(answer_out->why, sizeof answer_out->why, "out of memory, or libcurl is not installed");
    } else {
        bool is_local = false;
        memcpy(url, question->server_url, length);
        memcpy(url + length, question->path, path_bytes);
        const char *reason = check_url(url, &is_local);
        answer_out->is_certain = is_local || question->pin_count != 0;
        if (reason != NULL) {
            snprintf(answer_out->why, sizeof answer_out->why, "%.80s: %s", question->server_url, reason);
        } else {
            attempt(curl, question, url, headers, &arrival);
        }
    }
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    free(url);
    return answer_out->status != 0;
}

int sbx_http_trust(const char *pem)
{
    char *copy = NULL;
    if (pem != NULL) {
        if (strstr(pem, "-----BEGIN CERTIFICATE-----") == NULL) {
            return -EINVAL;
        }
        copy = strdup(pem);
        if (copy == NULL) {
            return -ENOMEM;
        }
    }
    free(trusted_pem);
    trusted_pem = copy;
    return 0;
}
