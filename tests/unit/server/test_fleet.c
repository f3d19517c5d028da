/* SPDX-License-Identifier: Apache-2.0 */
/* test_fleet.c - pages and lists about many stalls, over real sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "names.h"
#include "started_server.h"

static void post_some(void)
{
    static const enum sbx_scenario scenarios[] = {SBX_SCENARIO_SLEEP, SBX_SCENARIO_LOCK, SBX_SCENARIO_SLEEP};
    for (unsigned i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        struct envelope envelope = envelope_of_machine(scenarios[i], 100 + i, (uint8_t)(i + 1));
        post_stored(fixture.port, &envelope);
        envelope_finish(&envelope);
    }
    expect_metric("stallbox_triaged_total", 3);
}

static void assert_says(const char *path, long status, const char *text)
{
    struct answer answer = get(fixture.port, path);
    if (answer.status != status || !answer_has(&answer, text))
        fail_msg("%s: wanted %ld with \"%s\", got %ld: %s", path, status, text, answer.status,
                 answer.body.data ? answer.body.data : "");
    answer_finish(&answer);
}

static void test_the_overview_is_of_what_is_asked_for(void **state)
{
    (void)state;
    assert_says("/overview", 200, "No stall matches.");
    assert_says("/v1/apps", 200, "\"apps\":[]");
    post_some();
    assert_says("/overview", 200, "<h1>All applications</h1>");
    assert_says("/overview", 200, "Applications <span class=\"count\">1</span>");
    assert_says("/overview", 200, "from 3 snapshots");
    assert_says("/overview", 200, "<meter");
    assert_says("/overview", 200, "href=\"/issues/");
    assert_says("/", 200, "href=\"/overview?app=");
    assert_says("/v1/apps", 200, "\"hits\":3");
    assert_says("/overview?app=nobody", 200, "No stall matches.");
    assert_says("/overview?since=2999-01-01", 200, "No stall matches.");
    assert_says("/overview?app=%3Cscript%3E", 200, "<h1>&lt;script&gt;</h1>");
    assert_says("/overview?since=yesterday", 400, "argument");
    assert_says("/overview?colour=red", 400, "argument");
    assert_says("/v1/apps?version=1", 400, "argument");
    assert_says("/settings", 200, "There is none in the book.");
}

/* The name of a function of the newest stall, from the sums, escaped for a URL. */
static void read_function(char out[200])
{
    struct answer answer = get(fixture.port, "/v1/sums");
    const char *at = answer.body.data ? strstr(answer.body.data, "\"functions\":[{") : NULL;
    at = at ? strstr(at, "\"name\":\"") : NULL;
    assert_non_null(at);
    at += strlen("\"name\":\"");
    size_t used = 0;
    for (; *at != '"' && used < 190; at++)
        used += (size_t)snprintf(out + used, 200 - used, *at == '+' ? "%%2B" : *at == ' ' ? "%%20" : "%c", *at);
    answer_finish(&answer);
}

static void test_a_function_is_shown_across_its_issues(void **state)
{
    (void)state;
    char name[200], path[300];
    assert_says("/function?name=nobody", 200, "No matching stall is blamed on it.");
    assert_says("/function", 400, "argument name");
    assert_says("/function?name=", 400, "argument name");
    assert_says("/function?name=a&name=b", 400, "argument");
    assert_says("/function?name=a&find=b", 400, "argument");
    assert_says("/function?name=a&since=yesterday", 400, "argument");
    assert_says("/function?name=%3Cscript%3E", 200, "&lt;script&gt;");
    post_some();
    read_function(name);
    snprintf(path, sizeof(path), "/function?name=%s", name);
    assert_says(path, 200, "from 2 snapshots");
    assert_says(path, 200, "<dd>1 issue</dd>");
    assert_says(path, 200, "cause-sleep");
    assert_says(path, 200, "It has no time of its own"); /* nameless: in profiles it counts for its module */
    snprintf(path, sizeof(path), "/function?name=%s&app=nobody", name);
    assert_says(path, 200, "No matching stall is blamed on it.");
}

static void test_versions_and_days_are_compared(void **state)
{
    (void)state;
    assert_says("/compare", 200, "There is nothing to compare it with");
    post_some();
    assert_says("/compare?since=2020-01-01&base_until=2019-12-31", 200, "There is nothing to compare it with");
    assert_says("/compare?until=2999-01-01&base_since=2020-01-01", 200, "No difference that is more than chance");
    assert_says("/compare?until=2999-01-01&base_since=2020-01-01", 200, "As wide as the time of");
    assert_says("/v1/compare?until=2999-01-01&base_since=2020-01-01", 200, "\"machines\":3");
    assert_says("/v1/compare?until=2999-01-01&base_since=2020-01-01", 200, "\"changes\":[]");
    assert_says("/v1/compare", 200, "\"whole\":{\"change\":\"unchanged\",\"measure\":\"stalling_machines\"");
    assert_says("/compare?base_colour=red", 400, "argument");
    assert_says("/compare?base_app=x", 400, "argument base_app");
    assert_says("/compare?base_since=soon", 400, "argument");
}

static void test_what_changed_is_a_feed_and_a_list(void **state)
{
    (void)state;
    assert_says("/feed.atom", 200, "<feed xmlns=\"http://www.w3.org/2005/Atom\">");
    assert_says("/v1/changes", 200, "{\"changes\":[]}");
    assert_says("/v1/changes?before=x", 400, "argument");
    assert_says("/v1/changes?colour=red", 400, "argument");
    assert_says("/metrics", 200, "stallbox_changes{change=\"regressed\"} 0");
    post_some();
    struct answer answer = get(fixture.port, "/v1/issues");
    char id[33] = "", statement[600];
    const char *at = answer.body.data ? strstr(answer.body.data, "\"id\":\"") : NULL;
    assert_non_null(at);
    memcpy(id, at + 6, 32);
    answer_finish(&answer);
    fixture_stop(&fixture);
    snprintf(
        statement, sizeof(statement),
        "ATTACH '%s/changes.db' AS c; INSERT INTO c.event(at_ms, kind, app, version, base, issue, text, chance, state)"
        " VALUES(1, 2, 'a', '2', '1', x'%s', '<b>&worse', 0.001, 0), (2, 1, 'b', '2', '1', "
        "x'01000000000000000000000000000000', 'gone', 0, 0), (3, 2, 'all of it', '2', '1',"
        " zeroblob(16), 'all stalls', 0, 0), (4, 4, 'all of it', '2026-11-27', '', zeroblob(16), 'more stalls', 0, 0)",
        fixture.data_dir, id);
    fixture_run_sql(&fixture, statement);
    fixture_start(&fixture);
    assert_says("/feed.atom", 200, "<title>&lt;b&gt;&amp;worse</title><updated>1970-01-01T00:00:00Z</updated>");
    assert_says("/v1/changes", 200, "\"change\":\"regressed\",\"app\":\"a\"");
    assert_says("/metrics", 200, "stallbox_changes{change=\"regressed\"} 2");
    assert_says("/v1/changes", 200, "\"issue\":null,\"path\":\"/compare?app=all%20of%20it&version=2&base=1\"");
    assert_says("/v1/changes", 200,
                "\"issue\":null,\"path\":\"/overview?app=all%20of%20it&since=2026-11-27&until=2026-11-27\"");
    assert_says("/feed.atom", 200, "href=\"/compare?app=all%20of%20it&amp;version=2&amp;base=1\"");
    answer = get(fixture.port, "/v1/changes");
    assert_false(answer_has(&answer, "gone")); /* of an issue that does not exist any more */
    answer_finish(&answer);
}

static void test_an_overview_of_few_machines_is_withheld(void **state)
{
    (void)state;
    fixture.options.min_machines = 3;
    fixture_start(&fixture);
    post_some();
    assert_says("/overview", 200, "are withheld");
    assert_says("/v1/apps", 200, "\"withheld\":true,\"apps\":[]");
    assert_says("/compare", 200, "is withheld");
    assert_says("/v1/compare", 200, "\"withheld\":true");
    assert_says("/profile", 200, "is withheld");
    assert_says("/function?name=a", 200, "is withheld");
    assert_says("/v1/profile", 200, "\"withheld\":true,\"stalls\":0");
    assert_says("/v1/profile.folded", 403, "--min-machines");
    assert_says("/overview?version=1.0", 403, "--min-machines");
    assert_says("/overview?since=2026-01-01", 403, "--min-machines");
    assert_says("/issues?scene=scene+1", 403, "--min-machines");
}

static void test_the_time_of_many_stalls_is_one_picture_in_all_formats(void **state)
{
    (void)state;
    char path[200], id[33] = "";
    assert_says("/profile", 200, "No matching stall has a profile");
    post_some();
    assert_says("/profile", 200, "<svg xmlns");
    assert_says("/profile", 200, "3 stalls");
    assert_says("/profile?find=sleep", 200, "% of the time");
    assert_says("/profile?app=nobody", 200, "No matching stall has a profile");
    assert_says("/profile?at=xyz", 400, "argument at");
    assert_says("/profile?colour=red", 400, "argument");
    assert_says("/v1/profile?at=00", 400, "argument"); /* only the page has this argument */
    assert_says("/v1/profile", 200, "\"stalls\":3");
    assert_says("/v1/profile.folded", 200, ";");
    assert_says("/v1/profile.speedscope", 200, "\"type\":\"sampled\"");
    assert_says("/v1/profile.pprof", 200, "\x1f\x8b");
    assert_says("/overview", 200, "Where their time went");
    struct answer answer = get(fixture.port, "/v1/issues");
    const char *at = answer.body.data ? strstr(answer.body.data, "\"id\":\"") : NULL;
    assert_non_null(at);
    memcpy(id, at + 6, 32);
    answer_finish(&answer);
    snprintf(path, sizeof(path), "/issues/%s", id);
    assert_says(path, 200, "Where their time went");
    snprintf(path, sizeof(path), "/profile?issue=%s", id);
    assert_says(path, 200, "<svg xmlns");
    snprintf(path, sizeof(path), "/profile?issue=%s&app=x", id);
    assert_says(path, 400, "argument app");
    assert_says("/profile?issue=00112233445566778899aabbccddeeff", 404, "");
    assert_says("/profile?issue=12", 400, "argument issue");
}

static void tell_machine_day(uint64_t app, const char *version)
{
    char body[80];
    snprintf(body, sizeof(body), "app=%010llx&version=%s", (unsigned long long)app, version);
    struct answer answer =
        ask(fixture.port, &(struct question){.path = "/v1/active", .body = body, .body_bytes = strlen(body)});
    assert_int_equal(answer.status, 200);
    answer_finish(&answer);
}

static void post_of_shop(uint64_t seed)
{
    struct sbx_payload_builder *builder;
    assert_true(sbx_scenario_build(SBX_SCENARIO_SLEEP, false, seed, &builder));
    sbx_builder_payload(builder)->app_name = sbx_app_what("shop");
    struct envelope envelope = envelope_of_builder(builder);
    post_stored(fixture.port, &envelope);
    envelope_finish(&envelope);
}

static void test_the_scene_is_in_sums_on_the_stalls_page_and_a_filter(void **state)
{
    (void)state;
    char path[80];
    for (uint32_t scene = 0; scene < 3; scene++) { /* 0: no scene is sent */
        struct sbx_payload_builder *builder;
        assert_true(
            sbx_scenario_build(scene == 2 ? SBX_SCENARIO_LOCK : SBX_SCENARIO_SLEEP, false, 100 + scene, &builder));
        sbx_builder_payload(builder)->trigger->scene = scene;
        struct envelope envelope = envelope_of_builder(builder);
        post_stored(fixture.port, &envelope);
        snprintf(path, sizeof(path), "/stalls/%s", envelope.id);
        envelope_finish(&envelope);
    }
    expect_metric("stallbox_triaged_total", 3);
    assert_says(path, 200, "<dt>scene</dt><dd>scene 2</dd>");
    assert_says("/v1/sums", 200, "\"scenes\":[{\"name\":\"scene 1\",\"hits\":1");
    assert_says("/overview", 200, "href=\"/issues?scene=scene%202&amp;app=");
    assert_says("/issues?scene=scene+1", 200, "sleep");
    assert_says("/issues?scene=scene+3", 200, "No issue matches.");
    assert_says("/v1/issues?scene=scene+3", 200, "{\"issues\":[]}");
    struct answer answer = get(fixture.port, "/v1/issues?scene=scene+2");
    assert_int_equal(answer.status, 200);
    assert_true(answer_has(&answer, "\"cause\":\"lock\""));
    assert_false(answer_has(&answer, "\"cause\":\"sleep\""));
    answer_finish(&answer);
}

static void test_penetration_is_shown_where_machine_days_were_told(void **state)
{
    (void)state;
    char path[80], id[33] = "";
    int64_t day = time(NULL) / 86400;
    for (int i = 0; i < 7; i++)
        tell_machine_day(sbx_app_what("shop"), "7.0.15");
    tell_machine_day(sbx_app_what("shop"), "");
    tell_machine_day(sbx_app_what("other"), "7.0.15");
    post_of_shop(100);
    expect_metric("stallbox_triaged_total", 1);
    fixture_stop(&fixture); /* a stop stores what was collected */
    fixture_start(&fixture);
    if (time(NULL) / 86400 != day)
        skip(); /* the day changed meanwhile */
    assert_says("/v1/sums", 200, "\"active_machine_days\":8,\"hit_machine_days\":1,\"penetration\":0.125");
    assert_says("/v1/sums", 200, "\"active_machine_days\":7,\"hit_machine_days\":1");
    assert_says("/v1/apps", 200, "\"active_machine_days\":8,\"hit_machine_days\":1");
    assert_says("/v1/issues", 200, "\"active_machine_days\":8,\"hit_machine_days\":1");
    assert_says("/overview", 200, "1 of 8 machine-days");
    assert_says("/overview?version=7.0.15", 200, "1 of 7 machine-days");
    assert_says("/issues", 200, "<td class=\"number\">12.5 %</td>");
    assert_says("/metrics", 200, "stallbox_active_machine_days{app=");
    assert_says("/metrics", 200, "\"} 8\n");
    struct answer answer = get(fixture.port, "/v1/issues");
    const char *at = answer.body.data ? strstr(answer.body.data, "\"id\":\"") : NULL;
    assert_non_null(at);
    memcpy(id, at + 6, 32);
    answer_finish(&answer);
    snprintf(path, sizeof(path), "/issues/%s", id);
    assert_says(path, 200, "1 of 8 machine-days");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_overview_is_of_what_is_asked_for, start_server, remove_server),
        cmocka_unit_test_setup_teardown(test_an_overview_of_few_machines_is_withheld, prepare_server, remove_server),
        cmocka_unit_test_setup_teardown(test_the_time_of_many_stalls_is_one_picture_in_all_formats, start_server,
                                        remove_server),
        cmocka_unit_test_setup_teardown(test_the_scene_is_in_sums_on_the_stalls_page_and_a_filter, start_server,
                                        remove_server),
        cmocka_unit_test_setup_teardown(test_penetration_is_shown_where_machine_days_were_told, start_server,
                                        remove_server),
        cmocka_unit_test_setup_teardown(test_a_function_is_shown_across_its_issues, start_server, remove_server),
        cmocka_unit_test_setup_teardown(test_versions_and_days_are_compared, start_server, remove_server),
        cmocka_unit_test_setup_teardown(test_what_changed_is_a_feed_and_a_list, start_server, remove_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
