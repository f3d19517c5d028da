/* SPDX-License-Identifier: Apache-2.0 */
/* test_print_pprof.c - a profile.proto is read back field by field. tests/integration/pprof gives it to pprof
 * itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <zlib.h>

#include "exporters.h"
#include "printed.h"
#include "proto_reader.h"
#include "random_report.h"
#include "sample_reports.h"

enum {
    STRINGS_MAX = 4096,
    IDS_MAX = 4096
};

/* A profile as a consumer reads it: every reference is checked. */
struct profile {
    uint8_t *bytes;
    size_t count;
    char *strings[STRINGS_MAX];
    size_t string_count;
    struct proto_field functions[IDS_MAX], locations[IDS_MAX], mappings[IDS_MAX]; /* by id */
    size_t samples;
    char stacks[65536]; /* for each sample "leaf<...<root thread/kind/state count on off|" */
    uint64_t on_us, off_us, observations;
    char first_mapping[64];
};

static uint64_t varint_of(struct proto_field message, uint32_t number)
{
    return proto_find(message.bytes, message.count, number).value;
}

static const char *string_at(const struct profile *profile, uint64_t index)
{
    assert_true(index < profile->string_count);
    return profile->strings[index];
}

static void take_tables(struct profile *profile)
{
    struct proto_reader reader = proto_reader_of(profile->bytes, profile->count);
    struct proto_field field;
    while (proto_reader_next(&reader, &field)) {
        struct proto_field *table = field.number == 3   ? profile->mappings
                                    : field.number == 4 ? profile->locations
                                    : field.number == 5 ? profile->functions
                                                        : NULL;
        if (field.number == 6) {
            assert_true(profile->string_count < STRINGS_MAX);
            profile->strings[profile->string_count++] = strndup((const char *)field.bytes, field.count);
        } else if (table != NULL) {
            uint64_t id = varint_of(field, 1);
            assert_true(id > 0 && id < IDS_MAX);
            assert_int_equal(table[id].number, 0); /* each id is used once */
            table[id] = field;
        }
    }
    assert_string_equal(profile->strings[0], "");
}

static void put(struct profile *profile, const char *text)
{
    size_t length = strlen(profile->stacks);
    snprintf(profile->stacks + length, sizeof profile->stacks - length, "%s", text);
}

static void take_location(struct profile *profile, uint64_t id)
{
    assert_true(id > 0 && id < IDS_MAX && profile->locations[id].number == 4);
    struct proto_field location = profile->locations[id];
    uint64_t mapping = varint_of(location, 2), address = varint_of(location, 3);
    if (mapping != 0) {
        assert_int_equal(profile->mappings[mapping].number, 3);
        assert_true(address >= varint_of(profile->mappings[mapping], 2));
        assert_true(address < varint_of(profile->mappings[mapping], 3));
    }
    struct proto_reader reader = proto_reader_of(location.bytes, location.count);
    struct proto_field line;
    size_t lines = 0;
    while (proto_reader_next(&reader, &line)) {
        if (line.number != 4) {
            continue;
        }
        uint64_t function = varint_of(line, 1);
        assert_true(function > 0 && function < IDS_MAX && profile->functions[function].number == 5);
        put(profile, lines++ == 0 ? "" : ">");
        put(profile, string_at(profile, varint_of(profile->functions[function], 2)));
    }
    assert_true(lines > 0);
}

static void take_sample(struct profile *profile, struct proto_field sample)
{
    struct proto_field ids = proto_find(sample.bytes, sample.count, 1),
                       values = proto_find(sample.bytes, sample.count, 2);
    struct proto_reader reader = proto_reader_of(ids.bytes, ids.count);
    for (bool first = true; reader.at < reader.end; first = false) {
        put(profile, first ? "" : "<");
        take_location(profile, proto_reader_varint(&reader));
    }
    reader = proto_reader_of(sample.bytes, sample.count);
    struct proto_field field;
    while (proto_reader_next(&reader, &field)) {
        if (field.number == 3) {
            put(profile, " ");
            put(profile, string_at(profile, varint_of(field, 1)));
            put(profile, "=");
            put(profile, string_at(profile, varint_of(field, 2)));
        }
    }
    reader = proto_reader_of(values.bytes, values.count);
    uint64_t observations = proto_reader_varint(&reader), on_us = proto_reader_varint(&reader);
    uint64_t off_us = proto_reader_varint(&reader);
    assert_ptr_equal(reader.at, reader.end); /* as many values as types */
    char numbers[96];
    snprintf(numbers, sizeof numbers, " %llu %llu %llu|", (unsigned long long)observations, (unsigned long long)on_us,
             (unsigned long long)off_us);
    put(profile, numbers);
    profile->observations += observations;
    profile->on_us += on_us;
    profile->off_us += off_us;
    profile->samples++;
}

static struct profile *profile_of(struct report_fixture *fixture)
{
    size_t packed_count;
    char *packed = printed(sbx_print_pprof, report_fixture_report(fixture), &packed_count);
    struct profile *profile = calloc(1, sizeof *profile);
    assert_non_null(profile);
    size_t capacity = 8 << 20;
    profile->bytes = malloc(capacity);
    assert_non_null(profile->bytes);
    z_stream stream = {.next_in = (uint8_t *)packed, .avail_in = (uInt)packed_count};
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    stream.next_out = profile->bytes;
    stream.avail_out = (uInt)capacity;
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.avail_in, 0);
    profile->count = stream.total_out;
    inflateEnd(&stream);
    free(packed);
    take_tables(profile);
    struct proto_reader reader = proto_reader_of(profile->bytes, profile->count);
    struct proto_field field;
    while (proto_reader_next(&reader, &field)) {
        if (field.number == 2) {
            take_sample(profile, field);
        } else if (field.number == 3 && profile->first_mapping[0] == '\0') {
            snprintf(profile->first_mapping, sizeof profile->first_mapping, "%s",
                     string_at(profile, varint_of(field, 5)));
        }
    }
    return profile;
}

static void destroy(struct profile *profile)
{
    for (size_t i = 0; i < profile->string_count; i++) {
        free(profile->strings[i]);
    }
    free(profile->bytes);
    free(profile);
}

static void test_stacks_are_leaf_first_with_time_on_and_off_the_cpu(void **state)
{
    (void)state;
    struct report_fixture *fixture = report_fixture_create();
    report_fixture_thread(fixture, "main", true);
    report_fixture_sample(fixture, 0, -30, 1, 10, "main@1;f@2>in@3");
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_USLEEP, -20, -10, 1, 15, "main@1;f@9");
    report_fixture_idle(fixture, 0, -10, 0);
    struct profile *profile = profile_of(fixture);
    assert_string_equal(profile->stacks, "in>f<main thread=main kind=async state=on CPU 1 5000 5000|"
                                         "usleep<f<main thread=main kind=sleep state=sleep 1 0 10000|");
    destroy(profile);
    report_fixture_destroy(fixture);
}

static void test_the_program_is_the_first_mapping_and_values_have_their_types(void **state)
{
    (void)state;
    struct report_fixture *fixture = sample_sleep();
    struct profile *profile = profile_of(fixture);
    assert_string_equal(profile->first_mapping, "redis-server");
    static const char *const expected[] = {"samples", "count", "on_cpu", "microseconds", "off_cpu", "microseconds"};
    struct proto_reader reader = proto_reader_of(profile->bytes, profile->count);
    struct proto_field field;
    size_t types = 0;
    while (proto_reader_next(&reader, &field)) {
        if (field.number == 1) {
            assert_string_equal(string_at(profile, varint_of(field, 1)), expected[2 * types]);
            assert_string_equal(string_at(profile, varint_of(field, 2)), expected[2 * types + 1]);
            types++;
        }
    }
    assert_int_equal(types, 3);
    uint64_t shown = proto_find(profile->bytes, profile->count, 14).value;
    assert_string_equal(string_at(profile, shown), "off_cpu"); /* it slept */
    assert_true(proto_find(profile->bytes, profile->count, 9).value == UINT64_C(20000) * 86400 * 1000000000);
    destroy(profile);
    report_fixture_destroy(fixture);
}

static void test_recursion_is_not_taken_for_inlining(void **state)
{
    (void)state;
    struct report_fixture *fixture = report_fixture_create();
    report_fixture_thread(fixture, "main", true);
    report_fixture_stall(fixture)->trigger.history_ns = ms_to_ns(20);
    report_fixture_wait(fixture, 0, SBX_RECORD_FILE, SBX_OP_READ, -20, -10, 1, -1, "r@2>in@3;r@2>in@3");
    struct profile *profile = profile_of(fixture);
    assert_string_equal(profile->stacks, "read<in>r<in>r thread=main kind=file state=file I/O 1 0 10000|");
    destroy(profile);
    report_fixture_destroy(fixture);
}

static void test_equal_reports_give_equal_bytes(void **state)
{
    (void)state;
    struct report_fixture *first = sample_script(), *second = sample_script();
    size_t first_count, second_count;
    char *a = printed(sbx_print_pprof, report_fixture_report(first), &first_count);
    char *b = printed(sbx_print_pprof, report_fixture_report(second), &second_count);
    assert_int_equal(first_count, second_count);
    assert_memory_equal(a, b, first_count);
    free(a);
    free(b);
    report_fixture_destroy(first);
    report_fixture_destroy(second);
}

static void test_a_stall_without_records_is_a_profile_without_samples(void **state)
{
    (void)state;
    struct report_fixture *fixture = report_fixture_create();
    struct profile *profile = profile_of(fixture);
    assert_int_equal(profile->samples, 0);
    destroy(profile);
    report_fixture_destroy(fixture);
}

static void test_every_reference_resolves_whatever_the_records_say(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct report_fixture *fixture = random_report_from_seed(seed, 150);
        struct profile *profile = profile_of(fixture);
        assert_true(profile->samples > 0);
        destroy(profile);
        report_fixture_destroy(fixture);
    }
}

static void test_run_counts_every_look_and_a_cut_stack_says_so(void **state)
{
    (void)state;
    struct report_fixture *fixture = report_fixture_create();
    report_fixture_thread(fixture, "main", true);
    struct sbx_stall_record run = {.kind = SBX_RECORD_ASYNC,
                                   .begin_ns = ms_to_ns(-30),
                                   .end_ns = ms_to_ns(-20),
                                   .message = 1,
                                   .cpu_ns = ms_to_ns(20),
                                   .peer = -1,
                                   .repeats = 10,
                                   .stack = report_fixture_stack(fixture, "main@1;[cut];f@2")};
    report_fixture_sample(fixture, 0, -30, 1, 10, "main@1;[cut];f@2");
    report_fixture_record(fixture, run);
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_USLEEP, -20, -10, 1, 20, "main@1");
    report_fixture_idle(fixture, 0, -10, 0);
    struct profile *profile = profile_of(fixture);
    assert_string_equal(profile->stacks, "f<[... frames left out]<main thread=main kind=async state=on CPU 11 10000 0|"
                                         "usleep<main thread=main kind=sleep state=sleep 1 0 10000|");
    destroy(profile);
    report_fixture_destroy(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_counts_every_look_and_a_cut_stack_says_so),
        cmocka_unit_test(test_stacks_are_leaf_first_with_time_on_and_off_the_cpu),
        cmocka_unit_test(test_the_program_is_the_first_mapping_and_values_have_their_types),
        cmocka_unit_test(test_recursion_is_not_taken_for_inlining),
        cmocka_unit_test(test_equal_reports_give_equal_bytes),
        cmocka_unit_test(test_a_stall_without_records_is_a_profile_without_samples),
        cmocka_unit_test(test_every_reference_resolves_whatever_the_records_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
