/* SPDX-License-Identifier: Apache-2.0 */
/* http_head.h - reading the head of a request from whatever carries it. */
#ifndef SBX_TEST_HTTP_HEAD_H
#define SBX_TEST_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct sbx_http_head {
    size_t have;         /* bytes read: the head, and what of the body came with it */
    size_t body_at;      /* the head's bytes, the empty line included */
    size_t length_bytes; /* of the body, as Content-Length says; 0 without one */
};

/* Read into `text`, a string at all times, until the empty line was seen. `take` gives up to `bytes` bytes of what comes, 0 or
 * less at the end. False when the peer broke off or `text` is full. */
bool sbx_http_head_read(ssize_t (*take)(void *context, void *to, size_t bytes), void *context, char *text,
                        size_t text_bytes, struct sbx_http_head *head_out);

#endif
