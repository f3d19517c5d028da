/* SPDX-License-Identifier: Apache-2.0 */
/* http_client.h - one request over a real socket, for tests. */
#ifndef SBX_TEST_HTTP_CLIENT_H
#define SBX_TEST_HTTP_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "byte_buffer.h"

struct answer {
    long status; /* 0: no answer */
    struct sbx_byte_buffer headers, body;
};

struct question {
    const char *method; /* NULL: GET, or POST when there is a body */
    const char *path;
    const void *body;
    size_t body_bytes;
    const char *header;       /* one more header, or NULL */
    const char *other_header; /* and one more */
    int is_chunked;           /* the body's length is not sent */
};

/* Release the answer with answer_finish(). */
struct answer ask(uint16_t port, const struct question *question);
struct answer get(uint16_t port, const char *path);
/* GET PREFIX ID SUFFIX; returns only the status. */
struct answer get_of(uint16_t port, const char *prefix, const char *id, const char *suffix);
long status_of(uint16_t port, const char *prefix, const char *id, const char *suffix);
struct answer post(uint16_t port, const void *envelope, size_t bytes);
void answer_finish(struct answer *answer);

/* Does the body contain `text`? An empty body contains nothing. */
int answer_has(const struct answer *answer, const char *text);

#endif
