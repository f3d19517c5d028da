/* SPDX-License-Identifier: Apache-2.0 */
/* page_report.c - from top to bottom in the order in which a person on call asks: what, who, why, where did the time
 * go, show me, what else, what is missing. */
#include "page_report.h"

#include <string.h>

#include "html_writer.h"
#include "names.h"
#include "page_history.h"
#include "page_parts.h"
#include "page_stacks.h"
#include "snapshot_id.h"

enum {
    HOT_MAX = 12
};

static const char *os_name(uint32_t os)
{
    static const char *const names[] = {"Linux", "Debian", "Ubuntu", "Fedora", "RHEL family", "SUSE", "Arch", "Alpine"};
    return os < sizeof(names) / sizeof(names[0]) ? names[os] : names[0];
}

/* ---- the verdict ---- */

static void put_place(struct sbx_byte_buffer *page, const struct sbx_location *location)
{
    sbx_html(page, "<p class=\"blame\">");
    sbx_page_function(page, location->function);
    if (location->module && *location->module) {
        sbx_html(page, " <span class=\"module\">");
        sbx_html_text(page, location->module);
        sbx_html(page, "</span>");
    }
    if (location->file && location->line) {
        sbx_html(page, " <span class=\"place\">");
        sbx_html_textf(page, "%s:%u", location->file, location->line);
        sbx_html(page, "</span>");
    }
    sbx_html(page, "</p>");
}

/* How sure: a word, the number, and a bar as wide as it. Geometry is in attributes: the policy of the page allows no
 * inline style. */
static void put_confidence(struct sbx_byte_buffer *page, double confidence)
{
    double percent = confidence < 0 ? 0 : confidence > 1 ? 100 : confidence * 100;
    sbx_html(page, "<span class=\"confidence\">");
    sbx_html_text(page, percent >= 80 ? "certain" : percent >= 50 ? "likely" : percent >= 25 ? "weak" : "a guess");
    sbx_html(page,
             " <svg class=\"meter\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
             "<rect class=\"meter-rest\" width=\"100\" height=\"8\"/><rect class=\"meter-part\" height=\"8\" width=\"");
    sbx_html_textf(page, "%.0f", percent);
    sbx_html(page, "\"/></svg> ");
    sbx_html_textf(page, "%.0f %%", percent);
    sbx_html(page, "</span>");
}

static void put_trigger(struct sbx_byte_buffer *page, const struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    char kind[SBX_KIND_TEXT_BYTES];
    sbx_page_word(page, sbx_trigger_name(stall->trigger.kind));
    if (stall->trigger.duration_ns > 0 && stall->trigger.kind != SBX_TRIGGER_MANUAL) {
        sbx_html(page, " after <b>");
        sbx_page_duration(page, stall->trigger.duration_ns);
        sbx_html(page, "</b>");
    }
    if (stall->trigger.threshold_ms) {
        sbx_html(page, ", limit ");
        sbx_page_duration(page, (int64_t)stall->trigger.threshold_ms * 1000000);
    }
    if (stall->trigger.kind == SBX_TRIGGER_MANUAL)
        sbx_html(page, ", asked for by hand");
    else if (stall->trigger.in_progress)
        sbx_html(page, ", not over when recorded");
    sbx_report_kind_text(report, report->message_kind, kind);
    if (kind[0] != '\0') {
        sbx_html(page, ", message ");
        sbx_html_text(page, kind);
    }
}

static void put_fact(struct sbx_byte_buffer *page, const char *name)
{
    sbx_html(page, "<dt>");
    sbx_html_text(page, name);
    sbx_html(page, "</dt><dd>");
}

static void put_build(struct sbx_byte_buffer *page, const struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    char build_id[2 * sizeof(stall->app_build_id) + 1];
    sbx_hex_print(stall->app_build_id, stall->app_build_id_bytes, build_id);
    if (stall->app_version[0] || stall->app_version[1] || stall->app_version[2])
        sbx_html_textf(page, "%u.%u.%u ", stall->app_version[0], stall->app_version[1], stall->app_version[2]);
    if (*build_id) {
        sbx_html(page, "<code class=\"id\" title=\"");
        sbx_html_text(page, build_id);
        sbx_html(page, "\">");
        sbx_html_textf(page, "%.12s", build_id);
        sbx_html(page, "</code>");
    } else {
        sbx_html(page, "hidden");
    }
}

static void put_facts(struct sbx_byte_buffer *page, const struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_verdict *verdict = &report->verdict;
    sbx_html(page, "<dl class=\"facts\">");
    put_fact(page, "application");
    sbx_html(page, "<b>");
    sbx_html_text(page, report->app_name);
    sbx_html(page, "</b></dd>");
    put_fact(page, "build");
    put_build(page, report);
    sbx_html(page, "</dd>");
    if (stall->trigger.thread < stall->thread_count) {
        put_fact(page, "judged");
        sbx_page_thread_name(page, report, stall->trigger.thread);
        sbx_html(page, "</dd>");
    }
    put_fact(page, "confidence");
    put_confidence(page, verdict->confidence);
    sbx_html(page, "</dd>");
    if (verdict->culprit_thread >= 0 && (uint32_t)verdict->culprit_thread < stall->thread_count) {
        put_fact(page, "culprit thread");
        sbx_page_thread_name(page, report, (uint32_t)verdict->culprit_thread);
        if (verdict->culprit_function && *verdict->culprit_function) {
            sbx_html(page, " in ");
            sbx_page_function(page, verdict->culprit_function);
        }
        sbx_html(page, "</dd>");
    }
    put_fact(page, "machine");
    sbx_html_text(page, os_name(stall->platform.os));
    if (stall->platform.os_major)
        sbx_html_textf(page, " %u", stall->platform.os_major);
    if (stall->platform.kernel_major)
        sbx_html_textf(page, ", kernel %u.%u", stall->platform.kernel_major, stall->platform.kernel_minor);
    if (stall->platform.arch)
        sbx_html_text(page, stall->platform.arch == 2 ? ", aarch64" : ", x86-64");
    if (stall->platform.log2_cores < 16)
        sbx_html_textf(page, ", about %u core%s", 1u << stall->platform.log2_cores,
                       stall->platform.log2_cores ? "s" : "");
    sbx_html(page, "</dd></dl>");
}

static void put_verdict(struct sbx_byte_buffer *page, const struct sbx_report *report)
{
    const struct sbx_verdict *verdict = &report->verdict;
    sbx_html(page, "<section class=\"verdict\"><p class=\"kicker\">");
    sbx_page_badge(page, sbx_cause_name(verdict->cause));
    sbx_html(page, " <span>");
    sbx_page_word(page, sbx_class_name(verdict->class_));
    sbx_html(page, "</span> <span>");
    put_trigger(page, report);
    sbx_html(page, "</span></p><h1>");
    sbx_html_text(page, verdict->headline);
    sbx_html(page, "</h1>");
    put_place(page, &verdict->location);
    put_facts(page, report);
    sbx_html(page, "</section>");
}

/* ---- why, and where the time went ---- */

static void put_evidence(struct sbx_byte_buffer *page, const struct sbx_verdict *verdict)
{
    sbx_html(page, "<h2>Why</h2><ul class=\"evidence\">");
    for (size_t i = 0; i < verdict->evidence_count; i++) {
        sbx_html(page, "<li><span class=\"tag\">");
        sbx_html_text(page, verdict->evidence[i].kind);
        sbx_html(page, "</span> ");
        sbx_html_text(page, verdict->evidence[i].text);
        sbx_html(page, "</li>");
    }
    if (verdict->evidence_count == 0)
        sbx_html(page, "<li class=\"quiet\">Nothing was established.</li>");
    sbx_html(page, "</ul>");
}

struct share {
    const char *word;
    double ms; /* negative: not measured */
};

static void put_share_bar(struct sbx_byte_buffer *page, const struct share *shares, size_t count, double whole_ms)
{
    double at = 0;
    sbx_html(page, "<svg class=\"shares\" viewBox=\"0 0 1000 20\" preserveAspectRatio=\"none\" role=\"img\">"
                   "<rect class=\"share-rest\" width=\"1000\" height=\"20\"/>");
    for (size_t i = 0; i < count; i++) {
        double width = shares[i].ms > 0 ? shares[i].ms / whole_ms * 1000 : 0;
        if (width <= 0)
            continue;
        sbx_html(page, "<rect class=\"share-");
        sbx_html_text(page, shares[i].word);
        sbx_html(page, "\" height=\"20\" x=\"");
        sbx_html_textf(page, "%.1f", at);
        sbx_html(page, "\" width=\"");
        sbx_html_textf(page, "%.1f", width);
        sbx_html(page, "\"/>");
        at += width;
    }
    sbx_html(page, "</svg>");
}

/* What it waited for, where that is more than a hundredth of all waiting. */
static void put_off_cpu_kinds(struct sbx_byte_buffer *page, const struct sbx_verdict *verdict)
{
    bool is_first = true;
    for (int cause = 0; cause <= SBX_CAUSE_COUNT; cause++) {
        double ms = cause == SBX_CAUSE_COUNT ? verdict->idle_ms : verdict->off_cpu_by_ms[cause];
        if (ms <= 0 || ms * 100 < verdict->off_cpu_ms)
            continue;
        if (is_first)
            sbx_html(page, " <span class=\"quiet\">(");
        else
            sbx_html(page, ", ");
        is_first = false;
        sbx_page_word(page, cause == SBX_CAUSE_COUNT ? "idle" : sbx_cause_name((enum sbx_cause)cause));
        sbx_html(page, " ");
        sbx_page_duration(page, (int64_t)(ms * 1e6));
    }
    if (!is_first)
        sbx_html(page, ")</span>");
}

static void put_shares(struct sbx_byte_buffer *page, const struct sbx_report *report)
{
    const struct sbx_verdict *verdict = &report->verdict;
    const struct share shares[] = {
        {"on_cpu", verdict->on_cpu_ms}, {"runnable", verdict->runnable_ms}, {"off_cpu", verdict->off_cpu_ms}};
    double interval_ms = (double)(verdict->interval_end_ns - verdict->interval_begin_ns) / 1e6, sum_ms = 0;
    for (size_t i = 0; i < 3; i++)
        sum_ms += shares[i].ms > 0 ? shares[i].ms : 0;
    double whole_ms = sum_ms > interval_ms ? sum_ms : interval_ms;
    if (whole_ms <= 0)
        return;
    sbx_html(page, "<h2>Where the time went</h2>");
    put_share_bar(page, shares, 3, whole_ms);
    sbx_html(page, "<ul class=\"legend\">");
    for (size_t i = 0; i < 3; i++) {
        sbx_html(page, "<li><span class=\"swatch share-");
        sbx_html_text(page, shares[i].word);
        sbx_html(page, "\"></span>");
        sbx_page_word(page, shares[i].word);
        if (shares[i].ms < 0) {
            sbx_html(page, " <span class=\"quiet\">not measured</span></li>");
            continue;
        }
        sbx_html(page, " <b>");
        sbx_page_duration(page, (int64_t)(shares[i].ms * 1e6));
        sbx_html(page, "</b> <span class=\"quiet\">");
        sbx_html_textf(page, "%.0f %%", shares[i].ms / whole_ms * 100);
        sbx_html(page, "</span>");
        if (strcmp(shares[i].word, "off_cpu") == 0)
            put_off_cpu_kinds(page, verdict);
        sbx_html(page, "</li>");
    }
    if (whole_ms - sum_ms > whole_ms * 0.01) {
        sbx_html(page, "<li><span class=\"swatch share-rest\"></span>not told <b>");
        sbx_page_duration(page, (int64_t)((whole_ms - sum_ms) * 1e6));
        sbx_html(page, "</b></li>");
    }
    sbx_html(page, "</ul><p class=\"note\">Of the judged ");
    sbx_page_duration(page, verdict->interval_end_ns - verdict->interval_begin_ns);
    sbx_html(page, " up to ");
    if (verdict->interval_end_ns > -1000000) {
        sbx_html(page, "the trigger");
    } else {
        sbx_page_duration(page, -verdict->interval_end_ns);
        sbx_html(page, " before the trigger");
    }
    if (verdict->messages) {
        sbx_html(page, ", in ");
        sbx_html_textf(page, "%llu message%s", (unsigned long long)verdict->messages,
                       verdict->messages == 1 ? "" : "s");
    }
    sbx_html(page, ".</p>");
}

static void put_hot(struct sbx_byte_buffer *page, const struct sbx_report *report)
{
    struct sbx_hot hot[HOT_MAX];
    size_t count = report->stall->trigger.thread < report->stall->thread_count
                       ? sbx_report_hot(report, report->stall->trigger.thread, hot, HOT_MAX)
                       : 0;
    if (count == 0)
        return;
    sbx_html(page,
             "<h2>Functions by time</h2><div class=\"wide\"><table class=\"hot\"><thead><tr><th>function</th>"
             "<th>module</th><th class=\"number\">at least</th><th class=\"number\">at most</th></tr></thead><tbody>");
    for (size_t i = 0; i < count; i++) {
        sbx_html(page, "<tr><td>");
        sbx_page_function(page, hot[i].function);
        sbx_html(page, "</td><td class=\"module\">");
        sbx_html_text(page, hot[i].module);
        sbx_html(page, "</td><td class=\"number\">");
        sbx_page_duration(page, (int64_t)(hot[i].ms_min * 1e6));
        sbx_html(page, "</td><td class=\"number\">");
        sbx_page_duration(page, (int64_t)(hot[i].ms_max * 1e6));
        sbx_html(page, "</td></tr>");
    }
    sbx_html(page, "</tbody></table></div>");
}

/* ---- pictures ---- */

static void put_picture(struct sbx_byte_buffer *page, const struct sbx_byte_buffer *svg)
{
    sbx_html(page, "<div class=\"picture\">");
    sbx_html_picture(page, svg->data, svg->used);
    sbx_html(page, "</div>");
}

static bool has_picture(const struct sbx_byte_buffer *svg)
{
    return !svg->failed && svg->used > 0;
}

/* ---- what is missing ---- */

static void put_loss(struct sbx_byte_buffer *page, const char *what, uint64_t count)
{
    sbx_html(page, "<tr><td>");
    sbx_page_word(page, what);
    sbx_html(page, "</td><td class=\"number\">");
    sbx_html_textf(page, "%llu", (unsigned long long)count);
    sbx_html(page, "</td></tr>");
}

/* What recording cost, and what was recorded less for that. */
static void put_cost(struct sbx_byte_buffer *page, const struct sbx_stall *stall)
{
    if (stall->overhead.budget_permille == 0 && stall->overhead.cost_ppm == 0) {
        return;
    }
    sbx_html_textf(page, " Recording cost %.2f %% of the application's CPU time, of a budget of %.1f %%",
                   stall->overhead.cost_ppm / 1e4, stall->overhead.budget_permille / 10.0);
    if (stall->overhead.changes != 0) {
        sbx_html(page, "; to hold that, a sample was taken each ");
        sbx_page_duration(page, (int64_t)stall->overhead.interval_us * 1000);
        sbx_html(page, " at capture points and each ");
        sbx_page_duration(page, (int64_t)stall->overhead.gap_us * 1000);
        sbx_html(page, " between them");
    }
    for (uint32_t group = 0, shown = 0; group < SBX_GROUP_COUNT; group++) {
        if ((stall->overhead.shed >> group & 1) != 0) {
            sbx_html_textf(page, "%s%s", shown++ == 0 ? ", and not at: " : ", ", sbx_point_name(group));
        }
    }
    sbx_html(page, ".");
}

static void put_losses(struct sbx_byte_buffer *page, const struct sbx_stall *stall)
{
    const struct {
        const char *what;
        uint32_t count;
    } redactions[] = {
        {"modules hidden by redaction", stall->redactions.modules_hidden},
        {"frames hidden by redaction", stall->redactions.frames_hidden},
        {"thread names hidden by redaction", stall->redactions.thread_names_hidden},
        {"records cut by redaction", stall->redactions.records_cut},
    };
    struct sbx_byte_buffer rows = {0};
    for (uint32_t drop = 0; drop < SBX_DROP_COUNT; drop++)
        if (stall->drops[drop])
            put_loss(&rows, sbx_drop_name(drop), stall->drops[drop]);
    for (size_t i = 0; i < sizeof(redactions) / sizeof(redactions[0]); i++)
        if (redactions[i].count)
            put_loss(&rows, redactions[i].what, redactions[i].count);
    sbx_html(page, "<section id=\"losses\"><h2>What is missing</h2>");
    if (rows.used) {
        sbx_html(page, "<table class=\"losses\"><tbody>");
        sbx_byte_buffer_append(page, rows.data, rows.used);
        sbx_html(page, "</tbody></table>");
    } else {
        sbx_html(page,
                 "<p>Nothing: no record was dropped since the application started, and nothing was redacted.</p>");
    }
    page->failed |= rows.failed;
    sbx_byte_buffer_finish(&rows);
    sbx_html(page, "<p class=\"note\">Recorded under policy ");
    sbx_html_textf(page, "%u.%llu", stall->policy.epoch, (unsigned long long)stall->policy.seq);
    sbx_html(page, ": one sample each ");
    sbx_page_duration(page, (int64_t)stall->policy.interval_us * 1000);
    sbx_html(page, " at capture points, each ");
    sbx_page_duration(page, (int64_t)stall->policy.async_interval_us * 1000);
    sbx_html(page, " between them; waits from ");
    sbx_page_duration(page, (int64_t)stall->policy.wait_min_us * 1000);
    sbx_html(page, " on. History reaches back ");
    sbx_page_duration(page, stall->trigger.history_ns);
    sbx_html(page, ". Losses are counted since the process began.");
    put_cost(page, stall);
    sbx_html(page, "</p></section>");
}

static void put_download(struct sbx_byte_buffer *page, const struct sbx_stall *stall, const char *suffix,
                         const char *name, const char *what)
{
    sbx_html(page, "<li><a href=\"/v1/snapshots/");
    sbx_html_textf(page, "%s.%s", stall->payload_id_text, suffix);
    sbx_html(page, "\">");
    sbx_html_text(page, name);
    sbx_html(page, "</a> <span class=\"quiet\">");
    sbx_html_text(page, what);
    sbx_html(page, "</span></li>");
}

static void put_downloads(struct sbx_byte_buffer *page, const struct sbx_stall *stall)
{
    sbx_html(page, "<section id=\"downloads\"><h2>Take it elsewhere</h2><ul class=\"downloads\">");
    put_download(page, stall, "json", "JSON report", "everything on this page, for programs");
    put_download(page, stall, "perfetto", "Perfetto trace",
                 "in ui.perfetto.dev: \"Open trace file\" (it is read by the browser and sent nowhere)");
    put_download(page, stall, "pprof", "pprof profile", "go tool pprof -http=: FILE, or speedscope");
    put_download(page, stall, "folded", "Folded stacks", "flamegraph.pl, speedscope, inferno");
    put_download(page, stall, "sbx", "Payload", "as it came: stallbox show --what-leaves FILE, stallbox report FILE");
    sbx_html(page, "</ul></section>\n");
}

void sbx_page_report(const struct sbx_report *report, const struct sbx_byte_buffer *timeline,
                     const struct sbx_byte_buffer *flame, struct sbx_byte_buffer *page)
{
    const struct sbx_stall *stall = report->stall;
    put_verdict(page, report);

    sbx_html(page, "<div class=\"columns\"><section>");
    put_evidence(page, &report->verdict);
    put_shares(page, report);
    sbx_html(page, "</section><section><h2>The stack that is blamed</h2>");
    sbx_page_stack(page, report, sbx_page_blamed_stack(report));
    sbx_html(page, "</section></div>");

    if (has_picture(timeline)) {
        sbx_html(page, "<section id=\"timeline\"><h2>Timeline</h2>");
        put_picture(page, timeline);
        sbx_html(page, "</section>");
    }
    sbx_html(page, "<section id=\"functions\">");
    put_hot(page, report);
    if (has_picture(flame)) {
        sbx_html(page, "<h2>Flame graph</h2>");
        put_picture(page, flame);
    }
    sbx_html(page, "</section>");
    sbx_page_threads(page, report);
    sbx_page_history(page, report);
    put_losses(page, stall);
    put_downloads(page, stall);
}
