/* SPDX-License-Identifier: Apache-2.0 */
/* test_exporters.c - properties of every exporter, independent of its format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "exporters.h"
#include "printed.h"
#include "random_report.h"
#include "sample_reports.h"

static const print_function exporters[] = {
    sbx_print_folded,       sbx_print_pprof,           sbx_print_perfetto,
    sbx_print_timeline_svg, sbx_print_flame_svg,       sbx_print_async_folded,
    sbx_print_async_pprof,  sbx_print_async_flame_svg, sbx_print_judged_timeline_svg,
    sbx_print_timeline_json};
static const print_function pictures[] = {sbx_print_timeline_svg, sbx_print_flame_svg, sbx_print_async_flame_svg,
                                          sbx_print_judged_timeline_svg};
static struct report_fixture *(*const samples[])(void) = {sample_sleep, sample_lock, sample_script};

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static void test_a_full_disk_is_an_error(void **state)
{
    (void)state;
    for (size_t sample = 0; sample < COUNT_OF(samples); sample++) {
        struct report_fixture *fixture = samples[sample]();
        for (size_t i = 0; i < COUNT_OF(exporters); i++) {
            assert_full_stream_is_an_error(exporters[i], report_fixture_report(fixture));
        }
        report_fixture_destroy(fixture);
    }
}

static void assert_pictures_are_sound(struct report_fixture *fixture)
{
    for (size_t i = 0; i < COUNT_OF(pictures); i++) {
        char *text = printed(pictures[i], report_fixture_report(fixture), NULL);
        assert_svg_is_sound(text);
        free(text);
    }
}

static void test_a_report_without_records_is_still_a_picture(void **state)
{
    (void)state;
    struct report_fixture *fixture = report_fixture_create();
    assert_pictures_are_sound(fixture); /* without any thread */
    report_fixture_thread(fixture, "main", true);
    assert_pictures_are_sound(fixture);
    report_fixture_destroy(fixture);
}

static void test_pictures_are_sound_whatever_the_records_say(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct report_fixture *fixture = random_report_from_seed(seed, 100);
        assert_pictures_are_sound(fixture);
        report_fixture_destroy(fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_full_disk_is_an_error),
        cmocka_unit_test(test_a_report_without_records_is_still_a_picture),
        cmocka_unit_test(test_pictures_are_sound_whatever_the_records_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
