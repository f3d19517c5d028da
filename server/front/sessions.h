/* SPDX-License-Identifier: Apache-2.0 */
/* sessions.h - people who logged in from a browser: a random number for each, in a cookie, that stands for the token they gave.
 *
 * In memory only: a restart logs everybody out, and nothing on disk can be taken for a token. Any thread. */
#ifndef SBX_SESSIONS_H
#define SBX_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "token_line.h"

enum {
    SBX_SESSION_TEXT_BYTES = 65, /* 64 hex digits and a zero */
    SBX_SESSION_LIFE_S = 12 * 3600,
};

struct sbx_sessions;

/* `max` at a time; one more ends the oldest. NULL without memory. */
struct sbx_sessions *sbx_sessions_create(size_t max);
void sbx_sessions_destroy(struct sbx_sessions *sessions); /* NULL is fine */

/* One begins, for the token of that digest, at `now_s` of a clock that only goes on. Returns 0 and its text, or -errno
 * when there is no randomness. */
int sbx_sessions_open(struct sbx_sessions *sessions, const uint8_t token[SBX_TOKEN_DIGEST], int64_t now_s,
                      char text_out[SBX_SESSION_TEXT_BYTES]);
/* Is `text` (NULL: no) a session that has not ended? */
bool sbx_sessions_find(struct sbx_sessions *sessions, const char *text, int64_t now_s,
                       uint8_t token_out[SBX_TOKEN_DIGEST]);
void sbx_sessions_close(struct sbx_sessions *sessions, const char *text); /* one that there is not: nothing */

/* May a wrong token be answered now? 30 at once and one each two seconds, of all visitors together. */
bool sbx_sessions_may_fail(struct sbx_sessions *sessions, int64_t now_s);

#endif
