/* SPDX-License-Identifier: Apache-2.0 */
/* printed.h - an exporter's output in memory. */
#ifndef SBX_PRINTED_H
#define SBX_PRINTED_H

#include <stdio.h>

#include "report.h"

typedef int (*print_function)(const struct sbx_report *report, FILE *out);

/* Run the exporter and assert that it succeeds. Returns its output, NUL-terminated, the caller's to free. `count` (may
 * be NULL): its bytes. */
char *printed(print_function print, const struct sbx_report *report, size_t *count);

/* Assert that the exporter reports an error when the stream is full (/dev/full). */
void assert_full_stream_is_an_error(print_function print, const struct sbx_report *report);

/* Assert that `text` is one well-formed <svg> element that a strict content security policy allows: no scripts,
 * handlers, styles, references or ids; text escaped. */
void assert_svg_is_sound(const char *text);

size_t count_of(const char *text, const char *part);

#endif
