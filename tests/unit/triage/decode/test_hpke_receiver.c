/* SPDX-License-Identifier: Apache-2.0 */
/* test_hpke_receiver.c - RFC 9180's vectors for the receiver, and Wycheproof's vectors for decryption. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "hpke_receiver.h"
#include "vector_lines.h"

static void test_each_encryption_of_rfc_9180_is_opened_as_published(void **state)
{
    (void)state;
    FILE *file = sbx_vector_open("hpke_rfc9180_base.txt");
    uint8_t info[64], pk_rm[32], sk_rm[32], enc[32], expected_key[32], expected_nonce[12];
    struct sbx_unseal_key key;
    struct sbx_hpke_open open;
    size_t info_bytes = sbx_vector_rfc(file, "info", info, sizeof info);
    assert_int_equal(sbx_vector_rfc(file, "pkRm", pk_rm, 32), 32);
    assert_int_equal(sbx_vector_rfc(file, "skRm", sk_rm, 32), 32);
    assert_int_equal(sbx_vector_rfc(file, "enc", enc, 32), 32);
    assert_int_equal(sbx_vector_rfc(file, "key", expected_key, 32), 32);
    assert_int_equal(sbx_vector_rfc(file, "base_nonce", expected_nonce, 12), 12);
    assert_int_equal(sbx_unseal_key_init(sk_rm, &key), 0);
    assert_memory_equal(key.key, pk_rm, 32);
    assert_int_equal(sbx_hpke_open_derive(&key, enc, info, info_bytes, &open), 0);
    assert_memory_equal(open.key, expected_key, 32);
    assert_memory_equal(open.nonce, expected_nonce, 12);

    static const uint32_t sequence[] = {0, 1, 2, 4, 255, 256};
    for (size_t i = 0; i < sizeof sequence / sizeof sequence[0]; i++) {
        uint8_t plain[64], aad[16], sealed[96], out[96];
        size_t plain_bytes = sbx_vector_rfc(file, "pt", plain, sizeof plain);
        size_t aad_bytes = sbx_vector_rfc(file, "aad", aad, sizeof aad);
        size_t bytes = sbx_vector_rfc(file, "ct", sealed, sizeof sealed);
        struct sbx_hpke_open message = open;
        for (int byte = 0; byte < 4; byte++) {
            message.nonce[11 - byte] ^= (uint8_t)(sequence[i] >> (8 * byte));
        }
        assert_int_equal(bytes, plain_bytes + 16);
        assert_int_equal(sbx_hpke_open_message(&message, aad, aad_bytes, sealed, bytes, out), 0);
        assert_memory_equal(out, plain, plain_bytes);
        for (size_t at = 0; at < bytes; at++) {
            static const uint8_t nothing[64];
            sealed[at] ^= 0x40;
            assert_int_equal(sbx_hpke_open_message(&message, aad, aad_bytes, sealed, bytes, out), -EBADMSG);
            assert_memory_equal(out, nothing, plain_bytes);
            sealed[at] ^= 0x40;
        }
        aad[0] ^= 1;
        assert_int_equal(sbx_hpke_open_message(&message, aad, aad_bytes, sealed, bytes, out), -EBADMSG);
    }
    fclose(file);
}

static void test_wycheproof_chacha20_poly1305_decryptions_are_judged_as_published(void **state)
{
    (void)state;
    static char line[65536];
    static uint8_t message[2048], sealed[2048 + 16], out[2048];
    uint8_t key[32] = {0}, aad[2048], nonce[32];
    size_t message_bytes = 0, aad_bytes = 0, nonce_bytes = 0, sealed_bytes = 0, tag_bytes = 0;
    unsigned cases = 0, refused = 0;
    FILE *file = sbx_vector_open("wycheproof_chacha20_poly1305.json");
    while (fgets(line, sizeof line, file) != NULL) {
        const char *value;
        if ((value = sbx_vector_value(line, "key")) != NULL) {
            assert_int_equal(sbx_vector_hex(value, key, 32), 32);
        } else if ((value = sbx_vector_value(line, "iv")) != NULL) {
            nonce_bytes = sbx_vector_hex(value, nonce, sizeof nonce);
        } else if ((value = sbx_vector_value(line, "aad")) != NULL) {
            aad_bytes = sbx_vector_hex(value, aad, sizeof aad);
        } else if ((value = sbx_vector_value(line, "msg")) != NULL) {
            message_bytes = sbx_vector_hex(value, message, sizeof message);
        } else if ((value = sbx_vector_value(line, "ct")) != NULL) {
            sealed_bytes = sbx_vector_hex(value, sealed, sizeof sealed - 16);
        } else if ((value = sbx_vector_value(line, "tag")) != NULL) {
            tag_bytes = sbx_vector_hex(value, sealed + sealed_bytes, 16);
        } else if ((value = sbx_vector_value(line, "result")) != NULL && nonce_bytes == 12) {
            struct sbx_hpke_open open;
            bool is_valid = strncmp(value, "valid", 5) == 0;
            cases++;
            refused += !is_valid;
            assert_int_equal(tag_bytes, 16);
            memcpy(open.key, key, 32);
            memcpy(open.nonce, nonce, 12);
            assert_int_equal(sbx_hpke_open_message(&open, aad, aad_bytes, sealed, sealed_bytes + 16, out),
                             is_valid ? 0 : -EBADMSG);
            if (is_valid) {
                assert_int_equal(message_bytes, sealed_bytes);
                assert_memory_equal(out, message, message_bytes);
            }
        }
    }
    fclose(file);
    assert_int_equal(cases, 316);
    assert_true(refused > 30);
}

/* All of Wycheproof's X25519 keys, used as the ephemeral key of a message. */
static void test_wycheproof_keys_of_low_order_open_nothing(void **state)
{
    (void)state;
    static char line[65536];
    uint8_t enc[32], secret[32], shared[32];
    unsigned refused = 0, taken = 0;
    FILE *file = sbx_vector_open("wycheproof_x25519.json");
    while (fgets(line, sizeof line, file) != NULL) {
        const char *value;
        if ((value = sbx_vector_value(line, "public")) != NULL) {
            assert_int_equal(sbx_vector_hex(value, enc, 32), 32);
        } else if ((value = sbx_vector_value(line, "private")) != NULL) {
            assert_int_equal(sbx_vector_hex(value, secret, 32), 32);
        } else if ((value = sbx_vector_value(line, "shared")) != NULL) {
            static const uint8_t zero[32];
            static const struct sbx_hpke_open wiped;
            struct sbx_unseal_key key;
            struct sbx_hpke_open open;
            assert_int_equal(sbx_vector_hex(value, shared, 32), 32);
            assert_int_equal(sbx_unseal_key_init(secret, &key), 0);
            bool is_low = memcmp(shared, zero, 32) == 0;
            assert_int_equal(sbx_hpke_open_derive(&key, enc, "x", 1, &open), is_low ? -EINVAL : 0);
            if (is_low) {
                assert_memory_equal(&open, &wiped, sizeof wiped);
            }
            refused += is_low;
            taken += !is_low;
        }
    }
    fclose(file);
    assert_int_equal(refused, 31);
    assert_int_equal(taken, 487);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_encryption_of_rfc_9180_is_opened_as_published),
        cmocka_unit_test(test_wycheproof_chacha20_poly1305_decryptions_are_judged_as_published),
        cmocka_unit_test(test_wycheproof_keys_of_low_order_open_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
