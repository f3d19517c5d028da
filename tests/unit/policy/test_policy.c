/* SPDX-License-Identifier: Apache-2.0 */
/* test_policy.c - the default policy, the limits, and the two ways to end a policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "policy.h"

static void test_default_holds_its_own_limits(void **state)
{
    (void)state;
    const struct sbx_policy *policy = sbx_policy_default();
    assert_null(sbx_policy_check(policy));
    assert_int_equal(policy->capture.enabled, 1);
    assert_int_equal(policy->capture.points, SBX_POINTS_DEFAULT);
    assert_int_equal(policy->capture.interval_us, 1000);
    assert_int_equal(policy->capture.anr_ms, 5000);
    assert_int_equal(policy->capture.slow_message_ms, 1000);
    assert_int_equal(policy->capture.detail_level, 1);
    assert_true(policy->capture.note_ms < policy->capture.slow_message_ms); /* a note before the first limit */
    assert_true(policy->capture.history_ms > policy->capture.anr_ms);       /* the whole stall is in the history */
}

/* One field is changed; the check must give this answer. */
struct change {
    const char *field;
    size_t offset;
    uint32_t value;
    int is_bad;
};

#define CHANGE(field, value, is_bad)                                      \
    {                                                                     \
#field, offsetof(struct sbx_policy, capture.field), value, is_bad \
    }

static void test_each_field_is_held_to_its_limits(void **state)
{
    (void)state;
    const struct change changes[] = {
        CHANGE(enabled, 0, 0),
        CHANGE(enabled, 2, 1),
        CHANGE(interval_us, 1000, 0),
        CHANGE(interval_us, 999, 1),
        CHANGE(interval_us, 0, 1),
        CHANGE(gap_us, 10000000, 0),
        CHANGE(gap_us, 10000001, 1),
        CHANGE(gap_us, 999, 1),
        CHANGE(blocked_refresh_ms, 0, 1),
        CHANGE(blocked_refresh_ms, 1, 0),
        CHANGE(wait_min_us, 9, 1),
        CHANGE(wait_min_us, 10, 0),
        CHANGE(anr_ms, 0, 0),
        CHANGE(anr_ms, 99, 1),
        CHANGE(anr_ms, 100, 0),
        CHANGE(anr_ms, UINT32_MAX, 1),
        CHANGE(slow_message_ms, 0, 0),
        CHANGE(slow_message_ms, 9, 1),
        CHANGE(slow_frame_ms, 0, 0),
        CHANGE(slow_frame_ms, 60001, 1),
        CHANGE(note_ms, 0, 0),
        CHANGE(note_ms, 9, 1),
        CHANGE(min_gap_ms, 0, 1),
        CHANGE(min_gap_ms, 100, 0),
        CHANGE(history_ms, 60000, 0),
        CHANGE(history_ms, 60001, 1),
        CHANGE(detail_level, 0, 0),
        CHANGE(detail_level, 3, 1),
        CHANGE(max_cpu_permille, 50, 0),
        CHANGE(max_cpu_permille, 51, 1),
        CHANGE(max_cpu_permille, 0, 1),
        CHANGE(max_cpu_tenths, 9, 0),
        CHANGE(max_cpu_tenths, 10, 1),
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct sbx_policy policy = *sbx_policy_default();
        memcpy((char *)&policy + changes[i].offset, &changes[i].value, sizeof changes[i].value);
        const char *bad = sbx_policy_check(&policy);
        if (changes[i].is_bad) {
            assert_non_null(bad);
            assert_string_equal(bad, changes[i].field);
        } else if (bad != NULL) {
            fail_msg("%s = %u is refused for %s", changes[i].field, changes[i].value, bad);
        }
    }
}

static void test_tenths_do_not_lead_beyond_the_largest_budget(void **state)
{
    (void)state;
    struct sbx_policy policy = *sbx_policy_default();
    policy.capture.max_cpu_permille = 49;
    policy.capture.max_cpu_tenths = 9;
    assert_null(sbx_policy_check(&policy));
    policy.capture.max_cpu_permille = 50;
    assert_string_equal(sbx_policy_check(&policy), "max_cpu_tenths");
}

static void test_a_mask_of_points_has_the_bits_of_groups_alone(void **state)
{
    (void)state;
    struct sbx_policy policy = *sbx_policy_default();
    for (unsigned bit = 0; bit < 64; bit++) {
        policy.capture.points = UINT64_C(1) << bit;
        const char *bad = sbx_policy_check(&policy);
        assert_true(bit < SBX_GROUP_COUNT ? bad == NULL : bad != NULL && strcmp(bad, "points") == 0);
    }
    policy.capture.points = SBX_POINTS_ALL;
    assert_null(sbx_policy_check(&policy));
}

static void test_what_this_build_does_not_know_is_refused(void **state)
{
    (void)state;
    struct sbx_policy policy = *sbx_policy_default();
    policy.module_rule = (enum sbx_module_rule)2;
    assert_string_equal(sbx_policy_check(&policy), "modules");
}

static void test_settings_and_redaction_say_what_the_policy_says(void **state)
{
    (void)state;
    struct sbx_policy policy = *sbx_policy_default();
    policy.capture.history_ms = 4321;
    policy.capture.detail_level = 2;
    policy.module_rule = SBX_MODULES_APP_ONLY;
    struct sbx_capture_settings settings;
    struct sbx_redaction redaction;
    sbx_policy_settings(&policy, &settings);
    sbx_policy_redaction(&policy, &redaction);
    assert_memory_equal(&settings, &policy.capture, sizeof settings);
    assert_int_equal(redaction.history_ms, 4321);
    assert_int_equal(redaction.detail_level, 2);
    assert_int_equal(redaction.module_rule, SBX_MODULES_APP_ONLY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_holds_its_own_limits),
        cmocka_unit_test(test_each_field_is_held_to_its_limits),
        cmocka_unit_test(test_tenths_do_not_lead_beyond_the_largest_budget),
        cmocka_unit_test(test_a_mask_of_points_has_the_bits_of_groups_alone),
        cmocka_unit_test(test_what_this_build_does_not_know_is_refused),
        cmocka_unit_test(test_settings_and_redaction_say_what_the_policy_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
