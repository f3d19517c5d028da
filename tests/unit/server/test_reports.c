/* SPDX-License-Identifier: Apache-2.0 */
/* test_reports.c - reports that are made on request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "started_server.h"

static const char *const suffixes[] = {".json", ".perfetto", ".pprof", ".folded", ".async.pprof", ".async.folded"};

static void test_nothing_is_rendered_before_somebody_asks_and_asking_changes_no_verdict(void **state)
{
    (void)state;
    struct envelope envelope = envelope_of(SBX_SCENARIO_LOCK, 1);
    post_stored(fixture.port, &envelope);
    assert_true(wait_for_triage(fixture.port, envelope.id));
    assert_true(metric(fixture.port, "stallbox_renderings_bytes") == 0);
    assert_true(metric(fixture.port, "stallbox_reports_made_total") == 0);
    for (int times = 0; times < 2; times++) { /* the second time it is in the cache */
        struct answer answer = get_of(fixture.port, "/stalls/", envelope.id, "");
        assert_int_equal(answer.status, 200);
        assert_true(answer_has(&answer, "<svg"));
        assert_false(answer_has(&answer, "http-equiv=\"refresh\""));
        answer_finish(&answer);
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(status_of(fixture.port, "/v1/snapshots/", envelope.id, suffixes[i]), 200);
    }
    assert_true(metric(fixture.port, "stallbox_renderings_bytes") > 1000);
    assert_true(metric(fixture.port, "stallbox_reports_made_total") == 5);
    assert_true(metric(fixture.port, "stallbox_triaged_total") == 1);
    fixture_stop(&fixture);
    assert_int_equal(fixture_count(&fixture, "SELECT COUNT(*) FROM issue"), 1);
    envelope_finish(&envelope);
}

static void test_a_server_that_keeps_no_reports_makes_each_anew(void **state)
{
    (void)state;
    struct envelope envelope = envelope_of(SBX_SCENARIO_SLEEP, 1);
    fixture.options.renderings_bytes_max = SBX_RENDERINGS_NOT_KEPT;
    fixture_start(&fixture);
    post_stored(fixture.port, &envelope);
    assert_true(wait_for_triage(fixture.port, envelope.id));
    for (int i = 0; i < 3; i++)
        assert_int_equal(status_of(fixture.port, "/v1/snapshots/", envelope.id, ".json"), 200);
    assert_true(metric(fixture.port, "stallbox_reports_made_total") == 3);
    assert_true(metric(fixture.port, "stallbox_renderings_bytes") == 0);
    envelope_finish(&envelope);
}

static void test_a_report_of_what_is_not_there_is_not_found(void **state)
{
    (void)state;
    static const char id[] = "00112233445566778899aabbccddeeff";
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(status_of(fixture.port, "/v1/snapshots/", id, suffixes[i]), 404);
    assert_int_equal(status_of(fixture.port, "/stalls/", id, ""), 404);
    assert_true(metric(fixture.port, "stallbox_reports_failed_total") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_is_rendered_before_somebody_asks_and_asking_changes_no_verdict,
                                        start_server, remove_server),
        cmocka_unit_test_setup_teardown(test_a_server_that_keeps_no_reports_makes_each_anew, prepare_server,
                                        remove_server),
        cmocka_unit_test_setup_teardown(test_a_report_of_what_is_not_there_is_not_found, start_server, remove_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
