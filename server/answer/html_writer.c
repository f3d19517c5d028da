/* SPDX-License-Identifier: Apache-2.0 */
/* html_writer.c - escaping, in one place. */
#include "html_writer.h"

#include <string.h>

#include "utf8.h"

static const char *entity_of(char character)
{
    switch (character) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void sbx_html_text(struct sbx_byte_buffer *page, const char *text)
{
    size_t left = text ? strlen(text) : 0;
    while (left) {
        size_t skip;
        size_t length = sbx_utf8_showable(text, left, &skip);
        const char *entity = entity_of(*text);
        if (length == 0)
            sbx_byte_buffer_text(page, SBX_UTF8_REPLACEMENT);
        else if (entity)
            sbx_byte_buffer_text(page, entity);
        else
            sbx_byte_buffer_append(page, text, length);
        text += skip;
        left -= skip;
    }
}

void sbx_html_url_part(struct sbx_byte_buffer *page, const char *text)
{
    for (; text && *text; text++) {
        unsigned char byte = (unsigned char)*text;
        bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
        if (is_plain || strchr("-._~", byte))
            sbx_byte_buffer_append(page, text, 1);
        else
            sbx_byte_buffer_format(page, "%%%02X", byte);
    }
}
