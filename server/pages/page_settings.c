/* SPDX-License-Identifier: Apache-2.0 */
/* page_settings.c - settings as groups of facts, tokens as a table. */
#include "page_settings.h"

#include <stdbool.h>
#include <string.h>

#include "grouping.h"
#include "page_parts.h"
#include "settings.html.h"

static void put_option(struct sbx_byte_buffer *page, const char *words)
{
    SBX_FILL(page, settings_option, at) {
    case SETTINGS_OPTION_WORDS:
        sbx_fill_text(&at, words);
        break;
    }
}

static void put_setting(struct sbx_byte_buffer *page, const struct sbx_setting *setting)
{
    SBX_FILL(page, settings_setting, at) {
    case SETTINGS_SETTING_NAME:
        sbx_fill_text(&at, setting->name);
        break;
    case SETTINGS_SETTING_VALUE:
        sbx_fill_text(&at, setting->value);
        break;
    case SETTINGS_SETTING_OPTION:
        if (*setting->option)
            put_option(page, setting->option);
        break;
    }
}

static void put_group(struct sbx_byte_buffer *page, const struct sbx_setting *first, size_t count)
{
    SBX_FILL(page, settings_group, at) {
    case SETTINGS_GROUP_TITLE:
        sbx_fill_text(&at, first->group);
        break;
    case SETTINGS_GROUP_SETTING:
        for (size_t i = 0; i < count; i++)
            put_setting(page, &first[i]);
        break;
    }
}

static void put_groups(struct sbx_byte_buffer *page, const struct sbx_settings_page *self)
{
    for (size_t at = 0, count; at < self->setting_count; at += count) {
        count = 1;
        while (at + count < self->setting_count &&
               strcmp(self->settings[at].group, self->settings[at + count].group) == 0)
            count++;
        put_group(page, &self->settings[at], count);
    }
}

static void put_day(struct sbx_fill *at, int64_t second)
{
    char day[16];
    sbx_day_print(second / 86400, day);
    sbx_fill_text(at, day);
}

static void put_token(struct sbx_byte_buffer *page, const struct sbx_token_row *token, int64_t now_ms)
{
    SBX_FILL(page, settings_token, at) {
    case SETTINGS_TOKEN_ID:
        sbx_fill_text(&at, token->id);
        break;
    case SETTINGS_TOKEN_ROLES:
        sbx_fill_text(&at, token->roles);
        break;
    case SETTINGS_TOKEN_APP:
        sbx_fill_text(&at, token->app);
        break;
    case SETTINGS_TOKEN_ALL:
        if (!*token->app)
            sbx_fill_markup(page, &settings_all_markup);
        break;
    case SETTINGS_TOKEN_MADE:
        sbx_page_time(page, token->made_s * 1000, now_ms);
        break;
    case SETTINGS_TOKEN_NEVER:
        if (token->ends_s == 0)
            sbx_fill_markup(page, &settings_never_markup);
        break;
    case SETTINGS_TOKEN_ENDED:
        if (token->ends_s != 0 && token->ends_s * 1000 <= now_ms)
            sbx_fill_markup(page, &settings_ended_markup);
        break;
    case SETTINGS_TOKEN_ENDS:
        if (token->ends_s != 0)
            put_day(&at, token->ends_s);
        break;
    case SETTINGS_TOKEN_RATE:
        if (token->an_hour)
            sbx_fill_textf(&at, "%u", token->an_hour);
        break;
    case SETTINGS_TOKEN_NOTE:
        sbx_fill_text(&at, token->note);
        break;
    }
}

static void put_tokens(struct sbx_byte_buffer *page, const struct sbx_settings_page *self)
{
    SBX_FILL(page, settings_tokens, at) {
    case SETTINGS_TOKENS_TOKEN:
        for (size_t i = 0; i < self->token_count; i++)
            put_token(page, &self->tokens[i], self->now_ms);
        break;
    }
}

static void put_broken(struct sbx_byte_buffer *page, const char *why)
{
    SBX_FILL(page, settings_broken, at) {
    case SETTINGS_BROKEN_WHY:
        sbx_fill_text(&at, why);
        break;
    }
}

void sbx_page_settings(const struct sbx_settings_page *self, struct sbx_byte_buffer *page)
{
    struct sbx_fill frame = sbx_page_begin(page, "Settings - Stallbox", 0);
    SBX_FILL(page, settings, at) {
    case SETTINGS_RULES:
        sbx_fill_textf(&at, "%d", SBX_GROUPING_RULES);
        break;
    case SETTINGS_GROUP:
        put_groups(page, self);
        break;
    case SETTINGS_COUNT:
        sbx_fill_textf(&at, "%zu", self->token_count);
        break;
    case SETTINGS_NO_TOKENS:
        if (self->token_count == 0 && !*self->why_no_tokens)
            sbx_fill_markup(page, &settings_no_tokens_markup);
        break;
    case SETTINGS_BROKEN:
        if (*self->why_no_tokens)
            put_broken(page, self->why_no_tokens);
        break;
    case SETTINGS_TOKENS:
        if (self->token_count)
            put_tokens(page, self);
        break;
    }
    sbx_page_end(&frame);
}
