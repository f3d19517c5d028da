/* SPDX-License-Identifier: Apache-2.0 */
/* page_verdict.c - the result, in the words and facts that a person on call reads first. */
#include "page_verdict.h"

#include "cause.h"
#include "names.h"
#include "page_parts.h"
#include "page_stacks.h"
#include "snapshot_id.h"
#include "stable_name.h"
#include "verdict.html.h"

static const char *os_name(uint32_t os)
{
    static const char *const names[] = {"Linux", "Debian", "Ubuntu", "Fedora", "RHEL family", "SUSE", "Arch", "Alpine"};
    return os < sizeof(names) / sizeof(names[0]) ? names[os] : names[0];
}

static void put_after(struct sbx_byte_buffer *page, int64_t duration_ns)
{
    SBX_FILL(page, verdict_after, at) {
    case VERDICT_AFTER_DURATION:
        sbx_page_duration(&at, duration_ns);
        break;
    }
}

static void put_conditions(struct sbx_fill *at, const struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    char kind[SBX_KIND_TEXT_BYTES];
    if (stall->trigger.threshold_ms) {
        sbx_fill_text(at, ", limit ");
        sbx_page_duration(at, (int64_t)stall->trigger.threshold_ms * 1000000);
    }
    if (stall->trigger.kind == SBX_TRIGGER_MANUAL)
        sbx_fill_text(at, ", asked for by hand");
    else if (stall->end.how == SBX_END_ANSWERED)
        sbx_fill_text(at, ", told while it went on");
    else if (stall->end.how == SBX_END_DIED && stall->end.signal != 0)
        sbx_fill_textf(at, ", still hung when it was killed by %s", sbx_signal_name(stall->end.signal));
    else if (stall->end.how == SBX_END_DIED)
        sbx_fill_text(at, ", still hung when the process ended");
    else if (stall->end.how == SBX_END_UNSEEN)
        sbx_fill_text(at, ", still hung when recording stopped");
    else if (stall->trigger.in_progress)
        sbx_fill_text(at, ", not over when recorded");
    sbx_report_kind_text(report, report->message_kind, kind);
    if (kind[0] != '\0')
        sbx_fill_textf(at, ", message %s", kind);
}

/* The page or state that the user was in, when the application reported one. */
static void put_scene(struct sbx_byte_buffer *page, const struct sbx_report *report)
{
    char scene[SBX_KIND_TEXT_BYTES];
    sbx_report_scene_text(report, scene);
    if (scene[0] == '\0')
        return;
    SBX_FILL(page, verdict_scene, at) {
    case VERDICT_SCENE_NAME:
        sbx_fill_text(&at, scene);
        break;
    }
}

static void put_version(struct sbx_fill *at, const uint32_t version[3])
{
    if (version[0] || version[1] || version[2])
        sbx_fill_textf(at, "%u.%u.%u ", version[0], version[1], version[2]);
}

static void put_build_id(struct sbx_byte_buffer *page, const char *build_id)
{
    SBX_FILL(page, verdict_build_id, at) {
    case VERDICT_BUILD_ID_WHOLE:
        sbx_fill_text(&at, build_id);
        break;
    case VERDICT_BUILD_ID_SHORT:
        sbx_fill_textf(&at, "%.12s", build_id);
        break;
    }
}

/* Which of the program's processes this is, and how many others stalled at the same time. */
static void put_family(struct sbx_byte_buffer *page, const struct sbx_stall *stall)
{
    uint32_t others = stall->family.stalled_beside;
    SBX_FILL(page, verdict_family, at) {
    case VERDICT_FAMILY_ROLE:
        sbx_fill_text(&at, stall->family.is_worker ? "a forked worker" : "the first");
        break;
    case VERDICT_FAMILY_SIBLINGS:
        if (others)
            sbx_fill_textf(&at, "; %u other%s of this program stalled at the same time", others,
                           others == 1 ? "" : "s");
        break;
    }
}

static void put_judged(struct sbx_byte_buffer *page, const struct sbx_report *report)
{
    SBX_FILL(page, verdict_judged, at) {
    case VERDICT_JUDGED_THREAD:
        sbx_page_thread_name(page, report, report->stall->trigger.thread);
        break;
    }
}

static void put_culprit_function(struct sbx_byte_buffer *page, const struct sbx_verdict *verdict)
{
    SBX_FILL(page, verdict_culprit_in, at) {
    case VERDICT_CULPRIT_IN_FUNCTION:
        sbx_page_function(page, verdict->culprit_function);
        break;
    case VERDICT_CULPRIT_IN_PLACE:
        sbx_page_place(page, verdict->culprit_at.file, verdict->culprit_at.line);
        break;
    }
}

static void put_culprit(struct sbx_byte_buffer *page, const struct sbx_report *report)
{
    const struct sbx_verdict *verdict = &report->verdict;
    SBX_FILL(page, verdict_culprit, at) {
    case VERDICT_CULPRIT_THREAD:
        sbx_page_thread_name(page, report, (uint32_t)verdict->culprit_thread);
        break;
    case VERDICT_CULPRIT_CULPRIT_IN:
        if (verdict->culprit_function && *verdict->culprit_function)
            put_culprit_function(page, verdict);
        break;
    }
}

/* A link to the page of the function, by its name in the sums. */
static void put_across(struct sbx_byte_buffer *page, const struct sbx_report *report)
{
    char name[SBX_STABLE_NAME_BYTES];
    sbx_stable_name(report->verdict.location.function, name);
    if (!*name)
        return;
    SBX_FILL(page, verdict_across, at) {
    case VERDICT_ACROSS_NAME:
        sbx_fill_text(&at, name);
        break;
    case VERDICT_ACROSS_APP:
        sbx_fill_text(&at, report->app_name);
        break;
    }
}

static void put_lain(struct sbx_byte_buffer *page, double ms)
{
    SBX_FILL(page, verdict_lain, at) {
    case VERDICT_LAIN_DURATION:
        sbx_page_duration(&at, (int64_t)(ms * 1e6));
        break;
    }
}

static void put_queued_by(struct sbx_byte_buffer *page, const struct sbx_report *report)
{
    const struct sbx_queued_by *by = &report->verdict.queued_by;
    bool is_there = by->thread >= 0 && (uint32_t)by->thread < report->stall->thread_count;
    SBX_FILL(page, verdict_queued_by, at) {
    case VERDICT_QUEUED_BY_FUNCTION:
        sbx_page_function(page, by->location.function);
        break;
    case VERDICT_QUEUED_BY_PLACE:
        sbx_page_place(page, by->location.file, by->location.line);
        break;
    case VERDICT_QUEUED_BY_THREAD_IS_GONE:
        if (!is_there)
            sbx_fill_markup(page, &verdict_thread_is_gone_markup);
        break;
    case VERDICT_QUEUED_BY_THREAD:
        if (is_there)
            sbx_page_thread_name(page, report, (uint32_t)by->thread);
        break;
    case VERDICT_QUEUED_BY_LAIN:
        /* that verdict is about many messages, each with its own time in the queue */
        if (report->verdict.cause != SBX_CAUSE_HIGH_FREQUENCY)
            put_lain(page, by->lay_ms);
        break;
    }
}

static const char *confidence_word(double percent)
{
    return percent >= 80 ? "certain" : percent >= 50 ? "likely" : percent >= 25 ? "weak" : "a guess";
}

static void put_machine(struct sbx_fill *at, const struct sbx_stall *stall)
{
    sbx_fill_text(at, os_name(stall->platform.os));
    if (stall->platform.os_major)
        sbx_fill_textf(at, " %u", stall->platform.os_major);
    if (stall->platform.kernel_major)
        sbx_fill_textf(at, ", kernel %u.%u", stall->platform.kernel_major, stall->platform.kernel_minor);
    if (stall->platform.arch)
        sbx_fill_text(at, stall->platform.arch == 2 ? ", aarch64" : ", x86-64");
    if (stall->platform.log2_cores < 16)
        sbx_fill_textf(at, ", about %u core%s", 1u << stall->platform.log2_cores,
                       stall->platform.log2_cores ? "s" : "");
}

void sbx_page_verdict(struct sbx_byte_buffer *page, const struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_verdict *verdict = &report->verdict;
    double percent = verdict->confidence < 0 ? 0 : verdict->confidence > 1 ? 100 : verdict->confidence * 100;
    char build_id[2 * sizeof(stall->app_build_id) + 1];
    sbx_hex_print(stall->app_build_id, stall->app_build_id_bytes, build_id);
    SBX_FILL(page, verdict, at) {
    case VERDICT_CAUSE:
        sbx_page_badge(page, sbx_cause_name(verdict->cause));
        break;
    case VERDICT_CLASS:
        if (verdict->cause == SBX_CAUSE_CRASH)
            sbx_fill_text(&at, stall->trigger.signal ? sbx_signal_name(stall->trigger.signal) : "fatal signal");
        else
            sbx_page_word(&at, sbx_class_name(verdict->class_));
        break;
    case VERDICT_TRIGGER:
        sbx_page_word(&at, sbx_trigger_name(stall->trigger.kind));
        break;
    case VERDICT_AFTER:
        if (stall->trigger.duration_ns > 0 && stall->trigger.kind != SBX_TRIGGER_MANUAL)
            put_after(page, sbx_stall_lasted_ns(stall));
        break;
    case VERDICT_CONDITIONS:
        put_conditions(&at, report);
        break;
    case VERDICT_HEADLINE:
        sbx_fill_text(&at, verdict->headline);
        break;
    case VERDICT_FUNCTION:
        sbx_page_function(page, verdict->location.function);
        break;
    case VERDICT_MODULE:
        sbx_page_module(page, verdict->location.module);
        break;
    case VERDICT_PLACE:
        sbx_page_place(page, verdict->location.file, verdict->location.line);
        break;
    case VERDICT_ACROSS:
        if (verdict->location.function && verdict->location.named)
            put_across(page, report);
        break;
    case VERDICT_APP:
        sbx_fill_text(&at, report->app_name);
        break;
    case VERDICT_FAMILY:
        if (stall->family.is_worker || stall->family.stalled_beside)
            put_family(page, stall);
        break;
    case VERDICT_VERSION:
        put_version(&at, stall->app_version);
        break;
    case VERDICT_BUILD_ID:
        if (*build_id)
            put_build_id(page, build_id);
        break;
    case VERDICT_HIDDEN:
        if (!*build_id)
            sbx_fill_markup(page, &verdict_hidden_markup);
        break;
    case VERDICT_JUDGED:
        if (stall->trigger.thread < stall->thread_count)
            put_judged(page, report);
        break;
    case VERDICT_CONFIDENCE:
        sbx_fill_text(&at, confidence_word(percent));
        break;
    case VERDICT_METER:
        sbx_fill_textf(&at, "%.0f", percent);
        break;
    case VERDICT_PERCENT:
        sbx_fill_textf(&at, "%.0f", percent);
        break;
    case VERDICT_CULPRIT:
        if (verdict->culprit_thread >= 0 && (uint32_t)verdict->culprit_thread < stall->thread_count)
            put_culprit(page, report);
        break;
    case VERDICT_QUEUED_BY:
        if (verdict->queued_by.is_known)
            put_queued_by(page, report);
        break;
    case VERDICT_SCENE:
        put_scene(page, report);
        break;
    case VERDICT_MACHINE:
        put_machine(&at, stall);
        break;
    }
}
