/* SPDX-License-Identifier: Apache-2.0 */
/* html_fill.c - writes the markup up to a place, then the value that C puts there. */
#include "html_fill.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "html_writer.h"

struct sbx_fill sbx_fill_begin(struct sbx_byte_buffer *page, const struct sbx_fragment *fragment)
{
    return (struct sbx_fill){.page = page, .piece = fragment->pieces, .place = -1, .kind = SBX_PLACE_PARTS};
}

bool sbx_fill_next(struct sbx_fill *fill)
{
    /* Bytes in a value's place that sbx_fill_text() did not write are not known to be escaped. */
    if (fill->kind == SBX_PLACE_END || (fill->kind != SBX_PLACE_PARTS && fill->page->used != fill->filled_to)) {
        fill->page->failed = true;
        return false;
    }
    sbx_byte_buffer_append(fill->page, fill->piece->markup, fill->piece->markup_bytes);
    fill->kind = fill->piece->kind;
    fill->filled_to = fill->page->used;
    if (fill->kind == SBX_PLACE_END)
        return false;
    fill->piece++;
    fill->place++;
    return true;
}

void sbx_fill_markup(struct sbx_byte_buffer *page, const struct sbx_markup *markup)
{
    sbx_byte_buffer_append(page, markup->text, markup->bytes);
}

void sbx_fill_text(struct sbx_fill *fill, const char *text)
{
    switch (fill->kind) {
    case SBX_PLACE_TEXT:
    case SBX_PLACE_ATTRIBUTE:
        sbx_html_text(fill->page, text);
        break;
    case SBX_PLACE_URL:
        sbx_html_url_part(fill->page, text);
        break;
    case SBX_PLACE_PARTS:
    case SBX_PLACE_END:
        fill->page->failed = true;
        break;
    }
    fill->filled_to = fill->page->used;
}

void sbx_fill_textf(struct sbx_fill *fill, const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) {
        fill->page->failed = true;
        return;
    }
    sbx_fill_text(fill, text);
    free(text);
}

/* Append text that is already HTML, where the place allows HTML. */
static void append_html(struct sbx_fill *fill, const struct sbx_byte_buffer *html)
{
    if (fill->kind == SBX_PLACE_PARTS && !html->failed)
        sbx_byte_buffer_append(fill->page, html->data, html->used);
    else
        fill->page->failed = true;
}

void sbx_fill_picture(struct sbx_fill *fill, const struct sbx_byte_buffer *svg)
{
    if (svg->used < 4 || memcmp(svg->data, "<svg", 4) != 0)
        fill->page->failed = true;
    else
        append_html(fill, svg);
}

void sbx_fill_rendering(struct sbx_fill *fill, const struct sbx_byte_buffer *rendering)
{
    append_html(fill, rendering);
}
