/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "triage_wire.h"

static const uint8_t build_id[20] = {1, 2, 3, 0, 5};
static const struct sbx_gap_row gaps[] = {
    {.build_id = build_id, .build_id_bytes = 20, .name = "libc.so.6", .unnamed = 7},
    {.build_id = build_id, .build_id_bytes = 8, .name = "", .is_runtime = true},
};
static const uint8_t key[SBX_ID_BYTES] = {9, 8, 7};
static const struct sbx_said_row said[] = {{.kind = 2, .word = "mutex", .us = 1500}, {.kind = 0, .word = ""}};
static const struct sbx_verdict_row verdict = {.app = "shop",
                                               .cause = "lock",
                                               .class_ = "off_cpu",
                                               .function = "operator<<(\"x\")",
                                               .module = "",
                                               .headline = "waited",
                                               .confidence = 0.75,
                                               .gaps = gaps,
                                               .gap_count = 2,
                                               .key = key,
                                               .path = "main > wait",
                                               .rules = 3,
                                               .said = said,
                                               .said_count = 2};

static struct sbx_byte_buffer packed(void)
{
    struct sbx_byte_buffer bytes = {0};
    sbx_verdict_pack(&verdict, &bytes);
    assert_false(bytes.failed);
    return bytes;
}

static void test_a_verdict_comes_out_as_it_went_in(void **state)
{
    (void)state;
    struct sbx_byte_buffer bytes = packed();
    struct sbx_verdict_row row;
    struct sbx_verdict_parts found = {0};
    assert_int_equal(sbx_verdict_unpack(bytes.data, bytes.used, &row, &found), 0);
    assert_string_equal(row.app, verdict.app);
    assert_string_equal(row.cause, verdict.cause);
    assert_string_equal(row.class_, verdict.class_);
    assert_string_equal(row.function, verdict.function);
    assert_string_equal(row.module, "");
    assert_string_equal(row.headline, verdict.headline);
    assert_true(row.confidence == 0.75);
    assert_int_equal(row.gap_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(found.gaps[i].build_id_bytes, gaps[i].build_id_bytes);
        assert_memory_equal(found.gaps[i].build_id, build_id, gaps[i].build_id_bytes);
        assert_string_equal(found.gaps[i].name, gaps[i].name);
        assert_int_equal(found.gaps[i].is_runtime, gaps[i].is_runtime);
        assert_int_equal(found.gaps[i].unnamed, gaps[i].unnamed);
    }
    assert_memory_equal(row.key, key, sizeof(key));
    assert_string_equal(row.path, verdict.path);
    assert_int_equal(row.rules, 3);
    assert_int_equal(row.said_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(row.said[i].kind, said[i].kind);
        assert_string_equal(row.said[i].word, said[i].word);
        assert_int_equal(row.said[i].us, said[i].us);
    }
    sbx_verdict_parts_free(&found);
    sbx_byte_buffer_finish(&bytes);
}

static void test_what_is_cut_or_has_more_behind_it_is_refused(void **state)
{
    (void)state;
    struct sbx_byte_buffer bytes = packed();
    struct sbx_verdict_row row;
    struct sbx_verdict_parts found;
    for (size_t count = 0; count < bytes.used; count++) {
        char *exact = malloc(count ? count : 1); /* exact size, so that a sanitizer sees a read past the end */
        memcpy(exact, bytes.data, count);
        assert_int_equal(sbx_verdict_unpack(exact, count, &row, &found), -EPROTO);
        free(exact);
    }
    sbx_byte_buffer_append(&bytes, "", 1);
    assert_int_equal(sbx_verdict_unpack(bytes.data, bytes.used, &row, &found), -EPROTO);
    sbx_byte_buffer_finish(&bytes);
}

static void test_a_byte_that_is_changed_never_makes_more_than_another_verdict(void **state)
{
    (void)state;
    struct sbx_byte_buffer bytes = packed();
    for (size_t at = 0; at < bytes.used; at++) {
        struct sbx_verdict_row row;
        struct sbx_verdict_parts found = {0};
        bytes.data[at] ^= (char)0xff;
        int result = sbx_verdict_unpack(bytes.data, bytes.used, &row, &found);
        assert_true(result == 0 || result == -EPROTO || result == -ENOMEM);
        if (result == 0) {
            assert_true(row.confidence >= 0 && row.confidence <= 1);
            assert_true(strlen(row.headline) < bytes.used);
            sbx_verdict_parts_free(&found);
        }
        bytes.data[at] ^= (char)0xff;
    }
    sbx_byte_buffer_finish(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_verdict_comes_out_as_it_went_in),
        cmocka_unit_test(test_what_is_cut_or_has_more_behind_it_is_refused),
        cmocka_unit_test(test_a_byte_that_is_changed_never_makes_more_than_another_verdict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
