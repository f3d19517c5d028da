/* SPDX-License-Identifier: Apache-2.0 */
/* html_writer.h - the only way to HTML: markup is a string literal, everything else is escaped.
 *
 * sbx_html() takes only a literal (the compiler refuses a variable), so no value can reach a page unescaped by mistake.
 * The one exception has a name that says so: sbx_html_picture(), for whole <svg> elements of our own exporters. */
#ifndef SBX_HTML_WRITER_H
#define SBX_HTML_WRITER_H

#include "byte_buffer.h"

/* Append markup. Only string literals concatenate with "", so only they compile. */
#define sbx_html(page, literal) sbx_byte_buffer_append((page), "" literal "", sizeof("" literal "") - 1)

/* Append text for an element's content or a double-quoted attribute's value: & < > " ' are escaped; what is no
 * well-formed, showable UTF-8 becomes U+FFFD. NULL is empty. */
void sbx_html_text(struct sbx_byte_buffer *page, const char *text);

/* Like sbx_html_text, but of a formatted text. */
void sbx_html_textf(struct sbx_byte_buffer *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Append text as a part of an address in a double-quoted attribute: all but letters, digits and - . _ ~ becomes %XX, so
 * that it stays one part and begins no scheme. NULL is empty. */
void sbx_html_url_part(struct sbx_byte_buffer *page, const char *text);

/* Append one <svg> element as it is. `svg` must come from sbx_print_timeline_svg or sbx_print_flame_svg, which escape
 * for themselves; anything that does not start with "<svg" is refused (the page fails). */
void sbx_html_picture(struct sbx_byte_buffer *page, const char *svg, size_t bytes);

#endif
