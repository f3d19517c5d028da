/* SPDX-License-Identifier: Apache-2.0 */
/* test_stall_scan.c - protobuf structures that no agent makes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "payload_builder.h"
#include "stall_scan.h"

/* A growing message body, written field by field. */
struct body {
    uint8_t bytes[1 << 20];
    size_t used;
};

static struct body body;

static void put_varint(uint64_t value)
{
    do {
        body.bytes[body.used++] = (uint8_t)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);
        value >>= 7;
    } while (value != 0);
}

static void put_tag(uint32_t field, uint32_t wire_type)
{
    put_varint(field << 3 | wire_type);
}

static void put_bytes(uint32_t field, const void *content, size_t bytes)
{
    put_tag(field, 2);
    put_varint(bytes);
    memcpy(body.bytes + body.used, content, bytes);
    body.used += bytes;
}

static int scan(const char *part_of_why)
{
    char why[160] = "";
    uint8_t *exact = malloc(body.used + 1); /* exact size, so that a sanitizer sees a read past the end */
    memcpy(exact, body.bytes, body.used);
    int result = sbx_stall_scan(exact, body.used, why, sizeof why);
    free(exact);
    if (part_of_why != NULL) {
        assert_non_null(strstr(why, part_of_why));
    }
    return result;
}

static int begin(void **state)
{
    (void)state;
    body.used = 0;
    return 0;
}

static void test_real_payloads_pass(void **state)
{
    (void)state;
    for (int scenario = 0; scenario < SBX_SCENARIO_COUNT; scenario++) {
        struct sbx_payload_builder *builder;
        assert_true(sbx_scenario_build((enum sbx_scenario)scenario, false, 1, &builder));
        const Stallbox__V1__Payload *payload = sbx_builder_columns(builder);
        body.used = stallbox__v1__payload__pack(payload, body.bytes);
        assert_int_equal(scan(NULL), 0);
        sbx_payload_builder_destroy(builder);
    }
}

static void test_field_that_comes_twice_is_refused(void **state)
{
    (void)state;
    put_tag(1, 0);
    put_varint(1);
    put_tag(1, 0);
    put_varint(1);
    assert_int_equal(scan("Payload.format: appears twice"), -EPROTO);
}

static void test_table_that_comes_twice_is_refused(void **state)
{
    (void)state;
    put_bytes(13, "", 0);
    put_bytes(13, "", 0);
    assert_int_equal(scan("Payload.callstacks: appears twice"), -EPROTO);
}

static void test_unpacked_column_is_refused(void **state)
{
    (void)state;
    static const uint8_t callstacks[] = {0x08, 0x01}; /* frame = 1 as a plain varint */
    put_bytes(13, callstacks, sizeof callstacks);
    assert_int_equal(scan("Callstacks.frame: wrong wire type"), -EPROTO);
}

static void test_column_that_does_not_end_with_a_number_is_refused(void **state)
{
    (void)state;
    static const uint8_t callstacks[] = {0x0a, 0x02, 0x01, 0x80};
    put_bytes(13, callstacks, sizeof callstacks);
    assert_int_equal(scan("Callstacks.frame: is no packed column"), -EPROTO);
}

static void test_column_with_too_many_rows_is_refused(void **state)
{
    (void)state;
    static uint8_t column[SBX_STALL_CALLSTACKS_MAX + 16];
    size_t rows = SBX_STALL_CALLSTACKS_MAX + 1, head = 0;
    column[head++] = 0x0a;
    for (size_t left = rows; left != 0; left >>= 7) {
        column[head++] = (uint8_t)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
    }
    put_bytes(13, column, head + rows);
    assert_int_equal(scan("Callstacks.frame: too many rows"), -EPROTO);
}

static void test_too_many_build_ids_are_refused(void **state)
{
    (void)state;
    static uint8_t modules[(SBX_STALL_MODULES_MAX + 1) * 2];
    for (size_t i = 0; i < sizeof modules; i += 2) {
        modules[i] = 0x12; /* build_id, 0 bytes */
    }
    put_bytes(10, modules, sizeof modules - 2);
    assert_int_equal(scan(NULL), 0);
    body.used = 0;
    put_bytes(10, modules, sizeof modules);
    assert_int_equal(scan("Modules.build_id: too many rows"), -EPROTO);
}

static void test_long_bytes_are_refused(void **state)
{
    (void)state;
    uint8_t secret[33] = {0};
    put_bytes(4, secret, sizeof secret);
    assert_int_equal(scan("Payload.app_build_id: too long"), -EPROTO);
}

static void test_some_unknown_fields_pass_and_many_do_not(void **state)
{
    (void)state;
    for (int i = 0; i < SBX_STALL_UNKNOWN_MAX; i++) {
        put_tag(200 + (uint32_t)i, 0);
        put_varint(7);
    }
    assert_int_equal(scan(NULL), 0);
    put_bytes(999, "x", 1);
    assert_int_equal(scan("too many unknown fields"), -EPROTO);
}

static void test_groups_bad_tags_and_cut_fields_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[12];
        size_t count;
    } cases[] = {
        {{0x0b}, 1},                                                                    /* start of a group */
        {{0x0c}, 1},                                                                    /* end of a group */
        {{0x0e, 0}, 2},                                                                 /* wire type 6 */
        {{0x00, 0}, 2},                                                                 /* field 0 */
        {{0x08}, 1},                                                                    /* a tag without its value */
        {{0x08, 0x80}, 2},                                                              /* an unfinished varint */
        {{0x12, 0x05, 1, 2}, 4},                                                        /* fewer bytes than it says */
        {{0x09, 1, 2, 3}, 4},                                                           /* half of a fixed64 */
        {{0x0d, 1}, 2},                                                                 /* a quarter of a fixed32 */
        {{0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, 12}, /* a varint of 11 bytes */
        {{0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0}, 8},                             /* a tag of 35 bits */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memcpy(body.bytes, cases[i].bytes, cases[i].count);
        body.used = cases[i].count;
        assert_int_equal(scan("not protobuf"), -EPROTO);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_real_payloads_pass, begin),
        cmocka_unit_test_setup(test_field_that_comes_twice_is_refused, begin),
        cmocka_unit_test_setup(test_table_that_comes_twice_is_refused, begin),
        cmocka_unit_test_setup(test_unpacked_column_is_refused, begin),
        cmocka_unit_test_setup(test_column_that_does_not_end_with_a_number_is_refused, begin),
        cmocka_unit_test_setup(test_column_with_too_many_rows_is_refused, begin),
        cmocka_unit_test_setup(test_too_many_build_ids_are_refused, begin),
        cmocka_unit_test_setup(test_long_bytes_are_refused, begin),
        cmocka_unit_test_setup(test_some_unknown_fields_pass_and_many_do_not, begin),
        cmocka_unit_test_setup(test_groups_bad_tags_and_cut_fields_are_refused, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
