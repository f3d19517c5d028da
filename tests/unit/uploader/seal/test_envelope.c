/* SPDX-License-Identifier: Apache-2.0 */
/* test_envelope.c - the fixed bytes around a payload. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "envelope.h"

static const uint8_t id[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const char text[] = "forty-two forty-two forty-two forty-two forty-two forty-two";

static void test_crc32c_gives_the_published_values(void **state)
{
    (void)state;
    uint8_t bytes[32];
    assert_int_equal(sbx_crc32c(0, "123456789", 9), 0xe3069283u); /* check value of the CRC catalogue */
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(sbx_crc32c(0, bytes, 32), 0x8a9136aau); /* RFC 3720, B.4 */
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(sbx_crc32c(0, bytes, 32), 0x62a8ab43u);
    for (uint8_t i = 0; i < 32; i++) {
        bytes[i] = i;
    }
    assert_int_equal(sbx_crc32c(0, bytes, 32), 0x46dd794eu);
    assert_int_equal(sbx_crc32c(sbx_crc32c(0, "1234", 4), "56789", 5), 0xe3069283u);
}

static uint8_t *make(size_t *bytes_out)
{
    uint8_t *envelope;
    assert_int_equal(sbx_envelope_write(id, text, sizeof text, &envelope, bytes_out), 0);
    return envelope;
}

static void test_header_is_as_drawn(void **state)
{
    (void)state;
    size_t bytes;
    uint8_t *envelope = make(&bytes);
    assert_memory_equal(envelope, "SBX1\x01\x00\x00\x00", 8);
    assert_memory_equal(envelope + 8, "\0\0\0\0\0\0\0\0", 8);
    assert_memory_equal(envelope + 16, id, 16);
    uint32_t body_bytes, crc;
    memcpy(&body_bytes, envelope + 32, 4);
    memcpy(&crc, envelope + 36, 4);
    assert_int_equal(body_bytes, bytes - 40);
    assert_int_equal(crc, sbx_crc32c(sbx_crc32c(0, envelope, 36), envelope + 40, bytes - 40));
    assert_memory_equal(envelope + 40, "\x28\xb5\x2f\xfd", 4); /* zstd */
    assert_true(envelope[44] & 4);                             /* with a content checksum */
    free(envelope);
}

static void test_what_was_written_is_read_back(void **state)
{
    (void)state;
    size_t bytes, payload_bytes;
    uint8_t *envelope = make(&bytes), *payload;
    struct sbx_envelope header;
    assert_int_equal(sbx_envelope_read(envelope, bytes, &header, NULL, 0), 0);
    assert_memory_equal(header.id, id, 16);
    assert_int_equal(sbx_envelope_payload(&header, &payload, &payload_bytes, NULL, 0), 0);
    assert_int_equal(payload_bytes, sizeof text);
    assert_memory_equal(payload, text, sizeof text);
    free(payload);
    free(envelope);
}

static void test_any_flipped_bit_and_any_other_length_is_refused(void **state)
{
    (void)state;
    size_t bytes;
    uint8_t *envelope = make(&bytes);
    struct sbx_envelope header;
    for (size_t at = 0; at < bytes; at++) {
        for (int bit = 0; bit < 8; bit++) {
            envelope[at] ^= (uint8_t)(1u << bit);
            int result = sbx_envelope_read(envelope, bytes, &header, NULL, 0);
            assert_true(result == -EPROTO || result == -ENOTSUP);
            envelope[at] ^= (uint8_t)(1u << bit);
        }
    }
    for (size_t shorter = 0; shorter < bytes; shorter++) {
        uint8_t *exact = malloc(shorter + 1);
        assert_non_null(exact);
        memcpy(exact, envelope, shorter);
        assert_int_equal(sbx_envelope_read(exact, shorter, &header, NULL, 0), -EPROTO);
        free(exact);
    }
    uint8_t *longer = calloc(1, bytes + 1);
    assert_non_null(longer);
    memcpy(longer, envelope, bytes);
    assert_int_equal(sbx_envelope_read(longer, bytes + 1, &header, NULL, 0), -EPROTO);
    free(longer);
    free(envelope);
}

static void test_later_versions_and_sealed_ones_are_told_apart(void **state)
{
    (void)state;
    size_t bytes;
    uint8_t *envelope = make(&bytes);
    struct sbx_envelope header;
    char why[100];
    envelope[5] = 2;
    assert_int_equal(sbx_envelope_read(envelope, bytes, &header, why, sizeof why), -ENOTSUP);
    assert_non_null(strstr(why, "sealed in a way"));
    static const uint8_t key_id[8] = {9, 9};
    uint8_t *payload;
    size_t payload_bytes;
    uint8_t sealed[40 + 53] = {0};
    sbx_envelope_put_header(sealed, id, key_id, sealed + 40, 53);
    assert_int_equal(sbx_envelope_read(sealed, sizeof sealed, &header, why, sizeof why), 0);
    assert_true(header.is_sealed);
    assert_memory_equal(header.key_id, key_id, 8);
    assert_int_equal(sbx_envelope_payload(&header, &payload, &payload_bytes, why, sizeof why), -ENOKEY);
    assert_non_null(strstr(why, "sealed"));
    sbx_envelope_put_header(sealed, id, key_id, sealed + 40, 52); /* a tag over nothing */
    assert_int_equal(sbx_envelope_read(sealed, 40 + 52, &header, why, sizeof why), -EPROTO);
    envelope[5] = 0;
    envelope[4] = 2;
    assert_int_equal(sbx_envelope_read(envelope, bytes, &header, why, sizeof why), -ENOTSUP);
    assert_non_null(strstr(why, "later version"));
    assert_int_equal(sbx_envelope_read("SBXREC\r\n", 8, &header, why, sizeof why), -EPROTO);
    free(envelope);
}

static void test_more_than_an_envelope_holds_is_refused(void **state)
{
    (void)state;
    size_t bytes = 3 << 20, envelope_bytes;
    uint8_t *noise = malloc(bytes), *envelope;
    assert_non_null(noise);
    uint64_t random = 1;
    for (size_t i = 0; i < bytes; i++) {
        random = random * UINT64_C(6364136223846793005) + 1;
        noise[i] = (uint8_t)(random >> 56);
    }
    assert_int_equal(sbx_envelope_write(id, noise, bytes, &envelope, &envelope_bytes), -E2BIG);
    free(noise);
}

/* Expect that a body is refused. */
static void assert_body_refused(const void *body, size_t bytes)
{
    struct sbx_envelope header = {.body = body, .body_bytes = bytes};
    uint8_t *payload;
    size_t payload_bytes;
    char why[100] = "";
    assert_int_equal(sbx_envelope_payload(&header, &payload, &payload_bytes, why, sizeof why), -EPROTO);
    assert_true(strlen(why) > 0);
}

static void test_bombs_and_other_frames_are_refused(void **state)
{
    (void)state;
    size_t zeros_bytes = 64 << 20;
    uint8_t *zeros = calloc(1, zeros_bytes);
    uint8_t body[8192];
    assert_non_null(zeros);
    size_t body_bytes = ZSTD_compress(body, sizeof body, zeros, zeros_bytes, 3);
    assert_false(ZSTD_isError(body_bytes));
    assert_body_refused(body, body_bytes); /* would be 64 MiB from a few KiB */
    free(zeros);
    size_t first = ZSTD_compress(body, sizeof body, text, sizeof text, 3);
    size_t second = ZSTD_compress(body + first, sizeof body - first, text, sizeof text, 3);
    assert_body_refused(body, first + second); /* two frames */
    assert_body_refused(body, first - 1);
    memcpy(body + first, "\x50\x2a\x4d\x18\x04\x00\x00\x00note", 12);
    assert_body_refused(body, first + 12);                      /* decoders skip this frame: room for anything */
    assert_body_refused("\x50\x2a\x4d\x18\x00\x00\x00\x00", 8); /* skippable */
    assert_body_refused("", 0);
    /* 21 bytes without a size that make a streaming decoder use 128 MiB. */
    assert_body_refused("\x28\xb5\x2f\xfd\x00\x88\x01\x00\x00", 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc32c_gives_the_published_values),
        cmocka_unit_test(test_header_is_as_drawn),
        cmocka_unit_test(test_what_was_written_is_read_back),
        cmocka_unit_test(test_any_flipped_bit_and_any_other_length_is_refused),
        cmocka_unit_test(test_later_versions_and_sealed_ones_are_told_apart),
        cmocka_unit_test(test_more_than_an_envelope_holds_is_refused),
        cmocka_unit_test(test_bombs_and_other_frames_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
