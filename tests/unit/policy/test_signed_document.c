/* SPDX-License-Identifier: Apache-2.0 */
/* test_signed_document.c - the container: its layout byte by byte, its limits, several signatures, bundles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "signed_fixture.h"

static void test_the_layout_is_as_documented(void **state)
{
    (void)state;
    struct fixture_document document = {.count = 0};
    fixture_sign(SBX_ROLE_POLICY, "payload", 7, "policy", &document);
    static const uint8_t head[] = {'S', 'B', 'X', 'P', 1, 2, 1, 0, 7, 0, 0, 0, 'p', 'a', 'y', 'l', 'o', 'a', 'd'};
    uint8_t id[SBX_KEY_ID_BYTES], digest[SBX_DIGEST_BYTES];
    assert_int_equal(document.count, sizeof head + 72);
    assert_memory_equal(document.bytes, head, sizeof head);
    assert_int_equal(sbx_key_id(fixture_key("policy"), id), 0);
    assert_memory_equal(document.bytes + sizeof head, id, sizeof id);
    /* The bytes that are signed, written out. */
    static const char message[] = "stallbox-signed-document\0\1\2\7\0\0\0payload";
    assert_int_equal(sbx_digest(&(struct sbx_digest_piece){message, sizeof message - 1}, 1, digest), 0);
    assert_int_equal(sbx_signature_verify(fixture_key("policy"), digest, document.bytes + sizeof head + 8), 0);
}

static void test_signatures_of_several_hands_stand_beside_one_another(void **state)
{
    (void)state;
    struct fixture_document document = {.count = 0};
    struct sbx_signed_document parsed;
    uint8_t keys[3][SBX_PUBLIC_KEY_BYTES], more[SBX_SIGNED_BYTES_MAX];
    uint32_t signers;
    fixture_sign(SBX_ROLE_KEYSET, "x", 1, "c a", &document);
    assert_null(sbx_signed_document_parse(document.bytes, document.count, &parsed));
    memcpy(keys[0], fixture_key("a"), sizeof keys[0]);
    memcpy(keys[1], fixture_key("b"), sizeof keys[0]);
    memcpy(keys[2], fixture_key("c"), sizeof keys[0]);
    assert_int_equal(
        sbx_signed_document_signers(&parsed, (const uint8_t(*)[SBX_PUBLIC_KEY_BYTES])keys, 3, NULL, &signers), 2);
    assert_int_equal(signers, 5);
    assert_int_equal(sbx_signed_document_write(SBX_ROLE_KEYSET, "x", 1, parsed.signatures, parsed.signature_count,
                                               fixture_secret("a"), more, sizeof more),
                     -EEXIST);
    assert_int_equal(
        sbx_signed_document_write(SBX_ROLE_KEYSET, "x", 1, NULL, 6, fixture_secret("a"), more, sizeof more), -EINVAL);
    assert_int_equal(sbx_signed_document_write(SBX_ROLE_KEYSET, "x", 1, NULL, 0, fixture_secret("a"), more, 84),
                     -EINVAL);
    assert_int_equal(sbx_signed_document_write(SBX_ROLE_KEYSET, "x", 1, NULL, 0, fixture_secret("a"), more, 85), 85);
}

static void test_a_bundle_has_an_order(void **state)
{
    (void)state;
    struct sbx_bundle bundle;
    static const struct {
        const char *roles;
        bool is_good;
    } cases[] = {{"1", 1},
                 {"2", 1},
                 {"3", 1},
                 {"12", 1},
                 {"132", 1},
                 {"123", 1},
                 {"1112", 1},
                 {"", 0},
                 {"21", 0},
                 {"121", 0},
                 {"122", 0},
                 {"133", 0},
                 {"31", 0},
                 {"1111111111111111", 1},
                 {"1111111111111111112", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture_document document = {.count = 0};
        for (const char *role = cases[i].roles; *role != '\0'; role++) {
            fixture_sign((enum sbx_signed_role)(*role - '0'), "x", 1, "a", &document);
        }
        const char *wrong = sbx_bundle_parse(document.bytes, document.count, &bundle);
        if ((wrong == NULL) != cases[i].is_good) {
            fail_msg("%s: %s", cases[i].roles, wrong != NULL ? wrong : "accepted");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_layout_is_as_documented),
        cmocka_unit_test(test_signatures_of_several_hands_stand_beside_one_another),
        cmocka_unit_test(test_a_bundle_has_an_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
