/* SPDX-License-Identifier: Apache-2.0 */
/* json_document.c - the few JSON shapes that the list routes need. */
#include "json_document.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "utf8.h"

static void append_quoted(struct sbx_byte_buffer *text, const char *value)
{
    size_t left = strlen(value);
    sbx_byte_buffer_text(text, "\"");
    while (left) {
        size_t skip;
        size_t length = sbx_utf8_showable(value, left, &skip);
        if (length == 0)
            sbx_byte_buffer_text(text, SBX_UTF8_REPLACEMENT);
        else if (*value == '"' || *value == '\\')
            sbx_byte_buffer_format(text, "\\%c", *value);
        else if (*value == '<') /* so that a document pasted into a page cannot end its element */
            sbx_byte_buffer_text(text, "\\u003c");
        else
            sbx_byte_buffer_append(text, value, length);
        value += skip;
        left -= skip;
    }
    sbx_byte_buffer_text(text, "\"");
}

static void begin_member(struct sbx_document *json, const char *name)
{
    if (json->needs_comma)
        sbx_byte_buffer_text(&json->text, ",");
    json->needs_comma = true;
    if (name) {
        append_quoted(&json->text, name);
        sbx_byte_buffer_text(&json->text, ":");
    }
}

void sbx_document_open(struct sbx_document *json, const char *name, char bracket)
{
    begin_member(json, name);
    sbx_byte_buffer_append(&json->text, &bracket, 1);
    json->needs_comma = false;
}

void sbx_document_close(struct sbx_document *json, char bracket)
{
    sbx_byte_buffer_append(&json->text, &bracket, 1);
    json->needs_comma = true;
}

void sbx_document_string(struct sbx_document *json, const char *name, const char *value)
{
    begin_member(json, name);
    if (value)
        append_quoted(&json->text, value);
    else
        sbx_byte_buffer_text(&json->text, "null");
}

void sbx_document_integer(struct sbx_document *json, const char *name, int64_t value)
{
    begin_member(json, name);
    sbx_byte_buffer_format(&json->text, "%lld", (long long)value);
}

void sbx_document_number(struct sbx_document *json, const char *name, double value)
{
    begin_member(json, name);
    if (isfinite(value))
        sbx_byte_buffer_format(&json->text, "%.6g", value);
    else
        sbx_byte_buffer_text(&json->text, "null");
}

void sbx_document_bool(struct sbx_document *json, const char *name, bool value)
{
    begin_member(json, name);
    sbx_byte_buffer_text(&json->text, value ? "true" : "false");
}
