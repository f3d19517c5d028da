/* SPDX-License-Identifier: Apache-2.0 */
/* test_page_bytes.c - the exact bytes of pages, made from fixed rows and payloads with hostile names.
 *
 * The expected pages are in expected/. If a page differs, the new page is written to the folder that the test runs in,
 * under the same name. Look at the difference, and copy the file if the difference is intended. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attribute.h"
#include "page_compare.h"
#include "page_profile.h"
#include "page_report.h"
#include "page_settings.h"
#include "pages.h"
#include "payload_builder.h"
#include "record_kinds.h"
#include "report.h"

static const int64_t NOW_MS = INT64_C(1767225600000); /* 2026-01-01 00:00:00 UTC */

#define HOSTILE "<script>alert('1')</script>&amp;\" onload=\"x\xC0\xBC"

static void assert_page_is(struct sbx_byte_buffer *page, const char *name)
{
    char path[400];
    assert_false(page->failed);
    for (const char *script = page->data; (script = strstr(script, "<script")) != NULL;
         script++) { /* files that the server sends */
        const char *end = strstr(script, "></script>");
        assert_memory_equal(script, "<script defer src=\"/", 20);
        assert_true(end != NULL && strcspn(script + 20, "\"<>") + 21 == (size_t)(end - script));
    }
    assert_null(strstr(page->data, "onload=\""));
    snprintf(path, sizeof(path), "%s/%s", EXPECTED_FOLDER, name);
    FILE *file = fopen(path, "r");
    char *wanted = calloc(1, page->used + 2);
    assert_non_null(wanted);
    size_t bytes = file ? fread(wanted, 1, page->used + 1, file) : 0;
    if (file)
        fclose(file);
    if (bytes != page->used || memcmp(wanted, page->data, bytes) != 0) {
        size_t at = 0;
        while (at < bytes && at < page->used && wanted[at] == page->data[at])
            at++;
        file = fopen(name, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(page->data, 1, page->used, file), page->used);
        fclose(file);
        fail_msg("%s is another from byte %zu on: \"%.60s\" for \"%.60s\"", name, at, page->data + at, wanted + at);
    }
    free(wanted);
    sbx_byte_buffer_finish(page);
}

/* ---- pages of rows ---- */

static struct sbx_snapshot_row triaged_row(void)
{
    return (struct sbx_snapshot_row){
        .seq = 7,
        .id_text = "00112233445566778899aabbccddeeff",
        .received_ms = NOW_MS - 5000,
        .bytes = 1234,
        .trigger = "slow_message",
        .duration_ns = INT64_C(2034000000),
        .app_version = "7.0.15",
        .state = SBX_TRIAGE_DONE,
        .app = "redis & co",
        .cause = "sleep",
        .class_ = "off_cpu",
        .function = "std::map<int, x_y>::at",
        .module = "lib\"m\".so",
        .headline = "main thread slept 2.0 s in " HOSTILE,
        .confidence = 0.9,
    };
}

static const struct sbx_issue_row *issue_rows(void)
{
    static struct sbx_issue_row rows[2];
    rows[0] = (struct sbx_issue_row){.id_text = "ffeeddccbbaa99887766554433221100",
                                     .hits = 3,
                                     .sessions = 2,
                                     .first_ms = NOW_MS - INT64_C(90) * 86400000,
                                     .last_ms = NOW_MS - 5 * 60000,
                                     .weight = 40,
                                     .variance = 90,
                                     .longest_ns = INT64_C(192000000000),
                                     .builds = 2,
                                     .newest = triaged_row()};
    rows[1] = (struct sbx_issue_row){.id_text = "0123456789abcdef0123456789abcdef",
                                     .hits = 1,
                                     .sessions = 1,
                                     .first_ms = NOW_MS - 3 * 86400000,
                                     .last_ms = NOW_MS - 5 * 3600000,
                                     .weight = 1,
                                     .longest_ns = 850000,
                                     .builds = 1,
                                     .new_in_build = true,
                                     .newest = triaged_row()};
    rows[1].newest.function[0] = rows[1].newest.module[0] = '\0';
    snprintf(rows[1].newest.cause, sizeof(rows[1].newest.cause), "%s", "cpu_\"><b>");
    return rows;
}

static const struct sbx_snapshot_row *snapshot_rows(void)
{
    static struct sbx_snapshot_row rows[4];
    for (size_t i = 0; i < 4; i++)
        rows[i] = triaged_row();
    snprintf(rows[1].headline, sizeof(rows[1].headline), "%s", "slept in std::map<int, x_y>::at");
    rows[1].app_version[0] = '\0';
    rows[1].end_how = SBX_END_DIED;
    rows[1].end_signal = 9;
    rows[2].end_how = SBX_END_UNSEEN;
    rows[3].end_how = SBX_END_ANSWERED;
    rows[2].state = SBX_TRIAGE_FAILED;
    snprintf(rows[2].failure, sizeof(rows[2].failure), "%s", "no table of <frames>");
    rows[2].headline[0] = '\0';
    rows[3].state = SBX_TRIAGE_PENDING;
    rows[3].duration_ns = 0;
    return rows;
}

static struct sbx_list_page list_of_rows(void)
{
    static const struct sbx_app_sum apps[] = {{"redis & co", "7.0.15", 4, 41, 90, 3, 2, 2, {3, 300}}};
    return (struct sbx_list_page){.issues = issue_rows(),
                                  .snapshots = snapshot_rows(),
                                  .issue_count = 2,
                                  .snapshot_count = 4,
                                  .counts = {.snapshots = 4, .pending = 1, .failed = 1, .issues = 2, .sealed = 3},
                                  .older_seq = 4,
                                  .now_ms = NOW_MS,
                                  .is_first = true,
                                  .apps = apps,
                                  .app_count = 1};
}

static void test_lists_are_the_same_to_the_byte(void **state)
{
    (void)state;
    struct sbx_byte_buffer page = {0};
    struct sbx_list_page list = {0};
    sbx_page_list(&list, &page);
    assert_page_is(&page, "list_of_nothing.html");
    list.counts.sealed = 2;
    sbx_page_list(&list, &page);
    assert_page_is(&page, "list_of_sealed.html");
    list = list_of_rows();
    sbx_page_list(&list, &page);
    assert_page_is(&page, "list.html");
    list.is_first = false;
    list.older_seq = 0;
    list.counts = (struct sbx_store_counts){.snapshots = 4};
    sbx_page_list(&list, &page);
    assert_page_is(&page, "list_of_older.html");
}

/* Sums with hostile names. */
static const struct sbx_issue_sums *hostile_sums(void)
{
    static struct sbx_issue_sums sums;
    sums = (struct sbx_issue_sums){
        .hits = 3,
        .weight = 40,
        .variance = 90,
        .machines = 2,
        .p50_ns = 850000,
        .p90_ns = INT64_C(2034000000),
        .p99_ns = INT64_C(192000000000),
        .days = {{20778, 1, 10, 1}, {20780, 2, 30, 2}},
        .versions = {{.version = "7.0.15", .weight = 30, .first_day = 20778}, {.version = "", .weight = 10}},
        .day_count = 2,
        .version_count = 2,
        .places = {{"ffeeddccbbaa99887766554433221100", "f > g", 2}, {"00112233445566778899aabbccddee00", HOSTILE, 1}},
        .place_count = 2};
    for (int kind = 0; kind < SBX_FACT_KINDS; kind++) {
        sums.labels[kind][0] =
            (struct sbx_label_sum){.word = HOSTILE, .hits = 2, .weight = 30, .us = kind < 9 ? 5000 : 0};
        sums.label_count[kind] = 1;
        sums.label_weight[kind] = 40;
        sums.label_us[kind] = kind < 9 ? 20000 : 0;
        if (kind == SBX_FACT_OS) { /* 75 % of the issue's stalls, 30 % of the application's */
            sums.labels[kind][0].all_weight = 120;
            sums.label_all[kind] = 400;
        }
    }
    sums.penetration = (struct sbx_penetration){3, 1200};
    sums.versions[0].penetration = (struct sbx_penetration){1, 4000000};
    return &sums;
}

static void test_the_list_of_issues_is_the_same_to_the_byte(void **state)
{
    (void)state;
    struct sbx_byte_buffer page = {0};
    struct sbx_issues_page list = {.ask = {.text = HOSTILE, .app = "a&b", .cause = "lock", .sort = "last"},
                                   .now_ms = NOW_MS};
    sbx_page_issues(&list, &page);
    assert_page_is(&page, "issues_none.html");
    struct sbx_issue_sums sums[2] = {*hostile_sums(), {.is_withheld = true}};
    struct sbx_issue_row rows[2] = {issue_rows()[0], issue_rows()[1]};
    snprintf(rows[0].path, sizeof(rows[0].path), "%s", HOSTILE);
    rows[0].machine_days = 7;
    rows[0].state = SBX_ISSUE_REOPENED;
    list.rows = rows;
    list.sums = sums;
    list.count = 2;
    list.next = 50;
    sbx_page_issues(&list, &page);
    assert_page_is(&page, "issues.html");
}

static void test_overviews_are_the_same_to_the_byte(void **state)
{
    (void)state;
    struct sbx_byte_buffer page = {0};
    const struct sbx_issue_sums none = {0}, withheld = {.is_withheld = true};
    struct sbx_overview_page overview = {.issues.now_ms = NOW_MS, .sums = &none, .words = ""};
    sbx_page_overview(&overview, &page);
    assert_page_is(&page, "overview_none.html");
    overview.sums = &withheld;
    sbx_page_overview(&overview, &page);
    assert_page_is(&page, "overview_withheld.html");
    const struct sbx_app_sum apps[] = {{HOSTILE, "2.0&", 7, 40, 90, 3, 2, 2, {3, 4000000}},
                                       {"vim", "", 1, 1, 0, 1, 1, 1, {0, 0}}};
    struct sbx_issue_sums sums[2] = {*hostile_sums(), *hostile_sums()};
    struct sbx_issue_row rows[2] = {issue_rows()[0], issue_rows()[1]};
    overview.sums = hostile_sums();
    overview.apps = apps;
    overview.app_count = 2;
    overview.words = "from 2026-01-01";
    overview.issues =
        (struct sbx_issues_page){.ask = {.since = "2026-01-01"}, .rows = rows, .sums = sums, .count = 2, .next = 2};
    sbx_page_overview(&overview, &page);
    assert_page_is(&page, "overview.html");
    overview.app_count = 0;
    overview.issues.ask = (struct sbx_issues_ask){.app = "a&b \"c\"", .version = "7.0.15"};
    snprintf(rows[0].first_version, sizeof(rows[0].first_version), "%s", "7.0.15");
    sbx_page_overview(&overview, &page);
    assert_page_is(&page, "overview_of_a_version.html");
}

static void test_profiles_are_the_same_to_the_byte(void **state)
{
    (void)state;
    static const char text[] = "0 1:20000 \n1 - main\n2 1:300000 <b>f</b>&\n3 3:700000 std::g\n2 6:400000 h\n";
    struct sbx_byte_buffer page = {0};
    struct sbx_merged_profile profile;
    struct sbx_profile_page self = {.ask = {.app = "a&b", .since = "2026-01-01"}, .profile = &profile, .words = ""};
    assert_int_equal(sbx_merged_profile_init(&profile), 0);
    sbx_page_profile(&self, &page);
    assert_page_is(&page, "profile_none.html");
    self.is_withheld = true;
    sbx_page_profile(&self, &page);
    assert_page_is(&page, "profile_withheld.html");
    self.is_withheld = false;
    self.words = "from 2026-01-01";
    assert_int_equal(sbx_merged_profile_add(&profile, text, sizeof(text) - 1, 3, SBX_MERGED_HERE), 0);
    sbx_merged_profile_settle(&profile);
    snprintf(self.ask.find, sizeof(self.ask.find), "%s", "STD::\"");
    sbx_page_profile(&self, &page);
    assert_page_is(&page, "profile.html");
    self.ask = (struct sbx_profile_ask){.issue = "ffeeddccbbaa99887766554433221100", .function = "<b>f</b>&"};
    sbx_page_profile(&self, &page);
    assert_page_is(&page, "profile_of_a_function.html");
    self.ask.is_full = true;
    self.ask.function[0] = '\0';
    snprintf(self.ask.at, sizeof(self.ask.at), "%016llx",
             (unsigned long long)profile.nodes[profile.nodes[0].first_child].path);
    sbx_page_profile(&self, &page);
    assert_page_is(&page, "profile_full.html");
    self.ask.is_full = false;
    snprintf(self.ask.at, sizeof(self.ask.at), "%016llx",
             (unsigned long long)profile.nodes[profile.nodes[profile.nodes[0].first_child].first_child].path);
    sbx_page_profile(&self, &page);
    assert_page_is(&page, "profile_of_a_box.html");
    struct sbx_list_page list = list_of_rows();
    list.profile = &profile;
    sbx_page_issue(&list.issues[0], hostile_sums(), "", &list, &page);
    assert_page_is(&page, "issue_with_profile.html");
    sbx_merged_profile_finish(&profile);
}

static void test_comparisons_are_the_same_to_the_byte(void **state)
{
    (void)state;
    static const char here[] = "0 - \n1 - main\n2 1:900 <worse>\n2 1:100 better\n";
    static const char base[] = "0 - \n1 - main\n2 1:100 <worse>\n2 1:900 better\n";
    struct sbx_byte_buffer page = {0};
    struct sbx_merged_profile profile;
    const struct sbx_issue_sums sums[2] = {*hostile_sums(), *hostile_sums()};
    struct sbx_compare_page self = {.ask = {.app = "a&b", .version = "2", .base = "1"},
                                    .names = {"2 " HOSTILE, "1"},
                                    .sums = sums,
                                    .profile = &profile};
    assert_int_equal(sbx_merged_profile_init(&profile), 0);
    sbx_page_compare(&self, &page);
    assert_page_is(&page, "compare_nothing.html");
    self.is_withheld = true;
    sbx_page_compare(&self, &page);
    assert_page_is(&page, "compare_withheld.html");
    self.is_withheld = false;
    self.machines[0] = 200;
    self.machines[1] = 100;
    sbx_page_compare(&self, &page);
    assert_page_is(&page, "compare_nothing_changed.html");
    assert_int_equal(sbx_merged_profile_add(&profile, here, sizeof(here) - 1, 1, SBX_MERGED_HERE), 0);
    assert_int_equal(sbx_merged_profile_add(&profile, base, sizeof(base) - 1, 1, SBX_MERGED_BASE), 0);
    sbx_merged_profile_settle(&profile);
    struct sbx_issue_row issue = issue_rows()[0];
    snprintf(issue.path, sizeof(issue.path), "%s", HOSTILE);
    const struct sbx_compare_row rows[] = {
        {.met = {.machines = {40, 5}, .p90_ns = {INT64_C(2034000000), 850000}},
         .judged = {.change = SBX_CHANGE_REGRESSED,
                    .measure = SBX_OF_ACTIVE,
                    .chance = 0.0021,
                    .ratio = {4, 2.5, 16},
                    .told_here = {.hit = 60, .active = 4000},
                    .told_base = {.hit = 15, .active = 4000}},
         .issue = &issue},
        {.met = {.machines = {0, 15}, .p90_ns = {0, 850000}},
         .judged = {.change = SBX_CHANGE_GONE, .chance = 1e-9, .ratio = {0.01, 0, INFINITY}},
         .issue = &issue},
        {.met = {.machines = {3, 2}}, .judged = {.chance = 1, .ratio = {0.75, 0.2, 3}}, .issue = &issue}};
    self.whole = (struct sbx_change_row){.change = SBX_CHANGE_REGRESSED,
                                         .chance = 1e-9,
                                         .ratio = {2, 1.5, INFINITY},
                                         .told_here = {.hit = 400, .active = 4000},
                                         .told_base = {.hit = 200, .active = 4000}};
    self.rows = rows;
    self.changed = 2;
    self.shown = 3;
    self.count = 7;
    sbx_page_compare(&self, &page);
    assert_page_is(&page, "compare.html");
    sbx_merged_profile_finish(&profile);
}

static void test_feeds_are_the_same_to_the_byte(void **state)
{
    (void)state;
    struct sbx_byte_buffer page = {0};
    const struct sbx_change_event events[] = {
        {.num = 7, .at_ms = NOW_MS, .kind = 2, .issue = {0xab}, .text = HOSTILE, .chance = 0.001},
        {.num = 3, .at_ms = 1000, .kind = 6, .issue = {0, 1}, .text = "a", .chance = 1e-9},
        {.num = 2, .kind = 2, .app = "a&b", .version = "2\"><b>", .base = "1", .text = "all of it", .chance = 1e-9},
        {.num = 1, .kind = 4, .app = "a&b", .version = "2026-11-27", .text = "all of it", .chance = 1e-9}};
    sbx_page_feed(events, 4, &page);
    assert_page_is(&page, "feed.xml");
    sbx_page_feed(NULL, 0, &page);
    assert_page_is(&page, "feed_of_nothing.xml");
}

static void test_issues_are_the_same_to_the_byte(void **state)
{
    (void)state;
    struct sbx_byte_buffer page = {0};
    struct sbx_list_page list = list_of_rows();
    struct sbx_issue_row said = list.issues[0];
    said.state = SBX_ISSUE_MUTED;
    snprintf(said.until, sizeof(said.until), "%s", "8.0");
    snprintf(said.owner, sizeof(said.owner), "%s", HOSTILE);
    snprintf(said.note, sizeof(said.note), "%s", HOSTILE);
    snprintf(said.path, sizeof(said.path), "%s", HOSTILE);
    sbx_page_issue(&said, hostile_sums(), "version " HOSTILE, &list, &page);
    assert_page_is(&page, "issue.html");
    list.snapshot_count = 1;
    list.older_seq = 0;
    sbx_page_issue(&list.issues[1], &(struct sbx_issue_sums){.is_withheld = true}, "", &list, &page);
    assert_page_is(&page, "issue_new_in_build.html");
}

/* A crash takes no time. Neither the lists nor its own page show a length of 0 or a share of time for it. */
static void test_crashes_have_no_length(void **state)
{
    (void)state;
    struct sbx_byte_buffer page = {0};
    struct sbx_issue_row issue = issue_rows()[1];
    struct sbx_snapshot_row row = triaged_row();
    snprintf(row.cause, sizeof(row.cause), "%s", "crash");
    snprintf(row.class_, sizeof(row.class_), "%s", "unknown");
    snprintf(row.trigger, sizeof(row.trigger), "%s", "crash");
    snprintf(row.headline, sizeof(row.headline), "%s", "main thread died by SIGSEGV in std::map<int, x_y>::at");
    row.duration_ns = issue.longest_ns = 0;
    issue.newest = row;
    struct sbx_list_page list = {.issues = &issue,
                                 .snapshots = &row,
                                 .issue_count = 1,
                                 .snapshot_count = 1,
                                 .counts = {.snapshots = 1, .issues = 1},
                                 .now_ms = NOW_MS,
                                 .is_first = true};
    sbx_page_list(&list, &page);
    assert_page_is(&page, "list_of_crashes.html");
    sbx_page_issue(&issue, &(struct sbx_issue_sums){0}, "", &list, &page);
    assert_page_is(&page, "issue_crash.html");
}

static void test_pages_around_a_report_are_the_same_to_the_byte(void **state)
{
    (void)state;
    static char rendering[] = "<section>the report</section>\n";
    const struct sbx_byte_buffer report = {.data = rendering, .used = sizeof(rendering) - 1};
    const struct sbx_snapshot_row *rows = snapshot_rows();
    struct sbx_snapshot_row aged = triaged_row();
    struct sbx_byte_buffer page = {0};
    sbx_page_stall(&rows[0], &issue_rows()[0], NULL, 0, &report, (struct sbx_stall_look){.is_async = false}, NOW_MS,
                   &page);
    assert_page_is(&page, "stall.html");
    sbx_page_stall(&rows[0], &issue_rows()[1], NULL, 0, &report, (struct sbx_stall_look){.is_async = false}, NOW_MS,
                   &page);
    assert_page_is(&page, "stall_new_in_build.html");
    struct sbx_snapshot_row kin[3] = {rows[0], triaged_row(), rows[3]};
    kin[0].kin = kin[1].kin = kin[2].kin = 3;
    kin[1].seq = 4711;
    kin[1].kin_held = 2;
    sbx_page_stall(&kin[0], &issue_rows()[0], kin, 3, &report,
                   (struct sbx_stall_look){.is_async = true, .is_history = true}, NOW_MS, &page);
    assert_page_is(&page, "stall_with_kin.html");
    sbx_page_stall(&rows[3], NULL, NULL, 0, NULL, (struct sbx_stall_look){.is_async = false}, NOW_MS, &page);
    assert_page_is(&page, "stall_in_triage.html");
    sbx_page_stall(&rows[2], NULL, NULL, 0, NULL, (struct sbx_stall_look){.is_async = false}, NOW_MS, &page);
    assert_page_is(&page, "stall_failed.html");
    aged.bytes = 0;
    sbx_page_stall(&aged, NULL, NULL, 0, NULL, (struct sbx_stall_look){.is_async = false}, NOW_MS, &page);
    assert_page_is(&page, "stall_aged.html");
    aged.state = SBX_TRIAGE_FAILED;
    sbx_page_stall(&aged, NULL, NULL, 0, NULL, (struct sbx_stall_look){.is_async = false}, NOW_MS, &page);
    assert_page_is(&page, "stall_failed_aged.html");
    sbx_page_error(404, "There is no <page> here.", &page);
    assert_page_is(&page, "error.html");
}

/* ---- reports ---- */

static struct sbx_stall *stall_of(enum sbx_scenario scenario)
{
    uint8_t *envelope;
    size_t bytes;
    char why[200];
    struct sbx_stall *stall;
    assert_true(sbx_scenario_envelope(scenario, false, 1, &envelope, &bytes));
    assert_int_equal(sbx_stall_decode(envelope, bytes, &stall, why, sizeof(why)), 0);
    free(envelope);
    return stall;
}

/* More rows, and more steps in a row, than a page shows, but few bytes: it is stacks that make pages long. */
static void make_long_history(struct sbx_stall *stall)
{
    const struct sbx_stall_thread *judged = &stall->threads[stall->trigger.thread];
    assert_true(judged->record_count > 180);
    for (size_t i = 0; i < judged->record_count; i++) {
        struct sbx_stall_record *record = &stall->records[judged->record_begin + i];
        bool is_of_last_row = i + 70 > judged->record_count;
        record->message = is_of_last_row ? 1 : i + 2;
        record->stack = is_of_last_row ? judged->last_stack : 0;
        record->repeats = is_of_last_row ? i % 3 : 0;
        record->alloc_count = (int64_t)i * 3;
    }
}

static struct sbx_report *report_of(const struct sbx_stall *stall)
{
    struct sbx_report *report;
    assert_int_equal(sbx_report_create(stall, NULL, &report), 0);
    assert_int_equal(sbx_attribute(report), 0);
    return report;
}

static void test_reports_are_the_same_to_the_byte(void **state)
{
    (void)state;
    static const char *const names[SBX_SCENARIO_COUNT] = {[SBX_SCENARIO_SLEEP] = "report_sleep.html",
                                                          [SBX_SCENARIO_CPU] = "report_cpu.html",
                                                          [SBX_SCENARIO_LOCK] = "report_lock.html",
                                                          [SBX_SCENARIO_IO] = "report_io.html",
                                                          [SBX_SCENARIO_ANR_ASLEEP] = "report_anr.html"};
    static char svg[] = "<svg></svg>";
    const struct sbx_byte_buffer picture = {.data = svg, .used = sizeof(svg) - 1};
    const struct sbx_report_pictures pictures = {.history = picture, .flame = picture}, timeline = {.history = picture};
    for (int scenario = 0; scenario < SBX_SCENARIO_COUNT; scenario++) {
        struct sbx_byte_buffer page = {0};
        struct sbx_stall *stall = stall_of((enum sbx_scenario)scenario);
        if (scenario == SBX_SCENARIO_CPU)
            make_long_history(stall);
        struct sbx_report *report = report_of(stall);
        sbx_page_report(report, scenario == SBX_SCENARIO_CPU ? &timeline : &pictures, &page);
        assert_page_is(&page, names[scenario]);
        sbx_report_destroy(report);
        sbx_stall_destroy(stall);
    }
}

/* Every part of the page that the scenarios do not have, and names that look like markup. */
static void test_a_report_of_hostile_names_is_the_same_to_the_byte(void **state)
{
    (void)state;
    static char svg[] = "<svg></svg>";
    const struct sbx_byte_buffer picture = {.data = svg, .used = sizeof(svg) - 1};
    const struct sbx_report_pictures pictures = {picture, picture, picture, picture};
    struct sbx_byte_buffer page = {0};
    struct sbx_stall *stall = stall_of(SBX_SCENARIO_LOCK);
    for (uint32_t drop = 0; drop < SBX_DROP_COUNT; drop++)
        stall->drops[drop] = drop;
    stall->redactions.frames_hidden = 4;
    stall->redactions.records_cut = 2;
    stall->overhead.budget_ppm = 20000;
    stall->overhead.cost_ppm = 15000;
    stall->overhead.changes = 2;
    stall->overhead.interval_us = 4000;
    stall->overhead.gap_us = 20000;
    stall->overhead.shed = 5;
    stall->trigger.in_progress = true;
    stall->trigger.message_kind = 7;
    for (uint32_t thread = 1; thread < stall->thread_count; thread++) {
        stall->threads[thread].name = HOSTILE;
        stall->threads[thread].ended = thread == 1;
    }
    stall->threads[0].call_kind = SBX_RECORD_LOCK;
    stall->threads[0].call_op = SBX_OP_MUTEX_LOCK;
    stall->threads[0].call_ns = 1500000;
    stall->threads[0].call_peer = 1;
    for (size_t i = 0; i < stall->record_count; i++) {
        struct sbx_stall_record *record = &stall->records[i];
        if (i % 3 == 1)
            *record = (struct sbx_stall_record){.begin_ns = record->begin_ns,
                                                .end_ns = record->end_ns,
                                                .cpu_ns = record->cpu_ns,
                                                .amount = 4096,
                                                .thread = record->thread,
                                                .stack = record->stack,
                                                .peer = -1,
                                                .kind = SBX_RECORD_FILE,
                                                .op = SBX_OP_WRITE,
                                                .fd_class = 1,
                                                .flags = SBX_FLAG_FAILED};
        else if (i % 5 == 0)
            record->stack_lost = true;
        record->alloc_count = (int64_t)i * 3;
        if (sbx_kind_is_sample(record->kind))
            record->repeats = i % 3;
    }
    struct sbx_report *report = report_of(stall);
    for (uint32_t i = 0; i < report->location_begin[stall->frame_count]; i++) {
        struct sbx_location *location = &report->locations[i];
        location->named = i % 4 != 1 && i % 4 != 2;
        location->inlined = i % 3 == 1;
        if (i % 2 == 0) {
            location->function = "ns::<b>'x'</b>_of&";
            location->module = HOSTILE;
            location->file = "a<b>.c";
            location->line = i + 1;
        }
    }
    report->verdict.location.function = "ns::<b>'x'</b>_of&";
    report->verdict.location.module = HOSTILE;
    report->verdict.location.file = "\"a<b>.c";
    report->verdict.location.line = 12;
    report->verdict.interval_end_ns = -2000000;
    report->verdict.queued_by =
        (struct sbx_queued_by){true, -1, {.function = "ns::<b>'x'</b>_of&", .file = "\"a<b>.c", .line = 3}, 40};
    report->verdict.runnable_ms = -1;
    snprintf(report->verdict.headline, sizeof(report->verdict.headline), "%s", HOSTILE);
    snprintf(report->verdict.evidence[0].text, sizeof(report->verdict.evidence[0].text), "%s", HOSTILE);
    snprintf(report->app_name, sizeof(report->app_name), "%s", "<app>");
    sbx_page_report(report, &pictures, &page);
    assert_page_is(&page, "report_hostile.html");

    report->verdict.evidence_count = 0;
    report->verdict.queued_by = (struct sbx_queued_by){.is_known = true, .thread = 1};
    report->verdict.location.function = "";
    report->verdict.stack = 0;
    stall->threads[stall->trigger.thread].last_stack = 0;
    stall->app_build_id_bytes = 0;
    stall->trigger.kind = SBX_TRIGGER_MANUAL;
    sbx_page_report(report, &pictures, &page);
    assert_page_is(&page, "report_of_little.html");
    sbx_report_destroy(report);
    sbx_stall_destroy(stall);
}

static void test_pages_of_symbols_are_the_same_to_the_byte(void **state)
{
    (void)state;
    struct sbx_byte_buffer page = {0};
    const struct sbx_missing_row missing[] = {
        {.build_id = "00112233", .name = "server", .stalls = 12, .frames = 345, .last_ms = NOW_MS - 60000},
        {.build_id = "44556677", .name = HOSTILE, .stalls = 2, .frames = 3, .last_ms = NOW_MS, .is_renamed = true},
        {.build_id = "8899aabbccddeeff", .is_runtime = true, .stalls = 1, .frames = 1, .last_ms = NOW_MS}};
    const struct sbx_stored_row stored[] = {
        {.build_id = "aa", .name = HOSTILE, .source = "dwarf", .functions = 7, .stored_bytes = 1234567},
        {.build_id = "bb", .source = "none", .is_damaged = true}};
    struct sbx_symbols_page symbols = {.missing = missing,
                                       .stored = stored,
                                       .missing_count = 3,
                                       .stored_count = 5,
                                       .stored_shown = 2,
                                       .address = "http://localhost:7311",
                                       .now_ms = NOW_MS};
    sbx_page_symbols(&symbols, &page);
    assert_page_is(&page, "symbols.html");
    symbols.missing_count = symbols.stored_count = symbols.stored_shown = 0;
    sbx_page_symbols(&symbols, &page);
    assert_page_is(&page, "symbols_none.html");
    const struct sbx_issue_after after[] = {{"00112233445566778899aabbccddeeff", 3, HOSTILE},
                                            {"ffeeddccbbaa99887766554433221100", 1, ""}};
    sbx_page_moved(after, 2, &page);
    assert_page_is(&page, "issue_moved.html");
    const struct sbx_issue_row issue = {.hits = 1, .sessions = 1, .builds = 1, .newest = triaged_row()};
    sbx_page_issue(&issue, &(struct sbx_issue_sums){0}, "",
                   &(struct sbx_list_page){.after = after, .after_count = 2, .now_ms = NOW_MS}, &page);
    assert_page_is(&page, "issue_moved_in_part.html");
    struct sbx_snapshot_row row = triaged_row();
    snprintf(row.was_in_text, sizeof(row.was_in_text), "00112233445566778899aabbccddee00");
    sbx_page_stall(&row, NULL, NULL, 0, NULL, (struct sbx_stall_look){.is_async = false}, NOW_MS, &page);
    assert_page_is(&page, "stall_was_in_another.html");
}

static void test_a_function_across_issues_is_the_same_to_the_byte(void **state)
{
    (void)state;
    struct sbx_byte_buffer page = {0};
    const struct sbx_function_cause causes[] = {{"cpu", 30}, {"lock", 10}};
    const struct sbx_issue_sums sums[2] = {{.hits = 3, .weight = 40}, {.hits = 1, .weight = 1}};
    struct sbx_merged_profile profile = {0};
    assert_int_equal(sbx_merged_profile_init(&profile), 0);
    static const char text[] = "0 - \n1 1:10 main\n2 1:3000 ns::<b>'x'</b>_of&\n3 5:2000 read\n";
    assert_int_equal(sbx_merged_profile_add(&profile, text, sizeof(text) - 1, 1, SBX_MERGED_HERE), 0);
    sbx_merged_profile_settle(&profile);
    struct sbx_function_page function = {.issues = {.ask = {.app = "<app>", .version = "1.2"},
                                                    .rows = issue_rows(),
                                                    .sums = sums,
                                                    .count = 2,
                                                    .now_ms = NOW_MS},
                                         .name = "ns::<b>'x'</b>_of&",
                                         .words = "of version 1.2",
                                         .hits = 4,
                                         .weight = 41,
                                         .looked_at = 50,
                                         .causes = causes,
                                         .cause_count = 2,
                                         .profile = &profile};
    sbx_page_function_across(&function, &page);
    assert_page_is(&page, "function.html");
    function.issues.count = function.cause_count = 0;
    function.name = HOSTILE;
    sbx_page_function_across(&function, &page);
    assert_page_is(&page, "function_none.html");
    function.is_withheld = true;
    sbx_page_function_across(&function, &page);
    assert_page_is(&page, "function_withheld.html");
    sbx_merged_profile_finish(&profile);
}

static void test_settings_are_the_same_to_the_byte(void **state)
{
    (void)state;
    struct sbx_byte_buffer page = {0};
    static const struct sbx_setting list[] = {{"Storage", "stalls", "--database", "SQLite"},
                                              {"Storage", "payloads", "", HOSTILE},
                                              {"Limits", "machines", "--machine-rate", "1000"}};
    const struct sbx_token_row tokens[] = {
        {.id = "5b1c09de77a0", .app = "", .note = HOSTILE, .roles = "send,read", .made_s = NOW_MS / 1000 - 90},
        {.id = "00",
         .app = "<app>",
         .note = "",
         .roles = "admin",
         .made_s = 0,
         .ends_s = NOW_MS / 1000 - 1,
         .an_hour = 7}};
    struct sbx_settings_page settings = {.settings = list,
                                         .setting_count = 3,
                                         .tokens = tokens,
                                         .token_count = 2,
                                         .why_no_tokens = "",
                                         .now_ms = NOW_MS};
    sbx_page_settings(&settings, &page);
    assert_page_is(&page, "settings.html");
    settings.token_count = 0;
    sbx_page_settings(&settings, &page);
    assert_page_is(&page, "settings_no_tokens.html");
    settings.why_no_tokens = "line 3 <is> no token";
    sbx_page_settings(&settings, &page);
    assert_page_is(&page, "settings_broken.html");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_are_the_same_to_the_byte),
        cmocka_unit_test(test_the_list_of_issues_is_the_same_to_the_byte),
        cmocka_unit_test(test_profiles_are_the_same_to_the_byte),
        cmocka_unit_test(test_comparisons_are_the_same_to_the_byte),
        cmocka_unit_test(test_feeds_are_the_same_to_the_byte),
        cmocka_unit_test(test_a_function_across_issues_is_the_same_to_the_byte),
        cmocka_unit_test(test_settings_are_the_same_to_the_byte),
        cmocka_unit_test(test_overviews_are_the_same_to_the_byte),
        cmocka_unit_test(test_issues_are_the_same_to_the_byte),
        cmocka_unit_test(test_crashes_have_no_length),
        cmocka_unit_test(test_pages_around_a_report_are_the_same_to_the_byte),
        cmocka_unit_test(test_reports_are_the_same_to_the_byte),
        cmocka_unit_test(test_a_report_of_hostile_names_is_the_same_to_the_byte),
        cmocka_unit_test(test_pages_of_symbols_are_the_same_to_the_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
