/* SPDX-License-Identifier: Apache-2.0 */
/* page_report.c - the report in the order in which a person on call asks: what, who, why, where did the time go, show
 * me, what else, what is missing. */
#include "page_report.h"

#include <string.h>

#include "cause.h"
#include "cost_words.h"
#include "hot.h"
#include "names.h"
#include "page_history.h"
#include "page_parts.h"
#include "page_stacks.h"
#include "page_verdict.h"
#include "report.html.h"
#include "snapshot_id.h"

enum {
    HOT_MAX = 12
};

/* ---- why, and where the time went ---- */

static void put_evidence(struct sbx_byte_buffer *page, const struct sbx_evidence *evidence)
{
    SBX_FILL(page, report_evidence, at) {
    case REPORT_EVIDENCE_KIND:
        sbx_fill_text(&at, evidence->kind);
        break;
    case REPORT_EVIDENCE_TEXT:
        sbx_fill_text(&at, evidence->text);
        break;
    }
}

struct share {
    const char *word;
    double ms; /* negative: not measured */
};

struct shares {
    struct share part[3];
    double sum_ms, whole_ms; /* whole: the judged interval, or the sum when that is larger */
};

static void put_bar(struct sbx_byte_buffer *page, const char *word, double x, double width)
{
    SBX_FILL(page, report_bar, at) {
    case REPORT_BAR_WORD:
        sbx_fill_text(&at, word);
        break;
    case REPORT_BAR_X:
        sbx_fill_textf(&at, "%.1f", x);
        break;
    case REPORT_BAR_WIDTH:
        sbx_fill_textf(&at, "%.1f", width);
        break;
    }
}

static void put_bars(struct sbx_byte_buffer *page, const struct shares *shares)
{
    double x = 0;
    for (size_t i = 0; i < 3; i++) {
        double width = shares->part[i].ms > 0 ? shares->part[i].ms / shares->whole_ms * 1000 : 0;
        if (width > 0)
            put_bar(page, shares->part[i].word, x, width);
        x += width;
    }
}

/* Did the thread wait long enough for this cause to mention it: more than a hundredth of all waiting? SBX_CAUSE_COUNT
 * means that it had nothing to do. */
static bool has_waited_for(const struct sbx_verdict *verdict, int cause, double *ms_out)
{
    *ms_out = cause == SBX_CAUSE_COUNT ? verdict->idle_ms : verdict->off_cpu_by_ms[cause];
    return *ms_out > 0 && *ms_out * 100 >= verdict->off_cpu_ms;
}

static void put_wait_kinds(struct sbx_fill *at, const struct sbx_verdict *verdict)
{
    double ms;
    const char *separator = "";
    for (int cause = 0; cause <= SBX_CAUSE_COUNT; cause++) {
        if (!has_waited_for(verdict, cause, &ms))
            continue;
        sbx_fill_text(at, separator);
        separator = ", ";
        sbx_page_word(at, cause == SBX_CAUSE_COUNT ? "idle" : sbx_cause_name((enum sbx_cause)cause));
        sbx_fill_text(at, " ");
        sbx_page_duration(at, (int64_t)(ms * 1e6));
    }
}

static void put_waits(struct sbx_byte_buffer *page, const struct sbx_verdict *verdict)
{
    double ms;
    bool has_any = false;
    for (int cause = 0; cause <= SBX_CAUSE_COUNT; cause++)
        has_any |= has_waited_for(verdict, cause, &ms);
    if (!has_any)
        return;
    SBX_FILL(page, report_waits, at) {
    case REPORT_WAITS_KINDS:
        put_wait_kinds(&at, verdict);
        break;
    }
}

static void put_measured(struct sbx_byte_buffer *page, double ms, double whole_ms)
{
    SBX_FILL(page, report_measured, at) {
    case REPORT_MEASURED_DURATION:
        sbx_page_duration(&at, (int64_t)(ms * 1e6));
        break;
    case REPORT_MEASURED_PERCENT:
        sbx_fill_textf(&at, "%.0f", ms / whole_ms * 100);
        break;
    }
}

static void put_share(struct sbx_byte_buffer *page, const struct sbx_verdict *verdict, const struct share *share,
                      double whole_ms)
{
    SBX_FILL(page, report_share, at) {
    case REPORT_SHARE_WORD:
        sbx_fill_text(&at, share->word);
        break;
    case REPORT_SHARE_NAME:
        sbx_page_word(&at, share->word);
        break;
    case REPORT_SHARE_NOT_MEASURED:
        if (share->ms < 0)
            sbx_fill_markup(page, &report_not_measured_markup);
        break;
    case REPORT_SHARE_MEASURED:
        if (share->ms >= 0)
            put_measured(page, share->ms, whole_ms);
        break;
    case REPORT_SHARE_WAITS:
        if (share->ms >= 0 && strcmp(share->word, "off_cpu") == 0)
            put_waits(page, verdict);
        break;
    }
}

static void put_not_told(struct sbx_byte_buffer *page, double ms)
{
    SBX_FILL(page, report_not_told, at) {
    case REPORT_NOT_TOLD_DURATION:
        sbx_page_duration(&at, (int64_t)(ms * 1e6));
        break;
    }
}

static void put_interval_end(struct sbx_fill *at, const struct sbx_verdict *verdict)
{
    if (verdict->interval_end_ns > -1000000)
        return;
    sbx_page_duration(at, -verdict->interval_end_ns);
    sbx_fill_text(at, " before ");
}

static void put_shares(struct sbx_byte_buffer *page, const struct sbx_verdict *verdict)
{
    struct shares shares = {
        .part = {{"on_cpu", verdict->on_cpu_ms}, {"runnable", verdict->runnable_ms}, {"off_cpu", verdict->off_cpu_ms}}};
    double interval_ms = (double)(verdict->interval_end_ns - verdict->interval_begin_ns) / 1e6;
    for (size_t i = 0; i < 3; i++)
        shares.sum_ms += shares.part[i].ms > 0 ? shares.part[i].ms : 0;
    shares.whole_ms = shares.sum_ms > interval_ms ? shares.sum_ms : interval_ms;
    if (shares.whole_ms <= 0)
        return;
    SBX_FILL(page, report_shares, at) {
    case REPORT_SHARES_BAR:
        put_bars(page, &shares);
        break;
    case REPORT_SHARES_SHARE:
        for (size_t i = 0; i < 3; i++)
            put_share(page, verdict, &shares.part[i], shares.whole_ms);
        break;
    case REPORT_SHARES_NOT_TOLD:
        if (shares.whole_ms - shares.sum_ms > shares.whole_ms * 0.01)
            put_not_told(page, shares.whole_ms - shares.sum_ms);
        break;
    case REPORT_SHARES_INTERVAL:
        sbx_page_duration(&at, verdict->interval_end_ns - verdict->interval_begin_ns);
        break;
    case REPORT_SHARES_BEFORE:
        put_interval_end(&at, verdict);
        break;
    case REPORT_SHARES_MESSAGES:
        if (verdict->messages) {
            sbx_fill_text(&at, ", in ");
            sbx_page_count(&at, (int64_t)verdict->messages, "message", "s");
        }
        break;
    }
}

/* ---- code without names ---- */

static void put_unnamed_code(struct sbx_byte_buffer *page, const struct sbx_report_gap *gap, const char *build_id)
{
    SBX_FILL(page, report_code, at) {
    case REPORT_CODE_NAME:
        sbx_fill_text(&at, *gap->name ? gap->name : "a module");
        break;
    case REPORT_CODE_BUILD_ID:
        sbx_fill_text(&at, build_id);
        break;
    }
}

static void put_unnamed_runtime(struct sbx_byte_buffer *page, const struct sbx_report_gap *gap)
{
    SBX_FILL(page, report_runtime, at) {
    case REPORT_RUNTIME_NAME:
        sbx_fill_text(&at, *gap->name ? gap->name : "an embedded runtime");
        break;
    }
}

static void put_unnamed(struct sbx_byte_buffer *page, const struct sbx_report *report, const struct sbx_report_gap *gap)
{
    const struct sbx_stall_module *module = &report->stall->modules[gap->module];
    char build_id[2 * sizeof(module->build_id) + 1];
    sbx_hex_print(module->build_id, gap->is_runtime ? 8 : module->build_id_bytes, build_id);
    SBX_FILL(page, report_unnamed, at) {
    case REPORT_UNNAMED_CODE:
        if (!gap->is_runtime)
            put_unnamed_code(page, gap, build_id);
        break;
    case REPORT_UNNAMED_RUNTIME:
        if (gap->is_runtime)
            put_unnamed_runtime(page, gap);
        break;
    case REPORT_UNNAMED_FRAMES:
        sbx_page_count(&at, gap->unnamed, "frame", "s");
        break;
    case REPORT_UNNAMED_BUILD_ID:
        sbx_fill_text(&at, build_id);
        break;
    }
}

/* ---- functions and pictures ---- */

static void put_hot_row(struct sbx_byte_buffer *page, const struct sbx_hot *hot)
{
    SBX_FILL(page, report_hot_row, at) {
    case REPORT_HOT_ROW_FUNCTION:
        sbx_page_function(page, hot->function);
        break;
    case REPORT_HOT_ROW_MODULE:
        sbx_fill_text(&at, hot->module);
        break;
    case REPORT_HOT_ROW_LEAST:
        sbx_page_duration(&at, (int64_t)(hot->ms_min * 1e6));
        break;
    case REPORT_HOT_ROW_MOST:
        sbx_page_duration(&at, (int64_t)(hot->ms_max * 1e6));
        break;
    }
}

static void put_hot(struct sbx_byte_buffer *page, const struct sbx_report *report)
{
    struct sbx_hot hot[HOT_MAX];
    size_t count = report->stall->trigger.thread < report->stall->thread_count
                       ? sbx_report_hot(report, report->stall->trigger.thread, hot, HOT_MAX)
                       : 0;
    if (count == 0)
        return;
    SBX_FILL(page, report_hot, at) {
    case REPORT_HOT_HOT_ROW:
        for (size_t i = 0; i < count; i++)
            put_hot_row(page, &hot[i]);
        break;
    }
}

static bool has_picture(const struct sbx_byte_buffer *svg)
{
    return !svg->failed && svg->used > 0;
}

static void put_judged(struct sbx_byte_buffer *page, const struct sbx_byte_buffer *svg)
{
    SBX_FILL(page, report_judged, at) {
    case REPORT_JUDGED_PICTURE:
        sbx_fill_picture(&at, svg);
        break;
    }
}

static void put_history_too(struct sbx_byte_buffer *page, const struct sbx_byte_buffer *svg)
{
    SBX_FILL(page, report_history_too, at) {
    case REPORT_HISTORY_TOO_PICTURE:
        sbx_fill_picture(&at, svg);
        break;
    }
}

static void put_whole(struct sbx_byte_buffer *page, const struct sbx_byte_buffer *svg)
{
    SBX_FILL(page, report_whole, at) {
    case REPORT_WHOLE_PICTURE:
        sbx_fill_picture(&at, svg);
        break;
    }
}

static void put_timeline(struct sbx_byte_buffer *page, const struct sbx_report_pictures *pictures)
{
    bool has_judged = has_picture(&pictures->judged);
    SBX_FILL(page, report_timeline, at) {
    case REPORT_TIMELINE_JUDGED:
        if (has_judged)
            put_judged(page, &pictures->judged);
        break;
    case REPORT_TIMELINE_HISTORY_TOO:
        if (has_judged)
            put_history_too(page, &pictures->history);
        break;
    case REPORT_TIMELINE_WHOLE:
        if (!has_judged)
            put_whole(page, &pictures->history);
        break;
    }
}

static void put_flame(struct sbx_byte_buffer *page, const struct sbx_byte_buffer *svg)
{
    SBX_FILL(page, report_flame, at) {
    case REPORT_FLAME_PICTURE:
        sbx_fill_picture(&at, svg);
        break;
    }
}

static void put_own_flame(struct sbx_byte_buffer *page, const struct sbx_byte_buffer *svg)
{
    SBX_FILL(page, report_own_flame, at) {
    case REPORT_OWN_FLAME_PICTURE:
        sbx_fill_picture(&at, svg);
        break;
    }
}

static void put_async_flame(struct sbx_byte_buffer *page, const struct sbx_byte_buffer *svg)
{
    SBX_FILL(page, report_async_flame, at) {
    case REPORT_ASYNC_FLAME_PICTURE:
        sbx_fill_picture(&at, svg);
        break;
    }
}

/* ---- what is missing ---- */

struct loss {
    const char *what;
    uint64_t count;
};

enum {
    LOSSES_MAX = SBX_DROP_COUNT + 4
};

static size_t list_losses(const struct sbx_stall *stall, struct loss losses[LOSSES_MAX])
{
    const struct loss redactions[] = {
        {"modules hidden by redaction", stall->redactions.modules_hidden},
        {"frames hidden by redaction", stall->redactions.frames_hidden},
        {"thread names hidden by redaction", stall->redactions.thread_names_hidden},
        {"records cut by redaction", stall->redactions.records_cut},
    };
    size_t count = 0;
    for (uint32_t drop = 0; drop < SBX_DROP_COUNT; drop++)
        if (stall->drops[drop])
            losses[count++] = (struct loss){sbx_drop_name(drop), stall->drops[drop]};
    for (size_t i = 0; i < sizeof(redactions) / sizeof(redactions[0]); i++)
        if (redactions[i].count)
            losses[count++] = redactions[i];
    return count;
}

static void put_loss(struct sbx_byte_buffer *page, const struct loss *loss)
{
    SBX_FILL(page, report_loss, at) {
    case REPORT_LOSS_WHAT:
        sbx_page_word(&at, loss->what);
        break;
    case REPORT_LOSS_COUNT:
        sbx_fill_textf(&at, "%llu", (unsigned long long)loss->count);
        break;
    }
}

static void put_losses(struct sbx_byte_buffer *page, const struct loss *losses, size_t count)
{
    SBX_FILL(page, report_losses, at) {
    case REPORT_LOSSES_LOSS:
        for (size_t i = 0; i < count; i++)
            put_loss(page, &losses[i]);
        break;
    }
}

/* What recording cost, and what was recorded less to save cost. */
static void put_cost(struct sbx_fill *at, const struct sbx_stall *stall)
{
    if (stall->overhead.budget_ppm == 0 && stall->overhead.cost_ppm == 0) {
        return;
    }
    char words[SBX_COST_WORDS_BYTES];
    sbx_cost_words(stall, words);
    sbx_fill_textf(at, " Recording cost %s", words);
    if (stall->overhead.changes != 0) {
        sbx_fill_text(at, "; to hold that, a sample was taken each ");
        sbx_page_duration(at, (int64_t)stall->overhead.interval_us * 1000);
        sbx_fill_text(at, " at capture points and each ");
        sbx_page_duration(at, (int64_t)stall->overhead.gap_us * 1000);
        sbx_fill_text(at, " between them");
    }
    for (uint32_t group = 0, shown = 0; group < SBX_GROUP_COUNT; group++) {
        if ((stall->overhead.shed >> group & 1) != 0) {
            sbx_fill_textf(at, "%s%s", shown++ == 0 ? ", and not at: " : ", ", sbx_point_name(group));
        }
    }
    sbx_fill_text(at, ".");
}

static void put_missing(struct sbx_byte_buffer *page, const struct sbx_stall *stall)
{
    struct loss losses[LOSSES_MAX];
    size_t loss_count = list_losses(stall, losses);
    SBX_FILL(page, report_missing, at) {
    case REPORT_MISSING_LOSSES:
        if (loss_count)
            put_losses(page, losses, loss_count);
        break;
    case REPORT_MISSING_NO_LOSSES:
        if (loss_count == 0)
            sbx_fill_markup(page, &report_no_losses_markup);
        break;
    case REPORT_MISSING_POLICY:
        sbx_fill_textf(&at, "%u.%llu", stall->policy.epoch, (unsigned long long)stall->policy.seq);
        break;
    case REPORT_MISSING_INTERVAL:
        sbx_page_duration(&at, (int64_t)stall->policy.interval_us * 1000);
        break;
    case REPORT_MISSING_GAP:
        sbx_page_duration(&at, (int64_t)stall->policy.async_interval_us * 1000);
        break;
    case REPORT_MISSING_WAIT:
        sbx_page_duration(&at, (int64_t)stall->policy.wait_min_us * 1000);
        break;
    case REPORT_MISSING_REACH:
        sbx_page_duration(&at, stall->trigger.history_ns);
        break;
    case REPORT_MISSING_COST:
        put_cost(&at, stall);
        break;
    }
}

/* ---- the whole ---- */

static void put_download(struct sbx_byte_buffer *page, const struct sbx_stall *stall, const char *suffix,
                         const char *name, const char *what)
{
    SBX_FILL(page, report_download, at) {
    case REPORT_DOWNLOAD_ID:
        sbx_fill_text(&at, stall->payload_id_text);
        break;
    case REPORT_DOWNLOAD_SUFFIX:
        sbx_fill_text(&at, suffix);
        break;
    case REPORT_DOWNLOAD_NAME:
        sbx_fill_text(&at, name);
        break;
    case REPORT_DOWNLOAD_WHAT:
        sbx_fill_text(&at, what);
        break;
    }
}

static void put_downloads(struct sbx_byte_buffer *page, const struct sbx_stall *stall)
{
    put_download(page, stall, "json", "JSON report", "everything on this page, for programs");
    put_download(page, stall, "perfetto", "Perfetto trace",
                 "in ui.perfetto.dev: \"Open trace file\" (it is read by the browser and sent nowhere)");
    put_download(page, stall, "pprof", "pprof profile", "go tool pprof -http=: FILE, or speedscope");
    put_download(page, stall, "folded", "Folded stacks", "flamegraph.pl, speedscope, inferno");
    if (stall->task_count > 0) {
        put_download(page, stall, "async.pprof", "pprof profile, asynchronous",
                     "the function that queued a task stands under the one that ran it");
        put_download(page, stall, "async.folded", "Folded stacks, asynchronous", "the same");
    }
    put_download(page, stall, "sbx", "Payload", "as it came: stallbox show --what-leaves FILE, stallbox report FILE");
}

void sbx_page_report(const struct sbx_report *report, const struct sbx_report_pictures *pictures,
                     struct sbx_byte_buffer *page)
{
    bool has_flame = has_picture(&pictures->flame), has_async = has_flame && has_picture(&pictures->async);
    const struct sbx_stall *stall = report->stall;
    const struct sbx_verdict *verdict = &report->verdict;
    SBX_FILL(page, report, at) {
    case REPORT_VERDICT:
        sbx_page_verdict(page, report);
        break;
    case REPORT_EVIDENCE:
        for (size_t i = 0; i < verdict->evidence_count; i++)
            put_evidence(page, &verdict->evidence[i]);
        break;
    case REPORT_NO_EVIDENCE:
        if (verdict->evidence_count == 0)
            sbx_fill_markup(page, &report_no_evidence_markup);
        break;
    case REPORT_SHARES:
        /* earlier activity does not explain a crash */
        if (verdict->cause != SBX_CAUSE_CRASH || stall->trigger.duration_ns > 0)
            put_shares(page, verdict);
        break;
    case REPORT_STACK:
        sbx_page_stack(page, report, sbx_page_blamed_stack(report));
        break;
    case REPORT_UNNAMED:
        for (uint32_t i = 0; i < report->gap_count; i++)
            if (report->gaps[i].unnamed > 0)
                put_unnamed(page, report, &report->gaps[i]);
        break;
    case REPORT_TIMELINE:
        if (has_picture(&pictures->history))
            put_timeline(page, pictures);
        break;
    case REPORT_HOT:
        put_hot(page, report);
        break;
    case REPORT_FLAME:
        if (has_flame && !has_async)
            put_flame(page, &pictures->flame);
        break;
    case REPORT_OWN_FLAME:
        if (has_async)
            put_own_flame(page, &pictures->flame);
        break;
    case REPORT_ASYNC_FLAME:
        if (has_async)
            put_async_flame(page, &pictures->async);
        break;
    case REPORT_THREADS:
        sbx_page_threads(page, report);
        break;
    case REPORT_HISTORY:
        sbx_page_history(page, report);
        break;
    case REPORT_MISSING:
        put_missing(page, stall);
        break;
    case REPORT_DOWNLOAD:
        put_downloads(page, stall);
        break;
    }
}
