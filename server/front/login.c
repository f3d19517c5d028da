/* SPDX-License-Identifier: Apache-2.0 */
/* login.c - one form field is a secret, the other a path. */
#include "login.h"

#include <stdio.h>
#include <string.h>

#include "pages.h"

enum {
    FIELD_BYTES = 512,
    WRONG_AGAIN_S = 10
};

bool sbx_login_is_path(const char *path)
{
    return strcmp(path, "/login") == 0 || strcmp(path, "/logout") == 0;
}

static int hex_digit(char digit)
{
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                          : -1;
}

/* Decode the value of a field. Returns false when the form does not have the field, or its value is too long or has a
 * zero byte. */
static bool read_field(const struct sbx_byte_buffer *form, const char *name, char out[FIELD_BYTES])
{
    const char *at = form->used ? form->data : "", *end = at + form->used;
    size_t name_bytes = strlen(name), used = 0;
    while ((size_t)(end - at) > name_bytes && !(strncmp(at, name, name_bytes) == 0 && at[name_bytes] == '=')) {
        const char *next = memchr(at, '&', (size_t)(end - at));
        at = next ? next + 1 : end;
    }
    if ((size_t)(end - at) <= name_bytes)
        return false;
    for (at += name_bytes + 1; at < end && *at != '&'; at++) {
        char letter = *at == '+' ? ' ' : *at;
        if (*at == '%') {
            if (end - at < 3 || hex_digit(at[1]) < 0 || hex_digit(at[2]) < 0)
                return false;
            letter = (char)(hex_digit(at[1]) << 4 | hex_digit(at[2]));
            at += 2;
        }
        if (letter == '\0' || used + 1 >= FIELD_BYTES)
            return false;
        out[used++] = letter;
    }
    out[used] = '\0';
    return true;
}

/* A path on this server, which no browser can take for another server. */
static bool is_own_path(const char *path)
{
    return path[0] == '/' && path[1] != '/' && strlen(path) < sizeof(((struct sbx_reply *)0)->location) &&
           strspn(path, "/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~?&=%") == strlen(path);
}

void sbx_login_page(const char *next, unsigned status, const char *sentence, struct sbx_reply *reply)
{
    sbx_byte_buffer_finish(&reply->body);
    reply->status = status;
    reply->content_type = SBX_TEXT_HTML;
    sbx_page_login(next && is_own_path(next) ? next : "/", sentence, &reply->body);
}

static void go_to(const char *path, struct sbx_reply *reply)
{
    sbx_reply_text(reply, 303, "see %s", path);
    snprintf(reply->location, sizeof(reply->location), "%s", path);
}

void sbx_login_post(struct sbx_sessions *sessions, const struct sbx_gate *gate, const struct sbx_byte_buffer *form,
                    bool is_secure, int64_t now_s, struct sbx_reply *reply)
{
    char given[FIELD_BYTES], next[FIELD_BYTES] = "/", text[SBX_SESSION_TEXT_BYTES];
    struct sbx_token token;
    bool has_given = !form->failed && read_field(form, "token", given);
    (void)read_field(form, "next", next);
    if (!is_own_path(next))
        snprintf(next, sizeof(next), "/");
    bool is_known = has_given && sbx_token_ring_find(gate->tokens, given, strlen(given), &token) &&
                    (token.rights & (SBX_RIGHT_READ | SBX_RIGHT_ADMIN));
    explicit_bzero(given, sizeof(given));
    if (!is_known && !sbx_sessions_may_fail(sessions, now_s)) {
        sbx_reply_text(reply, 429, "too many wrong tokens; try again in a while");
        reply->retry_after_s = WRONG_AGAIN_S;
    } else if (!is_known) {
        sbx_login_page(next, 403, "This is no token for reading.", reply);
    } else if (sbx_sessions_open(sessions, token.digest, now_s, text) < 0) {
        sbx_reply_text(reply, 503, "no session can begin now");
        reply->retry_after_s = WRONG_AGAIN_S;
    } else {
        go_to(next, reply);
        snprintf(reply->cookie, sizeof(reply->cookie),
                 SBX_SESSION_COOKIE "=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%d%s", text, SBX_SESSION_LIFE_S,
                 is_secure ? "; Secure" : "");
    }
}

void sbx_logout_post(struct sbx_sessions *sessions, const char *cookie, struct sbx_reply *reply)
{
    sbx_sessions_close(sessions, cookie);
    go_to("/login", reply);
    snprintf(reply->cookie, sizeof(reply->cookie),
             SBX_SESSION_COOKIE "=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
}
