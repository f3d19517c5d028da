/* SPDX-License-Identifier: Apache-2.0 */
/* json_document.h - a writer of JSON documents for the list routes, which cares for commas and escapes.
 *
 * A zeroed value writes into its own buffer. Members are written in order; `name` is NULL inside an array. triage/
 * prints the report of one stall, without this file. */
#ifndef SBX_JSON_DOCUMENT_H
#define SBX_JSON_DOCUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "byte_buffer.h"

struct sbx_document {
    struct sbx_byte_buffer text; /* the document so far; the writer's owner finishes it */
    bool needs_comma;            /* the innermost container has a value already */
};

void sbx_document_open(struct sbx_document *json, const char *name, char bracket); /* '{' or '[' */
void sbx_document_close(struct sbx_document *json, char bracket);                  /* '}' or ']' */
/* a NULL value is written as null */
void sbx_document_string(struct sbx_document *json, const char *name, const char *value);
void sbx_document_integer(struct sbx_document *json, const char *name, int64_t value);
/* a value that is not finite is written as null */
void sbx_document_number(struct sbx_document *json, const char *name, double value);
void sbx_document_bool(struct sbx_document *json, const char *name, bool value);

#endif
