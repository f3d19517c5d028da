/* SPDX-License-Identifier: Apache-2.0 */
/* vector_lines.h - the little that reading published vectors takes: lines, `"name": "hex"`, and hex. Test code. */
#ifndef SBX_VECTOR_LINES_H
#define SBX_VECTOR_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The file `name` of tests/vectors. Ends the test when it is not there. Given: fclose. */
FILE *sbx_vector_open(const char *name);

/* Bytes of lower hex up to the first other character. Returns how many. */
size_t sbx_vector_hex(const char *text, uint8_t *bytes, size_t room);

/* The text of `"name": "text"` or the number of `"name": 12` in a line of Wycheproof's JSON, or NULL. */
const char *sbx_vector_value(const char *line, const char *name);

/* Of RFC 9180's appendix: what stands behind "name:", on the same line and those that follow, from where `file` is.
 * Ends the test when it is not there. */
size_t sbx_vector_rfc(FILE *file, const char *name, uint8_t *bytes, size_t room);

#endif
