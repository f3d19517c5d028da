/* SPDX-License-Identifier: Apache-2.0 */
/* test_policy_trust.c - hostile documents: each is refused for its own reason, and the trusted state does not change.
 *
 * The numbers are those of docs/SECURITY.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "policy_wire.h"
#include "signed_fixture.h"

enum {
    DAY_S = 86400
};

/* Take `document` and expect `verdict`. If the verdict is a refusal, nothing may have changed. */
static void expect_at(struct sbx_policy_trust *trust, const struct fixture_document *document, uint64_t now_s,
                      enum sbx_policy_verdict verdict)
{
    struct sbx_policy_trust before = *trust;
    enum sbx_policy_verdict said = fixture_take(trust, document, now_s);
    if (said != verdict) {
        fail_msg("%s, not %s", sbx_policy_verdict_name(said), sbx_policy_verdict_name(verdict));
    }
    if (verdict > SBX_POLICY_SAME) {
        assert_memory_equal(trust, &before, sizeof before);
    }
}

static void expect(struct sbx_policy_trust *trust, const struct fixture_document *document,
                   enum sbx_policy_verdict verdict)
{
    expect_at(trust, document, FIXTURE_NOW_S, verdict);
}

static void expect_policy(struct sbx_policy_trust *trust, const struct sbx_policy_document *policy,
                          enum sbx_policy_verdict verdict)
{
    struct fixture_document document = {.count = 0};
    fixture_sign_policy(policy, &document);
    expect(trust, &document, verdict);
}

static void test_pol_01_any_flipped_bit_is_refused(void **state)
{
    (void)state;
    struct sbx_policy_trust trust = fixture_trust();
    struct sbx_policy_document policy = fixture_policy(5);
    struct fixture_document document = {.count = 0};
    uint8_t payload[512];
    /* A short payload with only the required fields, so that every bit can be tried. */
    fixture_sign(SBX_ROLE_POLICY, payload, sbx_policy_document_encode(&policy, true, payload, sizeof payload), "policy",
                 &document);
    assert_in_range(document.count, 100, 200);
    for (size_t bit = 0; bit < 8 * document.count; bit += ROUNDS_DIVISOR) {
        struct fixture_document flipped = document;
        flipped.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        struct sbx_policy_trust before = trust;
        enum sbx_policy_verdict verdict = fixture_take(&trust, &flipped, FIXTURE_NOW_S);
        if (verdict != SBX_POLICY_FORMAT && verdict != SBX_POLICY_SIGNATURE) {
            fail_msg("bit %zu: %s", bit, sbx_policy_verdict_name(verdict));
        }
        assert_memory_equal(&trust, &before, sizeof before);
    }
    expect(&trust, &document, SBX_POLICY_ACCEPTED);
}

static void test_pol_02_truncations_and_trailing_bytes_are_refused(void **state)
{
    (void)state;
    struct sbx_policy_trust trust = fixture_trust();
    struct sbx_policy_document policy = fixture_policy(5);
    struct fixture_document document = {.count = 0};
    fixture_sign_policy(&policy, &document);
    size_t whole = document.count;
    for (document.count = 0; document.count < whole; document.count++) {
        expect(&trust, &document, SBX_POLICY_FORMAT);
    }
    for (document.count = whole + 1; document.count <= whole + 64; document.count++) {
        expect(&trust, &document, SBX_POLICY_FORMAT);
    }
    document.count = whole;
    expect(&trust, &document, SBX_POLICY_ACCEPTED);
}

/* Subtract a 32-byte big-endian number from the group's order. */
static void negate(uint8_t s[32])
{
    static const uint8_t order[32] = {0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff,
                                      0xff, 0xff, 0xff, 0xff, 0xff, 0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17,
                                      0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51};
    int borrow = 0;
    for (int i = 31; i >= 0; i--) {
        int digit = order[i] - s[i] - borrow;
        borrow = digit < 0;
        s[i] = (uint8_t)digit;
    }
}

static void test_pol_03_other_forms_of_a_good_signature_are_refused(void **state)
{
    (void)state;
    struct sbx_policy_trust trust = fixture_trust();
    struct sbx_policy_document policy = fixture_policy(5);
    struct fixture_document document = {.count = 0}, other;
    fixture_sign_policy(&policy, &document);
    uint8_t *signature = document.bytes + document.count - SBX_SIGNATURE_BYTES;

    other = document; /* the twin with high s */
    negate(other.bytes + other.count - 32);
    expect(&trust, &other, SBX_POLICY_SIGNATURE);

    other = document; /* DER in the slot, as much of it as fits, and with BER's long form of its length */
    uint8_t *slot = other.bytes + other.count - SBX_SIGNATURE_BYTES;
    const uint8_t der[] = {0x30, 0x44, 0x02, 0x20};
    memcpy(slot, der, sizeof der);
    memcpy(slot + sizeof der, signature, SBX_SIGNATURE_BYTES - sizeof der);
    expect(&trust, &other, SBX_POLICY_SIGNATURE);
    const uint8_t ber[] = {0x30, 0x81, 0x44, 0x02, 0x20};
    memcpy(slot, ber, sizeof ber);
    memcpy(slot + sizeof ber, signature, SBX_SIGNATURE_BYTES - sizeof ber);
    expect(&trust, &other, SBX_POLICY_SIGNATURE);

    expect(&trust, &document, SBX_POLICY_ACCEPTED);
}

static void test_pol_04_special_numbers_are_no_signature(void **state)
{
    (void)state;
    struct sbx_policy_trust trust = fixture_trust();
    struct sbx_policy_document policy = fixture_policy(5);
    struct fixture_document document = {.count = 0};
    fixture_sign_policy(&policy, &document);
    uint8_t zero[32] = {0}, order[32] = {0}, ones[32];
    negate(order); /* n - 0 */
    memset(ones, 0xff, sizeof ones);
    const uint8_t *numbers[] = {zero, order, ones};
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < 3; i++) {
            struct fixture_document changed = document;
            memcpy(changed.bytes + changed.count - 64 + 32 * half, numbers[i], 32);
            expect(&trust, &changed, SBX_POLICY_SIGNATURE);
        }
    }
    for (int i = 0; i < 3; i++) { /* both keys */
        struct fixture_document changed = document;
        memcpy(changed.bytes + changed.count - 64, numbers[i], 32);
        memcpy(changed.bytes + changed.count - 32, numbers[i], 32);
        expect(&trust, &changed, SBX_POLICY_SIGNATURE);
    }
}

static void test_pol_05_keys_of_one_role_sign_nothing_of_another(void **state)
{
    (void)state;
    struct sbx_policy_trust trust = fixture_trust();
    struct sbx_policy_document policy = fixture_policy(5);
    struct sbx_keyset keyset = fixture_keyset();
    struct fixture_document document = {.count = 0};
    uint8_t payload[4096];
    size_t bytes = sbx_policy_document_encode(&policy, false, payload, sizeof payload);
    fixture_sign(SBX_ROLE_POLICY, payload, bytes, "kill root-a root-b", &document);
    expect(&trust, &document, SBX_POLICY_SIGNATURE);

    document.count = 0; /* a KILL signed by the policy key */
    fixture_sign_kill(&policy, "policy", &document);
    expect(&trust, &document, SBX_POLICY_SIGNATURE);

    keyset.version = 2; /* a KEYSET signed by the policy key */
    document.count = 0;
    fixture_sign_keyset(&keyset, "policy kill", &document);
    expect(&trust, &document, SBX_POLICY_SIGNATURE);

    /* The bytes of one role under the name of another. The role is part of what was signed. */
    for (uint8_t role = SBX_ROLE_KEYSET; role <= SBX_ROLE_KILL; role++) {
        document.count = 0;
        fixture_sign_policy(&policy, &document);
        if (document.bytes[5] != role) {
            document.bytes[5] = role;
            expect(&trust, &document, SBX_POLICY_SIGNATURE);
        }
    }
    /* The same if one key has both roles. */
    struct sbx_policy_trust both = trust;
    memcpy(both.keyset.kill_keys[0], fixture_key("policy"), SBX_PUBLIC_KEY_BYTES);
    document.count = 0;
    fixture_sign_policy(&policy, &document);
    document.bytes[5] = SBX_ROLE_KILL;
    expect(&both, &document, SBX_POLICY_SIGNATURE);
}

static void test_pol_06_one_key_counts_once(void **state)
{
    (void)state;
    struct sbx_policy_trust trust = fixture_trust();
    struct sbx_policy_document policy = fixture_policy(5);
    struct fixture_document document = {.count = 0};
    trust.keyset.policy_threshold = 2;
    trust.keyset.policy_key_count = 2;
    memcpy(trust.keyset.policy_keys[1], fixture_key("policy-2"), SBX_PUBLIC_KEY_BYTES);

    fixture_sign_policy(&policy, &document);
    expect(&trust, &document, SBX_POLICY_SIGNATURE); /* one signature of the two that are required */

    /* The same slot twice, and then the same signature under the other key's id. */
    document.bytes[6] = 2;
    memcpy(document.bytes + document.count, document.bytes + document.count - SBX_SIGNED_SLOT_BYTES,
           SBX_SIGNED_SLOT_BYTES);
    document.count += SBX_SIGNED_SLOT_BYTES;
    expect(&trust, &document, SBX_POLICY_SIGNATURE);
    assert_int_equal(sbx_key_id(fixture_key("policy-2"), document.bytes + document.count - SBX_SIGNED_SLOT_BYTES), 0);
    expect(&trust, &document, SBX_POLICY_SIGNATURE);

    /* The KEYSET names one key twice. That key still counts once. */
    struct sbx_policy_trust twice = trust;
    memcpy(twice.keyset.policy_keys[1], fixture_key("policy"), SBX_PUBLIC_KEY_BYTES);
    document.count = 0;
    fixture_sign_policy(&policy, &document);
    expect(&twice, &document, SBX_POLICY_SIGNATURE);

    uint8_t payload[4096];
    size_t bytes = sbx_policy_document_encode(&policy, false, payload, sizeof payload);
    document.count = 0;
    fixture_sign(SBX_ROLE_POLICY, payload, bytes, "stranger policy policy-2", &document);
    expect(&trust, &document, SBX_POLICY_ACCEPTED); /* an unknown key's slot beside two good ones is harmless */
}

static void test_pol_07_numbers_go_up_only(void **state)
{
    (void)state;
    struct sbx_policy_trust trust = fixture_trust();
    struct sbx_policy_document policy = fixture_policy(5);
    expect_policy(&trust, &policy, SBX_POLICY_ACCEPTED);
    expect_policy(&trust, &policy, SBX_POLICY_SAME);
    policy.policy.capture.anr_ms = 4000;
    expect_policy(&trust, &policy, SBX_POLICY_EQUIVOCATION);
    policy.policy.seq = 4;
    expect_policy(&trust, &policy, SBX_POLICY_ROLLBACK);
    policy.policy.seq = UINT64_MAX;
    expect_policy(&trust, &policy, SBX_POLICY_ACCEPTED);
    policy.policy.seq = 6;
    expect_policy(&trust, &policy, SBX_POLICY_ROLLBACK);

    /* The roots raise the epoch: sequence numbers begin again, and the old epoch is over. */
    struct sbx_keyset keyset = fixture_keyset();
    struct fixture_document document = {.count = 0};
    keyset.version = 2;
    keyset.epoch = 2;
    fixture_sign_keyset(&keyset, "root-a root-c", &document);
    expect(&trust, &document, SBX_POLICY_ACCEPTED);
    policy.policy.seq = UINT64_MAX;
    expect_policy(&trust, &policy, SBX_POLICY_EPOCH);
    policy.policy.epoch = 2;
    policy.policy.seq = 1;
    expect_policy(&trust, &policy, SBX_POLICY_ACCEPTED);
    assert_int_equal(trust.floor.epoch, 2);
    assert_int_equal(trust.floor.seq, 1);
}

static void test_pol_08_keysets_follow_one_another(void **state)
{
    (void)state;
    struct sbx_policy_trust trust = fixture_trust();
    struct sbx_keyset next = fixture_keyset();
    struct fixture_document document = {.count = 0};

    next.version = 3; /* version 2 is missing */
    fixture_sign_keyset(&next, "root-a root-b", &document);
    expect(&trust, &document, SBX_POLICY_CHAIN);

    next.version = 2; /* other roots: both the old and the new roots must sign */
    memcpy(next.root_keys[0], fixture_key("root-d"), SBX_PUBLIC_KEY_BYTES);
    memcpy(next.root_keys[1], fixture_key("root-e"), SBX_PUBLIC_KEY_BYTES);
    memcpy(next.root_keys[2], fixture_key("root-f"), SBX_PUBLIC_KEY_BYTES);
    document.count = 0;
    fixture_sign_keyset(&next, "root-d root-e", &document);
    expect(&trust, &document, SBX_POLICY_SIGNATURE);
    document.count = 0;
    fixture_sign_keyset(&next, "root-a root-b", &document);
    expect(&trust, &document, SBX_POLICY_CHAIN);
    document.count = 0;
    fixture_sign_keyset(&next, "root-a root-b root-d", &document);
    expect(&trust, &document, SBX_POLICY_CHAIN);
    document.count = 0;
    fixture_sign_keyset(&next, "root-a root-d root-e", &document);
    expect(&trust, &document, SBX_POLICY_SIGNATURE);
    document.count = 0;
    fixture_sign_keyset(&next, "root-a root-b root-d root-e", &document);
    expect(&trust, &document, SBX_POLICY_ACCEPTED);
    expect(&trust, &document, SBX_POLICY_SAME);
    assert_int_equal(trust.keyset.version, 2);

    next.issued_at_s++; /* a different version 2 */
    document.count = 0;
    fixture_sign_keyset(&next, "root-d root-e", &document);
    expect(&trust, &document, SBX_POLICY_EQUIVOCATION);

    next.version = 3; /* the epoch may only go up */
    next.epoch = 0;
    document.count = 0;
    fixture_sign_keyset(&next, "root-d root-e", &document);
    expect(&trust, &document, SBX_POLICY_RANGE);
    next.epoch = 1;
    memcpy(next.app_id, "another-app-id-0", SBX_APP_ID_BYTES);
    document.count = 0;
    fixture_sign_keyset(&next, "root-d root-e", &document);
    expect(&trust, &document, SBX_POLICY_APP);
}

/* A machine that was off for years finds the whole chain in one bundle. So does a machine that is already half way
 * along the chain. */
static void test_pol_08_a_bundle_leads_along_the_chain(void **state)
{
    (void)state;
    struct sbx_policy_trust trust = fixture_trust();
    struct fixture_document bundle = {.count = 0};
    struct sbx_keyset keyset = fixture_keyset();
    fixture_sign_keyset(&keyset, "root-a root-b", &bundle);
    memcpy(keyset.root_keys[0], fixture_key("root-d"), SBX_PUBLIC_KEY_BYTES);
    memcpy(keyset.root_keys[1], fixture_key("root-e"), SBX_PUBLIC_KEY_BYTES);
    memcpy(keyset.root_keys[2], fixture_key("root-f"), SBX_PUBLIC_KEY_BYTES);
    keyset.version = 2;
    keyset.expires_at_s = FIXTURE_NOW_S - 1; /* a step that has expired is still a step */
    fixture_sign_keyset(&keyset, "root-a root-b root-d root-e", &bundle);
    keyset.expires_at_s = FIXTURE_NOW_S + 100 * DAY_S;
    keyset.version = 3;
    keyset.epoch = 2;
    memcpy(keyset.policy_keys[0], fixture_key("policy-3"), SBX_PUBLIC_KEY_BYTES);
    fixture_sign_keyset(&keyset, "root-e root-f", &bundle);
    struct sbx_policy_document policy = fixture_policy(1);
    policy.policy.epoch = 2;
    uint8_t payload[4096];
    fixture_sign(SBX_ROLE_POLICY, payload, sbx_policy_document_encode(&policy, false, payload, sizeof payload),
                 "policy-3", &bundle);
    expect(&trust, &bundle, SBX_POLICY_ACCEPTED);
    assert_int_equal(trust.keyset.version, 3);
    assert_int_equal(trust.floor.seq, 1);
    expect(&trust, &bundle, SBX_POLICY_SAME); /* the first two are behind it now, signed by keys it has dropped */
}

static void test_pol_09_documents_live_in_their_time(void **state)
{
    (void)state;
    struct sbx_policy_trust trust = fixture_trust();
    struct sbx_policy_document policy = fixture_policy(5);
    struct fixture_document document = {.count = 0};
    fixture_sign_policy(&policy, &document);
    expect_at(&trust, &document, policy.expires_at_s, SBX_POLICY_EXPIRED);
    expect_at(&trust, &document, policy.expires_at_s + 1, SBX_POLICY_EXPIRED);
    expect_at(&trust, &document, policy.issued_at_s - 2 * DAY_S - 1, SBX_POLICY_FUTURE);
    policy.expires_at_s = policy.issued_at_s + 31 * DAY_S;
    expect_policy(&trust, &policy, SBX_POLICY_LIFETIME);
    policy.expires_at_s = policy.issued_at_s + 30 * DAY_S + 1;
    expect_policy(&trust, &policy, SBX_POLICY_LIFETIME);
    policy.issued_at_s = FIXTURE_NOW_S + 3 * DAY_S;
    policy.expires_at_s = policy.issued_at_s + DAY_S;
    expect_policy(&trust, &policy, SBX_POLICY_FUTURE);
    policy.issued_at_s = FIXTURE_NOW_S + 2 * DAY_S;
    policy.expires_at_s = policy.issued_at_s;
    expect_policy(&trust, &policy, SBX_POLICY_LIFETIME);
    policy.expires_at_s = policy.issued_at_s + 30 * DAY_S;
    expect_policy(&trust, &policy, SBX_POLICY_ACCEPTED);

    struct sbx_policy_trust old = fixture_trust(); /* the keys have expired */
    old.keyset.expires_at_s = FIXTURE_NOW_S;
    expect(&old, &document, SBX_POLICY_KEYS_EXPIRED);
    struct fixture_document kill = {.count = 0};
    fixture_sign_kill(&policy, "kill", &kill);
    expect(&old, &kill, SBX_POLICY_ACCEPTED); /* a key that may only switch off never expires */
}

/* Each field's limits, and the numbers beside them. */
static void test_pol_10_each_field_is_held_to_its_limits(void **state)
{
    (void)state;
    size_t count;
    const struct sbx_policy_field *fields = sbx_policy_fields(&count);
    struct sbx_policy_report report;
    unsigned refused = 0, accepted = 0;
    for (size_t i = 0; i < count; i++) {
        const struct sbx_policy_field *field = &fields[i];
        bool is_mask = field->form == SBX_FIELD_POINTS || field->form == SBX_FIELD_CONDITIONS;
        const uint64_t values[] = {0,
                                   field->min - (field->min > 0),
                                   field->min,
                                   field->max,
                                   UINT64_C(1) + field->max,
                                   UINT32_MAX,
                                   UINT64_C(1) << 32,
                                   UINT64_MAX};
        for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
            struct sbx_policy_document policy = fixture_policy(5), decoded;
            uint8_t payload[4096];
            /* Fields that limit each other get values that do not limit the tested field. */
            policy.policy.capture.interval_us = 1000;
            policy.policy.capture.gap_us = 10000000;
            sbx_policy_set(&policy.policy, field, field->form == SBX_FIELD_POINTS ? values[k] : (uint32_t)values[k]);
            size_t bytes = sbx_policy_document_encode(&policy, false, payload, sizeof payload);
            if (values[k] > UINT32_MAX) { /* to write all 64 bits the field is written once, at the end */
                struct sbx_policy_document least = policy;
                struct sbx_wire_writer writer = {.bytes = payload, .room = sizeof payload};
                writer.used = sbx_policy_document_encode(&least, true, payload, sizeof payload);
                sbx_wire_put_number(&writer, field->number, values[k]);
                bytes = writer.used;
            }
            assert_int_equal(sbx_policy_document_decode(payload, bytes, &decoded, &report), SBX_POLICY_ACCEPTED);
            bool is_inside =
                is_mask ? (values[k] & ~field->max) == 0
                        : (values[k] >= field->min && values[k] <= field->max) || (values[k] == 0 && field->may_be_off);
            if (strcmp(field->name, "gap_us") == 0 || strcmp(field->name, "interval_us") == 0) {
                is_inside = is_inside && decoded.policy.capture.gap_us >= decoded.policy.capture.interval_us;
            }
            enum sbx_policy_verdict verdict = sbx_policy_document_check(&decoded, NULL, &report);
            if (verdict != (is_inside ? SBX_POLICY_ACCEPTED : SBX_POLICY_RANGE)) {
                fail_msg("%s = %llu: %s", field->name, (unsigned long long)values[k], sbx_policy_verdict_name(verdict));
            }
            refused += !is_inside;
            accepted += is_inside;
        }
    }
    assert_true(refused > 60 && accepted > 60);

    /* The same through the whole verification: one bad field, and no part of the document is applied. */
    struct sbx_policy_trust trust = fixture_trust();
    struct sbx_policy_document policy = fixture_policy(5);
    policy.policy.delivery.snapshots_day = 51;
    expect_policy(&trust, &policy, SBX_POLICY_RANGE);
    policy.policy.delivery.snapshots_day = 50;
    policy.rollout_count = 1;
    policy.rollouts[0] = (struct sbx_rollout){.salt_bytes = 1, .salt = "a", .threshold = 10001};
    expect_policy(&trust, &policy, SBX_POLICY_RANGE);
    policy.rollouts[0].threshold = 10000;
    policy.policy.capture.limits[0].interval_us = 999;
    expect_policy(&trust, &policy, SBX_POLICY_RANGE);
    policy.policy.capture.limits[0].interval_us = 1000;
    expect_policy(&trust, &policy, SBX_POLICY_ACCEPTED);
}

/* Caps that the roots set narrow what the online key may choose. */
static void test_pol_10_a_keyset_narrows_the_limits(void **state)
{
    (void)state;
    struct sbx_policy_trust trust = fixture_trust();
    struct sbx_policy_document policy = fixture_policy(5);
    trust.keyset.cap_count = 3;
    trust.keyset.caps[0] = (struct sbx_field_cap){13, 5000, UINT32_MAX};                 /* interval_us */
    trust.keyset.caps[1] = (struct sbx_field_cap){12, 0, SBX_POINT_BIT(SBX_GROUP_LOCK)}; /* points */
    trust.keyset.caps[2] = (struct sbx_field_cap){17, 2000, 10000};                      /* anr_ms */
    expect_policy(&trust, &policy, SBX_POLICY_RANGE);
    policy.policy.capture.interval_us = 5000;
    expect_policy(&trust, &policy, SBX_POLICY_RANGE);
    policy.policy.capture.points = SBX_POINT_BIT(SBX_GROUP_LOCK) | SBX_POINT_BIT(SBX_GROUP_UV);
    expect_policy(&trust, &policy, SBX_POLICY_RANGE); /* nor beyond the first 32 bits */
    policy.policy.capture.points = SBX_POINT_BIT(SBX_GROUP_LOCK);
    policy.policy.capture.limits[SBX_GROUP_LOCK].interval_us = 1000; /* not by a single group either */
    expect_policy(&trust, &policy, SBX_POLICY_RANGE);
    policy.policy.capture.limits[SBX_GROUP_LOCK].interval_us = 0;
    policy.policy.capture.anr_ms = 1000;
    expect_policy(&trust, &policy, SBX_POLICY_RANGE);
    policy.policy.capture.anr_ms = 0; /* 0 switches it off, which is below any cap */
    expect_policy(&trust, &policy, SBX_POLICY_ACCEPTED);
}

static void test_pol_11_a_kill_is_obeyed_whatever_else_is_said(void **state)
{
    (void)state;
    struct sbx_policy_trust trust = fixture_trust();
    struct sbx_policy_document policy = fixture_policy(5);
    policy.kill = true;
    policy.policy.capture.interval_us = 1;
    expect_policy(&trust, &policy, SBX_POLICY_ACCEPTED);
    assert_true(trust.is_killed);
    /* This holds until a later policy without it. */
    policy = fixture_policy(5);
    expect_policy(&trust, &policy, SBX_POLICY_ROLLBACK);
    assert_true(trust.is_killed);
    policy = fixture_policy(6);
    expect_policy(&trust, &policy, SBX_POLICY_ACCEPTED);
    assert_false(trust.is_killed);

    /* A KILL with a number that a policy already has. The signer of a KILL need not know the newest policy number. */
    struct fixture_document kill = {.count = 0};
    fixture_sign_kill(&policy, "kill", &kill);
    expect_at(&trust, &kill, FIXTURE_NOW_S + 1000 * DAY_S, SBX_POLICY_ACCEPTED);
    assert_true(trust.is_killed);
    expect_policy(&trust, &policy, SBX_POLICY_ROLLBACK);
    policy.policy.seq = 7;
    expect_policy(&trust, &policy, SBX_POLICY_ACCEPTED);
    assert_false(trust.is_killed);
}

/* A policy and a KILL in one bundle: the KILL counts, in either order. */
static void test_pol_11_a_kill_in_a_bundle_comes_first(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        struct sbx_policy_trust trust = fixture_trust();
        struct sbx_policy_document policy = fixture_policy(5), kill = fixture_policy(9);
        struct fixture_document bundle = {.count = 0};
        if (order == 0) {
            fixture_sign_policy(&policy, &bundle);
        }
        fixture_sign_kill(&kill, "kill", &bundle);
        if (order == 1) {
            fixture_sign_policy(&policy, &bundle);
        }
        assert_int_equal(fixture_take(&trust, &bundle, FIXTURE_NOW_S), SBX_POLICY_ROLLBACK);
        assert_true(trust.is_killed);
    }
}

/* Sign a complete payload that ends in these bytes. */
static void expect_with(const void *more, size_t more_bytes, enum sbx_policy_verdict verdict)
{
    struct sbx_policy_trust trust = fixture_trust();
    struct sbx_policy_document policy = fixture_policy(5);
    static uint8_t payload[SBX_SIGNED_PAYLOAD_MAX];
    size_t bytes = sbx_policy_document_encode(&policy, true, payload, sizeof payload);
    assert_true(bytes + more_bytes <= sizeof payload);
    memcpy(payload + bytes, more, more_bytes);
    struct fixture_document document = {.count = 0};
    fixture_sign(SBX_ROLE_POLICY, payload, bytes + more_bytes, "policy", &document);
    expect(&trust, &document, verdict);
}

static void test_pol_12_what_is_unknown_is_ignored_unless_it_matters(void **state)
{
    (void)state;
    uint8_t bytes[64];
    struct sbx_wire_writer writer = {.bytes = bytes, .room = sizeof bytes};
    sbx_wire_put_number(&writer, 999, 12345);
    sbx_wire_put_bytes(&writer, 1000, "anything", 8);
    expect_with(bytes, writer.used, SBX_POLICY_ACCEPTED);
    writer.used = 0;
    sbx_wire_put_number(&writer, 8, UINT64_C(1) << 40); /* required_features */
    expect_with(bytes, writer.used, SBX_POLICY_UNSUPPORTED);
    writer.used = 0;
    sbx_wire_put_number(&writer, 12, UINT64_C(1) << SBX_GROUP_COUNT); /* points */
    expect_with(bytes, writer.used, SBX_POLICY_RANGE);
    writer.used = 0;
    sbx_wire_put_number(&writer, 2, 1); /* epoch, a second time */
    expect_with(bytes, writer.used, SBX_POLICY_PARSE);
    expect_with("\x0f", 1, SBX_POLICY_PARSE);                                              /* an invalid type */
    expect_with("\x88\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 12, SBX_POLICY_PARSE); /* a number of 70 bits */
    expect_with("\x72\x01\x00", 3, SBX_POLICY_PARSE); /* bytes where a number is required */
}

/* Signed by us, and nested 10,000 deep. */
static void test_pol_13_nesting_costs_no_stack(void **state)
{
    (void)state;
    static uint8_t bytes[30000];
    memset(bytes, 0x8b, sizeof bytes); /* "begin a group", again and again */
    for (size_t i = 1; i < sizeof bytes; i += 2) {
        bytes[i] = 0x06;
    }
    expect_with(bytes, 20000, SBX_POLICY_PARSE);

    /* Messages inside of messages, 8,000 deep, built from the inside out: in a known message and in an unknown
     * field. */
    static uint8_t nest[32000], whole[32100];
    size_t at = sizeof nest;
    for (int level = 0; level < 8000; level++) {
        uint8_t head[16];
        struct sbx_wire_writer writer = {.bytes = head, .room = sizeof head};
        size_t length = sizeof nest - at;
        sbx_wire_put_number(&writer, 7, length); /* a tag and a number; the tag's type is then changed to "bytes" */
        head[0] = (uint8_t)(head[0] | SBX_WIRE_BYTES);
        assert_true(at >= writer.used);
        at -= writer.used;
        memcpy(nest + at, head, writer.used);
    }
    struct sbx_wire_writer writer = {.bytes = whole, .room = sizeof whole};
    sbx_wire_put_bytes(&writer, 41, nest + at, sizeof nest - at);
    expect_with(whole, writer.used, SBX_POLICY_PARSE);
    writer.used = 0;
    sbx_wire_put_bytes(&writer, 5000, nest + at, sizeof nest - at);
    expect_with(whole, writer.used, SBX_POLICY_ACCEPTED);
}

static void test_pol_13_sizes_are_capped_before_anything_is_read(void **state)
{
    (void)state;
    struct sbx_policy_trust trust = fixture_trust();
    struct sbx_policy_document policy = fixture_policy(5);
    struct fixture_document document = {.count = 0};
    fixture_sign_policy(&policy, &document);
    size_t large_bytes = 10 << 20;
    uint8_t *large = calloc(1, large_bytes);
    assert_non_null(large);
    memcpy(large, document.bytes, document.count);
    struct sbx_policy_moment moment = {.wall_s = FIXTURE_NOW_S};
    struct sbx_bundle_outcome outcome;
    assert_int_equal(sbx_policy_trust_take_bundle(&trust, large, large_bytes, &moment, &outcome), SBX_POLICY_FORMAT);
    free(large);
    document.bytes[8] = 1, document.bytes[9] = 0x80; /* a payload of 32,769 */
    document.count = 40000;
    expect(&trust, &document, SBX_POLICY_FORMAT);
    const uint8_t gzip[100] = {0x1f, 0x8b, 8};
    assert_int_equal(sbx_policy_trust_take_bundle(&trust, gzip, sizeof gzip, &moment, &outcome), SBX_POLICY_FORMAT);
}

static void test_pol_14_a_policy_of_another_application_is_refused(void **state)
{
    (void)state;
    struct sbx_policy_trust trust = fixture_trust();
    struct sbx_policy_document policy = fixture_policy(5);
    policy.app_id[15] ^= 1;
    expect_policy(&trust, &policy, SBX_POLICY_APP);
    policy.app_id[15] ^= 1;
    policy.min_agent = sbx_agent_number() + 1;
    expect_policy(&trust, &policy, SBX_POLICY_AGENT);
    policy.min_agent = 0;
    policy.max_agent = sbx_agent_number();
    expect_policy(&trust, &policy, SBX_POLICY_ACCEPTED);
}

static void test_pol_18_no_clock_brings_time_back(void **state)
{
    (void)state;
    struct sbx_policy_trust trust = fixture_trust();
    struct sbx_policy_moment moment = {.build_s = FIXTURE_NOW_S - 100 * DAY_S};
    static const uint64_t walls[] = {0,         1,          FIXTURE_NOW_S + UINT64_C(3000) * DAY_S,
                                     INT32_MAX, UINT32_MAX, UINT64_C(4294967296),
                                     INT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof walls / sizeof walls[0]; i++) {
        moment.wall_s = walls[i];
        uint64_t now_s = sbx_trusted_now(&trust, &moment);
        assert_true(now_s >= moment.build_s);
        assert_int_equal(sbx_clock_is_unknown(&moment), walls[i] >= INT32_MAX); /* 2038 and 2106 */
        if (sbx_clock_is_unknown(&moment)) {
            assert_int_equal(now_s, moment.build_s);
        }
    }
    /* A policy was accepted once. Then the clock goes to 1970, and the policy does not count as one of the future. */
    struct sbx_policy_document policy = fixture_policy(5);
    struct fixture_document document = {.count = 0};
    fixture_sign_policy(&policy, &document);
    expect_at(&trust, &document, FIXTURE_NOW_S, SBX_POLICY_ACCEPTED);
    expect_at(&trust, &document, 0, SBX_POLICY_SAME);
    for (int hour = 0; hour < 96; hour++) { /* every hour a day forward or a day back */
        uint64_t now_s = FIXTURE_NOW_S + (uint64_t)hour * 3600 + (hour % 2 == 0 ? DAY_S : 0);
        expect_at(&trust, &document, now_s, SBX_POLICY_SAME);
    }
    expect_at(&trust, &document, UINT32_MAX, SBX_POLICY_SAME); /* 2106: the clock is not believed */
    expect_at(&trust, &document, INT32_MAX, SBX_POLICY_SAME);  /* 2038, seen from 2026: not believed either */
    expect_at(&trust, &document, FIXTURE_NOW_S + UINT64_C(3000) * DAY_S,
              SBX_POLICY_EXPIRED); /* eight years: possible */
}

/* A policy that has proved itself may be older than the newest. No other policy may. */
static void test_the_safe_policy_is_no_rollback(void **state)
{
    (void)state;
    struct sbx_policy_trust trust = fixture_trust();
    struct sbx_policy_document policy = fixture_policy(5);
    struct fixture_document document = {.count = 0};
    struct sbx_signed_document safe;
    fixture_sign_policy(&policy, &document);
    assert_null(sbx_signed_document_parse(document.bytes, document.count, &safe));
    expect(&trust, &document, SBX_POLICY_ACCEPTED);
    policy = fixture_policy(6);
    expect_policy(&trust, &policy, SBX_POLICY_ACCEPTED);
    expect(&trust, &document, SBX_POLICY_ROLLBACK);
    assert_int_equal(sbx_signed_document_hash(&safe, trust.safe_hash), 0);
    expect(&trust, &document, SBX_POLICY_ACCEPTED);
    assert_int_equal(trust.floor.seq, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pol_01_any_flipped_bit_is_refused),
        cmocka_unit_test(test_pol_02_truncations_and_trailing_bytes_are_refused),
        cmocka_unit_test(test_pol_03_other_forms_of_a_good_signature_are_refused),
        cmocka_unit_test(test_pol_04_special_numbers_are_no_signature),
        cmocka_unit_test(test_pol_05_keys_of_one_role_sign_nothing_of_another),
        cmocka_unit_test(test_pol_06_one_key_counts_once),
        cmocka_unit_test(test_pol_07_numbers_go_up_only),
        cmocka_unit_test(test_pol_08_keysets_follow_one_another),
        cmocka_unit_test(test_pol_08_a_bundle_leads_along_the_chain),
        cmocka_unit_test(test_pol_09_documents_live_in_their_time),
        cmocka_unit_test(test_pol_10_each_field_is_held_to_its_limits),
        cmocka_unit_test(test_pol_10_a_keyset_narrows_the_limits),
        cmocka_unit_test(test_pol_11_a_kill_is_obeyed_whatever_else_is_said),
        cmocka_unit_test(test_pol_11_a_kill_in_a_bundle_comes_first),
        cmocka_unit_test(test_pol_12_what_is_unknown_is_ignored_unless_it_matters),
        cmocka_unit_test(test_pol_13_nesting_costs_no_stack),
        cmocka_unit_test(test_pol_13_sizes_are_capped_before_anything_is_read),
        cmocka_unit_test(test_pol_14_a_policy_of_another_application_is_refused),
        cmocka_unit_test(test_pol_18_no_clock_brings_time_back),
        cmocka_unit_test(test_the_safe_policy_is_no_rollback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
