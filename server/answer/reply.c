/* SPDX-License-Identifier: Apache-2.0 */
/* reply.c - the form of every refusal: the status, then a sentence. */
#include "reply.h"

#include <stdarg.h>
#include <stdio.h>

void sbx_reply_text(struct sbx_reply *reply, unsigned status, const char *format, ...)
{
    char sentence[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    sbx_byte_buffer_finish(&reply->body);
    reply->status = status;
    reply->content_type = SBX_TEXT_PLAIN;
    sbx_byte_buffer_format(&reply->body, "%u: %s\n", status, sentence);
}

void sbx_reply_finish(struct sbx_reply *reply)
{
    sbx_byte_buffer_finish(&reply->body);
    *reply = (struct sbx_reply){0};
}
