/* SPDX-License-Identifier: Apache-2.0 */
/* http_head.h - reads the head of a request from any kind of connection. */
#ifndef SBX_TEST_HTTP_HEAD_H
#define SBX_TEST_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct sbx_http_head {
    size_t have;         /* bytes read: the head, and the part of the body that came with it */
    size_t body_at;      /* the size of the head, including the empty line */
    size_t length_bytes; /* of the body, as Content-Length says; 0 without one */
};

/* Read into `text`, always a string, until the empty line was seen. `take` reads up to `bytes` bytes and returns 0 or
 * less at the end. False when the peer closed the connection or `text` is full. */
bool sbx_http_head_read(ssize_t (*take)(void *context, void *to, size_t bytes), void *context, char *text,
                        size_t text_bytes, struct sbx_http_head *head_out);

#endif
