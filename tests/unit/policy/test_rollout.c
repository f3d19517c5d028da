/* SPDX-License-Identifier: Apache-2.0 */
/* test_rollout.c - the published vectors, and the properties of a cohort: even, sticky, growing, independent of
 * others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "policy_document.h"
#include "rollout.h"

static uint32_t bucket_of(const uint8_t key[16], const char *salt)
{
    uint32_t bucket;
    assert_int_equal(sbx_rollout_bucket(key, (const uint8_t *)salt, strlen(salt), &bucket), 0);
    assert_true(bucket < SBX_ROLLOUT_BUCKETS);
    return bucket;
}

static void test_the_vectors_of_the_documentation_hold(void **state)
{
    (void)state;
    uint8_t counting[16], zeroes[16] = {0}, ones[16], secret[SBX_INSTALL_SECRET_BYTES] = {0}, key[16];
    for (int i = 0; i < 16; i++) {
        counting[i] = (uint8_t)i;
    }
    memset(ones, 0xff, sizeof ones);
    assert_int_equal(bucket_of(counting, "anr.capture"), 8716);
    assert_int_equal(bucket_of(counting, "lock.points"), 9988);
    assert_int_equal(bucket_of(zeroes, "anr.capture"), 1668);
    assert_int_equal(bucket_of(zeroes, "lock.points"), 7236);
    assert_int_equal(bucket_of(ones, "anr.capture"), 6435);
    assert_int_equal(bucket_of(ones, "lock.points"), 2323);
    assert_int_equal(sbx_rollout_key(secret, key), 0);
    static const uint8_t expected[16] = {0x14, 0x55, 0xc6, 0xca, 0xe5, 0x83, 0x2d, 0x02,
                                         0xe2, 0xab, 0xe1, 0xae, 0xea, 0xd6, 0x5c, 0x89};
    assert_memory_equal(key, expected, sizeof expected);
}

/* 100 classes of 100 buckets, 50,000 machines: chi-square with 99 degrees of freedom exceeds 160 only once in 10,000
 * cases. The keys are fixed, so the figures are the same in each run. */
static void test_buckets_are_even_and_salts_independent(void **state)
{
    (void)state;
    enum {
        MACHINES = 50000
    };
    unsigned classes[100] = {0}, in_first = 0, in_both = 0;
    for (unsigned i = 0; i < MACHINES; i++) {
        uint8_t key[16] = {0};
        memcpy(key, &i, sizeof i);
        uint32_t first = bucket_of(key, "first"), second = bucket_of(key, "second");
        classes[first / 100]++;
        in_first += first < 1000;
        in_both += first < 1000 && second < 1000;
    }
    double chi = 0, expected = MACHINES / 100.0;
    for (int i = 0; i < 100; i++) {
        chi += (classes[i] - expected) * (classes[i] - expected) / expected;
    }
    assert_true(chi < 160);
    assert_true(in_first > 4700 && in_first < 5300);                            /* 10 % */
    assert_true(in_both * 100 > in_first * 8 && in_both * 100 < in_first * 12); /* 10 % of those */
}

static void test_a_larger_threshold_keeps_whom_the_smaller_had(void **state)
{
    (void)state;
    struct sbx_policy_document document = {.policy = *sbx_policy_default(), .rollout_count = 1};
    document.rollouts[0] =
        (struct sbx_rollout){.salt_bytes = 4, .salt = "lock", .effects = 0, .points = SBX_POINT_BIT(SBX_GROUP_LOCK)};
    for (unsigned i = 0; i < 200; i++) {
        uint8_t key[16] = {(uint8_t)i};
        bool was_in = false;
        for (uint32_t threshold = 0; threshold <= 10000; threshold += 500) {
            struct sbx_policy policy;
            document.rollouts[0].threshold = threshold;
            assert_int_equal(sbx_policy_document_apply(&document, key, &policy), 0);
            bool is_in = (policy.capture.points & SBX_POINT_BIT(SBX_GROUP_LOCK)) != 0;
            assert_false(was_in && !is_in);
            assert_false(threshold == 0 && is_in);
            assert_false(threshold == 10000 && !is_in);
            assert_int_equal(policy.capture.enabled, 1);
            was_in = is_in;
        }
    }
}

static void test_outside_of_a_rollout_its_effects_are_taken_away(void **state)
{
    (void)state;
    struct sbx_policy_document document = {.policy = *sbx_policy_default(), .rollout_count = 1};
    struct sbx_policy policy;
    uint8_t key[16] = {0};
    document.rollouts[0] = (struct sbx_rollout){.salt_bytes = 1, .salt = "s", .effects = SBX_ROLLOUT_COLLECT};
    assert_int_equal(sbx_policy_document_apply(&document, key, &policy), 0);
    assert_int_equal(policy.capture.enabled, 0);
    assert_int_equal(policy.delivery.bytes_day, sbx_policy_default()->delivery.bytes_day);
    document.rollouts[0].effects = SBX_ROLLOUT_UPLOAD;
    assert_int_equal(sbx_policy_document_apply(&document, key, &policy), 0);
    assert_int_equal(policy.capture.enabled, 1);
    assert_int_equal(policy.delivery.bytes_day, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_vectors_of_the_documentation_hold),
        cmocka_unit_test(test_buckets_are_even_and_salts_independent),
        cmocka_unit_test(test_a_larger_threshold_keeps_whom_the_smaller_had),
        cmocka_unit_test(test_outside_of_a_rollout_its_effects_are_taken_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
