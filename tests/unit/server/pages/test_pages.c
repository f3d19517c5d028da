/* SPDX-License-Identifier: Apache-2.0 */
/* test_pages.c - what people and programs see of a stall. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "started_server.h"

static void assert_has(const struct answer *answer, const char *text)
{
    if (!answer_has(answer, text))
        fail_msg("\"%s\" is missing in status %ld: %.3000s", text, answer->status,
                 answer->body.data ? answer->body.data : "");
}

static void post_triaged(const struct envelope *envelope)
{
    post_stored(fixture.port, envelope);
    assert_true(wait_for_triage(fixture.port, envelope->id));
}

static void assert_has_only_scripts_of_the_server(const struct answer *answer)
{
    static const char *const files[] = {"d3-7.9.2.min.js", "d3-flame-graph-5.0.0.min.js", "flame.js", "timeline.js",
                                        "tabs.js"};
    for (const char *at = answer->body.data; (at = strstr(at, "<script")) != NULL; at++) {
        bool is_ours = false;
        for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
            char tag[128];
            snprintf(tag, sizeof(tag), "<script defer src=\"/%s\"></script>", files[i]);
            is_ours |= strncmp(at, tag, strlen(tag)) == 0;
        }
        assert_true(is_ours);
    }
}

static void test_the_first_page_says_what_to_do_when_there_is_nothing(void **state)
{
    (void)state;
    struct answer answer = get(fixture.port, "/");
    assert_int_equal(answer.status, 200);
    assert_has(&answer, "stallbox run --server");
    answer_finish(&answer);
}

static void test_every_scenario_has_a_page_with_its_cause_and_evidence(void **state)
{
    (void)state;
    static const char *const causes[SBX_SCENARIO_COUNT] = {[SBX_SCENARIO_SLEEP] = "sleep",
                                                           [SBX_SCENARIO_CPU] = "cpu",
                                                           [SBX_SCENARIO_LOCK] = "lock",
                                                           [SBX_SCENARIO_IO] = "io",
                                                           [SBX_SCENARIO_ANR_ASLEEP] = "sleep"};
    for (int scenario = 0; scenario < SBX_SCENARIO_COUNT; scenario++) {
        char badge[60];
        struct envelope envelope = envelope_of((enum sbx_scenario)scenario, (uint64_t)scenario + 10);
        post_triaged(&envelope);
        struct answer answer = get_of(fixture.port, "/stalls/", envelope.id, "");
        snprintf(badge, sizeof(badge), "<span class=\"badge cause-%s\">", causes[scenario]);
        assert_int_equal(answer.status, 200);
        assert_has(&answer, badge);
        assert_has(&answer, "class=\"evidence\" id=\"why\"><li><span class=\"tag\">");
        assert_has(&answer, "Where the time went");
        assert_has(&answer, "<section id=\"timeline\"><h2>Timeline</h2><div class=\"");
        assert_has(&answer, "<div class=\"picture\"><svg");
        assert_has(&answer, "Flame graph");
        assert_has(&answer, "Threads at the trigger");
        assert_has(&answer, "Before the trigger");
        assert_has(&answer, "What is missing");
        assert_has_only_scripts_of_the_server(&answer);
        assert_false(answer_has(&answer, " style="));
        answer_finish(&answer);
        envelope_finish(&envelope);
    }
}

static void test_an_address_says_which_pictures_a_stall_shows(void **state)
{
    (void)state;
    static const struct {
        const char *arguments;
        long status;
        const char *text;
    } cases[] = {
        {"", 200, "<div class=\"report shows-own shows-judged\">"},
        {"?stacks=async&view=history", 200, "<div class=\"report shows-async shows-history\">"},
        {"?view=history", 200, "<div class=\"report shows-own shows-history\">"},
        {"?stacks=&view=", 200, "<div class=\"report shows-own shows-judged\">"},
        {"?stacks=own", 400, "argument stacks"},
        {"?view=judged", 400, "argument view"},
        {"?find=a", 400, "argument"},
    };
    struct envelope envelope = envelope_of(SBX_SCENARIO_LOCK, 9);
    post_stored(fixture.port, &envelope);
    assert_int_equal(wait_for_triage(fixture.port, envelope.id), 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct answer answer = get_of(fixture.port, "/stalls/", envelope.id, cases[i].arguments);
        assert_int_equal(answer.status, cases[i].status);
        assert_has(&answer, cases[i].text);
        answer_finish(&answer);
    }
    struct answer answer = get_of(fixture.port, "/v1/snapshots/", envelope.id, ".timeline");
    assert_int_equal(answer.status, 200);
    assert_has(&answer, "\"judged_ms\":[");
    answer_finish(&answer);
    envelope_finish(&envelope);
}

static void test_scripts_are_files_of_the_server_that_browsers_keep(void **state)
{
    (void)state;
    static const char *const paths[][2] = {{"/flame.js", "max-age=60"},
                                           {"/timeline.js", "max-age=60"},
                                           {"/tabs.js", "max-age=60"},
                                           {"/d3-7.9.2.min.js", "immutable"},
                                           {"/d3-flame-graph-5.0.0.min.js", "immutable"}};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct answer answer = get(fixture.port, paths[i][0]);
        assert_int_equal(answer.status, 200);
        assert_non_null(strstr(answer.headers.data, "Content-Type: text/javascript; charset=utf-8"));
        assert_non_null(strstr(answer.headers.data, paths[i][1]));
        assert_true(answer.body.used > 1000);
        answer_finish(&answer);
    }
}

static void test_lists_and_pages_tell_one_verdict(void **state)
{
    (void)state;
    struct envelope first = envelope_of(SBX_SCENARIO_SLEEP, 1), second = envelope_of(SBX_SCENARIO_SLEEP, 2);
    post_triaged(&first);
    post_triaged(&second);
    struct answer issues = get(fixture.port, "/v1/issues");
    assert_has(&issues, "\"hits\":2");
    assert_has(&issues, "\"cause\":\"sleep\"");
    assert_has(&issues, second.id);
    const char *id = strstr(issues.body.data, "\"id\":\"") + 6;
    char issue_id[33];
    snprintf(issue_id, sizeof(issue_id), "%.32s", id);
    answer_finish(&issues);

    struct answer issue = get_of(fixture.port, "/v1/issues/", issue_id, "");
    assert_has(&issue, first.id);
    assert_has(&issue, second.id);
    answer_finish(&issue);
    struct answer page = get_of(fixture.port, "/issues/", issue_id, "");
    assert_has(&page, first.id);
    assert_has(&page, "2 hits in ");
    answer_finish(&page);
    struct answer list = get(fixture.port, "/");
    assert_has(&list, "Top issues");
    assert_has(&list, issue_id);
    assert_has(&list, first.id);
    answer_finish(&list);
    struct answer stall = get_of(fixture.port, "/stalls/", first.id, "");
    assert_has(&stall, "one of 2 of its kind");
    answer_finish(&stall);
    envelope_finish(&first);
    envelope_finish(&second);
}

/* Symptom: "Top issues 29" showed 25, and there was no link to the other four. */
static void test_issues_that_the_first_page_has_no_room_for_are_a_link_away(void **state)
{
    (void)state;
    struct envelope first = envelope_of(SBX_SCENARIO_SLEEP, 1), second = envelope_of(SBX_SCENARIO_CPU, 2);
    post_triaged(&first);
    post_triaged(&second);
    struct answer some = get(fixture.port, "/?limit=1");
    assert_has(&some, "<a href=\"/issues\">All 2 issues");
    answer_finish(&some);
    struct answer all = get(fixture.port, "/?limit=1000");
    assert_false(answer_has(&all, "All 2 issues"));
    assert_has(&all, "class=\"list issues\"");
    answer_finish(&all);
    envelope_finish(&first);
    envelope_finish(&second);
}

/* Symptom: /v1/sums?foo, and a request with seventeen arguments, were answered as if they had no arguments. */
static void test_what_is_not_understood_is_refused_everywhere(void **state)
{
    (void)state;
    struct envelope envelope = envelope_of(SBX_SCENARIO_SLEEP, 1);
    post_triaged(&envelope);
    static const char *const bad[] = {"/v1/issues?colour=red",
                                      "/v1/sums?before=3",
                                      "/v1/issues?since=2026-02-30",
                                      "/issues?sort=size",
                                      "/issues?state=closed",
                                      "/v1/issues?cursor=x",
                                      "/v1/issues?limit=0",
                                      "/v1/sums?since",
                                      "/v1/compare?base",
                                      "/compare?base",
                                      "/v1/profile?app",
                                      "/profile?issue",
                                      "/overview?app",
                                      "/v1/apps?since",
                                      "/v1/sums?version=1&version=2",
                                      "/v1/changes?before",
                                      "/v1/changes?before=0",
                                      "/feed.atom?since=2026-01-01",
                                      "/v1/sums?app=&version=&since=&until=&a=&b=&c=&d=&e=&f=&g=&h=&i=&j=&k=&l=&m=",
                                      "/v1/apps?app=",
                                      "/v1/apps?version=",
                                      "/v1/snapshots?app=x",
                                      "/v1/snapshots?limit=0",
                                      "/v1/snapshots?limit=1001",
                                      "/v1/snapshots?before=x",
                                      "/v1/snapshots?before=99999999999999999999",
                                      "/?limit=x",
                                      "/?before=",
                                      "/?since=2026-01-01",
                                      "/v1/symbols?q=a",
                                      "/v1/symbols/missing?limit=1",
                                      "/symbols?q=a",
                                      "/v1/compare?base_app=x",
                                      "/compare?q=x",
                                      "/profile?full=yes"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct answer refused = get(fixture.port, bad[i]);
        if (refused.status != 400)
            fail_msg("%s: %ld", bad[i], refused.status);
        answer_finish(&refused);
    }
    static const char *const of_one[][2] = {
        {"/v1/snapshots/", "?limit=1"}, {"/v1/snapshots/", ".folded?limit=1"}, {"/stalls/", "?a=b"}};
    for (size_t i = 0; i < sizeof(of_one) / sizeof(of_one[0]); i++) {
        char path[80];
        snprintf(path, sizeof(path), "%s%s%s", of_one[i][0], envelope.id, of_one[i][1]);
        struct answer refused = get(fixture.port, path);
        if (refused.status != 400)
            fail_msg("%s: %ld", path, refused.status);
        answer_finish(&refused);
    }
    envelope_finish(&envelope);
}

static void test_people_filter_issues_and_say_what_is_to_become_of_them(void **state)
{
    (void)state;
    struct envelope first = envelope_of(SBX_SCENARIO_SLEEP, 1), second = envelope_of(SBX_SCENARIO_CPU, 2);
    post_triaged(&first);
    post_triaged(&second);
    struct answer page = get(fixture.port, "/issues?cause=sleep&sort=last&since=2000-01-01&q=");
    assert_int_equal(page.status, 200);
    assert_has(&page, "class=\"list issues\"");
    assert_has(&page, "value=\"sleep\" selected");
    answer_finish(&page);
    page = get(fixture.port, "/issues?cause=lock");
    assert_has(&page, "No issue matches");
    answer_finish(&page);
    page = get(fixture.port, "/v1/sums?since=2000-01-01");
    assert_int_equal(page.status, 200);
    assert_has(&page, "\"hits\":2");
    answer_finish(&page);
    struct answer issues = get(fixture.port, "/v1/issues?cause=sleep&limit=1");
    const char *id = strstr(issues.body.data, "\"id\":\"") + 6;
    char path[60], merged[60], body[60];
    snprintf(path, sizeof(path), "/issues/%.32s", id);
    answer_finish(&issues);
    static const char words[] = "state=muted&until=9.1&owner=a%3Cb%3E+c&note=%00x";
    struct question question = {.path = path, .body = words, .body_bytes = strlen(words)};
    struct answer answer = ask(fixture.port, &question);
    assert_int_equal(answer.status, 303);
    answer_finish(&answer);
    page = get(fixture.port, path);
    assert_has(&page, "muted until 9.1");
    assert_has(&page, "a&lt;b&gt; c");
    answer_finish(&page);
    question.body = "state=gone", question.body_bytes = 10;
    answer = ask(fixture.port, &question);
    assert_int_equal(answer.status, 400);
    answer_finish(&answer);
    issues = get(fixture.port, "/v1/issues?state=open");
    id = strstr(issues.body.data, "\"id\":\"") + 6;
    snprintf(merged, sizeof(merged), "/issues/%.32s", id);
    snprintf(body, sizeof(body), "into=%.32s", id);
    answer_finish(&issues);
    question.body = body, question.body_bytes = strlen(body);
    answer = ask(fixture.port, &question);
    assert_int_equal(answer.status, 303);
    answer_finish(&answer);
    page = get(fixture.port, path);
    assert_int_equal(page.status, 308);
    assert_non_null(strstr(page.headers.data, merged));
    answer_finish(&page);
    page = get(fixture.port, merged);
    assert_has(&page, "2 hits in ");
    assert_has(&page, "Split off");
    answer_finish(&page);
    envelope_finish(&first);
    envelope_finish(&second);
}

static void test_downloads_are_what_they_are_called(void **state)
{
    (void)state;
    struct envelope envelope = envelope_of(SBX_SCENARIO_CPU, 5);
    post_triaged(&envelope);
    struct answer json = get_of(fixture.port, "/v1/snapshots/", envelope.id, ".json");
    assert_int_equal(json.status, 200);
    assert_int_equal(json.body.data[0], '{');
    assert_has(&json, envelope.id);
    assert_non_null(strstr(json.headers.data, "Content-Type: application/json"));
    answer_finish(&json);
    struct answer perfetto = get_of(fixture.port, "/v1/snapshots/", envelope.id, ".perfetto");
    assert_int_equal(perfetto.status, 200);
    assert_int_equal((uint8_t)perfetto.body.data[0], 0x0a); /* field 1 of Trace: a packet */
    assert_non_null(strstr(perfetto.headers.data, ".pftrace\""));
    answer_finish(&perfetto);
    struct answer pprof = get_of(fixture.port, "/v1/snapshots/", envelope.id, ".pprof");
    assert_int_equal(pprof.status, 200);
    assert_memory_equal(pprof.body.data, "\x1f\x8b", 2); /* gzip */
    answer_finish(&pprof);
    struct answer folded = get_of(fixture.port, "/v1/snapshots/", envelope.id, ".folded");
    assert_int_equal(folded.status, 200);
    assert_has(&folded, ";");
    answer_finish(&folded);
    struct answer payload = get_of(fixture.port, "/v1/snapshots/", envelope.id, ".sbx");
    assert_int_equal(payload.body.used, envelope.count);
    assert_memory_equal(payload.body.data, envelope.bytes, envelope.count);
    answer_finish(&payload);
    envelope_finish(&envelope);
}

/* A stall in the library with hostile names. */
static struct sbx_payload_builder *hostile_builder(uint64_t seed)
{
    struct sbx_payload_builder *builder = sbx_payload_builder_create(seed);
    int32_t module = sbx_builder_module_file(builder, 1, HOSTILE_NAMES_PATH, NULL);
    assert_true(module >= 0);
    uint64_t script = sbx_build_symbol(HOSTILE_NAMES_PATH, "<script>alert(1)</script>");
    uint64_t image = sbx_build_symbol(HOSTILE_NAMES_PATH, "'onload=x <img src=x onerror=y>&amp;");
    assert_true(script && image);
    const struct sbx_build_frame frames[] = {
        {module, script + 8, false}, {module, image + 8, false}, {SBX_BUILD_END, SBX_WALK_COMPLETE, false}};
    sbx_builder_sleep(builder, frames, 2);
    return builder;
}

/* A payload cannot contain names, but the symbol files that it refers to can contain any text. */
static void test_names_from_a_hostile_symbol_file_are_shown_and_not_obeyed(void **state)
{
    (void)state;
    static const char *const folders[] = {HOSTILE_NAMES_FOLDER};
    fixture_stop(&fixture);
    fixture.options.symbol_dirs = folders;
    fixture.options.symbol_dir_count = 1;
    fixture_start(&fixture);

    struct envelope envelope = envelope_of_builder(hostile_builder(77));
    post_triaged(&envelope);

    const struct {
        const char *prefix, *id, *suffix;
    } paths[] = {{"/stalls/", envelope.id, ""},
                 {"/", "", ""},
                 {"/v1/snapshots/", envelope.id, ""},
                 {"/v1/snapshots/", envelope.id, ".json"},
                 {"/v1/issues", "", ""},
                 {"/v1/snapshots", "", ""}};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct answer answer = get_of(fixture.port, paths[i].prefix, paths[i].id, paths[i].suffix);
        assert_int_equal(answer.status, 200);
        assert_has(&answer, "alert(1)"); /* the name did arrive here */
        if (strstr(answer.headers.data, "text/html")) {
            assert_has_only_scripts_of_the_server(&answer);
            assert_false(answer_has(&answer, "<img"));
            assert_false(answer_has(&answer, "'onload"));
            assert_has(&answer, "&lt;script&gt;");
        }
        answer_finish(&answer);
    }
    envelope_finish(&envelope);
}

/* `stallbox run` writes its list of modules after the server has started. */
static void test_a_module_index_that_appears_later_is_used(void **state)
{
    (void)state;
    char index_path[100], line[300];
    snprintf(index_path, sizeof(index_path), "%s/modules", fixture.data_dir);
    const char *const paths[] = {index_path};
    fixture_stop(&fixture);
    fixture.options.index_paths = paths;
    fixture.options.index_path_count = 1;
    fixture_start(&fixture);
    struct envelope before = envelope_of_builder(hostile_builder(1));
    post_triaged(&before);
    struct answer answer = get_of(fixture.port, "/v1/snapshots/", before.id, ".json");
    assert_false(answer_has(&answer, "alert(1)"));
    answer_finish(&answer);

    struct sbx_payload_builder *builder = hostile_builder(2);
    Stallbox__V1__Payload *payload = sbx_builder_columns(builder);
    size_t bytes = 0;
    for (size_t i = 0; i < payload->modules->build_id[0].len; i++)
        bytes += (size_t)snprintf(line + bytes, sizeof(line) - bytes, "%02x", payload->modules->build_id[0].data[i]);
    snprintf(line + bytes, sizeof(line) - bytes, " %s\n", HOSTILE_NAMES_PATH);
    FILE *file = fopen(index_path, "w");
    assert_non_null(file);
    assert_true(fputs(line, file) >= 0);
    assert_int_equal(fclose(file), 0);

    struct envelope after = envelope_of_builder(builder);
    post_triaged(&after);
    answer = get_of(fixture.port, "/v1/snapshots/", after.id, ".json");
    assert_has(&answer, "alert(1)");
    answer_finish(&answer);
    envelope_finish(&before);
    envelope_finish(&after);
}

static void test_a_rendering_that_is_gone_is_made_again_on_demand(void **state)
{
    (void)state;
    char path[100];
    struct envelope envelope = envelope_of(SBX_SCENARIO_LOCK, 6);
    post_triaged(&envelope);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", envelope.id, ".folded"), 200);
    fixture_stop(&fixture);
    snprintf(path, sizeof(path), "%s/renderings.db", fixture.data_dir);
    assert_int_equal(unlink(path), 0);
    fixture_start(&fixture);

    struct answer answer = get_of(fixture.port, "/v1/snapshots/", envelope.id, ".folded");
    assert_int_equal(answer.status, 200);
    answer_finish(&answer);
    answer = get_of(fixture.port, "/stalls/", envelope.id, "");
    assert_has(&answer, "Threads at the trigger");
    answer_finish(&answer);
    envelope_finish(&envelope);
}

int main(void)
{
#define STARTED(name) cmocka_unit_test_setup_teardown(name, start_server, remove_server)
    const struct CMUnitTest tests[] = {
        STARTED(test_the_first_page_says_what_to_do_when_there_is_nothing),
        STARTED(test_every_scenario_has_a_page_with_its_cause_and_evidence),
        STARTED(test_an_address_says_which_pictures_a_stall_shows),
        STARTED(test_scripts_are_files_of_the_server_that_browsers_keep),
        STARTED(test_lists_and_pages_tell_one_verdict),
        STARTED(test_issues_that_the_first_page_has_no_room_for_are_a_link_away),
        STARTED(test_what_is_not_understood_is_refused_everywhere),
        STARTED(test_people_filter_issues_and_say_what_is_to_become_of_them),
        STARTED(test_downloads_are_what_they_are_called),
        STARTED(test_names_from_a_hostile_symbol_file_are_shown_and_not_obeyed),
        STARTED(test_a_module_index_that_appears_later_is_used),
        STARTED(test_a_rendering_that_is_gone_is_made_again_on_demand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
