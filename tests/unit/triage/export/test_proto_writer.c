/* SPDX-License-Identifier: Apache-2.0 */
/* test_proto_writer.c - protobuf bytes, compared with the examples of its specification and with our own reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "proto_reader.h"
#include "proto_writer.h"

static void test_varints_have_the_bytes_of_the_specification(void **state)
{
    (void)state;
    struct sbx_proto_writer writer;
    sbx_proto_writer_init(&writer);
    sbx_proto_put_varint(&writer, 1, 150);
    static const uint8_t expected[] = {0x08, 0x96, 0x01};
    assert_int_equal(writer.count, sizeof expected);
    assert_memory_equal(writer.bytes, expected, sizeof expected);
    sbx_proto_writer_clear(&writer);
    sbx_proto_put_varint(&writer, 1, (uint64_t)(int64_t)-1);
    assert_int_equal(writer.count, 11); /* a negative int64 always takes ten bytes */
    struct proto_field field = proto_find(writer.bytes, writer.count, 1);
    assert_true((int64_t)field.value == -1);
    sbx_proto_writer_finish(&writer);
}

static void test_nested_messages_have_the_length_of_their_content(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 126, 127, 128, 129, 16383, 16384, 70000};
    static uint8_t content[70000];
    memset(content, 0x5a, sizeof content);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct sbx_proto_writer writer;
        sbx_proto_writer_init(&writer);
        sbx_proto_put_varint(&writer, 9, 7);
        size_t outer = sbx_proto_message_begin(&writer, 3);
        size_t inner = sbx_proto_message_begin(&writer, 4);
        sbx_proto_put_bytes(&writer, 5, content, lengths[i]);
        sbx_proto_message_end(&writer, inner);
        sbx_proto_put_varint(&writer, 6, 11);
        sbx_proto_message_end(&writer, outer);
        sbx_proto_put_varint(&writer, 10, 13);
        assert_false(writer.failed);
        assert_int_equal(proto_find(writer.bytes, writer.count, 9).value, 7);
        assert_int_equal(proto_find(writer.bytes, writer.count, 10).value, 13);
        struct proto_field message = proto_find(writer.bytes, writer.count, 3);
        assert_int_equal(proto_find(message.bytes, message.count, 6).value, 11);
        message = proto_find(message.bytes, message.count, 4);
        struct proto_field bytes = proto_find(message.bytes, message.count, 5);
        assert_int_equal(bytes.count, lengths[i]);
        assert_memory_equal(bytes.bytes, content, lengths[i]);
        sbx_proto_writer_finish(&writer);
    }
}

static void test_fixed_and_double_fields_are_little_endian(void **state)
{
    (void)state;
    struct sbx_proto_writer writer;
    sbx_proto_writer_init(&writer);
    sbx_proto_put_fixed64(&writer, 47, UINT64_C(0x0102030405060708));
    sbx_proto_put_double(&writer, 5, 1.5);
    assert_true(proto_find(writer.bytes, writer.count, 47).value == UINT64_C(0x0102030405060708));
    uint64_t bits = proto_find(writer.bytes, writer.count, 5).value;
    double value;
    memcpy(&value, &bits, sizeof value);
    assert_true(value == 1.5);
    sbx_proto_writer_finish(&writer);
}

static void test_text_fields_are_always_valid_utf8(void **state)
{
    (void)state;
    struct sbx_proto_writer writer;
    sbx_proto_writer_init(&writer);
    sbx_proto_put_text(&writer, 1,
                       "a\xff"
                       "b\x01");
    sbx_proto_put_text(&writer, 2, NULL);
    struct proto_field field = proto_find(writer.bytes, writer.count, 1);
    assert_int_equal(field.count, 4);
    assert_memory_equal(field.bytes, "a?b?", 4);
    field = proto_find(writer.bytes, writer.count, 2);
    assert_int_equal(field.number, 2);
    assert_int_equal(field.count, 0);
    sbx_proto_writer_finish(&writer);
}

static void test_packed_fields_hold_their_elements(void **state)
{
    (void)state;
    struct sbx_proto_writer writer;
    sbx_proto_writer_init(&writer);
    size_t mark = sbx_proto_message_begin(&writer, 1);
    for (uint64_t i = 0; i < 300; i++) {
        sbx_proto_put_packed(&writer, i * i);
    }
    sbx_proto_message_end(&writer, mark);
    struct proto_field field = proto_find(writer.bytes, writer.count, 1);
    struct proto_reader reader = proto_reader_of(field.bytes, field.count);
    for (uint64_t i = 0; i < 300; i++) {
        assert_int_equal(proto_reader_varint(&reader), i * i);
    }
    assert_ptr_equal(reader.at, reader.end);
    sbx_proto_writer_finish(&writer);
}

static void test_a_failed_writer_stays_failed_and_writes_nothing(void **state)
{
    (void)state;
    struct sbx_proto_writer writer;
    sbx_proto_writer_init(&writer);
    sbx_proto_put_varint(&writer, 1, 1);
    writer.failed = true; /* as after a failed allocation */
    size_t count = writer.count;
    size_t mark = sbx_proto_message_begin(&writer, 2);
    sbx_proto_put_text(&writer, 3, "x");
    sbx_proto_put_double(&writer, 4, 1);
    sbx_proto_message_end(&writer, mark);
    sbx_proto_writer_clear(&writer);
    assert_true(writer.failed);
    assert_true(count >= writer.count);
    sbx_proto_writer_finish(&writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_varints_have_the_bytes_of_the_specification),
        cmocka_unit_test(test_nested_messages_have_the_length_of_their_content),
        cmocka_unit_test(test_fixed_and_double_fields_are_little_endian),
        cmocka_unit_test(test_text_fields_are_always_valid_utf8),
        cmocka_unit_test(test_packed_fields_hold_their_elements),
        cmocka_unit_test(test_a_failed_writer_stays_failed_and_writes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
