/* SPDX-License-Identifier: Apache-2.0 */
/* json_writer.c - JSON to a stream. Errors stay in the stream: the caller asks ferror() once, at the end. */
#include "json_writer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void sbx_json_init(struct sbx_json *json, FILE *out)
{
    *json = (struct sbx_json){out, false};
}

static void begin_value(struct sbx_json *json)
{
    if (json->needs_comma) {
        fputc(',', json->out);
    }
    json->needs_comma = true;
}

static void open_bracket(struct sbx_json *json, char bracket)
{
    begin_value(json);
    fputc(bracket, json->out);
    json->needs_comma = false;
}

static void close_bracket(struct sbx_json *json, char bracket)
{
    fputc(bracket, json->out);
    json->needs_comma = true;
}

void sbx_json_begin_object(struct sbx_json *json)
{
    open_bracket(json, '{');
}

void sbx_json_end_object(struct sbx_json *json)
{
    close_bracket(json, '}');
}

void sbx_json_begin_array(struct sbx_json *json)
{
    open_bracket(json, '[');
}

void sbx_json_end_array(struct sbx_json *json)
{
    close_bracket(json, ']');
}

/* How many bytes the UTF-8 character at `text` has; 0 if it is not valid (RFC 3629: shortest form, no surrogates). */
static size_t utf8_bytes(const unsigned char *text)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high;
        size_t bytes;
    } forms[] = {
        {0x00, 0x7f, 0x00, 0xff, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (text[0] < forms[i].first_low || text[0] > forms[i].first_high) {
            continue;
        }
        if (forms[i].bytes > 1 && (text[1] < forms[i].second_low || text[1] > forms[i].second_high)) {
            return 0;
        }
        for (size_t j = 2; j < forms[i].bytes; j++) {
            if ((text[j] & 0xc0) != 0x80) {
                return 0;
            }
        }
        return forms[i].bytes;
    }
    return 0;
}

static void write_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t bytes = utf8_bytes(at);
        if (bytes == 0) {
            fputs("\\ufffd", out);
            at++;
        } else if (bytes > 1) {
            fwrite(at, 1, bytes, out);
            at += bytes;
        } else {
            if (*at == '"' || *at == '\\') {
                fprintf(out, "\\%c", *at);
            } else if (*at < 0x20 || *at == 0x7f) {
                fprintf(out, "\\u%04x", *at);
            } else {
                fputc(*at, out);
            }
            at++;
        }
    }
    fputc('"', out);
}

void sbx_json_key(struct sbx_json *json, const char *key)
{
    begin_value(json);
    write_text(json->out, key);
    fputc(':', json->out);
    json->needs_comma = false;
}

void sbx_json_text(struct sbx_json *json, const char *text)
{
    if (text == NULL) {
        sbx_json_null(json);
        return;
    }
    begin_value(json);
    write_text(json->out, text);
}

void sbx_json_integer(struct sbx_json *json, int64_t value)
{
    begin_value(json);
    fprintf(json->out, "%" PRId64, value);
}

void sbx_json_unsigned(struct sbx_json *json, uint64_t value)
{
    begin_value(json);
    fprintf(json->out, "%" PRIu64, value);
}

void sbx_json_number(struct sbx_json *json, double value)
{
    if (!isfinite(value)) {
        sbx_json_null(json);
        return;
    }
    begin_value(json);
    char text[352]; /* the longest: -1.8e308 written out */
    int bytes = snprintf(text, sizeof text, "%.3f", value);
    while (bytes > 1 && text[bytes - 1] == '0') {
        text[--bytes] = '\0';
    }
    if (bytes > 1 && text[bytes - 1] == '.') {
        text[--bytes] = '\0';
    }
    fputs(strcmp(text, "-0") == 0 ? "0" : text, json->out);
}

void sbx_json_bool(struct sbx_json *json, bool value)
{
    begin_value(json);
    fputs(value ? "true" : "false", json->out);
}

void sbx_json_null(struct sbx_json *json)
{
    begin_value(json);
    fputs("null", json->out);
}

void sbx_json_put_text(struct sbx_json *json, const char *key, const char *text)
{
    sbx_json_key(json, key);
    sbx_json_text(json, text);
}

void sbx_json_put_integer(struct sbx_json *json, const char *key, int64_t value)
{
    sbx_json_key(json, key);
    sbx_json_integer(json, value);
}

void sbx_json_put_unsigned(struct sbx_json *json, const char *key, uint64_t value)
{
    sbx_json_key(json, key);
    sbx_json_unsigned(json, value);
}

void sbx_json_put_number(struct sbx_json *json, const char *key, double value)
{
    sbx_json_key(json, key);
    sbx_json_number(json, value);
}

void sbx_json_put_bool(struct sbx_json *json, const char *key, bool value)
{
    sbx_json_key(json, key);
    sbx_json_bool(json, value);
}

void sbx_json_put_line(struct sbx_json *json, uint32_t line)
{
    sbx_json_key(json, "line");
    if (line > 0) {
        sbx_json_unsigned(json, line);
    } else {
        sbx_json_null(json);
    }
}
