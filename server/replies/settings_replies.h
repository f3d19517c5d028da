/* SPDX-License-Identifier: Apache-2.0 */
/* settings_replies.h - the page of the server's settings, and of the tokens in its book. */
#ifndef SBX_SETTINGS_REPLIES_H
#define SBX_SETTINGS_REPLIES_H

#include <stddef.h>
#include <stdint.h>

#include "reply.h"
#include "setting.h"

struct sbx_settings_view { /* all borrowed */
    const struct sbx_setting *settings;
    size_t count;
    const char *token_book; /* path of the token book */
};

/* Returns 0, or -ENOMEM without a reply. When the book cannot be read, the page says so. */
int sbx_settings_reply(const struct sbx_settings_view *view, int64_t now_ms, struct sbx_reply *reply);

#endif
