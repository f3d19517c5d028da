/* SPDX-License-Identifier: Apache-2.0 */
/* html_writer.h - escaping, in one place: the text of strangers as HTML and as a part of an address. html_fill.h puts it where it
 * belongs. */
#ifndef SBX_HTML_WRITER_H
#define SBX_HTML_WRITER_H

#include "byte_buffer.h"

/* Append text for an element's content or a double-quoted attribute's value: & < > " ' are escaped; what is no
 * well-formed, showable UTF-8 becomes U+FFFD. NULL is empty. */
void sbx_html_text(struct sbx_byte_buffer *page, const char *text);

/* Append text as a part of an address in a double-quoted attribute: all but letters, digits and - . _ ~ becomes %XX, so
 * that it stays one part and begins no scheme. NULL is empty. */
void sbx_html_url_part(struct sbx_byte_buffer *page, const char *text);

#endif
