/* SPDX-License-Identifier: Apache-2.0 */
/* show_payload.h - the two kinds of output of `stallbox show`. */
#ifndef SBX_SHOW_PAYLOAD_H
#define SBX_SHOW_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "payload_verify.h"

/* Terminal escapes around words, or empty strings. */
struct sbx_show_style {
    const char *bold, *dim, *good, *bad, *plain;
};

/* Prints the content of a payload as tables. The bytes must have passed the privacy check. Returns 0, or 1 without
 * memory. */
int sbx_show_tables(FILE *out, const struct sbx_show_style *style, const uint8_t *payload, size_t bytes);

/* Prints every field: name, meaning, values, bytes, share of `bytes`. */
void sbx_show_fields(FILE *out, const struct sbx_show_style *style, const struct sbx_payload_survey *survey,
                     size_t bytes);

/* Prints one line, from the survey: what redaction removed. */
void sbx_show_redactions(FILE *out, const struct sbx_show_style *style, const struct sbx_payload_survey *survey);

#endif
