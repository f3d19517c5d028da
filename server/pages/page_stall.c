/* SPDX-License-Identifier: Apache-2.0 */
/* page_stall.c - one stall: what the store knows now, around the fixed part from its report. */
#include "pages.h"

#include "error.html.h"
#include "page_parts.h"
#include "stall.html.h"

enum {
    ASK_AGAIN_S = 1
};

static void put_since(struct sbx_byte_buffer *page, const struct sbx_issue_row *issue, int64_t now_ms)
{
    SBX_FILL(page, stall_since, at) {
    case STALL_SINCE_PROCESSES:
        sbx_page_count(&at, issue->sessions, "process", "es");
        break;
    case STALL_SINCE_FIRST:
        sbx_page_time(page, issue->first_ms, now_ms);
        break;
    }
}

static void put_among(struct sbx_byte_buffer *page, const struct sbx_issue_row *issue)
{
    SBX_FILL(page, stall_among, at) {
    case STALL_AMONG_HITS:
        sbx_fill_textf(&at, "%lld", (long long)issue->hits);
        break;
    }
}

static void put_issue(struct sbx_byte_buffer *page, const struct sbx_issue_row *issue, int64_t now_ms)
{
    bool is_only = issue->hits == 1;
    SBX_FILL(page, stall_issue, at) {
    case STALL_ISSUE_ID:
        sbx_fill_text(&at, issue->id_text);
        break;
    case STALL_ISSUE_ONLY:
        if (is_only)
            sbx_fill_markup(page, &stall_only_markup);
        break;
    case STALL_ISSUE_AMONG:
        if (!is_only)
            put_among(page, issue);
        break;
    case STALL_ISSUE_SINCE:
        if (!is_only)
            put_since(page, issue, now_ms);
        break;
    case STALL_ISSUE_NEW:
        if (issue->new_in_build)
            sbx_fill_markup(page, &stall_new_markup);
        break;
    }
}

static void put_was(struct sbx_byte_buffer *page, const struct sbx_snapshot_row *row)
{
    SBX_FILL(page, stall_was, at) {
    case STALL_WAS_OLD:
        sbx_fill_text(&at, row->was_in_text);
        break;
    }
}

static void put_download(struct sbx_byte_buffer *page, const char *id_text, const char *suffix, const char *name)
{
    SBX_FILL(page, stall_download, at) {
    case STALL_DOWNLOAD_ID:
        sbx_fill_text(&at, id_text);
        break;
    case STALL_DOWNLOAD_SUFFIX:
        sbx_fill_text(&at, suffix);
        break;
    case STALL_DOWNLOAD_NAME:
        sbx_fill_text(&at, name);
        break;
    }
}

static void put_downloads(struct sbx_byte_buffer *page, const char *id_text)
{
    static const struct {
        const char *suffix, *name;
    } downloads[] = {
        {"json", "JSON"}, {"perfetto", "Perfetto"}, {"pprof", "pprof"}, {"folded", "folded"}, {"sbx", "payload"}};
    for (size_t i = 0; i < sizeof(downloads) / sizeof(downloads[0]); i++)
        put_download(page, id_text, downloads[i].suffix, downloads[i].name);
}

static void put_kept(struct sbx_byte_buffer *page, const struct sbx_snapshot_row *row)
{
    SBX_FILL(page, stall_kept, at) {
    case STALL_KEPT_BYTES:
        sbx_fill_textf(&at, "%lld", (long long)row->bytes);
        break;
    }
}

static void put_failed(struct sbx_byte_buffer *page, const struct sbx_snapshot_row *row)
{
    SBX_FILL(page, stall_failed, at) {
    case STALL_FAILED_FAILURE:
        sbx_fill_text(&at, row->failure);
        break;
    case STALL_FAILED_KEPT:
        if (row->bytes > 0)
            put_kept(page, row);
        break;
    case STALL_FAILED_GONE:
        if (row->bytes <= 0)
            sbx_fill_markup(page, &stall_gone_markup);
        break;
    }
}

static void put_aged(struct sbx_byte_buffer *page, const struct sbx_snapshot_row *row)
{
    SBX_FILL(page, stall_aged, at) {
    case STALL_AGED_HEADLINE:
        sbx_fill_text(&at, row->headline);
        break;
    }
}

static void put_pending_after(struct sbx_byte_buffer *page, const struct sbx_snapshot_row *row)
{
    SBX_FILL(page, stall_pending_after, at) {
    case STALL_PENDING_AFTER_DURATION:
        sbx_page_duration(&at, row->duration_ns);
        break;
    }
}

static void put_pending(struct sbx_byte_buffer *page, const struct sbx_snapshot_row *row)
{
    SBX_FILL(page, stall_pending, at) {
    case STALL_PENDING_TRIGGER:
        sbx_page_word(&at, row->trigger);
        break;
    case STALL_PENDING_PENDING_AFTER:
        if (row->duration_ns > 0)
            put_pending_after(page, row);
        break;
    }
}

/* ---- stalls of its family at that moment ---- */

static void put_held(struct sbx_byte_buffer *page, uint32_t count)
{
    SBX_FILL(page, stall_held, at) {
    case STALL_HELD_COUNT:
        sbx_fill_textf(&at, "%u", count);
        break;
    }
}

static void put_beside(struct sbx_byte_buffer *page, const struct sbx_snapshot_row *one, bool is_self)
{
    SBX_FILL(page, stall_beside, at) {
    case STALL_BESIDE_CAUSE:
        if (*one->cause)
            sbx_page_badge(page, one->cause);
        break;
    case STALL_BESIDE_ID:
        sbx_fill_text(&at, one->id_text);
        break;
    case STALL_BESIDE_HEADLINE:
        sbx_fill_text(&at, *one->headline ? one->headline : one->id_text);
        break;
    case STALL_BESIDE_HELD:
        if (one->kin_held > 0)
            put_held(page, one->kin_held);
        break;
    case STALL_BESIDE_SELF:
        if (is_self)
            sbx_fill_markup(page, &stall_self_markup);
        break;
    case STALL_BESIDE_TOOK:
        sbx_page_duration(&at, one->duration_ns);
        break;
    }
}

static void put_kin(struct sbx_byte_buffer *page, const struct sbx_snapshot_row *row,
                    const struct sbx_snapshot_row *kin, size_t kin_count)
{
    SBX_FILL(page, stall_kin, at) {
    case STALL_KIN_COUNT:
        sbx_fill_textf(&at, "%u", row->kin);
        break;
    case STALL_KIN_BESIDE:
        for (size_t i = 0; i < kin_count; i++)
            put_beside(page, &kin[i], kin[i].seq == row->seq);
        break;
    }
}

void sbx_page_stall(const struct sbx_snapshot_row *row, const struct sbx_issue_row *issue,
                    const struct sbx_snapshot_row *kin, size_t kin_count, const struct sbx_byte_buffer *report,
                    struct sbx_stall_look look, int64_t now_ms, struct sbx_byte_buffer *page)
{
    bool has_failed = row->state == SBX_TRIAGE_FAILED;
    bool is_aged = row->state == SBX_TRIAGE_DONE && !report && row->bytes == 0;
    bool is_pending = !has_failed && !report && !is_aged;
    const char *title = *row->headline ? row->headline : "A stall";
    struct sbx_fill frame = report && !has_failed ? sbx_page_begin_with_pictures(page, title)
                                                  : sbx_page_begin(page, title, is_pending ? ASK_AGAIN_S : 0);
    SBX_FILL(page, stall, at) {
    case STALL_RECEIVED:
        sbx_page_time(page, row->received_ms, now_ms);
        break;
    case STALL_ISSUE:
        if (issue)
            put_issue(page, issue, now_ms);
        break;
    case STALL_WAS:
        if (*row->was_in_text)
            put_was(page, row);
        break;
    case STALL_DOWNLOAD:
        put_downloads(page, row->id_text);
        break;
    case STALL_KIN:
        if (kin_count > 1)
            put_kin(page, row, kin, kin_count);
        break;
    case STALL_FAILED:
        if (has_failed)
            put_failed(page, row);
        break;
    case STALL_STACKS:
        sbx_fill_text(&at, look.is_async ? "async" : "own");
        break;
    case STALL_VIEW:
        sbx_fill_text(&at, look.is_history ? "history" : "judged");
        break;
    case STALL_REPORT:
        if (report && !has_failed)
            sbx_fill_rendering(&at, report);
        break;
    case STALL_AGED:
        if (is_aged)
            put_aged(page, row);
        break;
    case STALL_PENDING:
        if (is_pending)
            put_pending(page, row);
        break;
    case STALL_ID:
        sbx_fill_text(&at, row->id_text);
        break;
    }
    sbx_page_end(&frame);
}

void sbx_page_error(unsigned status, const char *sentence, struct sbx_byte_buffer *page)
{
    struct sbx_fill frame = sbx_page_begin(page, "Stallbox", 0);
    SBX_FILL(page, error, at) {
    case ERROR_STATUS:
        sbx_fill_textf(&at, "%u", status);
        break;
    case ERROR_SENTENCE:
        sbx_fill_text(&at, sentence);
        break;
    }
    sbx_page_end(&frame);
}
