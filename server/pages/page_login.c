/* SPDX-License-Identifier: Apache-2.0 */
/* page_login.c - the form that takes a token. */
#include "pages.h"

#include "login.html.h"
#include "page_parts.h"

static void put_said(struct sbx_byte_buffer *page, const char *sentence)
{
    SBX_FILL(page, login_said, at) {
    case LOGIN_SAID_SENTENCE:
        sbx_fill_text(&at, sentence);
        break;
    }
}

void sbx_page_login(const char *next, const char *sentence, struct sbx_byte_buffer *page)
{
    struct sbx_fill frame = sbx_page_begin(page, "Log in - Stallbox", 0);
    SBX_FILL(page, login, at) {
    case LOGIN_SAID:
        if (sentence)
            put_said(page, sentence);
        break;
    case LOGIN_NEXT:
        sbx_fill_text(&at, next);
        break;
    }
    sbx_page_end(&frame);
}
