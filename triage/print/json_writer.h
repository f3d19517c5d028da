/* SPDX-License-Identifier: Apache-2.0 */
/* json_writer.h - JSON to a stream, well formed whatever values it gets.
 *
 * Texts may be any bytes: bytes that are not UTF-8 become U+FFFD. Numbers that JSON cannot express become null. It
 * writes the commas. The caller must write keys in objects, and none in arrays. */
#ifndef SBX_JSON_WRITER_H
#define SBX_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sbx_json {
    FILE *out;
    bool needs_comma;
};

void sbx_json_init(struct sbx_json *json, FILE *out); /* `out` is borrowed */

void sbx_json_key(struct sbx_json *json, const char *key);
void sbx_json_begin_object(struct sbx_json *json);
void sbx_json_end_object(struct sbx_json *json);
void sbx_json_begin_array(struct sbx_json *json);
void sbx_json_end_array(struct sbx_json *json);

void sbx_json_text(struct sbx_json *json, const char *text); /* NULL: null */
void sbx_json_integer(struct sbx_json *json, int64_t value);
void sbx_json_unsigned(struct sbx_json *json, uint64_t value);
void sbx_json_number(struct sbx_json *json, double value); /* at most three decimals */
void sbx_json_bool(struct sbx_json *json, bool value);
void sbx_json_null(struct sbx_json *json);

/* A key and its value. */
void sbx_json_put_text(struct sbx_json *json, const char *key, const char *text); /* NULL: null */
void sbx_json_put_integer(struct sbx_json *json, const char *key, int64_t value);
void sbx_json_put_unsigned(struct sbx_json *json, const char *key, uint64_t value);
void sbx_json_put_number(struct sbx_json *json, const char *key, double value);
void sbx_json_put_bool(struct sbx_json *json, const char *key, bool value);
void sbx_json_put_line(struct sbx_json *json, uint32_t line); /* "line"; 0: not known, null */

#endif
