/* SPDX-License-Identifier: Apache-2.0 */
/* test_fleet.c - pages and lists about many stalls at once, over real sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
    assert_says("/overview", 200, "No stall is like that.");
    assert_says("/v1/apps", 200, "\"apps\":[]");
    post_some();
    assert_says("/overview", 200, "<h1>All applications</h1>");
    assert_says("/overview", 200, "Applications <span class=\"count\">1</span>");
    assert_says("/overview", 200, "from 3 snapshots");
    assert_says("/overview", 200, "<meter");
    assert_says("/overview", 200, "href=\"/issues/");
    assert_says("/", 200, "href=\"/overview?app=");
    assert_says("/v1/apps", 200, "\"hits\":3");
    assert_says("/overview?app=nobody", 200, "No stall is like that.");
    assert_says("/overview?since=2999-01-01", 200, "No stall is like that.");
    assert_says("/overview?app=%3Cscript%3E", 200, "<h1>&lt;script&gt;</h1>");
    assert_says("/overview?since=yesterday", 400, "argument");
    assert_says("/overview?colour=red", 400, "argument");
    assert_says("/v1/apps?version=1", 400, "argument");
}

static void test_an_overview_of_few_machines_is_withheld(void **state)
{
    (void)state;
    fixture.options.min_machines = 3;
    fixture_start(&fixture);
    post_some();
    assert_says("/overview", 200, "are withheld");
    assert_says("/v1/apps", 200, "\"withheld\":true,\"apps\":[]");
    assert_says("/overview?version=1.0", 403, "--min-machines");
    assert_says("/overview?since=2026-01-01", 403, "--min-machines");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_overview_is_of_what_is_asked_for, start_server, remove_server),
        cmocka_unit_test_setup_teardown(test_an_overview_of_few_machines_is_withheld, prepare_server, remove_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
