/* SPDX-License-Identifier: Apache-2.0 */
/* page_settings.h - `/settings`: the options that the server runs with, and the rights of each token. */
#ifndef SBX_PAGE_SETTINGS_H
#define SBX_PAGE_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "byte_buffer.h"
#include "setting.h"

struct sbx_token_row {
    const char *id, *app, *note; /* app "": all applications */
    char roles[32];
    int64_t made_s, ends_s; /* seconds since 1970; ends 0: never */
    uint32_t an_hour;       /* 0: the server's default */
};

struct sbx_settings_page {              /* all borrowed */
    const struct sbx_setting *settings; /* settings of one group are adjacent */
    size_t setting_count;
    const struct sbx_token_row *tokens;
    size_t token_count;
    const char *why_no_tokens; /* why the token book cannot be read; "": it can */
    int64_t now_ms;
};
void sbx_page_settings(const struct sbx_settings_page *settings, struct sbx_byte_buffer *page);

#endif
