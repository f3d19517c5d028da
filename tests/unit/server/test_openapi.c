/* SPDX-License-Identifier: Apache-2.0 */
/* test_openapi.c - the server does what its OpenAPI document says, and has the metrics that docs/monitoring uses;
 * openapi_check.py and monitoring_check.py check it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "started_server.h"

static void test_every_answer_is_as_the_document_says(void **state)
{
    (void)state;
    static const enum sbx_scenario scenarios[] = {SBX_SCENARIO_SLEEP, SBX_SCENARIO_LOCK, SBX_SCENARIO_IO};
    char command[600];
    for (unsigned i = 0; i < 3; i++) {
        struct envelope envelope = envelope_of_machine(scenarios[i], 100 + i, (uint8_t)(i + 1));
        post_stored(fixture.port, &envelope);
        envelope_finish(&envelope);
    }
    expect_metric("stallbox_triaged_total", 3);
    snprintf(command, sizeof(command), "python3 '%s' %u '%s'", OPENAPI_CHECK, fixture.port, ROUTES_SOURCE);
    assert_int_equal(system(command), 0);
}

static void test_rules_and_dashboard_name_what_the_server_counts(void **state)
{
    (void)state;
    char command[600];
    snprintf(command, sizeof(command), "python3 '%s' %u '%s'", MONITORING_CHECK, fixture.port, MONITORING_FOLDER);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_answer_is_as_the_document_says, start_server, remove_server),
        cmocka_unit_test_setup_teardown(test_rules_and_dashboard_name_what_the_server_counts, start_server,
                                        remove_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
