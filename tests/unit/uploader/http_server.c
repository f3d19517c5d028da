/* SPDX-License-Identifier: Apache-2.0 */
/* http_server.c - one thread, one connection at a time. */
#include "http_server.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "envelope_format.h"
#include "http_head.h"
#include "loopback.h"

enum {
    REQUESTS_MAX = 2048,
    BODY_MAX = 16 << 20 /* commands with AddressSanitizer have some 5 MiB of names */
};

struct sbx_http_server {
    struct sbx_loopback *loopback;
    char url[64];
    const struct sbx_http_answer *answers;
    size_t answer_count;
    pthread_mutex_t lock; /* protects the fields below */
    struct sbx_http_request requests[REQUESTS_MAX];
    size_t request_count, connection_count;
};

static _Noreturn void give_up(const char *what)
{
    perror(what);
    abort();
}

/* From now on close() sends only a reset. */
static void reset_at_close(int connection)
{
    setsockopt(connection, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1, .l_linger = 0}, sizeof(struct linger));
}

static ssize_t take(void *connection, void *to, size_t bytes)
{
    return recv(*(const int *)connection, to, bytes, 0);
}

/* Read one request. False when the peer closed the connection, or when the request must not be read to its end. */
static bool read_request(int connection, const struct sbx_http_answer *how, struct sbx_http_request *request)
{
    struct sbx_http_head head;
    request->body = NULL;
    request->body_bytes = 0;
    if (how->behaviour == SBX_HTTP_RESET_AT_ONCE || how->behaviour == SBX_HTTP_RESET_AT_FIRST) {
        char first;
        if (how->behaviour == SBX_HTTP_RESET_AT_FIRST && recv(connection, &first, 1, 0) != 1) {
            return false;
        }
        reset_at_close(connection);
        return false;
    }
    if (!sbx_http_head_read(take, &connection, request->head, sizeof request->head, &head)) {
        return false;
    }
    size_t length = head.length_bytes;
    if (length > BODY_MAX) {
        return false;
    }
    if (how->behaviour == SBX_HTTP_STALL) {
        char rest[4096];
        if (how->bytes != 0) {
            nanosleep(&(struct timespec){.tv_sec = (time_t)(how->bytes / 1000),
                                         .tv_nsec = (long)(how->bytes % 1000) * 1000000},
                      NULL);
            reset_at_close(connection);
            return false;
        }
        while (recv(connection, rest, sizeof rest, 0) > 0) {
            /* Wait until the peer closes the connection, or its time is over. */
        }
        return false;
    }
    size_t all = length;
    if (how->behaviour == SBX_HTTP_RESET_IN_BODY) {
        length = how->bytes < length ? how->bytes : length;
    }
    request->body = malloc(length + 1);
    request->body_bytes = length;
    size_t have = head.have - head.body_at;
    have = have < length ? have : length;
    memcpy(request->body, request->head + head.body_at, have);
    request->head[head.body_at] = '\0';
    while (have < length) {
        ssize_t got = recv(connection, request->body + have, length - have, 0);
        if (got <= 0) {
            free(request->body);
            return false;
        }
        have += (size_t)got;
    }
    if (how->behaviour == SBX_HTTP_RESET_IN_BODY) {
        reset_at_close(connection);
        free(request->body);
        return false;
    }
    request->body_bytes = all;
    return true;
}

static bool send_all(int connection, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t sent = send(connection, text, bytes, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        text += sent;
        bytes -= (size_t)sent;
    }
    return true;
}

/* The correct answer to the sent payload, made from the id in its envelope. */
static void stored_answer(const struct sbx_http_request *request, char *text, size_t text_bytes)
{
    char id[2 * SBX_PAYLOAD_ID_BYTES + 1] = "";
    for (size_t i = 0; i < SBX_PAYLOAD_ID_BYTES && request->body_bytes >= 32; i++) {
        snprintf(id + 2 * i, 3, "%02x", request->body[16 + i]);
    }
    char body[100];
    int bytes = snprintf(body, sizeof body, "%s%s\n", SBX_STORED_PREFIX, id);
    snprintf(text, text_bytes,
             "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", bytes,
             body);
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static void answer(int connection, const struct sbx_http_answer *how, const struct sbx_http_request *request)
{
    char text[400];
    stored_answer(request, text, sizeof text);
    switch (how->behaviour) {
    case SBX_HTTP_STORE:
        send_all(connection, text, strlen(text));
        break;
    case SBX_HTTP_TEXT:
        send_all(connection, how->text, strlen(how->text));
        break;
    case SBX_HTTP_CLOSE:
    case SBX_HTTP_STORE_AND_CLOSE:
        break;
    case SBX_HTTP_RESET:
        send_all(connection, text, strlen(text) - 10);
        pause_ms(20);
        reset_at_close(connection);
        break;
    case SBX_HTTP_DRIP:
        for (size_t i = 0; text[i] != '\0' && send_all(connection, text + i, 1); i++) {
            pause_ms(20);
        }
        break;
    case SBX_HTTP_FLOOD:
        send_all(connection, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", 38);
        while (send_all(connection, text, strlen(text))) {
        }
        break;
    case SBX_HTTP_HEADERS:
        send_all(connection, "HTTP/1.1 200 OK\r\n", 17);
        while (send_all(connection, "X-More: 0123456789012345678901234567890123456789\r\n", 50)) {
        }
        break;
    case SBX_HTTP_CONTINUES:
        while (send_all(connection, "HTTP/1.1 100 Continue\r\n\r\n", 25)) {
        }
        break;
    case SBX_HTTP_RESET_AT_ONCE:
    case SBX_HTTP_RESET_AT_FIRST:
    case SBX_HTTP_RESET_IN_BODY:
    case SBX_HTTP_STALL:
        break; /* no answer is due */
    }
}

static void serve(void *context, int connection)
{
    struct sbx_http_server *server = context;
    static const struct sbx_http_answer store = {.behaviour = SBX_HTTP_STORE};
    struct sbx_http_request request;
    pthread_mutex_lock(&server->lock);
    size_t index = server->connection_count++;
    pthread_mutex_unlock(&server->lock);
    const struct sbx_http_answer *how = index < server->answer_count ? &server->answers[index] : &store;
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = 20}, sizeof(struct timeval));
    if (read_request(connection, how, &request)) {
        pthread_mutex_lock(&server->lock);
        if (server->request_count == REQUESTS_MAX) {
            give_up("more requests than expected");
        }
        server->requests[server->request_count++] = request;
        pthread_mutex_unlock(&server->lock);
        answer(connection, how, &request);
    }
}

struct sbx_http_server *sbx_http_server_start(uint16_t port, const struct sbx_http_answer *answers, size_t count)
{
    struct sbx_http_server *server = calloc(1, sizeof *server);
    if (server == NULL) {
        give_up("calloc");
    }
    server->answers = answers;
    server->answer_count = count;
    pthread_mutex_init(&server->lock, NULL);
    server->loopback = sbx_loopback_start(port, serve, server);
    snprintf(server->url, sizeof server->url, "http://127.0.0.1:%u", sbx_loopback_port(server->loopback));
    return server;
}

const char *sbx_http_server_url(const struct sbx_http_server *server)
{
    return server->url;
}

uint16_t sbx_http_server_port(const struct sbx_http_server *server)
{
    return sbx_loopback_port(server->loopback);
}

size_t sbx_http_server_request_count(struct sbx_http_server *server)
{
    pthread_mutex_lock(&server->lock);
    size_t count = server->request_count;
    pthread_mutex_unlock(&server->lock);
    return count;
}

size_t sbx_http_server_connection_count(struct sbx_http_server *server)
{
    pthread_mutex_lock(&server->lock);
    size_t count = server->connection_count;
    pthread_mutex_unlock(&server->lock);
    return count;
}

const struct sbx_http_request *sbx_http_server_request(struct sbx_http_server *server, size_t index)
{
    return index < sbx_http_server_request_count(server) ? &server->requests[index] : NULL;
}

void sbx_http_server_stop(struct sbx_http_server *server)
{
    sbx_loopback_stop(server->loopback);
    for (size_t i = 0; i < server->request_count; i++) {
        free(server->requests[i].body);
    }
    pthread_mutex_destroy(&server->lock);
    free(server);
}
