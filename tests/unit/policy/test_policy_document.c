/* SPDX-License-Identifier: Apache-2.0 */
/* test_policy_document.c - a policy is encoded and decoded; which fields are left out; and the number of an agent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "signed_fixture.h"

static void test_a_policy_comes_back_as_it_was(void **state)
{
    (void)state;
    struct sbx_policy_document policy = fixture_policy(UINT64_MAX), decoded;
    struct sbx_policy_report report;
    uint8_t payload[4096];
    size_t count;
    const struct sbx_policy_field *fields = sbx_policy_fields(&count);
    for (size_t i = 0; i < count; i++) {
        uint64_t high = fields[i].form == SBX_FIELD_POINTS ? UINT64_C(1) << 63 : 0;
        sbx_policy_set(&policy.policy, &fields[i], high | (1000 + i));
    }
    policy.kill = true;
    policy.min_agent = 7;
    policy.max_agent = 8;
    policy.required_features = SBX_FEATURES_ALL;
    policy.rollout_count = SBX_ROLLOUTS_MAX;
    for (unsigned i = 0; i < SBX_ROLLOUTS_MAX; i++) {
        policy.rollouts[i] = (struct sbx_rollout){
            .id = i, .salt_bytes = 1 + 2 * i, .threshold = i, .effects = 3, .points = UINT64_C(1) << 40 | i};
        memset(policy.rollouts[i].salt, 'a' + (int)i, policy.rollouts[i].salt_bytes);
    }
    for (unsigned i = 0; i < SBX_POINT_GROUPS_MAX; i++) {
        policy.policy.capture.limits[i] = (struct sbx_point_limits){1000 + i, 10 + i};
    }
    size_t bytes = sbx_policy_document_encode(&policy, false, payload, sizeof payload);
    assert_int_equal(sbx_policy_document_decode(payload, bytes, &decoded, &report), SBX_POLICY_ACCEPTED);
    assert_memory_equal(&decoded, &policy, sizeof policy);
    for (size_t room = 0; room < bytes; room += 5) {
        assert_int_equal(sbx_policy_document_encode(&policy, false, payload, room), 0);
    }
}

static void test_what_is_left_out_is_the_default(void **state)
{
    (void)state;
    struct sbx_policy_document policy = fixture_policy(3), decoded;
    struct sbx_policy_report report;
    uint8_t payload[4096];
    size_t bytes = sbx_policy_document_encode(&policy, true, payload, sizeof payload);
    assert_int_equal(sbx_policy_document_decode(payload, bytes, &decoded, &report), SBX_POLICY_ACCEPTED);
    struct sbx_policy expected = *sbx_policy_default();
    expected.epoch = 1;
    expected.seq = 3;
    assert_memory_equal(&decoded.policy, &expected, sizeof expected);
    for (size_t cut = 0; cut < bytes; cut++) { /* each of the first fields is required */
        assert_int_equal(sbx_policy_document_decode(payload, cut, &decoded, &report), SBX_POLICY_PARSE);
    }
}

static void test_the_reduced_and_the_off_policy_keep_the_limits(void **state)
{
    (void)state;
    struct sbx_policy policy;
    sbx_policy_reduced(&policy);
    assert_null(sbx_policy_check(&policy));
    assert_int_equal(policy.capture.enabled, 1);
    assert_int_equal(policy.capture.slow_message_ms, 0);
    assert_int_equal(policy.delivery.snapshots_day, 1);
    sbx_policy_off(&policy);
    assert_null(sbx_policy_check(&policy));
    assert_int_equal(policy.capture.enabled, 0);
    assert_int_equal(policy.capture.points, 0);
    assert_int_equal(policy.delivery.bytes_day, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_policy_comes_back_as_it_was),
        cmocka_unit_test(test_what_is_left_out_is_the_default),
        cmocka_unit_test(test_the_reduced_and_the_off_policy_keep_the_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
