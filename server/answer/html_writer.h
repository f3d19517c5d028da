/* SPDX-License-Identifier: Apache-2.0 */
/* html_writer.h - all escaping: untrusted text as HTML and as a part of an address. html_fill.h decides which of the
 * two a place needs. */
#ifndef SBX_HTML_WRITER_H
#define SBX_HTML_WRITER_H

#include "byte_buffer.h"

/* Append text for an element's content or a double-quoted attribute's value: & < > " ' are escaped; invalid UTF-8 and
 * characters that must not be shown become U+FFFD. NULL is empty. */
void sbx_html_text(struct sbx_byte_buffer *page, const char *text);

/* Append text as a part of an address in a double-quoted attribute: all but letters, digits and - . _ ~ becomes %XX, so
 * the text stays one part and cannot start a scheme. NULL is empty. */
void sbx_html_url_part(struct sbx_byte_buffer *page, const char *text);

#endif
