/* SPDX-License-Identifier: Apache-2.0 */
/* vector_lines.h - reads published test vectors: lines, `"name": "hex"`, and hex. Test code. */
#ifndef SBX_VECTOR_LINES_H
#define SBX_VECTOR_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Open the file `name` of tests/vectors. Ends the test when it does not exist. Given: fclose. */
FILE *sbx_vector_open(const char *name);

/* Read lower-case hex up to the first other character. Returns how many bytes. */
size_t sbx_vector_hex(const char *text, uint8_t *bytes, size_t room);

/* The text of `"name": "text"` or the number of `"name": 12` in a line of Wycheproof's JSON, or NULL. */
const char *sbx_vector_value(const char *line, const char *name);

/* For RFC 9180's appendix: the hex after "name:", on the same line and those that follow, searched from the position of
 * `file`. Ends the test when it is not found. */
size_t sbx_vector_rfc(FILE *file, const char *name, uint8_t *bytes, size_t room);

#endif
