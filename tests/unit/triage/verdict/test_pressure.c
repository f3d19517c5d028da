/* SPDX-License-Identifier: Apache-2.0 */
/* test_pressure.c - a shortage of the machine becomes evidence only where there was one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "one_scene.h"

#define MS(ms) ((int64_t)(ms)*1000)

static void count(int64_t at_ms, uint8_t what, uint64_t value)
{
    sbx_scene_record(
        scene, (struct sbx_build_record){
                   .kind = SBX_RECORD_KERNEL, .op = what, .begin_us = MS(at_ms), .end_us = MS(at_ms), .amount = value});
}

/* A thread that runs for that share of the second, with the counts around it. */
static const struct sbx_report *report_of(int64_t cpu_permille, const uint8_t *what, const uint64_t *values, int counts)
{
    for (int i = 0; i < counts; i++) {
        count(-1000, what[i], 0);
    }
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "work < main", MS(-1000), 0, MS(20), cpu_permille);
    for (int i = 0; i < counts; i++) {
        count(0, what[i], values[i]);
    }
    return sbx_scene_report(scene);
}

static void test_memory_pressure_is_told_with_its_share(void **state)
{
    (void)state;
    const uint8_t what[] = {SBX_KERNEL_MEMORY_SOME, SBX_KERNEL_MEMORY_FULL};
    const uint64_t values[] = {MS(600), MS(250)};
    const struct sbx_report *report = report_of(900, what, values, 2);
    assert_string_equal(sbx_scene_evidence(report, "pressure"),
                        "memory pressure: some task of the machine stood still for it during 600 ms of 1.00 s, "
                        "all that had work for 250 ms (PSI)");
}

static void test_everyday_pressure_is_not_told(void **state)
{
    (void)state;
    const uint8_t what[] = {SBX_KERNEL_MEMORY_SOME, SBX_KERNEL_GROUP_THROTTLED, SBX_KERNEL_SWAPPED_KIB};
    const uint64_t values[] = {MS(50), MS(20), 1000};
    const struct sbx_report *report = report_of(900, what, values, 3);
    assert_null(sbx_scene_evidence(report, "pressure"));
    assert_null(sbx_scene_evidence(report, "throttled"));
    assert_null(sbx_scene_evidence(report, "swap"));
}

static void test_throttled_group_is_in_the_headline(void **state)
{
    (void)state;
    const uint8_t what[] = {SBX_KERNEL_RUN_DELAY, SBX_KERNEL_GROUP_THROTTLED};
    const uint64_t values[] = {MS(800), MS(780)};
    const struct sbx_report *report = report_of(200, what, values, 2);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_CPU_CONTENTION);
    assert_string_equal(report->verdict.culprit_function, "external");
    assert_string_equal(
        report->verdict.headline,
        "main thread was ready for 784 ms but did not get a CPU, in work under main: its control group had used up its "
        "quota");
    assert_non_null(sbx_scene_evidence(report, "throttled"));
}

static void test_cpu_pressure_is_told_of_who_did_not_run_only(void **state)
{
    (void)state;
    const uint8_t what[] = {SBX_KERNEL_CPU_SOME};
    const uint64_t values[] = {MS(900)};
    const struct sbx_report *report = report_of(1000, what, values, 1);
    assert_null(sbx_scene_evidence(report, "pressure"));
}

static void test_swapped_out_memory_is_told(void **state)
{
    (void)state;
    const uint8_t what[] = {SBX_KERNEL_SWAPPED_KIB};
    const uint64_t values[] = {10 * 1024};
    const struct sbx_report *report = report_of(900, what, values, 1);
    assert_string_equal(sbx_scene_evidence(report, "swap"), "10.0 MiB of the process were swapped out");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_memory_pressure_is_told_with_its_share, begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_everyday_pressure_is_not_told, begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_throttled_group_is_in_the_headline, begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_cpu_pressure_is_told_of_who_did_not_run_only, begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_swapped_out_memory_is_told, begin_scene, end_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
