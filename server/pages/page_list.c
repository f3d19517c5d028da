/* SPDX-License-Identifier: Apache-2.0 */
/* page_list.c - what hurts most, and what came last. */
#include "pages.h"

#include <math.h>
#include <string.h>

#include "html_writer.h"
#include "page_parts.h"

static void put_issue_link(struct sbx_byte_buffer *page, const char *id_text)
{
    sbx_html(page, "<a href=\"/issues/");
    sbx_html_text(page, id_text);
    sbx_html(page, "\">");
}

static void put_stall_link(struct sbx_byte_buffer *page, const char *id_text)
{
    sbx_html(page, "<a href=\"/stalls/");
    sbx_html_text(page, id_text);
    sbx_html(page, "\">");
}

static void put_module(struct sbx_byte_buffer *page, const char *module)
{
    if (!*module)
        return;
    sbx_html(page, " <span class=\"module\">");
    sbx_html_text(page, module);
    sbx_html(page, "</span>");
}

/* ---- issues ---- */

/* How many stalls these stand for, where that is more; their standard error is at most that (docs/SAMPLING.md). */
static void put_estimate(struct sbx_byte_buffer *page, const struct sbx_issue_row *issue)
{
    if (issue->weight > issue->hits) {
        sbx_html(page, "<br><span class=\"quiet\" title=\"estimated from a sample; the standard error is at most "
                       "that\">of about ");
        sbx_html_textf(page, "%lld", (long long)issue->weight);
        if (issue->variance > 0)
            sbx_html_textf(page, " ± %.0f", sqrt((double)issue->variance));
        sbx_html(page, "</span>");
    }
}

static void put_issue_row(struct sbx_byte_buffer *page, const struct sbx_issue_row *issue, int64_t now_ms)
{
    sbx_html(page, "<tr><td class=\"number hits\"><b>");
    sbx_html_textf(page, "%lld", (long long)issue->hits);
    sbx_html(page, "</b>");
    put_estimate(page, issue);
    sbx_html(page, "</td><td class=\"number sessions\">");
    sbx_html_textf(page, "%lld", (long long)issue->sessions);
    sbx_html(page, "<span class=\"unit\"> proc.</span></td><td class=\"cause\">");
    sbx_page_badge(page, issue->newest.cause);
    sbx_html(page, "</td><td class=\"what\">");
    put_issue_link(page, issue->id_text);
    sbx_page_function(page, issue->newest.function);
    sbx_html(page, "</a>");
    put_module(page, issue->newest.module);
    if (issue->new_in_build)
        sbx_html(page, " <span class=\"tag new\">new in this build</span>");
    sbx_html(page, "<div class=\"headline\">");
    sbx_html_text(page, issue->newest.headline);
    sbx_html(page, "</div></td><td class=\"app\">");
    sbx_html_text(page, issue->newest.app);
    sbx_html(page, "</td><td class=\"when\">");
    sbx_page_time(page, issue->last_ms, now_ms);
    sbx_html(page, "</td><td class=\"number took\">");
    sbx_page_duration(page, issue->longest_ns);
    sbx_html(page, "</td><td class=\"open\">");
    put_stall_link(page, issue->newest.id_text);
    sbx_html(page, "newest&nbsp;&rarr;</a></td></tr>\n");
}

static void put_issues(struct sbx_byte_buffer *page, const struct sbx_list_page *list)
{
    sbx_html(page, "<section><h2>Top issues <span class=\"count\">");
    sbx_html_textf(page, "%lld", (long long)list->counts.issues);
    sbx_html(page,
             "</span></h2><div class=\"wide\"><table class=\"list issues\"><thead><tr>"
             "<th class=\"number\">hits</th><th class=\"number\">processes</th><th>cause</th>"
             "<th>responsible function</th><th>application</th><th>last seen</th><th class=\"number\">longest</th>"
             "<th></th></tr></thead><tbody>\n");
    for (size_t i = 0; i < list->issue_count; i++)
        put_issue_row(page, &list->issues[i], list->now_ms);
    sbx_html(page, "</tbody></table></div></section>\n");
}

/* ---- snapshots ---- */

static void put_snapshot_row(struct sbx_byte_buffer *page, const struct sbx_snapshot_row *row, int64_t now_ms)
{
    sbx_html(page, "<tr><td class=\"when\">");
    sbx_page_time(page, row->received_ms, now_ms);
    sbx_html(page, "</td><td class=\"cause\">");
    if (row->state == SBX_TRIAGE_DONE)
        sbx_page_badge(page, row->cause);
    else
        sbx_html_text(page, row->state == SBX_TRIAGE_FAILED ? "triage failed" : "in triage");
    sbx_html(page, "</td><td class=\"what\">");
    put_stall_link(page, row->id_text);
    if (row->state == SBX_TRIAGE_DONE && *row->headline)
        sbx_html_text(page, row->headline);
    else
        sbx_html_textf(page, "%.12s", row->id_text);
    sbx_html(page, "</a>");
    /* The headline mostly names the function: then a second line would only repeat it. */
    if (row->state == SBX_TRIAGE_DONE && *row->function && !strstr(row->headline, row->function)) {
        sbx_html(page, "<div class=\"headline\">");
        sbx_page_function(page, row->function);
        put_module(page, row->module);
        sbx_html(page, "</div>");
    }
    if (row->state == SBX_TRIAGE_FAILED) {
        sbx_html(page, "<div class=\"headline\">");
        sbx_html_text(page, row->failure);
        sbx_html(page, "</div>");
    }
    sbx_html(page, "</td><td class=\"app\">");
    sbx_html_text(page, row->app);
    if (*row->app_version) {
        sbx_html(page, " <span class=\"quiet\">");
        sbx_html_text(page, row->app_version);
        sbx_html(page, "</span>");
    }
    sbx_html(page, "</td><td class=\"trigger\">");
    sbx_page_word(page, row->trigger);
    sbx_html(page, "</td><td class=\"number took\">");
    sbx_page_duration(page, row->duration_ns);
    sbx_html(page, "</td></tr>\n");
}

static void put_snapshots(struct sbx_byte_buffer *page, const struct sbx_list_page *list)
{
    sbx_html(page, "<div class=\"wide\"><table class=\"list snapshots\"><thead><tr><th>received</th><th>cause</th>"
                   "<th>what</th><th>application</th><th>trigger</th><th class=\"number\">duration</th></tr></thead>"
                   "<tbody>\n");
    for (size_t i = 0; i < list->snapshot_count; i++)
        put_snapshot_row(page, &list->snapshots[i], list->now_ms);
    sbx_html(page, "</tbody></table></div>\n");
    if (list->older_seq) {
        sbx_html(page, "<p class=\"more\"><a href=\"?before=");
        sbx_html_textf(page, "%lld", (long long)list->older_seq);
        sbx_html(page, "\">Older stalls &rarr;</a></p>\n");
    }
}

static void put_nothing_yet(struct sbx_byte_buffer *page)
{
    sbx_html(page,
             "<section class=\"verdict\"><h1>No stalls yet</h1><p>Run an application under the recorder and point it"
             " here:</p><pre>stallbox run --server http://THIS-ADDRESS -- ./your-application</pre>"
             "<p class=\"note\">A stall shows here a moment after it ends.</p></section>");
}

/* What is here and cannot be shown. */
static void put_sealed(struct sbx_byte_buffer *page, int64_t count)
{
    if (count == 0)
        return;
    sbx_html(page, "<p class=\"note\">");
    sbx_html_textf(page, "%lld", (long long)count);
    sbx_html(page,
             " payloads are sealed to a key that this server does not have: start it, or another on its data, with"
             " <code>--unseal-key</code>.</p>");
}

void sbx_page_list(const struct sbx_list_page *list, struct sbx_byte_buffer *page)
{
    sbx_page_begin(page, "Stalls - Stallbox", 0);
    if (list->counts.snapshots == 0) {
        if (list->counts.sealed == 0)
            put_nothing_yet(page);
        put_sealed(page, list->counts.sealed);
        sbx_page_end(page);
        return;
    }
    if (list->is_first && list->issue_count)
        put_issues(page, list);
    sbx_html(page, "<section><h2>Latest stalls <span class=\"count\">");
    sbx_html_textf(page, "%lld", (long long)list->counts.snapshots);
    sbx_html(page, "</span>");
    if (list->counts.pending) {
        sbx_html(page, " <span class=\"tag\">");
        sbx_html_textf(page, "%lld in triage", (long long)list->counts.pending);
        sbx_html(page, "</span>");
    }
    if (list->counts.failed) {
        sbx_html(page, " <span class=\"tag culprit\">");
        sbx_html_textf(page, "%lld failed", (long long)list->counts.failed);
        sbx_html(page, "</span>");
    }
    sbx_html(page, "</h2>");
    put_sealed(page, list->counts.sealed);
    put_snapshots(page, list);
    sbx_html(page, "</section>\n");
    sbx_page_end(page);
}

void sbx_page_issue(const struct sbx_issue_row *issue, const struct sbx_list_page *list, struct sbx_byte_buffer *page)
{
    sbx_page_begin(page, issue->newest.headline, 0);
    sbx_html(page, "<section class=\"verdict\"><p class=\"kicker\">");
    sbx_page_badge(page, issue->newest.cause);
    sbx_html(page, " <span>");
    sbx_page_word(page, issue->newest.class_);
    sbx_html(page, "</span>");
    if (issue->new_in_build)
        sbx_html(page, " <span class=\"tag new\">new in this build</span>");
    sbx_html(page, "</p><h1>");
    sbx_page_function(page, issue->newest.function);
    put_module(page, issue->newest.module);
    sbx_html(page, "</h1><p>");
    sbx_html_textf(page, "%lld hit%s in %lld process%s of ", (long long)issue->hits, issue->hits == 1 ? "" : "s",
                   (long long)issue->sessions, issue->sessions == 1 ? "" : "es");
    sbx_html(page, "<b>");
    sbx_html_text(page, issue->newest.app);
    sbx_html(page, "</b>");
    if (issue->weight > issue->hits)
        sbx_html_textf(page, ", which stand for about %lld stalls", (long long)issue->weight);
    sbx_html_textf(page, ", %lld build%s", (long long)issue->builds, issue->builds == 1 ? "" : "s");
    sbx_html(page, " &middot; first ");
    sbx_page_time(page, issue->first_ms, list->now_ms);
    sbx_html(page, " &middot; last ");
    sbx_page_time(page, issue->last_ms, list->now_ms);
    sbx_html(page, " &middot; longest <b>");
    sbx_page_duration(page, issue->longest_ns);
    sbx_html(page, "</b></p></section><section><h2>Its stalls</h2>");
    put_snapshots(page, list);
    sbx_html(page, "</section>\n");
    sbx_page_end(page);
}
