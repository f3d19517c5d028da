/* SPDX-License-Identifier: Apache-2.0 */
/* page_issue.c - the page of one issue: its sums, what people say of it, its stalls. */
#include "pages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "issue.html.h"
#include "page_parts.h"
#include "page_profile.h"
#include "page_sums.h"

static void put_number(struct sbx_fill *at, int64_t number)
{
    sbx_fill_textf(at, "%lld", (long long)number);
}

/* ---- the head ---- */

static void put_state(struct sbx_byte_buffer *page, const struct sbx_issue_row *issue)
{
    SBX_FILL(page, issue_state, at) {
    case ISSUE_STATE_WORD:
        if (*issue->until)
            sbx_fill_textf(&at, "%s %s %s", sbx_issue_state_name(issue->state),
                           issue->state == SBX_ISSUE_MUTED ? "until" : "in", issue->until);
        else
            sbx_fill_text(&at, sbx_issue_state_name(issue->state));
        break;
    }
}

static void put_owner(struct sbx_byte_buffer *page, const struct sbx_issue_row *issue)
{
    SBX_FILL(page, issue_owner, at) {
    case ISSUE_OWNER_NAME:
        sbx_fill_text(&at, issue->owner);
        break;
    }
}

static void put_path(struct sbx_byte_buffer *page, const struct sbx_issue_row *issue)
{
    SBX_FILL(page, issue_path, at) {
    case ISSUE_PATH_TEXT:
        sbx_fill_text(&at, issue->path);
        break;
    }
}

static void put_note(struct sbx_byte_buffer *page, const struct sbx_issue_row *issue)
{
    SBX_FILL(page, issue_note, at) {
    case ISSUE_NOTE_TEXT:
        sbx_fill_text(&at, issue->note);
        break;
    }
}

static void put_stands_for(struct sbx_byte_buffer *page, const struct sbx_issue_row *issue)
{
    SBX_FILL(page, issue_stands_for, at) {
    case ISSUE_STANDS_FOR_STALLS:
        put_number(&at, issue->weight);
        break;
    case ISSUE_STANDS_FOR_ERROR:
        if (issue->variance > 0)
            SBX_FILL(page, issue_error, in) {
            case ISSUE_ERROR_STALLS:
                sbx_fill_textf(&in, "%.0f", sqrt((double)issue->variance));
                break;
            }
        break;
    }
}

static void put_longest(struct sbx_byte_buffer *page, const struct sbx_issue_row *issue)
{
    SBX_FILL(page, issue_took, at) {
    case ISSUE_TOOK_LONGEST:
        sbx_page_duration(&at, issue->longest_ns);
        break;
    }
}

static void put_to(struct sbx_byte_buffer *page, const struct sbx_issue_after *after)
{
    SBX_FILL(page, issue_to, at) {
    case ISSUE_TO_ID:
        sbx_fill_text(&at, after->id_text);
        break;
    case ISSUE_TO_HEADLINE:
        sbx_fill_text(&at, *after->headline ? after->headline : after->id_text);
        break;
    case ISSUE_TO_HITS:
        put_number(&at, after->hits);
        break;
    }
}

static void put_moved(struct sbx_byte_buffer *page, const struct sbx_list_page *list)
{
    SBX_FILL(page, issue_moved, at) {
    case ISSUE_MOVED_TO:
        for (size_t i = 0; i < list->after_count; i++)
            put_to(page, &list->after[i]);
        break;
    }
}

/* ---- what people say ---- */

static void put_option(struct sbx_byte_buffer *page, const char *value, bool is_chosen)
{
    if (is_chosen) {
        SBX_FILL(page, issue_chosen, at) {
        case ISSUE_CHOSEN_VALUE:
        case ISSUE_CHOSEN_NAME:
            sbx_fill_text(&at, value);
            break;
        }
        return;
    }
    SBX_FILL(page, issue_option, at) {
    case ISSUE_OPTION_VALUE:
    case ISSUE_OPTION_NAME:
        sbx_fill_text(&at, value);
        break;
    }
}

static void put_states(struct sbx_byte_buffer *page, int state)
{
    state = state == SBX_ISSUE_REOPENED ? SBX_ISSUE_OPEN : state;
    for (int i = SBX_ISSUE_OPEN; i <= SBX_ISSUE_RESOLVED; i++)
        put_option(page, sbx_issue_state_name(i), i == state);
}

static void put_split(struct sbx_byte_buffer *page, const char *issue, const char *place)
{
    SBX_FILL(page, issue_split, at) {
    case ISSUE_SPLIT_ID:
        sbx_fill_text(&at, issue);
        break;
    case ISSUE_SPLIT_PLACE_ID:
        sbx_fill_text(&at, place);
        break;
    }
}

static void put_place(struct sbx_byte_buffer *page, const char *issue, const struct sbx_place_sum *place)
{
    SBX_FILL(page, issue_place, at) {
    case ISSUE_PLACE_TEXT:
        sbx_fill_text(&at, *place->path ? place->path : place->id_text);
        break;
    case ISSUE_PLACE_HITS:
        put_number(&at, place->hits);
        break;
    case ISSUE_PLACE_SPLIT:
        if (strcmp(issue, place->id_text) != 0)
            put_split(page, issue, place->id_text);
        break;
    }
}

static void put_places(struct sbx_byte_buffer *page, const char *issue, const struct sbx_issue_sums *sums)
{
    SBX_FILL(page, issue_places, at) {
    case ISSUE_PLACES_PLACE:
        for (size_t i = 0; i < sums->place_count; i++)
            put_place(page, issue, &sums->places[i]);
        break;
    }
}

static void put_profile(struct sbx_byte_buffer *page, const struct sbx_issue_row *issue,
                        const struct sbx_list_page *list)
{
    struct sbx_profile_ask of = {.is_full = false};
    memcpy(of.issue, issue->id_text, sizeof(issue->id_text));
    memcpy(of.version, list->version, sizeof(of.version));
    memcpy(of.since, list->since, sizeof(of.since));
    memcpy(of.until, list->until, sizeof(of.until));
    sbx_page_profile_part(page, list->profile, &of);
}

/* ---- the page ---- */

void sbx_page_issue(const struct sbx_issue_row *issue, const struct sbx_issue_sums *sums, const char *span,
                    const struct sbx_list_page *list, struct sbx_byte_buffer *page)
{
    struct sbx_fill frame = sbx_page_begin_with_pictures(page, issue->newest.headline);
    SBX_FILL(page, issue, at) {
    case ISSUE_CAUSE:
        sbx_page_badge(page, issue->newest.cause);
        break;
    case ISSUE_CLASS:
        if (strcmp(issue->newest.cause, "crash") != 0) /* a crash does not tell where time went */
            sbx_page_word(&at, issue->newest.class_);
        break;
    case ISSUE_NEW_IN_BUILD:
        if (issue->new_in_build)
            sbx_fill_markup(page, &issue_new_in_build_markup);
        break;
    case ISSUE_STATE:
        if (issue->state != SBX_ISSUE_OPEN)
            put_state(page, issue);
        break;
    case ISSUE_OWNER:
        if (*issue->owner)
            put_owner(page, issue);
        break;
    case ISSUE_FUNCTION:
        sbx_page_function(page, issue->newest.function);
        break;
    case ISSUE_MODULE:
        sbx_page_module(page, issue->newest.module);
        break;
    case ISSUE_PATH:
        if (*issue->path)
            put_path(page, issue);
        break;
    case ISSUE_HITS:
        sbx_page_count(&at, issue->hits, "hit", "s");
        break;
    case ISSUE_PROCESSES:
        sbx_page_count(&at, issue->sessions, "process", "es");
        break;
    case ISSUE_APP:
        sbx_fill_text(&at, issue->newest.app);
        break;
    case ISSUE_STANDS_FOR:
        if (issue->weight > issue->hits)
            put_stands_for(page, issue);
        break;
    case ISSUE_BUILDS:
        sbx_page_count(&at, issue->builds, "build", "s");
        break;
    case ISSUE_FIRST:
        sbx_page_time(page, issue->first_ms, list->now_ms);
        break;
    case ISSUE_LAST:
        sbx_page_time(page, issue->last_ms, list->now_ms);
        break;
    case ISSUE_TOOK:
        if (issue->longest_ns > 0 || strcmp(issue->newest.trigger, "crash") != 0)
            put_longest(page, issue);
        break;
    case ISSUE_NOTE:
        if (*issue->note)
            put_note(page, issue);
        break;
    case ISSUE_MOVED:
        if (list->after_count)
            put_moved(page, list);
        break;
    case ISSUE_WITHHELD:
        if (sums->is_withheld)
            sbx_fill_markup(page, &issue_withheld_markup);
        break;
    case ISSUE_NUMBERS:
        if (!sums->is_withheld)
            sbx_page_sum_numbers(page, sums, span);
        break;
    case ISSUE_PROFILE:
        if (list->profile)
            put_profile(page, issue, list);
        break;
    case ISSUE_TABLES:
        if (!sums->is_withheld)
            sbx_page_sum_tables(page, sums, NULL);
        break;
    case ISSUE_ID:
    case ISSUE_MERGE_ID:
        sbx_fill_text(&at, issue->id_text);
        break;
    case ISSUE_STATES:
        put_states(page, issue->state);
        break;
    case ISSUE_UNTIL:
        sbx_fill_text(&at, issue->until);
        break;
    case ISSUE_OWNER_VALUE:
        sbx_fill_text(&at, issue->owner);
        break;
    case ISSUE_NOTE_VALUE:
        sbx_fill_text(&at, issue->note);
        break;
    case ISSUE_PLACES:
        if (sums->place_count > 1)
            put_places(page, issue->id_text, sums);
        break;
    case ISSUE_SNAPSHOTS:
        sbx_page_snapshots(page, list);
        break;
    }
    sbx_page_end(&frame);
}
