/* SPDX-License-Identifier: Apache-2.0 */
/* sessions.h - visitors who logged in from a browser. Each has a random number in a cookie, which stands for the token
 * they gave.
 *
 * Sessions are in memory only: a restart logs everybody out, and no file on disk can be used as a token. Any thread. */
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

/* At most `max` sessions; one more ends the oldest. Returns NULL without memory. */
struct sbx_sessions *sbx_sessions_create(size_t max);
void sbx_sessions_destroy(struct sbx_sessions *sessions); /* NULL is fine */

/* Begin a session for the token with that digest. `now_s`: a monotonic clock. Returns 0 and the session's text, or
 * -errno when there is no randomness. */
int sbx_sessions_open(struct sbx_sessions *sessions, const uint8_t token[SBX_TOKEN_DIGEST], int64_t now_s,
                      char text_out[SBX_SESSION_TEXT_BYTES]);
/* Is `text` a session that has not ended? NULL is not. */
bool sbx_sessions_find(struct sbx_sessions *sessions, const char *text, int64_t now_s,
                       uint8_t token_out[SBX_TOKEN_DIGEST]);
void sbx_sessions_close(struct sbx_sessions *sessions, const char *text); /* an unknown session is fine */

/* May a wrong token be answered now? 30 at once and one every two seconds, counted over all visitors. */
bool sbx_sessions_may_fail(struct sbx_sessions *sessions, int64_t now_s);

#endif
