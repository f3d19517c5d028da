/* SPDX-License-Identifier: Apache-2.0 */
/* test_stall_envelope.c - bytes that are no envelope, or one that is torn, sealed, newer, or a decompression bomb. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "envelope_format.h"
#include "payload_builder.h"
#include "stall_crc32c.h"
#include "stall_envelope.h"

static const uint8_t id[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

struct opened {
    int result;
    uint8_t id[16];
    uint8_t *body; /* given */
    size_t bytes;
    char why[160];
};

static struct opened open_envelope(const uint8_t *envelope, size_t bytes)
{
    struct opened opened = {0};
    opened.result =
        sbx_stall_envelope_open(envelope, bytes, opened.id, &opened.body, &opened.bytes, opened.why, sizeof opened.why);
    if (opened.result != 0) {
        assert_null(opened.body);
        assert_true(opened.why[0] != '\0');
    }
    return opened;
}

/* Update the checksum of a damaged envelope, so that the checksum is not the reason for the refusal. */
static void seal(uint8_t *envelope, size_t bytes)
{
    uint32_t crc = sbx_stall_crc32c(sbx_stall_crc32c(0, envelope, 36), envelope + 40, bytes - 40);
    for (int i = 0; i < 4; i++) {
        envelope[36 + i] = (uint8_t)(crc >> 8 * i);
    }
}

static void assert_refused(uint8_t *envelope, size_t bytes, int expected, const char *part_of_why)
{
    struct opened opened = open_envelope(envelope, bytes);
    assert_int_equal(opened.result, expected);
    assert_non_null(strstr(opened.why, part_of_why));
}

static void test_body_comes_back(void **state)
{
    (void)state;
    uint8_t *envelope;
    size_t bytes;
    sbx_build_wrap_body(id, "hello", 5, &envelope, &bytes);
    struct opened opened = open_envelope(envelope, bytes);
    assert_int_equal(opened.result, 0);
    assert_int_equal(opened.bytes, 5);
    assert_memory_equal(opened.body, "hello", 5);
    assert_memory_equal(opened.id, id, 16);
    free(opened.body);
    free(envelope);
}

static void test_empty_body_comes_back(void **state)
{
    (void)state;
    uint8_t *envelope;
    size_t bytes;
    sbx_build_wrap_body(id, "", 0, &envelope, &bytes);
    struct opened opened = open_envelope(envelope, bytes);
    assert_int_equal(opened.result, 0);
    assert_int_equal(opened.bytes, 0);
    free(opened.body);
    free(envelope);
}

static void test_every_cut_and_every_flipped_bit_is_noticed(void **state)
{
    (void)state;
    uint8_t *envelope;
    size_t bytes;
    sbx_build_wrap_body(id, "some body of some bytes", 23, &envelope, &bytes);
    for (size_t cut = 0; cut < bytes; cut++) {
        uint8_t *part = malloc(cut + 1); /* exact size, so that a sanitizer sees a read past the end */
        memcpy(part, envelope, cut);
        assert_int_not_equal(open_envelope(part, cut).result, 0);
        free(part);
    }
    for (size_t bit = 0; bit < bytes * 8; bit++) {
        envelope[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_not_equal(open_envelope(envelope, bytes).result, 0);
        envelope[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    free(envelope);
}

static void test_headers_are_refused_for_what_is_wrong_with_them(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t value;
        int result;
        const char *why;
    } cases[] = {
        {0, 'X', -EPROTO, "not an envelope"}, {4, 2, -ENOTSUP, "version 2"}, {5, 1, -ENOTSUP, "sealed"},
        {6, 1, -EPROTO, "reserved"},          {15, 1, -EPROTO, "reserved"},  {32, 1, -EPROTO, "body bytes"},
        {36, 0x55, -EPROTO, "checksum"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t *envelope;
        size_t bytes;
        sbx_build_wrap_body(id, "hello", 5, &envelope, &bytes);
        uint8_t before = envelope[cases[i].at];
        envelope[cases[i].at] = (uint8_t)(before == cases[i].value ? cases[i].value + 1 : cases[i].value);
        if (cases[i].at != 36) {
            seal(envelope, bytes);
        }
        assert_refused(envelope, bytes, cases[i].result, cases[i].why);
        free(envelope);
    }
}

static void test_more_bytes_than_an_envelope_may_have_are_refused(void **state)
{
    (void)state;
    size_t bytes = SBX_ENVELOPE_BYTES_MAX + 1;
    uint8_t *envelope = calloc(1, bytes);
    assert_refused(envelope, bytes, -EPROTO, "more than an envelope may have");
    free(envelope);
}

/* An envelope with a frame of `bytes` zeros. */
static uint8_t *wrap_zeros(size_t bytes, int level, int window_log, size_t *envelope_bytes_out)
{
    uint8_t *zeros = calloc(1, bytes), *envelope;
    size_t room = ZSTD_compressBound(bytes);
    uint8_t *compressed = malloc(room);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
    if (window_log > 0) {
        ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
        ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0); /* a sized frame needs no window */
    }
    ZSTD_outBuffer out = {compressed, room, 0};
    ZSTD_inBuffer in = {zeros, bytes, 0};
    size_t left = 1;
    while (left != 0) {
        left = ZSTD_compressStream2(context, &out, &in, in.pos < in.size ? ZSTD_e_continue : ZSTD_e_end);
        assert_false(ZSTD_isError(left));
        left = in.pos < in.size || left != 0 ? 1 : ZSTD_compressStream2(context, &out, &in, ZSTD_e_end);
    }
    sbx_build_wrap_compressed(id, compressed, out.pos, &envelope, envelope_bytes_out);
    ZSTD_freeCCtx(context);
    free(compressed);
    free(zeros);
    return envelope;
}

static void test_body_of_exactly_the_limit_is_taken_and_one_more_is_not(void **state)
{
    (void)state;
    size_t bytes;
    uint8_t *envelope = wrap_zeros(SBX_PAYLOAD_BYTES_MAX, 3, 0, &bytes);
    struct opened opened = open_envelope(envelope, bytes);
    assert_int_equal(opened.result, 0);
    assert_int_equal(opened.bytes, SBX_PAYLOAD_BYTES_MAX);
    free(opened.body);
    free(envelope);
    envelope = wrap_zeros(SBX_PAYLOAD_BYTES_MAX + 1, 3, 0, &bytes);
    assert_refused(envelope, bytes, -EPROTO, "more than 8388608 bytes");
    free(envelope);
}

static void test_bomb_is_refused(void **state)
{
    (void)state;
    size_t bytes;
    uint8_t *envelope = wrap_zeros((size_t)256 << 20, 3, 0, &bytes);
    assert_true(bytes < 100000);
    assert_refused(envelope, bytes, -EPROTO, "more than 8388608 bytes");
    free(envelope);
}

static void test_window_over_the_limit_is_refused(void **state)
{
    (void)state;
    size_t bytes;
    uint8_t *envelope = wrap_zeros(1 << 20, 3, SBX_PAYLOAD_WINDOW_LOG_MAX + 1, &bytes);
    assert_refused(envelope, bytes, -EPROTO, "does not decompress");
    free(envelope);
}

static void test_anything_but_exactly_one_frame_is_refused(void **state)
{
    (void)state;
    uint8_t frame[256], twice[512], *envelope;
    size_t frame_bytes = ZSTD_compress(frame, sizeof frame, "hello", 5, 3), bytes;
    memcpy(twice, frame, frame_bytes);
    memcpy(twice + frame_bytes, frame, frame_bytes);
    sbx_build_wrap_compressed(id, twice, 2 * frame_bytes, &envelope, &bytes);
    assert_refused(envelope, bytes, -EPROTO, "follow the compressed frame");
    free(envelope);
    sbx_build_wrap_compressed(id, frame, frame_bytes - 1, &envelope, &bytes);
    assert_refused(envelope, bytes, -EPROTO, "in the middle");
    free(envelope);
    static const uint8_t skippable[] = {0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0};
    sbx_build_wrap_compressed(id, skippable, sizeof skippable, &envelope, &bytes);
    assert_refused(envelope, bytes, -EPROTO, "no zstd frame");
    free(envelope);
    sbx_build_wrap_compressed(id, "", 0, &envelope, &bytes);
    assert_refused(envelope, bytes, -EPROTO, "no zstd frame");
    free(envelope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_body_comes_back),
        cmocka_unit_test(test_empty_body_comes_back),
        cmocka_unit_test(test_every_cut_and_every_flipped_bit_is_noticed),
        cmocka_unit_test(test_headers_are_refused_for_what_is_wrong_with_them),
        cmocka_unit_test(test_more_bytes_than_an_envelope_may_have_are_refused),
        cmocka_unit_test(test_body_of_exactly_the_limit_is_taken_and_one_more_is_not),
        cmocka_unit_test(test_bomb_is_refused),
        cmocka_unit_test(test_window_over_the_limit_is_refused),
        cmocka_unit_test(test_anything_but_exactly_one_frame_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
