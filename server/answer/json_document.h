/* SPDX-License-Identifier: Apache-2.0 */
/* json_document.h - JSON documents for the list routes, with commas and escapes that cannot be forgotten.
 *
 * A zeroed value writes into its own buffer. Members are written in order; `name` is NULL inside an array. The report
 * of one stall is printed by triage/, not by this. */
#ifndef SBX_JSON_DOCUMENT_H
#define SBX_JSON_DOCUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "byte_buffer.h"

struct sbx_document {
    struct sbx_byte_buffer text; /* the document so far; the writer's owner finishes it */
    bool needs_comma;            /* a value stands before the next one in the innermost container */
};

void sbx_document_open(struct sbx_document *json, const char *name, char bracket);        /* '{' or '[' */
void sbx_document_close(struct sbx_document *json, char bracket);                         /* '}' or ']' */
void sbx_document_string(struct sbx_document *json, const char *name, const char *value); /* NULL value: null */
void sbx_document_integer(struct sbx_document *json, const char *name, int64_t value);
void sbx_document_number(struct sbx_document *json, const char *name, double value); /* not finite: null */
void sbx_document_bool(struct sbx_document *json, const char *name, bool value);

#endif
