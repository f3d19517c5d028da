/* SPDX-License-Identifier: Apache-2.0 */
/* page_list.c - the issues that hurt most, and the newest stalls. */
#include "pages.h"

#include <math.h>
#include <string.h>

#include "list.html.h"
#include "names.h"
#include "page_parts.h"
#include "payload_numbers.h"

/* The duration. A crash that ended no stall has no duration; it is not shown as 0. */
static void put_took(struct sbx_fill *at, const char *trigger, int64_t duration_ns)
{
    if (duration_ns == 0 && strcmp(trigger, "crash") == 0)
        sbx_fill_text(at, "\u2013");
    else
        sbx_page_duration(at, duration_ns);
}

/* ---- issues ---- */

static void put_error(struct sbx_byte_buffer *page, const struct sbx_issue_row *issue)
{
    SBX_FILL(page, list_error, at) {
    case LIST_ERROR_STALLS:
        sbx_fill_textf(&at, "%.0f", sqrt((double)issue->variance));
        break;
    }
}

/* The number of all stalls that the recorded ones stand for, with an upper bound of its standard error
 * (docs/SAMPLING.md). */
static void put_estimate(struct sbx_byte_buffer *page, const struct sbx_issue_row *issue)
{
    SBX_FILL(page, list_estimate, at) {
    case LIST_ESTIMATE_STALLS:
        sbx_fill_textf(&at, "%lld", (long long)issue->weight);
        break;
    case LIST_ESTIMATE_ERROR:
        if (issue->variance > 0)
            put_error(page, issue);
        break;
    }
}

static void put_issue_row(struct sbx_byte_buffer *page, const struct sbx_issue_row *issue, int64_t now_ms)
{
    SBX_FILL(page, list_row, at) {
    case LIST_ROW_HITS:
        sbx_fill_textf(&at, "%lld", (long long)issue->hits);
        break;
    case LIST_ROW_ESTIMATE:
        if (issue->weight > issue->hits)
            put_estimate(page, issue);
        break;
    case LIST_ROW_SESSIONS:
        sbx_fill_textf(&at, "%lld", (long long)issue->sessions);
        break;
    case LIST_ROW_CAUSE:
        sbx_page_badge(page, issue->newest.cause);
        break;
    case LIST_ROW_ID:
        sbx_fill_text(&at, issue->id_text);
        break;
    case LIST_ROW_FUNCTION:
        sbx_page_function(page, issue->newest.function);
        break;
    case LIST_ROW_MODULE:
        sbx_page_module(page, issue->newest.module);
        break;
    case LIST_ROW_NEW:
        if (issue->new_in_build)
            sbx_fill_markup(page, &list_new_markup);
        break;
    case LIST_ROW_HEADLINE:
        sbx_fill_text(&at, issue->newest.headline);
        break;
    case LIST_ROW_APP:
        sbx_fill_text(&at, issue->newest.app);
        break;
    case LIST_ROW_WHEN:
        sbx_page_time(page, issue->last_ms, now_ms);
        break;
    case LIST_ROW_LONGEST:
        put_took(&at, issue->newest.trigger, issue->longest_ns);
        break;
    case LIST_ROW_NEWEST:
        sbx_fill_text(&at, issue->newest.id_text);
        break;
    }
}

/* The link to the issues that the first page has no room for. */
static void put_rest(struct sbx_byte_buffer *page, const struct sbx_list_page *list)
{
    SBX_FILL(page, list_rest, at) {
    case LIST_REST_COUNT:
        sbx_fill_textf(&at, "%lld", (long long)list->counts.issues);
        break;
    }
}

static void put_issues(struct sbx_byte_buffer *page, const struct sbx_list_page *list)
{
    SBX_FILL(page, list_issues, at) {
    case LIST_ISSUES_COUNT:
        sbx_fill_textf(&at, "%lld", (long long)list->counts.issues);
        break;
    case LIST_ISSUES_ROW:
        for (size_t i = 0; i < list->issue_count; i++)
            put_issue_row(page, &list->issues[i], list->now_ms);
        break;
    case LIST_ISSUES_REST:
        if (list->counts.issues > (int64_t)list->issue_count)
            put_rest(page, list);
        break;
    }
}

/* ---- snapshots ---- */

static void put_where(struct sbx_byte_buffer *page, const struct sbx_snapshot_row *row)
{
    SBX_FILL(page, list_where, at) {
    case LIST_WHERE_FUNCTION:
        sbx_page_function(page, row->function);
        break;
    case LIST_WHERE_MODULE:
        sbx_page_module(page, row->module);
        break;
    }
}

static void put_failure(struct sbx_byte_buffer *page, const struct sbx_snapshot_row *row)
{
    SBX_FILL(page, list_failure, at) {
    case LIST_FAILURE_WHY:
        sbx_fill_text(&at, row->failure);
        break;
    }
}

static void put_version(struct sbx_byte_buffer *page, const struct sbx_snapshot_row *row)
{
    SBX_FILL(page, list_version, at) {
    case LIST_VERSION_NUMBER:
        sbx_fill_text(&at, row->app_version);
        break;
    }
}

/* Did the stall last longer than its known duration, or did the process end in it? A stall that was reported while it
 * went on, and has answered since, has its whole duration. */
static bool has_more(const struct sbx_snapshot_row *row)
{
    bool goes_on = strcmp(row->trigger, "anr") == 0 || strcmp(row->trigger, "watchdog") == 0;
    return row->end_how == SBX_END_NONE ? goes_on : row->end_how != SBX_END_ANSWERED;
}

static void put_ended(struct sbx_byte_buffer *page, const struct sbx_snapshot_row *row)
{
    SBX_FILL(page, list_ended, at) {
    case LIST_ENDED_HOW:
        if (row->end_how == SBX_END_NONE)
            sbx_fill_text(&at, "so far");
        else if (row->end_how == SBX_END_UNSEEN)
            sbx_fill_text(&at, "and longer");
        else if (row->end_signal != 0)
            sbx_fill_textf(&at, "until %s", sbx_signal_name(row->end_signal));
        else
            sbx_fill_text(&at, "until it died");
        break;
    }
}

static void put_held(struct sbx_byte_buffer *page, uint32_t count)
{
    SBX_FILL(page, list_held, at) {
    case LIST_HELD_COUNT:
        sbx_fill_textf(&at, "%u", count);
        break;
    }
}

/* The row stands for all stalls of its family at that moment. */
static void put_kin(struct sbx_byte_buffer *page, const struct sbx_snapshot_row *row)
{
    SBX_FILL(page, list_kin, at) {
    case LIST_KIN_COUNT:
        sbx_fill_textf(&at, "%u", row->kin);
        break;
    case LIST_KIN_HELD:
        if (row->kin_held > 0)
            put_held(page, row->kin_held);
        break;
    }
}

/* Find the row to show at this index. Of the stalls of a family at one moment, a list shows only one: the stall of the
 * process that most others waited for, at the place of the newest stall. NULL: the family was shown already. */
static const struct sbx_snapshot_row *stands_for(const struct sbx_list_page *list, size_t index)
{
    const struct sbx_snapshot_row *row = &list->snapshots[index], *best = row;
    for (size_t i = 0; i < list->snapshot_count && row->kin > 1; i++) {
        const struct sbx_snapshot_row *other = &list->snapshots[i];
        if (other->kin <= 1 || other->kin_first != row->kin_first)
            continue;
        if (i < index)
            return NULL;
        best = other->kin_held > best->kin_held ? other : best;
    }
    return best;
}

static void put_snapshot_row(struct sbx_byte_buffer *page, const struct sbx_snapshot_row *row, int64_t now_ms)
{
    bool is_done = row->state == SBX_TRIAGE_DONE, has_failed = row->state == SBX_TRIAGE_FAILED;
    SBX_FILL(page, list_snapshot, at) {
    case LIST_SNAPSHOT_WHEN:
        sbx_page_time(page, row->received_ms, now_ms);
        break;
    case LIST_SNAPSHOT_CAUSE:
        if (is_done)
            sbx_page_badge(page, row->cause);
        break;
    case LIST_SNAPSHOT_STATE:
        if (!is_done)
            sbx_fill_text(&at, has_failed ? "triage failed" : "in triage");
        break;
    case LIST_SNAPSHOT_ID:
        sbx_fill_text(&at, row->id_text);
        break;
    case LIST_SNAPSHOT_HEADLINE:
        if (is_done && *row->headline)
            sbx_fill_text(&at, row->headline);
        else
            sbx_fill_textf(&at, "%.12s", row->id_text);
        break;
    case LIST_SNAPSHOT_KIN:
        if (row->kin > 1)
            put_kin(page, row);
        break;
    case LIST_SNAPSHOT_WHERE:
        /* The headline usually names the function; then a second line would only repeat it. */
        if (is_done && *row->function && !strstr(row->headline, row->function))
            put_where(page, row);
        break;
    case LIST_SNAPSHOT_FAILURE:
        if (has_failed)
            put_failure(page, row);
        break;
    case LIST_SNAPSHOT_APP:
        sbx_fill_text(&at, row->app);
        break;
    case LIST_SNAPSHOT_VERSION:
        if (*row->app_version)
            put_version(page, row);
        break;
    case LIST_SNAPSHOT_TRIGGER:
        sbx_page_word(&at, row->trigger);
        break;
    case LIST_SNAPSHOT_DURATION:
        put_took(&at, row->trigger, row->duration_ns);
        break;
    case LIST_SNAPSHOT_ENDED:
        if (has_more(row))
            put_ended(page, row);
        break;
    }
}

static void put_more(struct sbx_byte_buffer *page, const struct sbx_list_page *list)
{
    SBX_FILL(page, list_more, at) {
    case LIST_MORE_SEQ:
        sbx_fill_textf(&at, "%lld", (long long)list->older_seq);
        break;
    }
}

void sbx_page_snapshots(struct sbx_byte_buffer *page, const struct sbx_list_page *list)
{
    SBX_FILL(page, list_snapshots, at) {
    case LIST_SNAPSHOTS_SNAPSHOT:
        for (size_t i = 0; i < list->snapshot_count; i++) {
            const struct sbx_snapshot_row *row = stands_for(list, i);
            if (row)
                put_snapshot_row(page, row, list->now_ms);
        }
        break;
    case LIST_SNAPSHOTS_MORE:
        if (list->older_seq)
            put_more(page, list);
        break;
    }
}

/* ---- pages ---- */

/* A note that data may be withheld, and why. */
static void put_few(struct sbx_byte_buffer *page, const struct sbx_list_page *list)
{
    SBX_FILL(page, list_few, at) {
    case LIST_FEW_COUNT:
        sbx_fill_textf(&at, "%u", list->min_machines);
        break;
    }
}

static void put_sealed(struct sbx_byte_buffer *page, const struct sbx_list_page *list)
{
    SBX_FILL(page, list_sealed, at) {
    case LIST_SEALED_COUNT:
        sbx_fill_textf(&at, "%lld", (long long)list->counts.sealed);
        break;
    }
}

static void put_pending(struct sbx_byte_buffer *page, const struct sbx_list_page *list)
{
    SBX_FILL(page, list_pending, at) {
    case LIST_PENDING_COUNT:
        sbx_fill_textf(&at, "%lld", (long long)list->counts.pending);
        break;
    }
}

static void put_failed(struct sbx_byte_buffer *page, const struct sbx_list_page *list)
{
    SBX_FILL(page, list_failed, at) {
    case LIST_FAILED_COUNT:
        sbx_fill_textf(&at, "%lld", (long long)list->counts.failed);
        break;
    }
}

static void put_latest(struct sbx_byte_buffer *page, const struct sbx_list_page *list)
{
    SBX_FILL(page, list_latest, at) {
    case LIST_LATEST_COUNT:
        sbx_fill_textf(&at, "%lld", (long long)list->counts.snapshots);
        break;
    case LIST_LATEST_PENDING:
        if (list->counts.pending)
            put_pending(page, list);
        break;
    case LIST_LATEST_FAILED:
        if (list->counts.failed)
            put_failed(page, list);
        break;
    case LIST_LATEST_SEALED:
        if (list->counts.sealed)
            put_sealed(page, list);
        break;
    case LIST_LATEST_SNAPSHOTS:
        sbx_page_snapshots(page, list);
        break;
    }
}

void sbx_page_list(const struct sbx_list_page *list, struct sbx_byte_buffer *page)
{
    struct sbx_fill frame = sbx_page_begin(page, "Stalls - Stallbox", 0);
    if (list->min_machines > 1)
        put_few(page, list);
    if (list->counts.snapshots) {
        if (list->is_first && list->issue_count)
            put_issues(page, list);
        if (list->is_first)
            sbx_page_apps(page, list->apps, list->app_count, &(struct sbx_issues_ask){.text = ""});
        put_latest(page, list);
    } else if (list->counts.sealed) {
        put_sealed(page, list);
    } else {
        sbx_fill_markup(page, &list_nothing_markup);
    }
    sbx_page_end(&frame);
}
