/* SPDX-License-Identifier: Apache-2.0 */
/* byte_buffer.c - growth by doubling. One sticky failure flag keeps error paths out of the writers. */
#include "byte_buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_CAPACITY = 256
};

/* Make room for `count` more bytes and the zero behind them. */
static bool reserve(struct sbx_byte_buffer *buffer, size_t count)
{
    if (buffer->failed)
        return false;
    if (count > SIZE_MAX / 4 - buffer->used || (buffer->limit && buffer->used + count > buffer->limit)) {
        buffer->failed = true;
        return false;
    }
    size_t needed = buffer->used + count + 1;
    if (needed <= buffer->capacity)
        return true;
    size_t capacity = buffer->capacity ? buffer->capacity : FIRST_CAPACITY;
    while (capacity < needed)
        capacity *= 2;
    char *data = realloc(buffer->data, capacity);
    if (!data) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

void sbx_byte_buffer_append(struct sbx_byte_buffer *buffer, const void *bytes, size_t count)
{
    if (!reserve(buffer, count))
        return;
    if (count)
        memcpy(buffer->data + buffer->used, bytes, count);
    buffer->used += count;
    buffer->data[buffer->used] = '\0';
}

void sbx_byte_buffer_text(struct sbx_byte_buffer *buffer, const char *text)
{
    sbx_byte_buffer_append(buffer, text, strlen(text));
}

void sbx_byte_buffer_format(struct sbx_byte_buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) {
        buffer->failed = true;
        return;
    }
    if (!reserve(buffer, (size_t)length))
        return;
    va_start(arguments, format);
    vsnprintf(buffer->data + buffer->used, (size_t)length + 1, format, arguments);
    va_end(arguments);
    buffer->used += (size_t)length;
}

void sbx_byte_buffer_finish(struct sbx_byte_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct sbx_byte_buffer){0};
}
