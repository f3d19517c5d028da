/* SPDX-License-Identifier: Apache-2.0 */
/* test_keyset.c - a KEYSET is encoded and decoded; bytes that are no KEYSET are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "policy_wire.h"
#include "signed_fixture.h"

static void test_a_keyset_comes_back_as_it_was(void **state)
{
    (void)state;
    struct sbx_keyset keyset = fixture_keyset(), decoded;
    struct sbx_policy_report report;
    uint8_t payload[8192];
    keyset.seal_key_count = SBX_SEAL_KEYS_MAX;
    keyset.pin_count = SBX_PINS_MAX;
    keyset.cap_count = SBX_CAPS_MAX;
    for (unsigned i = 0; i < SBX_SEAL_KEYS_MAX; i++) {
        memset(keyset.seal_keys[i].key, (int)i + 1, sizeof keyset.seal_keys[i].key);
        keyset.seal_keys[i].not_before_s = i;
        keyset.seal_keys[i].not_after_s = i + 1000;
        memset(keyset.pins[i], (int)i + 10, sizeof keyset.pins[i]);
    }
    for (unsigned i = 0; i < SBX_CAPS_MAX; i++) {
        keyset.caps[i] = (struct sbx_field_cap){i + 1, i, UINT32_MAX - i};
    }
    size_t bytes = sbx_keyset_encode(&keyset, payload, sizeof payload);
    assert_true(bytes > 0);
    assert_int_equal(sbx_keyset_decode(payload, bytes, &decoded, &report), SBX_POLICY_ACCEPTED);
    assert_memory_equal(&decoded, &keyset, sizeof keyset);
    for (size_t room = 0; room < bytes; room += 7) {
        assert_int_equal(sbx_keyset_encode(&keyset, payload, room), 0);
    }
    for (size_t cut = 0; cut < bytes; cut++) { /* no byte behind the end is read: the sanitizer watches */
        (void)sbx_keyset_encode(&keyset, payload, sizeof payload);
        assert_true(sbx_keyset_decode(payload, cut, &decoded, &report) != SBX_POLICY_LATER);
    }
}

static enum sbx_policy_verdict decode(const struct sbx_keyset *keyset)
{
    struct sbx_keyset decoded;
    struct sbx_policy_report report;
    uint8_t payload[8192];
    return sbx_keyset_decode(payload, sbx_keyset_encode(keyset, payload, sizeof payload), &decoded, &report);
}

static void test_a_keyset_that_could_not_work_is_refused(void **state)
{
    (void)state;
    struct sbx_keyset keyset = fixture_keyset();
    assert_int_equal(decode(&keyset), SBX_POLICY_ACCEPTED);
    keyset.root_threshold = 4;
    assert_int_equal(decode(&keyset), SBX_POLICY_RANGE);
    keyset.root_threshold = 0;
    assert_int_equal(decode(&keyset), SBX_POLICY_RANGE);
    keyset = fixture_keyset();
    keyset.policy_threshold = 2;
    assert_int_equal(decode(&keyset), SBX_POLICY_RANGE);
    keyset = fixture_keyset();
    keyset.version = 0;
    assert_int_equal(decode(&keyset), SBX_POLICY_RANGE);
    keyset = fixture_keyset();
    keyset.root_key_count = 0;
    assert_int_equal(decode(&keyset), SBX_POLICY_PARSE);
    keyset = fixture_keyset();
    memcpy(keyset.root_keys[1], keyset.root_keys[0], SBX_PUBLIC_KEY_BYTES); /* the same key twice */
    assert_int_equal(decode(&keyset), SBX_POLICY_RANGE);
    keyset = fixture_keyset();
    keyset.policy_keys[0][64] ^= 1; /* off the curve */
    assert_int_equal(decode(&keyset), SBX_POLICY_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_keyset_comes_back_as_it_was),
        cmocka_unit_test(test_a_keyset_that_could_not_work_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
