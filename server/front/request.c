/* SPDX-License-Identifier: Apache-2.0 */
/* request.c - what is asked for, and a refusal in the form of its path. */
#include "request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pages.h"

int64_t sbx_request_number(const char *text, int64_t max, int64_t otherwise)
{
    char *end;
    if (!text || *text < '0' || *text > '9')
        return otherwise;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    return errno || *end || number > max ? otherwise : number;
}

bool sbx_request_is_page(const struct sbx_request *request)
{
    return strncmp(request->path, "/v1/", 4) != 0;
}

void sbx_refuse(const struct sbx_request *request, struct sbx_reply *reply, unsigned status, const char *sentence)
{
    sbx_reply_text(reply, status, "%s", sentence);
    if (sbx_request_is_page(request)) {
        sbx_byte_buffer_finish(&reply->body);
        reply->content_type = SBX_TEXT_HTML;
        sbx_page_error(status, sentence, &reply->body);
    }
}

void sbx_refuse_for(const struct sbx_request *request, struct sbx_reply *reply, int result)
{
    if (result == -ENOENT) {
        sbx_refuse(request, reply, 404, "nothing here has this id");
        return;
    }
    sbx_refuse(request, reply, 503, "the store does not answer");
    reply->retry_after_s = SBX_STORE_AGAIN_S;
}
