/* SPDX-License-Identifier: Apache-2.0 */
/* http_server.h - a real HTTP server on loopback. The test chooses its answers, and it remembers the requests.
 *
 * It uses raw sockets, because no HTTP library would do most of what it has to do: break off, reset, send half an
 * answer. */
#ifndef SBX_HTTP_SERVER_H
#define SBX_HTTP_SERVER_H

#include <stddef.h>
#include <stdint.h>

enum sbx_http_behaviour {
    SBX_HTTP_STORE = 0,       /* the right answer */
    SBX_HTTP_TEXT,            /* `text` is the whole response, byte for byte */
    SBX_HTTP_CLOSE,           /* take the request, close without an answer */
    SBX_HTTP_RESET,           /* take the request, half an answer, then RST */
    SBX_HTTP_STORE_AND_CLOSE, /* keep the payload, but send no answer */
    SBX_HTTP_DRIP,            /* the right answer, one byte each 20 ms */
    SBX_HTTP_FLOOD,           /* an endless body */
    SBX_HTTP_HEADERS,         /* endless headers */
    SBX_HTTP_CONTINUES,       /* endless "100 Continue" */
    SBX_HTTP_RESET_AT_ONCE,   /* RST before anything is read */
    SBX_HTTP_RESET_AT_FIRST,  /* RST when the first bytes have come, in the middle of a handshake */
    SBX_HTTP_RESET_IN_BODY,   /* RST after `bytes` bytes of the body */
    SBX_HTTP_STALL, /* take the head, then wait until the peer gives up; `bytes` not 0: RST after that many ms */
};

struct sbx_http_answer {
    enum sbx_http_behaviour behaviour;
    const char *text;
    size_t bytes;
};

struct sbx_http_request {
    char head[4096]; /* request line and headers */
    uint8_t *body;
    size_t body_bytes;
};

struct sbx_http_server;

/* Listen on 127.0.0.1:`port` (0: any) and answer the n-th connection as answers[n] says. After the last one, store.
 * `answers` is borrowed until stop. Ends the program on failure. */
struct sbx_http_server *sbx_http_server_start(uint16_t port, const struct sbx_http_answer *answers, size_t count);
const char *sbx_http_server_url(const struct sbx_http_server *server);
uint16_t sbx_http_server_port(const struct sbx_http_server *server);
/* The number of connections so far, whatever their result. */
size_t sbx_http_server_connection_count(struct sbx_http_server *server);
/* The number of complete requests so far; the requests, in order, valid until stop. */
size_t sbx_http_server_request_count(struct sbx_http_server *server);
const struct sbx_http_request *sbx_http_server_request(struct sbx_http_server *server, size_t index);
void sbx_http_server_stop(struct sbx_http_server *server);

#endif
