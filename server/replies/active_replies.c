/* SPDX-License-Identifier: Apache-2.0 */
/* active_replies.c - reads one machine-day strictly, because its text ends up in pages and in rows. */
#include "active_replies.h"

#include <stdlib.h>
#include <string.h>

#include "request.h"
#include "wall_clock.h"

/* "", or up to three numbers of at most six digits, with dots between them. */
static bool is_version(const char *text)
{
    for (int number = 1; *text; number++) {
        size_t digits = strspn(text, "0123456789");
        if (digits < 1 || digits > 6 || number > 3)
            return false;
        text += digits;
        if (*text == '\0')
            return true;
        if (*text++ != '.' || *text == '\0')
            return false;
    }
    return true;
}

bool sbx_active_request_read(const char *body, size_t bytes, uint64_t *app_out,
                             char version_out[SBX_ACTIVE_VERSION_BYTES])
{
    enum {
        APP_DIGITS = 10
    };
    static const char app[] = "app=", version[] = "&version=";
    char text[SBX_ACTIVE_BODY_MAX + 1] = "";
    if (bytes > SBX_ACTIVE_BODY_MAX || memchr(body, '\0', bytes))
        return false;
    memcpy(text, body, bytes);
    const char *number = text + sizeof(app) - 1, *told = number + APP_DIGITS + sizeof(version) - 1;
    if (strncmp(text, app, sizeof(app) - 1) != 0 || strspn(number, "0123456789abcdef") != APP_DIGITS ||
        strncmp(number + APP_DIGITS, version, sizeof(version) - 1) != 0 || !is_version(told))
        return false;
    *app_out = strtoull(number, NULL, 16); /* reads up to the '&' */
    memcpy(version_out, told, strlen(told) + 1);
    return *app_out != 0;
}

void sbx_active_reply(struct sbx_active_days *days, const struct sbx_byte_buffer *body, uint64_t token_app,
                      struct sbx_reply *reply)
{
    uint64_t app;
    char version[SBX_ACTIVE_VERSION_BYTES];
    if (body->failed || body->used == 0 || !sbx_active_request_read(body->data, body->used, &app, version)) {
        sbx_reply_text(reply, 400, "a machine-day is app=HEX&version=1.2.3, with ten hex digits");
    } else if (token_app != 0 && token_app != app) {
        sbx_reply_text(reply, 403, "this token is for another application");
    } else if (sbx_active_days_count(days, app, version, sbx_wall_clock_ms()) < 0) {
        sbx_reply_text(reply, 503, "more machine-days wait to be stored than are held");
        reply->retry_after_s = SBX_STORE_AGAIN_S;
    } else {
        sbx_reply_text(reply, 200, "counted");
    }
}
