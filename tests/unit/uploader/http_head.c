/* SPDX-License-Identifier: Apache-2.0 */
/* http_head.c - reads up to the empty line, and the body's length from the headers. */
#include "http_head.h"

#include <stdlib.h>
#include <string.h>

static const char length_name[] = "\r\nContent-Length:";

bool sbx_http_head_read(ssize_t (*take)(void *context, void *to, size_t bytes), void *context, char *text,
                        size_t text_bytes, struct sbx_http_head *head_out)
{
    *head_out = (struct sbx_http_head){.have = 0};
    const char *end = NULL;
    while (end == NULL) {
        if (head_out->have + 1 >= text_bytes) {
            return false;
        }
        ssize_t got = take(context, text + head_out->have, text_bytes - 1 - head_out->have);
        if (got <= 0) {
            return false;
        }
        head_out->have += (size_t)got;
        text[head_out->have] = '\0';
        end = strstr(text, "\r\n\r\n");
    }
    const char *length = strcasestr(text, length_name);
    if (length != NULL && length <= end) {
        head_out->length_bytes = strtoul(length + sizeof length_name - 1, NULL, 10);
    }
    head_out->body_at = (size_t)(end - text) + 4;
    return true;
}
