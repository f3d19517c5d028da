/* SPDX-License-Identifier: Apache-2.0 */
/* login.h - /login and /logout: the visitor enters a token in a form, and gets a cookie that stands for the token for
 * some hours. */
#ifndef SBX_LOGIN_H
#define SBX_LOGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "gate.h"
#include "reply.h"
#include "sessions.h"

#define SBX_SESSION_COOKIE "stallbox_session"

enum {
    SBX_LOGIN_FORM_MAX = 4096 /* bytes */
};

bool sbx_login_is_path(const char *path); /* true for both paths */

/* GET: the form. `next` (may be NULL): the path to go to after the login. */
void sbx_login_page(const char *next, unsigned status, const char *sentence, struct sbx_reply *reply);

/* POST: the form. The caller has checked that it comes from one of our own pages. `is_secure`: the browser came by
 * TLS. */
void sbx_login_post(struct sbx_sessions *sessions, const struct sbx_gate *gate, const struct sbx_byte_buffer *form,
                    bool is_secure, int64_t now_s, struct sbx_reply *reply);
void sbx_logout_post(struct sbx_sessions *sessions, const char *cookie, struct sbx_reply *reply);

#endif
