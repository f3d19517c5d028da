/* SPDX-License-Identifier: Apache-2.0 */
/* printed.h - what an exporter wrote, in memory. */
#ifndef SBX_PRINTED_H
#define SBX_PRINTED_H

#include <stdio.h>

#include "report.h"

typedef int (*print_function)(const struct sbx_report *report, FILE *out);

/* Runs the exporter, asserts that it succeeds; NUL-terminated, the caller's to free. `count` (may be NULL): bytes. */
char *printed(print_function print, const struct sbx_report *report, size_t *count);

/* Asserts that the exporter says so when the stream is full (/dev/full). */
void assert_full_stream_is_an_error(print_function print, const struct sbx_report *report);

/* Asserts that `text` is one well-formed <svg> element that a strict content security policy lets through: no scripts,
 * handlers, styles, references or ids; text escaped. */
void assert_svg_is_sound(const char *text);

size_t count_of(const char *text, const char *part);

#endif
