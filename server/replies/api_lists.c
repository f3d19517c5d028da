/* SPDX-License-Identifier: Apache-2.0 */
/* api_lists.c - one function for the members of a snapshot, and one for those of an issue. */
#include "api_lists.h"

#include <math.h>
#include <string.h>

#include "json_document.h"
#include "names.h"
#include "page_parts.h"
#include "payload_numbers.h"

static const char *or_null(const char *text)
{
    return *text ? text : NULL;
}

static void put_verdict(struct sbx_document *json, const struct sbx_snapshot_row *row)
{
    sbx_document_string(json, "cause", or_null(row->cause));
    sbx_document_string(json, "class", or_null(row->class_));
    sbx_document_string(json, "function", or_null(row->function));
    sbx_document_string(json, "module", or_null(row->module));
    sbx_document_string(json, "headline", or_null(row->headline));
    sbx_document_number(json, "confidence", row->confidence);
}

/* penetration is null when it is not known. */
static void put_penetration(struct sbx_document *json, const struct sbx_penetration *penetration)
{
    sbx_document_integer(json, "active_machine_days", penetration->active);
    sbx_document_integer(json, "hit_machine_days", penetration->hit);
    sbx_document_number(json, "penetration", sbx_penetration_share(penetration));
}

static void put_snapshot(struct sbx_document *json, const char *name, const struct sbx_snapshot_row *row)
{
    static const char *const states[] = {
        [SBX_TRIAGE_PENDING] = "pending", [SBX_TRIAGE_DONE] = "triaged", [SBX_TRIAGE_FAILED] = "failed"};
    sbx_document_open(json, name, '{');
    sbx_document_string(json, "id", row->id_text);
    sbx_document_integer(json, "seq", row->seq);
    sbx_document_string(json, "state", states[row->state]);
    sbx_document_integer(json, "received_ms", row->received_ms);
    sbx_document_integer(json, "created_day", row->created_day);
    sbx_document_integer(json, "bytes", row->bytes);
    sbx_document_string(json, "trigger", row->trigger);
    sbx_document_number(json, "duration_ms", (double)row->duration_ns / 1e6);
    if (row->kin > 1) {
        sbx_document_integer(json, "family_stalls", row->kin);
        sbx_document_integer(json, "family_first", row->kin_first);
        sbx_document_integer(json, "family_held", row->kin_held);
    }
    if (row->end_how != SBX_END_NONE)
        sbx_document_string(json, "end", sbx_stall_end_name(row->end_how));
    if (row->end_signal != 0)
        sbx_document_string(json, "end_signal", sbx_signal_name(row->end_signal));
    sbx_document_integer(json, "threshold_ms", row->threshold_ms);
    sbx_document_integer(json, "weight", row->weight);
    sbx_document_integer(json, "one_in", row->one_in);
    sbx_document_string(json, "app", or_null(row->app));
    sbx_document_string(json, "app_version", or_null(row->app_version));
    sbx_document_string(json, "app_build_id", or_null(row->app_build_id));
    sbx_document_string(json, "issue", or_null(row->issue_text));
    if (*row->was_in_text)
        sbx_document_string(json, "was_in", row->was_in_text);
    if (row->state == SBX_TRIAGE_FAILED)
        sbx_document_string(json, "failure", row->failure);
    if (row->state == SBX_TRIAGE_DONE)
        put_verdict(json, row);
    sbx_document_close(json, '}');
}

static void put_snapshots(struct sbx_document *json, const struct sbx_snapshot_row *rows, size_t count)
{
    sbx_document_open(json, "snapshots", '[');
    for (size_t i = 0; i < count; i++)
        put_snapshot(json, NULL, &rows[i]);
    sbx_document_close(json, ']');
    if (count && rows[count - 1].seq > 1)
        sbx_document_integer(json, "before", rows[count - 1].seq);
}

static void put_issue_members(struct sbx_document *json, const struct sbx_issue_row *issue)
{
    sbx_document_string(json, "id", issue->id_text);
    sbx_document_integer(json, "hits", issue->hits);
    sbx_document_integer(json, "estimated", issue->weight);
    sbx_document_number(json, "estimated_error", sqrt((double)issue->variance));
    sbx_document_integer(json, "sessions", issue->sessions);
    sbx_document_integer(json, "machines", issue->machines);
    sbx_document_integer(json, "builds", issue->builds);
    sbx_document_bool(json, "new_in_build", issue->new_in_build);
    sbx_document_string(json, "first_version", or_null(issue->first_version));
    sbx_document_integer(json, "first_ms", issue->first_ms);
    sbx_document_integer(json, "last_ms", issue->last_ms);
    bool is_crash = strcmp(issue->newest.trigger, "crash") == 0 && issue->longest_ns == 0; /* then it has no duration */
    sbx_document_number(json, "longest_ms", is_crash ? NAN : (double)issue->longest_ns / 1e6);
    sbx_document_string(json, "app", issue->newest.app);
    put_verdict(json, &issue->newest);
    sbx_document_string(json, "newest", issue->newest.id_text);
    sbx_document_string(json, "path", or_null(issue->path));
    sbx_document_string(json, "state", sbx_issue_state_name(issue->state));
    sbx_document_string(json, "until", or_null(issue->until));
    sbx_document_string(json, "owner", or_null(issue->owner));
    sbx_document_string(json, "note", or_null(issue->note));
}

static void give(struct sbx_document *json, struct sbx_reply *reply)
{
    sbx_byte_buffer_text(&json->text, "\n");
    reply->status = 200;
    reply->content_type = "application/json";
    reply->body = json->text;
}

/* Data of fewer machines is not in the list. The list always says so, whether there is such data or not. */
static void put_withheld(struct sbx_document *json, uint32_t min_machines)
{
    if (min_machines > 1)
        sbx_document_integer(json, "withheld_below_machines", min_machines);
}

void sbx_api_snapshots(const struct sbx_snapshot_row *rows, size_t count, uint32_t min_machines,
                       struct sbx_reply *reply)
{
    struct sbx_document json = {0};
    sbx_document_open(&json, NULL, '{');
    put_snapshots(&json, rows, count);
    put_withheld(&json, min_machines);
    sbx_document_close(&json, '}');
    give(&json, reply);
}

void sbx_api_snapshot(const struct sbx_snapshot_row *row, struct sbx_reply *reply)
{
    struct sbx_document json = {0};
    put_snapshot(&json, NULL, row);
    give(&json, reply);
}

void sbx_api_issues(const struct sbx_issue_row *rows, size_t count, int64_t next, uint32_t min_machines,
                    struct sbx_reply *reply)
{
    struct sbx_document json = {0};
    sbx_document_open(&json, NULL, '{');
    sbx_document_open(&json, "issues", '[');
    for (size_t i = 0; i < count; i++) {
        sbx_document_open(&json, NULL, '{');
        put_issue_members(&json, &rows[i]);
        put_penetration(&json, &rows[i].penetration);
        sbx_document_close(&json, '}');
    }
    sbx_document_close(&json, ']');
    if (next)
        sbx_document_integer(&json, "cursor", next);
    put_withheld(&json, min_machines);
    sbx_document_close(&json, '}');
    give(&json, reply);
}

/* How much more often than in all stalls of the application, including these; NAN when that was not read. */
static void put_beside(struct sbx_document *json, const struct sbx_issue_sums *sums, int kind,
                       const struct sbx_label_sum *label)
{
    if (sums->label_all[kind] == 0 || sums->label_weight[kind] == 0)
        return;
    double share = (double)label->weight / (double)sums->label_weight[kind];
    double app_share = (double)label->all_weight / (double)sums->label_all[kind];
    sbx_document_number(json, "share", share);
    sbx_document_number(json, "app_share", app_share);
    sbx_document_number(json, "ratio", app_share > 0 ? share / app_share : NAN);
}

/* Times are estimated milliseconds over all stalls. */
static void put_labels(struct sbx_document *json, const struct sbx_issue_sums *sums)
{
    static const char *const names[SBX_FACT_KINDS] = {"causes",  "details",    "functions", "holders",  "wakers",
                                                      "rivals",  "pairs",      "times",     "triggers", "systems",
                                                      "kernels", "processors", "memory",    "before",   "scenes"};
    for (int kind = 0; kind < SBX_FACT_KINDS; kind++) {
        sbx_document_open(json, names[kind], '[');
        for (size_t i = 0; i < sums->label_count[kind]; i++) {
            const struct sbx_label_sum *label = &sums->labels[kind][i];
            sbx_document_open(json, NULL, '{');
            sbx_document_string(json, "name", label->word);
            sbx_document_integer(json, "hits", label->hits);
            sbx_document_integer(json, "estimated", label->weight);
            sbx_document_number(json, "time_ms", (double)label->us / 1e3);
            put_beside(json, sums, kind, label);
            sbx_document_close(json, '}');
        }
        sbx_document_close(json, ']');
    }
}

static void put_days(struct sbx_document *json, const struct sbx_issue_sums *sums)
{
    sbx_document_open(json, "days", '[');
    for (size_t i = 0; i < sums->day_count; i++) {
        sbx_document_open(json, NULL, '{');
        sbx_document_integer(json, "day", sums->days[i].day);
        sbx_document_integer(json, "hits", sums->days[i].hits);
        sbx_document_integer(json, "estimated", sums->days[i].weight);
        sbx_document_integer(json, "machines", sums->days[i].machines);
        sbx_document_close(json, '}');
    }
    sbx_document_close(json, ']');
    sbx_document_open(json, "versions", '[');
    for (size_t i = 0; i < sums->version_count; i++) {
        const struct sbx_version_sum *version = &sums->versions[i];
        sbx_document_open(json, NULL, '{');
        sbx_document_string(json, "version", or_null(version->version));
        sbx_document_integer(json, "hits", version->hits);
        sbx_document_integer(json, "estimated", version->weight);
        sbx_document_integer(json, "machine_days", version->machine_days);
        put_penetration(json, &version->penetration);
        sbx_document_integer(json, "first_day", version->first_day);
        sbx_document_integer(json, "last_day", version->last_day);
        sbx_document_close(json, '}');
    }
    sbx_document_close(json, ']');
}

static void put_sums(struct sbx_document *json, const struct sbx_issue_sums *sums)
{
    sbx_document_open(json, "sums", '{');
    sbx_document_bool(json, "withheld", sums->is_withheld);
    if (sums->is_withheld) {
        sbx_document_close(json, '}');
        return;
    }
    sbx_document_integer(json, "hits", sums->hits);
    sbx_document_integer(json, "estimated", sums->weight);
    sbx_document_number(json, "estimated_error", sqrt((double)sums->variance));
    sbx_document_integer(json, "machines", sums->machines);
    sbx_document_integer(json, "machine_days", sums->machine_days);
    put_penetration(json, &sums->penetration);
    sbx_document_number(json, "p50_ms", (double)sums->p50_ns / 1e6);
    sbx_document_number(json, "p90_ms", (double)sums->p90_ns / 1e6);
    sbx_document_number(json, "p99_ms", (double)sums->p99_ns / 1e6);
    put_days(json, sums);
    put_labels(json, sums);
    sbx_document_open(json, "places", '[');
    for (size_t i = 0; i < sums->place_count; i++) {
        sbx_document_open(json, NULL, '{');
        sbx_document_string(json, "id", sums->places[i].id_text);
        sbx_document_string(json, "path", sums->places[i].path);
        sbx_document_integer(json, "hits", sums->places[i].hits);
        sbx_document_close(json, '}');
    }
    sbx_document_close(json, ']');
    sbx_document_close(json, '}');
}

void sbx_api_issue(const struct sbx_issue_row *issue, const struct sbx_issue_sums *sums,
                   const struct sbx_snapshot_row *rows, size_t count, struct sbx_reply *reply)
{
    struct sbx_document json = {0};
    sbx_document_open(&json, NULL, '{');
    put_issue_members(&json, issue);
    put_sums(&json, sums);
    put_snapshots(&json, rows, count);
    sbx_document_close(&json, '}');
    give(&json, reply);
}

void sbx_api_sums(const struct sbx_issue_sums *sums, struct sbx_reply *reply)
{
    struct sbx_document json = {0};
    sbx_document_open(&json, NULL, '{');
    put_sums(&json, sums);
    sbx_document_close(&json, '}');
    give(&json, reply);
}

void sbx_api_apps(const struct sbx_app_sum *rows, size_t count, bool is_withheld, struct sbx_reply *reply)
{
    struct sbx_document json = {0};
    sbx_document_open(&json, NULL, '{');
    sbx_document_bool(&json, "withheld", is_withheld);
    sbx_document_open(&json, "apps", '[');
    for (size_t i = 0; i < count; i++) {
        sbx_document_open(&json, NULL, '{');
        sbx_document_string(&json, "app", rows[i].app);
        sbx_document_integer(&json, "hits", rows[i].hits);
        sbx_document_integer(&json, "estimated", rows[i].weight);
        sbx_document_number(&json, "estimated_error", sqrt((double)rows[i].variance));
        sbx_document_integer(&json, "machine_days", rows[i].machine_days);
        put_penetration(&json, &rows[i].penetration);
        sbx_document_integer(&json, "issues", rows[i].issues);
        sbx_document_integer(&json, "versions", rows[i].versions);
        sbx_document_string(&json, "latest_version", or_null(rows[i].newest));
        sbx_document_close(&json, '}');
    }
    sbx_document_close(&json, ']');
    sbx_document_close(&json, '}');
    give(&json, reply);
}

void sbx_api_moved(const struct sbx_issue_after *rows, size_t count, struct sbx_reply *reply)
{
    struct sbx_document json = {0};
    sbx_document_open(&json, NULL, '{');
    sbx_document_open(&json, "moved_to", '[');
    for (size_t i = 0; i < count; i++) {
        sbx_document_open(&json, NULL, '{');
        sbx_document_string(&json, "id", rows[i].id_text);
        sbx_document_integer(&json, "hits", rows[i].hits);
        sbx_document_string(&json, "headline", rows[i].headline);
        sbx_document_close(&json, '}');
    }
    sbx_document_close(&json, ']');
    sbx_document_close(&json, '}');
    give(&json, reply);
    reply->status = 300;
}
