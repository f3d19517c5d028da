/* SPDX-License-Identifier: Apache-2.0 */
/* operator_log.c - lines for an operator. */
#include "operator_log.h"

#include <stdarg.h>

#include "json_document.h"
#include "wall_clock.h"

enum {
    MESSAGE_BYTES = 1024 /* the longest message is a path and a sentence; longer messages are cut */
};

static void put_json(FILE *out, enum sbx_log_level level, const char *part, struct sbx_log_subject subject,
                     const char *message)
{
    static const char *const levels[] = {"info", "warning"};
    struct sbx_document json = {0};
    char seconds[SBX_WALL_CLOCK_BYTES], when[SBX_WALL_CLOCK_BYTES];
    int64_t now_ms = sbx_wall_clock_ms();
    sbx_wall_clock_print(now_ms, seconds);
    snprintf(when, sizeof(when), "%.19s.%03dZ", seconds, (int)(now_ms % 1000));
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

static void put(const struct sbx_operator_log *log, enum sbx_log_level level, const char *part,
                struct sbx_log_subject subject, const char *format, va_list arguments)
{
    char message[MESSAGE_BYTES];
    if (!log || !log->out)
        return;
    vsnprintf(message, sizeof(message), format, arguments);
    if (log->is_json)
        put_json(log->out, level, part, subject, message);
    else
        fprintf(log->out, "stallbox serve: %s\n", message);
    fflush(log->out);
}

void sbx_operator_log(const struct sbx_operator_log *log, enum sbx_log_level level, const char *part,
                      const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put(log, level, part, (struct sbx_log_subject){0}, format, arguments);
    va_end(arguments);
}

void sbx_operator_log_of(const struct sbx_operator_log *log, enum sbx_log_level level, const char *part,
                         struct sbx_log_subject subject, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put(log, level, part, subject, format, arguments);
    va_end(arguments);
}
