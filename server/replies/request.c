/* SPDX-License-Identifier: Apache-2.0 */
/* request.c - a request, and a refusal in the form that suits its path. */
#include "request.h"

#include <errno.h>
#include <stdio.h>
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

static bool is_among(const char *name, const char *names)
{
    size_t bytes = strlen(name);
    for (const char *at = names; *at; at += strspn(at, " ")) {
        size_t word = strcspn(at, " ");
        if (word == bytes && memcmp(at, name, bytes) == 0)
            return true;
        at += word;
    }
    return false;
}

bool sbx_request_takes(const struct sbx_request *request, const char *names, struct sbx_reply *reply)
{
    const struct sbx_arguments *arguments = &request->arguments;
    char sentence[200] = "";
    if (arguments->is_broken)
        snprintf(sentence, sizeof(sentence), "there are more than %zu arguments, or one has no value",
                 sizeof(arguments->each) / sizeof(arguments->each[0]));
    for (size_t i = 0; i < arguments->count && !*sentence; i++) {
        const char *name = arguments->each[i].name, *value = arguments->each[i].value;
        size_t first = 0;
        while (strcmp(arguments->each[first].name, name) != 0)
            first++;
        if (!is_among(name, names))
            snprintf(sentence, sizeof(sentence), *names ? "argument %.20s is none of: %s" : "argument %.20s is none%s",
                     name, names);
        else if (first < i)
            snprintf(sentence, sizeof(sentence), "argument %.20s is there twice", name);
        else if (strcmp(name, "before") == 0 && sbx_request_number(value, INT64_MAX, 0) < 1)
            snprintf(sentence, sizeof(sentence), "argument before is a number that this server gave");
        else if (strcmp(name, "limit") == 0 && sbx_request_number(value, SBX_ROWS_MAX, 0) < 1)
            snprintf(sentence, sizeof(sentence), "argument limit is a number from 1 to %d", SBX_ROWS_MAX);
    }
    if (*sentence)
        sbx_refuse(request, reply, 400, sentence);
    return !*sentence;
}

bool sbx_request_is_page(const struct sbx_request *request)
{
    return strncmp(request->path, "/v1/", 4) != 0;
}

void sbx_refuse(const struct sbx_request *request, struct sbx_reply *reply, unsigned status, const char *sentence)
{
    sbx_reply_text(reply, status, "%s", sentence);
    if (sbx_request_is_page(request) && strcmp(request->path, "/feed.atom") != 0) { /* programs read the feed too */
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
