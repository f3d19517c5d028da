/* SPDX-License-Identifier: Apache-2.0 */
/* settings_replies.c - shows the settings of the start. The token book is read anew for each page. */
#include "settings_replies.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "page_settings.h"
#include "token_book.h"

int sbx_settings_reply(const struct sbx_settings_view *view, int64_t now_ms, struct sbx_reply *reply)
{
    struct sbx_token *tokens = NULL;
    size_t count = 0;
    char why[400] = "";
    int result = sbx_token_book_read(view->token_book, &tokens, &count, why, sizeof(why));
    struct sbx_token_row *rows = calloc(count + 1, sizeof(*rows));
    if (!rows) {
        free(tokens);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        rows[i] = (struct sbx_token_row){.id = tokens[i].id,
                                         .app = tokens[i].app,
                                         .note = tokens[i].note,
                                         .made_s = tokens[i].made_s,
                                         .ends_s = tokens[i].ends_s,
                                         .an_hour = tokens[i].an_hour};
        sbx_token_rights_print(tokens[i].rights, rows[i].roles);
    }
    const struct sbx_settings_page page = {.settings = view->settings,
                                           .setting_count = view->count,
                                           .tokens = rows,
                                           .token_count = count,
                                           .why_no_tokens =
                                               result < 0 && result != -ENOENT ? "see the server's log" : "",
                                           .now_ms = now_ms};
    reply->status = 200;
    reply->content_type = SBX_TEXT_HTML;
    sbx_page_settings(&page, &reply->body);
    free(rows);
    free(tokens);
    return 0;
}
