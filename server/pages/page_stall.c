/* SPDX-License-Identifier: Apache-2.0 */
/* page_stall.c - one stall: what the store knows now, around what its report said once. */
#include "pages.h"

#include "html_writer.h"
#include "page_parts.h"

enum {
    ASK_AGAIN_S = 1
};

static void put_issue_line(struct sbx_byte_buffer *page, const struct sbx_issue_row *issue, int64_t now_ms)
{
    sbx_html(page, " &middot; <a href=\"/issues/");
    sbx_html_text(page, issue->id_text);
    sbx_html(page, "\">");
    if (issue->hits == 1) {
        sbx_html(page, "the only one of its kind so far</a>");
    } else {
        sbx_html_textf(page, "one of %lld of its kind", (long long)issue->hits);
        sbx_html(page, "</a> in ");
        sbx_html_textf(page, "%lld process%s", (long long)issue->sessions, issue->sessions == 1 ? "" : "es");
        sbx_html(page, ", since ");
        sbx_page_time(page, issue->first_ms, now_ms);
    }
    if (issue->new_in_build)
        sbx_html(page, " <span class=\"tag new\">new in this build</span>");
}

static void put_line(struct sbx_byte_buffer *page, const struct sbx_snapshot_row *row,
                     const struct sbx_issue_row *issue, int64_t now_ms)
{
    sbx_html(page, "<p class=\"line\"><span>received ");
    sbx_page_time(page, row->received_ms, now_ms);
    if (issue)
        put_issue_line(page, issue, now_ms);
    sbx_html(page, "</span><span class=\"links\">");
    static const struct {
        const char *suffix, *name;
    } downloads[] = {
        {"json", "JSON"}, {"perfetto", "Perfetto"}, {"pprof", "pprof"}, {"folded", "folded"}, {"sbx", "payload"}};
    for (size_t i = 0; i < sizeof(downloads) / sizeof(downloads[0]); i++) {
        sbx_html(page, "<a href=\"/v1/snapshots/");
        sbx_html_textf(page, "%s.%s", row->id_text, downloads[i].suffix);
        sbx_html(page, "\">");
        sbx_html_text(page, downloads[i].name);
        sbx_html(page, "</a> ");
    }
    sbx_html(page, "</span></p>\n");
}

void sbx_page_stall(const struct sbx_snapshot_row *row, const struct sbx_issue_row *issue,
                    const struct sbx_byte_buffer *report, int64_t now_ms, struct sbx_byte_buffer *page)
{
    bool has_failed = row->state == SBX_TRIAGE_FAILED;
    bool is_aged = row->state == SBX_TRIAGE_DONE && !report && row->bytes == 0;
    sbx_page_begin(page, *row->headline ? row->headline : "A stall", report || has_failed || is_aged ? 0 : ASK_AGAIN_S);
    put_line(page, row, issue, now_ms);
    if (has_failed) {
        sbx_html(page,
                 "<section class=\"verdict\"><p class=\"kicker\"><span class=\"badge\">triage failed</span></p><h1>");
        sbx_html_text(page, row->failure);
        if (row->bytes > 0) {
            sbx_html(page, "</h1><p>The payload is kept as it came (");
            sbx_html_textf(page, "%lld bytes", (long long)row->bytes);
            sbx_html(page,
                     "); take it with the link above and look with <code>stallbox show FILE</code>. The next version"
                     " of the server tries again by itself.</p></section>\n");
        } else {
            sbx_html(page, "</h1><p>The payload was aged out.</p></section>\n");
        }
    } else if (report) {
        sbx_byte_buffer_append(page, report->data, report->used);
    } else if (is_aged) {
        sbx_html(page, "<section class=\"verdict\"><p class=\"kicker\"><span class=\"badge\">aged out</span></p><h1>");
        sbx_html_text(page, row->headline);
        sbx_html(page, "</h1><p>Its payload and its report went for their age (<code>stallbox serve "
                       "--payload-days</code>); this is what was said of it.</p></section>\n");
    } else {
        sbx_html(page, "<section class=\"verdict\"><p class=\"kicker\"><span class=\"badge\">in triage</span></p><h1>");
        sbx_page_word(page, row->trigger);
        sbx_html(page, " after ");
        sbx_page_duration(page, row->duration_ns);
        sbx_html(page, "</h1><p>Symbols are being read; this page asks again each second.</p></section>\n");
    }
    sbx_html(page, "<p class=\"note\">Snapshot <code class=\"id\">");
    sbx_html_text(page, row->id_text);
    sbx_html(page, "</code></p>");
    sbx_page_end(page);
}

void sbx_page_error(unsigned status, const char *sentence, struct sbx_byte_buffer *page)
{
    sbx_page_begin(page, "Stallbox", 0);
    sbx_html(page, "<section class=\"verdict\"><p class=\"kicker\"><span class=\"badge\">");
    sbx_html_textf(page, "%u", status);
    sbx_html(page, "</span></p><h1>");
    sbx_html_text(page, sentence);
    sbx_html(page, "</h1><p><a href=\"/\">All stalls</a></p></section>");
    sbx_page_end(page);
}
