/* SPDX-License-Identifier: Apache-2.0 */
/* test_signature.c - ECDSA P-256 with the vectors of RFC 6979 and of project Wycheproof. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "signature.h"

static size_t read_hex(const char *text, uint8_t *bytes, size_t room)
{
    size_t count = 0;
    unsigned byte;
    while (count < room && sscanf(text + 2 * count, "%2x", &byte) == 1 && text[2 * count + 1] != '"' &&
           text[2 * count] != '"') {
        bytes[count++] = (uint8_t)byte;
    }
    return count;
}

/* Half of the group's order: the largest value that s may have. */
static const char half_order[] = "7fffffff800000007fffffffffffffffde737d56d38bcf4279dce5617e3192a8";

static int is_high(const uint8_t signature[64])
{
    uint8_t half[32];
    read_hex(half_order, half, sizeof half);
    return memcmp(signature + 32, half, 32) > 0;
}

/* The string value of `"name": "..."` in a line, or NULL. */
static const char *value_of(const char *line, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\": \"", name);
    const char *found = strstr(line, key);
    return found != NULL ? found + strlen(key) : NULL;
}

/* Every case is judged as Wycheproof says, except that a signature with a high s is refused, valid or not. */
static void test_pol_04_wycheproof_p1363_cases_are_judged_as_published(void **state)
{
    (void)state;
    static char line[65536];
    uint8_t key[SBX_PUBLIC_KEY_BYTES], message[8192], signature[256];
    size_t message_bytes = 0, signature_bytes = 0;
    unsigned cases = 0, refused_for_high_s = 0, accepted = 0;
    FILE *file = fopen(WYCHEPROOF_PATH, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        const char *value;
        if ((value = value_of(line, "uncompressed")) != NULL) {
            assert_int_equal(read_hex(value, key, sizeof key), sizeof key);
        } else if ((value = value_of(line, "msg")) != NULL) {
            message_bytes = read_hex(value, message, sizeof message);
        } else if ((value = value_of(line, "sig")) != NULL) {
            signature_bytes = read_hex(value, signature, sizeof signature);
        } else if ((value = value_of(line, "result")) != NULL) {
            uint8_t digest[SBX_DIGEST_BYTES];
            bool is_valid = strncmp(value, "valid", 5) == 0;
            cases++;
            if (signature_bytes != SBX_SIGNATURE_BYTES) {
                assert_false(is_valid); /* a slot of a container has exactly 64 bytes */
                continue;
            }
            bool high = is_high(signature);
            refused_for_high_s += is_valid && high;
            assert_int_equal(sbx_digest(&(struct sbx_digest_piece){message, message_bytes}, 1, digest), 0);
            int result = sbx_signature_verify(key, digest, signature);
            if (result != (is_valid && !high ? 0 : -EBADMSG)) {
                fail_msg("case %u: %d", cases, result);
            }
            accepted += result == 0;
        }
    }
    fclose(file);
    assert_int_equal(cases, 262);
    assert_int_equal(refused_for_high_s, 70);
    assert_true(accepted > 50);
}

/* RFC 6979 A.2.5: the private key, and k derived with SHA-256. */
static const char rfc6979_secret[] = "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721";

static void test_signing_is_deterministic_as_in_rfc_6979(void **state)
{
    (void)state;
    uint8_t secret[32], digest[32], signature[64], expected[64], key[65];
    read_hex(rfc6979_secret, secret, sizeof secret);
    assert_int_equal(sbx_digest(&(struct sbx_digest_piece){"test", 4}, 1, digest), 0);
    read_hex("f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367"
             "019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083",
             expected, sizeof expected);
    assert_int_equal(sbx_signature_make(secret, digest, signature), 0);
    assert_memory_equal(signature, expected, sizeof expected);
    assert_int_equal(sbx_key_of_secret(secret, key), 0);
    assert_int_equal(sbx_signature_verify(key, digest, signature), 0);
    digest[31] ^= 1;
    assert_int_equal(sbx_signature_verify(key, digest, signature), -EBADMSG);
}

/* The RFC's signature of "sample" is valid and has a high s, so it is refused. Our signature of the same text is its
 * twin with low s. */
static void test_pol_03_a_right_signature_with_high_s_is_refused(void **state)
{
    (void)state;
    uint8_t secret[32], digest[32], signature[64], high[64], key[65];
    read_hex(rfc6979_secret, secret, sizeof secret);
    read_hex("efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
             "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
             high, sizeof high);
    assert_int_equal(sbx_key_of_secret(secret, key), 0);
    assert_int_equal(sbx_digest(&(struct sbx_digest_piece){"sample", 6}, 1, digest), 0);
    assert_int_equal(sbx_signature_verify(key, digest, high), -EBADMSG);
    assert_int_equal(sbx_signature_make(secret, digest, signature), 0);
    assert_memory_equal(signature, high, 32);
    assert_int_equal(sbx_signature_verify(key, digest, signature), 0);
}

static void test_what_is_no_key_is_refused(void **state)
{
    (void)state;
    uint8_t secret[32] = {0}, key[65];
    assert_int_equal(sbx_key_of_secret(secret, key), -EINVAL); /* zero */
    memset(secret, 0xff, sizeof secret);
    assert_int_equal(sbx_key_of_secret(secret, key), -EINVAL); /* above the order */
    assert_int_equal(sbx_key_make(secret, key), 0);
    assert_int_equal(sbx_key_check(key), 0);
    key[64] ^= 1;
    assert_int_equal(sbx_key_check(key), -EINVAL); /* off the curve */
    memset(key, 0, sizeof key);
    assert_int_equal(sbx_key_check(key), -EINVAL);
    key[0] = 4;
    assert_int_equal(sbx_key_check(key), -EINVAL); /* (0, 0) */
    memset(key + 1, 0xff, 64);
    assert_int_equal(sbx_key_check(key), -EINVAL); /* above the prime */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pol_04_wycheproof_p1363_cases_are_judged_as_published),
        cmocka_unit_test(test_signing_is_deterministic_as_in_rfc_6979),
        cmocka_unit_test(test_pol_03_a_right_signature_with_high_s_is_refused),
        cmocka_unit_test(test_what_is_no_key_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
