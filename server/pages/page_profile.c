/* SPDX-License-Identifier: Apache-2.0 */
/* page_profile.c - where the time of many stalls went. The address holds the whole state of the page: which function
 * fills the width of the picture, what is marked, and whose callers are shown. So the page needs no script, works with
 * a keyboard, and can be shared as a link. */
#include "page_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page_parts.h"
#include "profile.html.h"

enum {
    FUNCTIONS = 25,
    LINK_BYTES = 4096,
};

/* The places of an address that tell whose stalls the profile has. */
#define PUT_ASK(prefix, at, ask)            \
    case prefix##_ISSUE:                    \
        sbx_fill_text(&at, (ask)->issue);   \
        break;                              \
    case prefix##_APP:                      \
        sbx_fill_text(&at, (ask)->app);     \
        break;                              \
    case prefix##_VERSION:                  \
        sbx_fill_text(&at, (ask)->version); \
        break;                              \
    case prefix##_SINCE:                    \
        sbx_fill_text(&at, (ask)->since);   \
        break;                              \
    case prefix##_UNTIL:                    \
        sbx_fill_text(&at, (ask)->until);   \
        break;

/* ---- pictures ---- */

static void add_argument(char link[LINK_BYTES], size_t *used, const char *name, const char *value)
{
    if (*value)
        *used += (size_t)snprintf(link + *used, LINK_BYTES - *used, "%s=", name);
    for (; *value && *used + 8 < LINK_BYTES; value++) {
        unsigned char byte = (unsigned char)*value;
        bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
                        byte == '-' || byte == '.' || byte == '_' || byte == '~';
        *used += (size_t)snprintf(link + *used, LINK_BYTES - *used, is_plain ? "%c" : "%%%02X", byte);
        if (!value[1])
            *used += (size_t)snprintf(link + *used, LINK_BYTES - *used, "&");
    }
}

/* "/profile?issue=...&at=": the link of a box; each box appends its own path. */
static void print_link(const struct sbx_profile_ask *ask, char link[LINK_BYTES])
{
    size_t used = (size_t)snprintf(link, LINK_BYTES, "/profile?");
    add_argument(link, &used, "issue", ask->issue);
    add_argument(link, &used, "app", ask->app);
    add_argument(link, &used, "version", ask->version);
    add_argument(link, &used, "since", ask->since);
    add_argument(link, &used, "until", ask->until);
    add_argument(link, &used, "find", ask->find);
    add_argument(link, &used, "full", ask->is_full ? "1" : "");
    snprintf(link + used, LINK_BYTES - used, "at=");
}

void sbx_page_flame(struct sbx_fill *at, const struct sbx_merged_profile *profile, const struct sbx_merged_view *view)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    int result = stream ? sbx_print_merged_svg(profile, view, stream) : -ENOMEM;
    if (stream && fclose(stream) != 0)
        result = -ENOMEM;
    if (result == 0)
        sbx_fill_picture(at, &(const struct sbx_byte_buffer){.data = text, .used = bytes});
    else
        at->page->failed = true;
    free(text);
}

static void put_stalls(struct sbx_fill *at, const struct sbx_merged_profile *profile)
{
    sbx_page_count(at, profile->stalls[SBX_MERGED_HERE], "stall", "s");
}

void sbx_page_profile_part(struct sbx_byte_buffer *page, const struct sbx_merged_profile *profile,
                           const struct sbx_profile_ask *ask)
{
    char link[LINK_BYTES];
    if (profile->count == 0 || profile->nodes[0].total_us[SBX_MERGED_HERE] <= 0)
        return;
    print_link(ask, link);
    const struct sbx_merged_view view = {.title = "Where their time went", .link = link, .find = ""};
    SBX_FILL(page, profile_part, at) {
    case PROFILE_PART_STALLS:
        put_stalls(&at, profile);
        break;
    case PROFILE_PART_PICTURE:
        sbx_page_flame(&at, profile, &view);
        break;
        PUT_ASK(PROFILE_PART, at, ask)
    }
}

/* ---- one picture of the page ---- */

struct flame {
    const char *title;
    const struct sbx_merged_profile *profile;
    struct sbx_merged_view view;
    bool may_join; /* true for the page's own picture, which follows `at` and `full` */
};

static void put_found(struct sbx_byte_buffer *page, const struct flame *flame)
{
    SBX_FILL(page, profile_found, at) {
    case PROFILE_FOUND_TEXT:
        sbx_fill_text(&at, flame->view.find);
        break;
    case PROFILE_FOUND_PERCENT:
        sbx_fill_textf(&at, "%.1f", 100 * sbx_merged_profile_share_of(flame->profile, flame->view.find));
        break;
    }
}

static void put_all(struct sbx_byte_buffer *page, const struct sbx_profile_ask *ask)
{
    SBX_FILL(page, profile_all, at) {
        PUT_ASK(PROFILE_ALL, at, ask)
    case PROFILE_ALL_FIND:
        sbx_fill_text(&at, ask->find);
        break;
    }
}

static void put_joined(struct sbx_byte_buffer *page, const struct sbx_profile_ask *ask, uint32_t rows)
{
    SBX_FILL(page, profile_joined, at) {
    case PROFILE_JOINED_COUNT:
        sbx_fill_textf(&at, "%u", rows);
        break;
        PUT_ASK(PROFILE_JOINED, at, ask)
    case PROFILE_JOINED_FIND:
        sbx_fill_text(&at, ask->find);
        break;
    case PROFILE_JOINED_FUNCTION:
        sbx_fill_text(&at, ask->function);
        break;
    case PROFILE_JOINED_AT:
        sbx_fill_text(&at, ask->at);
        break;
    }
}

static void put_apart(struct sbx_byte_buffer *page, const struct sbx_profile_ask *ask)
{
    SBX_FILL(page, profile_apart, at) {
        PUT_ASK(PROFILE_APART, at, ask)
    case PROFILE_APART_FIND:
        sbx_fill_text(&at, ask->find);
        break;
    case PROFILE_APART_FUNCTION:
        sbx_fill_text(&at, ask->function);
        break;
    case PROFILE_APART_AT:
        sbx_fill_text(&at, ask->at);
        break;
    }
}

static void put_caller(struct sbx_byte_buffer *page, const struct sbx_profile_ask *ask,
                       const struct sbx_merged_node *node, bool is_last)
{
    SBX_FILL(page, profile_caller, at) {
        PUT_ASK(PROFILE_CALLER, at, ask)
    case PROFILE_CALLER_FIND:
        sbx_fill_text(&at, ask->find);
        break;
    case PROFILE_CALLER_PATH:
        sbx_fill_textf(&at, "%016llx", (unsigned long long)node->path);
        break;
    case PROFILE_CALLER_NAME:
        sbx_fill_text(&at, node->name);
        break;
    case PROFILE_CALLER_FURTHER:
        if (!is_last)
            sbx_fill_markup(page, &profile_further_markup);
        break;
    }
}

/* The callers of the function that fills the width of the picture, outermost first. */
static void put_chain(struct sbx_byte_buffer *page, const struct sbx_profile_ask *ask, const struct flame *flame)
{
    const struct sbx_merged_node *nodes = flame->profile->nodes;
    uint32_t callers[SBX_MERGED_DEPTH_MAX], count = 0;
    for (uint32_t node = nodes[flame->view.at].parent; node != 0; node = nodes[node].parent)
        callers[count++] = node;
    SBX_FILL(page, profile_chain, at) {
    case PROFILE_CHAIN_CALLER:
        for (uint32_t i = count; i > 0; i--)
            put_caller(page, ask, &nodes[callers[i - 1]], i == 1);
        break;
    }
}

static void put_flame(struct sbx_byte_buffer *page, const struct sbx_profile_ask *ask, const struct flame *flame)
{
    uint32_t rows = sbx_merged_shared_rows(flame->profile, flame->view.at, SBX_MERGED_HERE);
    SBX_FILL(page, profile_flame, at) {
    case PROFILE_FLAME_TITLE:
        sbx_fill_text(&at, flame->title);
        break;
    case PROFILE_FLAME_STALLS:
        put_stalls(&at, flame->profile);
        break;
    case PROFILE_FLAME_CHAIN:
        if (flame->may_join && flame->profile->nodes[flame->view.at].depth > 1)
            put_chain(page, ask, flame);
        break;
    case PROFILE_FLAME_FOUND:
        if (*ask->find && flame->may_join)
            put_found(page, flame);
        break;
    case PROFILE_FLAME_ALL:
        if (flame->may_join && flame->view.at)
            put_all(page, ask);
        break;
    case PROFILE_FLAME_JOINED:
        if (flame->may_join && rows > 1 && !ask->is_full)
            put_joined(page, ask, rows);
        break;
    case PROFILE_FLAME_APART:
        if (flame->may_join && ask->is_full)
            put_apart(page, ask);
        break;
    case PROFILE_FLAME_LEADS:
        if (*flame->view.link)
            sbx_fill_markup(page, &profile_leads_markup);
        break;
    case PROFILE_FLAME_PICTURE:
        sbx_page_flame(&at, flame->profile, &flame->view);
        break;
    }
}

/* ---- callers and callees ---- */

bool sbx_page_profile_around(struct sbx_byte_buffer *page, const struct sbx_profile_page *self)
{
    struct sbx_merged_profile callers, callees;
    char title[600];
    int count = sbx_merged_profile_around(self->profile, self->ask.function, &callers, &callees);
    page->failed |= count < 0;
    if (count > 0) {
        snprintf(title, sizeof(title), "Who called %s", self->ask.function);
        struct flame flame = {.title = title, .profile = &callers, .view = {.link = "", .find = self->ask.find}};
        flame.view.title = title;
        flame.view.is_of_callers = flame.view.keeps_shared_rows = true;
        put_flame(page, &self->ask, &flame);
        snprintf(title, sizeof(title), "What %s called", self->ask.function);
        flame.profile = &callees;
        flame.view.is_of_callers = false;
        put_flame(page, &self->ask, &flame);
    }
    if (count >= 0) {
        sbx_merged_profile_finish(&callers);
        sbx_merged_profile_finish(&callees);
    }
    return count > 0;
}

/* ---- functions ---- */

static void put_time(struct sbx_fill *at, double us)
{
    sbx_page_duration(at, us < 9e15 ? (int64_t)(us * 1000) : INT64_MAX);
}

static void put_function(struct sbx_byte_buffer *page, const struct sbx_profile_page *self,
                         const struct sbx_merged_function *row)
{
    double whole = self->profile->nodes[0].total_us[SBX_MERGED_HERE];
    double part = whole > 0 ? 100 * row->self_us[SBX_MERGED_HERE] / whole : 0;
    SBX_FILL(page, profile_row, at) {
        PUT_ASK(PROFILE_ROW, at, &self->ask)
    case PROFILE_ROW_NAME:
    case PROFILE_ROW_TEXT:
        sbx_fill_text(&at, row->name);
        break;
    case PROFILE_ROW_OWN:
        put_time(&at, row->self_us[SBX_MERGED_HERE]);
        break;
    case PROFILE_ROW_PART:
        sbx_fill_textf(&at, "%.1f", part);
        break;
    case PROFILE_ROW_PERCENT:
        sbx_fill_textf(&at, "%.0f", part);
        break;
    case PROFILE_ROW_TOTAL:
        put_time(&at, row->total_us[SBX_MERGED_HERE]);
        break;
    }
}

static void put_option(struct sbx_byte_buffer *page, const char *name)
{
    SBX_FILL(page, profile_option, at) {
    case PROFILE_OPTION_NAME:
        sbx_fill_text(&at, name);
        break;
    }
}

static const struct download {
    const char *suffix, *format, *tools;
} downloads[] = {{".pprof", "pprof", "Parca, Pyroscope, go tool pprof"},
                 {".speedscope", "speedscope", "speedscope.app"},
                 {".folded", "folded stacks", "flamegraph.pl, inferno, Perfetto"},
                 {"", "JSON", ""}};

static void put_download(struct sbx_byte_buffer *page, const struct sbx_profile_ask *ask,
                         const struct download *download)
{
    SBX_FILL(page, profile_download, at) {
    case PROFILE_DOWNLOAD_SUFFIX:
        sbx_fill_text(&at, download->suffix);
        break;
        PUT_ASK(PROFILE_DOWNLOAD, at, ask)
    case PROFILE_DOWNLOAD_FORMAT:
        sbx_fill_text(&at, download->format);
        break;
    case PROFILE_DOWNLOAD_TOOLS:
        sbx_fill_text(&at, download->tools);
        break;
    }
}

static void put_list(struct sbx_byte_buffer *page, const struct sbx_profile_page *self)
{
    struct sbx_merged_function rows[FUNCTIONS];
    size_t count = sbx_merged_profile_functions(self->profile, rows, FUNCTIONS);
    SBX_FILL(page, profile_list, at) {
    case PROFILE_LIST_ROW:
        for (size_t i = 0; i < count; i++)
            put_function(page, self, &rows[i]);
        break;
    case PROFILE_LIST_OPTION:
        for (size_t i = 0; i < count; i++)
            put_option(page, rows[i].name);
        break;
    case PROFILE_LIST_DOWNLOAD:
        for (size_t i = 0; i < sizeof(downloads) / sizeof(downloads[0]); i++)
            put_download(page, &self->ask, &downloads[i]);
        break;
    }
}

/* ---- the page ---- */

static void put_body(struct sbx_byte_buffer *page, const struct sbx_profile_page *self)
{
    char link[LINK_BYTES];
    const struct sbx_profile_ask *ask = &self->ask;
    print_link(ask, link);
    uint32_t node = sbx_merged_profile_find(self->profile, strtoull(ask->at, NULL, 16));
    const struct flame whole = {.title = node ? self->profile->nodes[node].name : "All of it",
                                .profile = self->profile,
                                .view = {.title = "Where their time went",
                                         .link = link,
                                         .find = ask->find,
                                         .at = node,
                                         .keeps_shared_rows = ask->is_full},
                                .may_join = true};
    if (!*ask->function || !sbx_page_profile_around(page, self))
        put_flame(page, ask, &whole);
    put_list(page, self);
}

static void put_issue(struct sbx_byte_buffer *page, const char *id)
{
    SBX_FILL(page, profile_issue, at) {
    case PROFILE_ISSUE_ID:
        sbx_fill_text(&at, id);
        break;
    }
}

static void put_app(struct sbx_byte_buffer *page, const struct sbx_profile_ask *ask)
{
    SBX_FILL(page, profile_app_name, at) {
    case PROFILE_APP_NAME_APP:
        sbx_fill_text(&at, ask->app);
        break;
    case PROFILE_APP_NAME_NAME:
        sbx_fill_text(&at, *ask->app ? ask->app : "All applications");
        break;
    case PROFILE_APP_NAME_VERSION:
    case PROFILE_APP_NAME_NUMBER:
        sbx_fill_text(&at, ask->version);
        break;
    }
}

static void put_words(struct sbx_byte_buffer *page, const char *words)
{
    SBX_FILL(page, profile_words, at) {
    case PROFILE_WORDS_TEXT:
        sbx_fill_text(&at, words);
        break;
    }
}

static void put_kept_app(struct sbx_byte_buffer *page, const char *app)
{
    SBX_FILL(page, profile_kept_app, at) {
    case PROFILE_KEPT_APP_APP:
        sbx_fill_text(&at, app);
        break;
    }
}

static void put_across(struct sbx_byte_buffer *page, const struct sbx_profile_ask *ask)
{
    SBX_FILL(page, profile_across, at) {
    case PROFILE_ACROSS_FUNCTION:
        sbx_fill_text(&at, ask->function);
        break;
    case PROFILE_ACROSS_APP:
        sbx_fill_text(&at, ask->app);
        break;
    case PROFILE_ACROSS_VERSION:
        sbx_fill_text(&at, ask->version);
        break;
    case PROFILE_ACROSS_SINCE:
        sbx_fill_text(&at, ask->since);
        break;
    case PROFILE_ACROSS_UNTIL:
        sbx_fill_text(&at, ask->until);
        break;
    }
}

void sbx_page_profile(const struct sbx_profile_page *self, struct sbx_byte_buffer *page)
{
    const struct sbx_profile_ask *ask = &self->ask;
    bool has_time = self->profile->nodes[0].total_us[SBX_MERGED_HERE] > 0;
    struct sbx_fill frame = sbx_page_begin_with_pictures(page, "Where their time went - Stallbox");
    SBX_FILL(page, profile_page, at) {
    case PROFILE_PAGE_ISSUE:
        if (*ask->issue)
            put_issue(page, ask->issue);
        break;
    case PROFILE_PAGE_APP_NAME:
        if (!*ask->issue)
            put_app(page, ask);
        break;
    case PROFILE_PAGE_WORDS:
        if (*self->words)
            put_words(page, self->words);
        break;
    case PROFILE_PAGE_ISSUE_VALUE:
        sbx_fill_text(&at, ask->issue);
        break;
    case PROFILE_PAGE_AT:
        sbx_fill_text(&at, ask->at);
        break;
    case PROFILE_PAGE_KEPT_APP:
        if (!*ask->issue)
            put_kept_app(page, ask->app);
        break;
    case PROFILE_PAGE_VERSION:
        sbx_fill_text(&at, ask->version);
        break;
    case PROFILE_PAGE_SINCE:
        sbx_fill_text(&at, ask->since);
        break;
    case PROFILE_PAGE_UNTIL:
        sbx_fill_text(&at, ask->until);
        break;
    case PROFILE_PAGE_FIND:
        sbx_fill_text(&at, ask->find);
        break;
    case PROFILE_PAGE_FUNCTION:
        sbx_fill_text(&at, ask->function);
        break;
    case PROFILE_PAGE_ACROSS:
        if (*ask->function)
            put_across(page, ask);
        break;
    case PROFILE_PAGE_NONE:
        if (!has_time && !self->is_withheld)
            sbx_fill_markup(page, &profile_none_markup);
        break;
    case PROFILE_PAGE_WITHHELD:
        if (self->is_withheld)
            sbx_fill_markup(page, &profile_withheld_markup);
        break;
    case PROFILE_PAGE_BODY:
        if (has_time)
            put_body(page, self);
        break;
    }
    sbx_page_end(&frame);
}
