/* SPDX-License-Identifier: Apache-2.0 */
/* byte_buffer.h - bytes that grow at the end: request bodies, pages, documents.
 *
 * A zeroed value is an empty buffer. Failure is sticky: after one failed append (no memory, or the limit) every later
 * one does nothing and `failed` stays true, so a writer checks once, at the end. One thread at a time. */
#ifndef SBX_BYTE_BUFFER_H
#define SBX_BYTE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct sbx_byte_buffer {
    char *data;      /* used bytes and a terminating zero behind them; NULL while empty */
    size_t used;     /* without the zero */
    size_t capacity; /* allocated bytes */
    size_t limit;    /* more than this fails; 0: no limit but memory */
    bool failed;     /* an append did not fit or had no memory; the bytes are incomplete */
};

void sbx_byte_buffer_append(struct sbx_byte_buffer *buffer, const void *bytes, size_t count);
void sbx_byte_buffer_text(struct sbx_byte_buffer *buffer, const char *text);
void sbx_byte_buffer_format(struct sbx_byte_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Free the bytes; the value is then an empty buffer again. */
void sbx_byte_buffer_finish(struct sbx_byte_buffer *buffer);

#endif
