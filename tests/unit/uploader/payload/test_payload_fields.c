/* SPDX-License-Identifier: Apache-2.0 */
/* test_payload_fields.c - the hand-written table has exactly the fields of payload.proto. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "stallbox/v1/payload.pb-c.h"

#include "payload_fields.h"

static const ProtobufCMessageDescriptor *descriptor_of(enum sbx_payload_message message)
{
    switch (message) {
    case SBX_IN_PAYLOAD:
        return &stallbox__v1__payload__descriptor;
    case SBX_IN_PLATFORM:
        return &stallbox__v1__platform__descriptor;
    case SBX_IN_POLICY:
        return &stallbox__v1__policy__descriptor;
    case SBX_IN_WATCHES:
        return &stallbox__v1__watches__descriptor;
    case SBX_IN_TRIGGER:
        return &stallbox__v1__trigger__descriptor;
    case SBX_IN_MODULES:
        return &stallbox__v1__modules__descriptor;
    case SBX_IN_THREADS:
        return &stallbox__v1__threads__descriptor;
    case SBX_IN_FRAMES:
        return &stallbox__v1__frames__descriptor;
    case SBX_IN_CALLSTACKS:
        return &stallbox__v1__callstacks__descriptor;
    case SBX_IN_RECORDS:
        return &stallbox__v1__records__descriptor;
    case SBX_IN_REDACTIONS:
        return &stallbox__v1__redactions__descriptor;
    case SBX_IN_FUNCTIONS:
        return &stallbox__v1__functions__descriptor;
    case SBX_IN_OVERHEAD:
        return &stallbox__v1__overhead__descriptor;
    case SBX_IN_SAMPLING:
        return &stallbox__v1__sampling__descriptor;
    case SBX_IN_PROCESSES:
        return &stallbox__v1__processes__descriptor;
    case SBX_IN_QUEUES:
        return &stallbox__v1__queues__descriptor;
    case SBX_IN_RUNTIMES:
        return &stallbox__v1__runtimes__descriptor;
    case SBX_PAYLOAD_MESSAGES:
        break;
    }
    return NULL;
}

static void test_every_field_of_the_schema_is_in_the_table(void **state)
{
    (void)state;
    size_t fields = 0;
    for (enum sbx_payload_message message = SBX_IN_PAYLOAD; message < SBX_PAYLOAD_MESSAGES; message++) {
        const ProtobufCMessageDescriptor *descriptor = descriptor_of(message);
        fields += descriptor->n_fields;
        for (unsigned i = 0; i < descriptor->n_fields; i++) {
            int index = sbx_payload_field_find(message, descriptor->fields[i].id);
            if (index < 0) {
                fail_msg("%s.%s is not in the table", descriptor->name, descriptor->fields[i].name);
            }
            assert_string_equal(sbx_payload_fields[index].name, descriptor->fields[i].name);
        }
    }
    assert_int_equal(sbx_payload_field_count, fields); /* and the table has no others */
}

static void test_types_and_labels_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < sbx_payload_field_count; i++) {
        const struct sbx_payload_field *field = &sbx_payload_fields[i];
        const ProtobufCMessageDescriptor *in = descriptor_of(field->message);
        const ProtobufCFieldDescriptor *descriptor = protobuf_c_message_descriptor_get_field(in, field->number);
        assert_non_null(descriptor);
        assert_int_equal(field->repeated, descriptor->label == PROTOBUF_C_LABEL_REPEATED);
        switch (descriptor->type) {
        case PROTOBUF_C_TYPE_UINT32:
            assert_int_equal(field->type, SBX_FIELD_UINT);
            assert_true(field->max <= UINT32_MAX || strcmp(field->name, "records_cut") == 0);
            break;
        case PROTOBUF_C_TYPE_UINT64:
            assert_int_equal(field->type, SBX_FIELD_UINT);
            break;
        case PROTOBUF_C_TYPE_SINT64:
            assert_int_equal(field->type, SBX_FIELD_SINT);
            break;
        case PROTOBUF_C_TYPE_BOOL:
            assert_int_equal(field->type, SBX_FIELD_BOOL);
            break;
        case PROTOBUF_C_TYPE_BYTES:
            assert_true(field->type == SBX_FIELD_ID || field->type == SBX_FIELD_BUILD_ID ||
                        field->type == SBX_FIELD_FUNCTION);
            break;
        case PROTOBUF_C_TYPE_MESSAGE:
            assert_int_equal(field->type, SBX_FIELD_MESSAGE);
            assert_ptr_equal(descriptor->descriptor, descriptor_of(field->child));
            break;
        default:
            fail_msg("%s.%s has a type that may not be in the schema", in->name, field->name);
        }
    }
}

static void test_every_field_is_bounded_and_explained(void **state)
{
    (void)state;
    for (size_t i = 0; i < sbx_payload_field_count; i++) {
        const struct sbx_payload_field *field = &sbx_payload_fields[i];
        assert_true(field->max < UINT64_C(1) << 40);
        assert_true(strlen(field->meaning) > 5);
        if (field->type == SBX_FIELD_UINT || field->type == SBX_FIELD_SINT || field->type == SBX_FIELD_BOOL) {
            assert_true(field->max > 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field_of_the_schema_is_in_the_table),
        cmocka_unit_test(test_types_and_labels_agree),
        cmocka_unit_test(test_every_field_is_bounded_and_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
