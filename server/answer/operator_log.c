/* SPDX-License-Identifier: Apache-2.0 */
/* operator_log.c - lines for an operator. */
#include "operator_log.h"

#include <stdarg.h>
#include <time.h>

#include "json_document.h"
#include "wall_clock.h"

enum {
    MESSAGE_BYTES = 1024 /* the longest is a path and a sentence; more is cut */
};

static void print_time(char *text, size_t bytes)
{
    int64_t now_ms = sbx_wall_clock_ms();
    time_t now_s = (time_t)(now_ms / 1000);
    struct tm utc;
    gmtime_r(&now_s, &utc);
    size_t length = strftime(text, bytes, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + length, bytes - length, ".%03dZ", (int)(now_ms % 1000));
}

static void put_json(FILE *out, enum sbx_log_level level, const char *part, struct sbx_log_subject subject,
                     const char *message)
{
    static const char *const levels[] = {"info", "warning"};
    struct sbx_document json = {0};
    char when[40];
    print_time(when, sizeof(when));
    sbx_document_open(&json, NULL, '{');
    sbx_document_string(&json, "time", when);
    sbx_document_string(&json, "level", levels[level]);
    sbx_document_string(&json, "part", part);
    if (subject.name)
        sbx_document_string(&json, subject.name, subject.value);
    sbx_document_string(&json, "message", message);
    sbx_document_close(&json, '}');
    sbx_byte_buffer_text(&json.text, "\n");
    if (!json.text.failed)
        fwrite(json.text.data, 1, json.text.used, out);
    sbx_byte_buffer_finish(&json.text);
}

void sbx_operator_log(const struct sbx_operator_log *log, enum sbx_log_level level, const char *part,
                      struct sbx_log_subject subject, const char *format, ...)
{
    char message[MESSAGE_BYTES];
    va_list arguments;
    if (!log || !log->out)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    if (log->is_json)
        put_json(log->out, level, part, subject, message);
    else
        fprintf(log->out, "stallbox serve: %s\n", message);
    fflush(log->out);
}
