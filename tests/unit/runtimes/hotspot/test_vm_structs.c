/* SPDX-License-Identifier: Apache-2.0 */
/* test_vm_structs.c - tables like those that libjvm.so exports, made by hand: complete, with something missing, not yet
 * filled, of another version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "vm_structs.h"

/* Entries in a layout of the test; only the exported offsets describe it. */
struct field {
    int32_t is_static;
    uint64_t offset;
    const void *address;
    const char *type, *name;
};
struct size {
    uint64_t bytes;
    const char *type;
};
struct integer {
    const char *name;
    int32_t value;
};

enum {
    FIELDS_MAX = 128
};

static struct {
    struct field fields[FIELDS_MAX];
    struct size sizes[16];
    struct integer integers[16];
    int32_t version;
    uint64_t variable; /* the value that static entries point to */
    const void *fields_at, *sizes_at, *integers_at;
    const char *hidden; /* an export that does not exist */
} the;

static const uint64_t field_stride = sizeof(struct field), size_stride = sizeof(struct size),
                      integer_stride = sizeof(struct integer);
static const uint64_t field_static = offsetof(struct field, is_static), field_offset = offsetof(struct field, offset),
                      field_address = offsetof(struct field, address), field_type = offsetof(struct field, type),
                      field_name = offsetof(struct field, name);
static const uint64_t size_bytes = offsetof(struct size, bytes), size_type = offsetof(struct size, type);
static const uint64_t integer_name = offsetof(struct integer, name), integer_value = offsetof(struct integer, value);

static const void *find_symbol(void *library, const char *name)
{
    (void)library;
    const struct {
        const char *name;
        const void *at;
    } exports[] = {
        {"gHotSpotVMStructs", &the.fields_at},
        {"gHotSpotVMStructEntryArrayStride", &field_stride},
        {"gHotSpotVMStructEntryTypeNameOffset", &field_type},
        {"gHotSpotVMStructEntryFieldNameOffset", &field_name},
        {"gHotSpotVMStructEntryIsStaticOffset", &field_static},
        {"gHotSpotVMStructEntryOffsetOffset", &field_offset},
        {"gHotSpotVMStructEntryAddressOffset", &field_address},
        {"gHotSpotVMTypes", &the.sizes_at},
        {"gHotSpotVMTypeEntryArrayStride", &size_stride},
        {"gHotSpotVMTypeEntryTypeNameOffset", &size_type},
        {"gHotSpotVMTypeEntrySizeOffset", &size_bytes},
        {"gHotSpotVMIntConstants", &the.integers_at},
        {"gHotSpotVMIntConstantEntryArrayStride", &integer_stride},
        {"gHotSpotVMIntConstantEntryNameOffset", &integer_name},
        {"gHotSpotVMIntConstantEntryValueOffset", &integer_value},
    };
    for (size_t i = 0; i < sizeof exports / sizeof *exports; i++) {
        if (strcmp(name, exports[i].name) == 0 && (the.hidden == NULL || strcmp(name, the.hidden) != 0)) {
            return exports[i].at;
        }
    }
    return NULL;
}

/* Adds the name that the last refusal said was missing. */
static void add_missing(const char *reason, uint32_t number)
{
    static char texts[FIELDS_MAX][2][64];
    const char *what = strstr(reason, "where ");
    assert_non_null(what);
    char type[64] = "", name[64] = "";
    if (sscanf(what + 6, "%63s", type) != 1) {
        fail_msg("no name in: %s", reason);
    }
    char *colons = strstr(type, "::");
    for (char *next = colons; next != NULL; next = strstr(next + 2, "::")) {
        colons = next; /* the last: HeapBlock::Header::_used */
    }
    bool is_integer = type[0] == '_' || strncmp(type, "frame::", 7) == 0 ||
                      strcmp(type, "InstanceKlass::being_initialized") == 0 ||
                      strncmp(type, "ConstMethod::_has", 17) == 0 || strncmp(type, "ConstMethodFlags::", 18) == 0 ||
                      strcmp(type, "InvocationEntryBci") == 0;
    if (colons != NULL && !is_integer) {
        (void)snprintf(name, sizeof name, "%s", colons + 2);
        *colons = '\0';
    }
    (void)snprintf(texts[number][0], sizeof texts[number][0], "%s", type);
    (void)snprintf(texts[number][1], sizeof texts[number][1], "%s", name);
    if (is_integer) {
        for (size_t i = 0; i < 16; i++) {
            if (the.integers[i].name == NULL) {
                the.integers[i] = (struct integer){texts[number][0], (int32_t)number};
                return;
            }
        }
    }
    if (name[0] == '\0') {
        for (size_t i = 0; i < 16; i++) {
            if (the.sizes[i].type == NULL) {
                the.sizes[i] = (struct size){number, texts[number][0]};
                return;
            }
        }
    }
    static const char *const variables[] = {
        "_heaps", "_low_bound", "_high_bound", "_code", "_call_stub_return_address", "_java_thread_list", "_return_pc"};
    bool is_static = false;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        is_static |= strcmp(name, variables[i]) == 0 && strcmp(type, "Method") != 0; /* Method::_code is a field */
    }
    the.fields[number] =
        (struct field){is_static, number, is_static ? &the.variable : NULL, texts[number][0], texts[number][1]};
}

static int setup(void **state)
{
    (void)state;
    memset(&the, 0, sizeof the);
    the.version = 17;
    the.fields_at = the.fields;
    the.sizes_at = the.sizes;
    the.integers_at = the.integers;
    for (size_t i = 0; i < FIELDS_MAX - 1; i++) {
        the.fields[i] = (struct field){0, 0, NULL, "Other", "_field"};
    }
    the.fields[0] = (struct field){1, 0, &the.version, "Abstract_VM_Version", "_vm_major_version"};
    return 0;
}

/* A table with every entry that is asked for, built from the questions themselves. So it stays complete when more is
 * asked. Returns the entries. */
static uint32_t tell_everything(struct sbx_vm_layout *layout)
{
    char reason[SBX_VM_REASON_BYTES];
    for (uint32_t number = 1; number < FIELDS_MAX - 1; number++) {
        if (sbx_vm_layout_read(layout, find_symbol, NULL, reason) == SBX_VM_READ) {
            return number - 1;
        }
        add_missing(reason, number);
    }
    fail_msg("never enough: %s", reason);
    return 0;
}

static void each_missing_field_is_named(int32_t version)
{
    struct sbx_vm_layout layout;
    char reason[SBX_VM_REASON_BYTES];
    the.version = version;
    uint32_t entries = tell_everything(&layout);
    assert_in_range(entries, 60, 100);
    uint32_t refused = 0;
    for (uint32_t i = 1; i <= entries; i++) {
        if (the.fields[i].type == NULL || strcmp(the.fields[i].type, "Other") == 0) {
            continue; /* the entry is in another table */
        }
        struct field kept = the.fields[i];
        the.fields[i].name = "_gone";
        struct sbx_vm_layout untouched, expected;
        memset(&untouched, 0x5a, sizeof untouched);
        expected = untouched;
        assert_int_equal(sbx_vm_layout_read(&untouched, find_symbol, NULL, reason), SBX_VM_UNKNOWN);
        assert_non_null(strstr(reason, kept.name));
        assert_true(untouched.major == layout.major || untouched.major == 0); /* 0: the missing item is the version */
        expected.major = untouched.major;
        assert_memory_equal(&untouched, &expected, sizeof untouched);
        the.fields[i] = kept;
        refused++;
    }
    assert_in_range(refused, 50, 100);
    assert_int_equal(sbx_vm_layout_read(&layout, find_symbol, NULL, reason), SBX_VM_READ);
}

static void test_each_field_that_is_missing_is_named_and_only_the_version_is_told(void **state)
{
    (void)state;
    each_missing_field_is_named(17);
}

static void test_version_25_has_a_table_of_its_own_and_each_field_that_is_missing_in_it_is_named(void **state)
{
    (void)state;
    each_missing_field_is_named(25);
}

static uint64_t offset_of(const char *type, const char *name)
{
    for (uint32_t i = 0; i < FIELDS_MAX; i++) {
        if (the.fields[i].type != NULL && strcmp(the.fields[i].type, type) == 0 &&
            strcmp(the.fields[i].name, name) == 0) {
            return the.fields[i].offset;
        }
    }
    fail_msg("nobody asked for %s::%s", type, name);
    return 0;
}

static void test_what_moved_in_version_25_is_read_from_where_it_is_now(void **state)
{
    (void)state;
    struct sbx_vm_layout layout;
    the.version = 25;
    (void)tell_everything(&layout);
    assert_int_equal(layout.major, 25);
    assert_int_equal(layout.code_begin.at, offset_of("CodeBlob", "_code_offset"));
    assert_int_equal(layout.code_begin.told, SBX_VM_TOLD_FROM_BLOB);
    assert_int_equal(layout.verified_entry.at, offset_of("nmethod", "_verified_entry_offset"));
    assert_int_equal(layout.verified_entry.told, SBX_VM_TOLD_FROM_CODE);
    assert_int_equal(layout.scopes_data, offset_of("nmethod", "_scopes_data_offset"));
    assert_int_equal(layout.immutable_data, offset_of("nmethod", "_immutable_data"));
    assert_int_equal(layout.thread_os, offset_of("Thread", "_osthread"));
    assert_int_equal(layout.thread_owner_id, offset_of("JavaThread", "_monitor_owner_id"));
    assert_int_equal(layout.packed_number_excess, 1);
    assert_true(layout.has_outside_scopes && layout.has_owner_ids);
}

static void test_offsets_and_addresses_end_where_they_belong(void **state)
{
    (void)state;
    struct sbx_vm_layout layout;
    (void)tell_everything(&layout);
    assert_int_equal(layout.major, 17);
    assert_true(layout.code_heaps == (uint64_t)(uintptr_t)&the.variable);
    for (uint32_t i = 0; i < FIELDS_MAX && the.fields[i].type != NULL; i++) {
        if (strcmp(the.fields[i].name, "_thread_state") == 0) {
            assert_int_equal(layout.thread_state, the.fields[i].offset);
        }
    }
    assert_int_equal(layout.frame_method_slot, -3);
}

static void test_other_versions_are_left_alone(void **state)
{
    (void)state;
    struct sbx_vm_layout layout;
    char reason[SBX_VM_REASON_BYTES];
    (void)tell_everything(&layout);
    static const int32_t versions[] = {0, 8, 11, 16, 18, 21, 22, 23, 24, 26};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        the.version = versions[i];
        assert_int_equal(sbx_vm_layout_read(&layout, find_symbol, NULL, reason), SBX_VM_UNKNOWN);
        assert_non_null(strstr(reason, "is not known"));
    }
}

static void test_a_library_without_tables_is_none_and_one_that_is_just_loaded_is_asked_again(void **state)
{
    (void)state;
    struct sbx_vm_layout layout;
    char reason[SBX_VM_REASON_BYTES];
    the.hidden = "gHotSpotVMTypes";
    assert_int_equal(sbx_vm_layout_read(&layout, find_symbol, NULL, reason), SBX_VM_UNKNOWN);
    assert_string_equal(reason, "it exports no table of its structures");
    the.hidden = NULL;
    the.sizes_at = NULL;
    assert_int_equal(sbx_vm_layout_read(&layout, find_symbol, NULL, reason), SBX_VM_NOT_READY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_each_field_that_is_missing_is_named_and_only_the_version_is_told, setup),
        cmocka_unit_test_setup(test_version_25_has_a_table_of_its_own_and_each_field_that_is_missing_in_it_is_named,
                               setup),
        cmocka_unit_test_setup(test_what_moved_in_version_25_is_read_from_where_it_is_now, setup),
        cmocka_unit_test_setup(test_offsets_and_addresses_end_where_they_belong, setup),
        cmocka_unit_test_setup(test_other_versions_are_left_alone, setup),
        cmocka_unit_test_setup(test_a_library_without_tables_is_none_and_one_that_is_just_loaded_is_asked_again, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
