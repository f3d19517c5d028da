/* SPDX-License-Identifier: Apache-2.0 */
/* test_hpke_sender.c - RFC 9180's vectors, and Wycheproof's vectors for the parts of HPKE. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mbedtls/hkdf.h>
#include <mbedtls/md.h>

#include "hpke_sender.h"
#include "vector_lines.h"

/* ---- RFC 9180, A.2.1 ---- */

static void test_each_encryption_of_rfc_9180_comes_out_as_published(void **state)
{
    (void)state;
    FILE *file = sbx_vector_open("hpke_rfc9180_base.txt");
    uint8_t info[64], pk_em[32], sk_em[32], pk_rm[32], enc[32], expected_key[32], expected_nonce[12], key[32];
    struct sbx_hpke_seal seal;
    size_t info_bytes = sbx_vector_rfc(file, "info", info, sizeof info);
    assert_int_equal(info_bytes, 20);
    assert_int_equal(sbx_vector_rfc(file, "pkEm", pk_em, 32), 32);
    assert_int_equal(sbx_vector_rfc(file, "skEm", sk_em, 32), 32);
    assert_int_equal(sbx_vector_rfc(file, "pkRm", pk_rm, 32), 32);
    assert_int_equal(sbx_vector_rfc(file, "enc", enc, 32), 32);
    assert_int_equal(sbx_vector_rfc(file, "key", expected_key, 32), 32);
    assert_int_equal(sbx_vector_rfc(file, "base_nonce", expected_nonce, 12), 12);
    assert_int_equal(sbx_x25519_public(sk_em, key), 0);
    assert_memory_equal(key, pk_em, 32);

    static const uint32_t sequence[] = {0, 1, 2, 4, 255, 256};
    for (size_t i = 0; i < sizeof sequence / sizeof sequence[0]; i++) {
        uint8_t plain[64], aad[16], nonce[12], expected[96], out[96];
        size_t plain_bytes = sbx_vector_rfc(file, "pt", plain, sizeof plain);
        size_t aad_bytes = sbx_vector_rfc(file, "aad", aad, sizeof aad);
        assert_int_equal(sbx_vector_rfc(file, "nonce", nonce, sizeof nonce), 12);
        assert_int_equal(sbx_vector_rfc(file, "ct", expected, sizeof expected), plain_bytes + 16);
        assert_int_equal(sbx_hpke_seal_derive_with(sk_em, pk_rm, info, info_bytes, &seal), 0);
        assert_memory_equal(seal.enc, enc, 32);
        assert_memory_equal(seal.key, expected_key, 32);
        assert_memory_equal(seal.nonce, expected_nonce, 12);
        /* Section 5.2: the nonce of message n. The code itself only ever sends message 0. */
        for (int byte = 0; byte < 4; byte++) {
            seal.nonce[11 - byte] ^= (uint8_t)(sequence[i] >> (8 * byte));
        }
        assert_memory_equal(seal.nonce, nonce, 12);
        assert_int_equal(sbx_hpke_seal_message(&seal, aad, aad_bytes, plain, plain_bytes, out), 0);
        assert_memory_equal(out, expected, plain_bytes + 16);
        static const struct sbx_hpke_seal wiped;
        assert_memory_equal(&seal, &wiped, sizeof wiped); /* it cannot seal a second message */
    }
    fclose(file);
}

/* ---- Wycheproof ---- */

/* All are computed except points of low order, which Wycheproof calls acceptable and RFC 9180 requires to refuse. */
static void test_wycheproof_x25519_cases_are_judged_as_published(void **state)
{
    (void)state;
    static char line[65536];
    uint8_t key[32], secret[32], expected[32], shared[32];
    unsigned cases = 0, computed = 0, refused = 0;
    FILE *file = sbx_vector_open("wycheproof_x25519.json");
    while (fgets(line, sizeof line, file) != NULL) {
        const char *value;
        if ((value = sbx_vector_value(line, "public")) != NULL) {
            assert_int_equal(sbx_vector_hex(value, key, 32), 32);
        } else if ((value = sbx_vector_value(line, "private")) != NULL) {
            assert_int_equal(sbx_vector_hex(value, secret, 32), 32);
        } else if ((value = sbx_vector_value(line, "shared")) != NULL) {
            assert_int_equal(sbx_vector_hex(value, expected, 32), 32);
        } else if ((value = sbx_vector_value(line, "result")) != NULL) {
            static const uint8_t zero[32];
            int result = sbx_x25519_shared(secret, key, shared);
            cases++;
            if (result == 0) {
                computed++;
                assert_memory_equal(shared, expected, 32);
                assert_memory_not_equal(shared, zero, 32);
            } else {
                refused++;
                assert_int_equal(result, -EINVAL);
                assert_memory_equal(value, "acceptable", 10);
                assert_memory_equal(expected, zero, 32);
            }
        }
    }
    fclose(file);
    assert_int_equal(cases, 518);
    assert_int_equal(refused, 31);
    assert_int_equal(computed, 487);
}

static void test_wycheproof_hkdf_cases_are_as_published(void **state)
{
    (void)state;
    static char line[65536];
    static uint8_t expected[8192], out[8192];
    uint8_t material[512], salt[512], info[512];
    size_t material_bytes = 0, salt_bytes = 0, info_bytes = 0, expected_bytes = 0, size = 0;
    unsigned cases = 0;
    FILE *file = sbx_vector_open("wycheproof_hkdf_sha256.json");
    const mbedtls_md_info_t *sha256 = mbedtls_md_info_from_type(MBEDTLS_MD_SHA256);
    while (fgets(line, sizeof line, file) != NULL) {
        const char *value;
        if ((value = sbx_vector_value(line, "ikm")) != NULL) {
            material_bytes = sbx_vector_hex(value, material, sizeof material);
        } else if ((value = sbx_vector_value(line, "salt")) != NULL) {
            salt_bytes = sbx_vector_hex(value, salt, sizeof salt);
        } else if ((value = sbx_vector_value(line, "info")) != NULL) {
            info_bytes = sbx_vector_hex(value, info, sizeof info);
        } else if ((value = sbx_vector_value(line, "size")) != NULL) {
            size = strtoul(value, NULL, 10);
        } else if ((value = sbx_vector_value(line, "okm")) != NULL) {
            expected_bytes = sbx_vector_hex(value, expected, sizeof expected);
        } else if ((value = sbx_vector_value(line, "result")) != NULL) {
            uint8_t prk[32];
            cases++;
            assert_int_equal(
                mbedtls_hkdf_extract(sha256, salt_bytes != 0 ? salt : NULL, salt_bytes, material, material_bytes, prk),
                0);
            bool is_valid = strncmp(value, "valid", 5) == 0;
            if (!is_valid) { /* more than 255 blocks */
                assert_true(size > sizeof out ||
                            mbedtls_hkdf_expand(sha256, prk, 32, info, info_bytes, out, size) != 0);
                continue;
            }
            assert_true(size <= sizeof out && size == expected_bytes);
            assert_int_equal(mbedtls_hkdf_expand(sha256, prk, 32, info, info_bytes, out, size), 0);
            assert_memory_equal(out, expected, size);
        }
    }
    fclose(file);
    assert_int_equal(cases, 86);
}

static void test_wycheproof_chacha20_poly1305_encryptions_are_as_published(void **state)
{
    (void)state;
    static char line[65536];
    static uint8_t message[2048], expected[2048], out[2048];
    uint8_t aad[2048], nonce[32], tag[16];
    size_t message_bytes = 0, aad_bytes = 0, nonce_bytes = 0, expected_bytes = 0;
    unsigned cases = 0;
    struct sbx_hpke_seal seal = {.enc = {0}};
    FILE *file = sbx_vector_open("wycheproof_chacha20_poly1305.json");
    uint8_t key[32] = {0};
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
            expected_bytes = sbx_vector_hex(value, expected, sizeof expected);
        } else if ((value = sbx_vector_value(line, "tag")) != NULL) {
            sbx_vector_hex(value, tag, sizeof tag);
        } else if ((value = sbx_vector_value(line, "result")) != NULL && nonce_bytes == 12 &&
                   strncmp(value, "valid", 5) == 0) {
            cases++;
            memcpy(seal.key, key, 32);
            memcpy(seal.nonce, nonce, 12);
            memcpy(out, message, message_bytes); /* in place, as the sealer does */
            assert_int_equal(sbx_hpke_seal_message(&seal, aad, aad_bytes, out, message_bytes, out), 0);
            assert_int_equal(expected_bytes, message_bytes);
            assert_memory_equal(out, expected, message_bytes);
            assert_memory_equal(out + message_bytes, tag, 16);
        }
    }
    fclose(file);
    assert_true(cases > 200);
}

/* ---- what is no key, and randomness ---- */

static void test_keys_of_low_order_are_refused_and_leave_nothing_secret(void **state)
{
    (void)state;
    /* The seven points of small order of Curve25519, in their usual order. */
    static const char *const low_order[] = {
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    };
    static const struct sbx_hpke_seal wiped;
    for (size_t i = 0; i < sizeof low_order / sizeof low_order[0]; i++) {
        uint8_t key[32];
        struct sbx_hpke_seal seal;
        memset(&seal, 0xaa, sizeof seal);
        assert_int_equal(sbx_vector_hex(low_order[i], key, 32), 32);
        assert_int_equal(sbx_hpke_seal_derive(key, "x", 1, "message", 7, &seal), -EINVAL);
        assert_memory_equal(&seal, &wiped, sizeof wiped);
    }
}

static void test_a_forked_child_derives_another_key(void **state)
{
    (void)state;
    uint8_t secret[32], key[32], theirs[32];
    struct sbx_hpke_seal seal;
    int ends[2];
    assert_int_equal(sbx_x25519_make(secret, key), 0);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    int result = sbx_hpke_seal_derive(key, "x", 1, "message", 7, &seal);
    if (child == 0) {
        _exit(result == 0 && write(ends[1], seal.enc, 32) == 32 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], theirs, 32), 32);
    assert_int_equal(result, 0);
    assert_memory_not_equal(seal.enc, theirs, 32);
    close(ends[0]);
    close(ends[1]);
}

static void test_random_bytes_that_repeat_still_give_each_message_a_key_of_its_own(void **state)
{
    (void)state;
    uint8_t random[32] = {7}, other[32] = {8}, first[32], again[32], second[32], third[32];
    assert_int_equal(sbx_hpke_ephemeral(random, "one message", 11, first), 0);
    assert_int_equal(sbx_hpke_ephemeral(random, "one message", 11, again), 0);
    assert_int_equal(sbx_hpke_ephemeral(random, "two message", 11, second), 0);
    assert_int_equal(sbx_hpke_ephemeral(other, "one message", 11, third), 0);
    assert_memory_equal(first, again, 32);
    assert_memory_not_equal(first, second, 32);
    assert_memory_not_equal(first, third, 32);
    assert_memory_not_equal(first, random, 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_encryption_of_rfc_9180_comes_out_as_published),
        cmocka_unit_test(test_wycheproof_x25519_cases_are_judged_as_published),
        cmocka_unit_test(test_wycheproof_hkdf_cases_are_as_published),
        cmocka_unit_test(test_wycheproof_chacha20_poly1305_encryptions_are_as_published),
        cmocka_unit_test(test_keys_of_low_order_are_refused_and_leave_nothing_secret),
        cmocka_unit_test(test_a_forked_child_derives_another_key),
        cmocka_unit_test(test_random_bytes_that_repeat_still_give_each_message_a_key_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
