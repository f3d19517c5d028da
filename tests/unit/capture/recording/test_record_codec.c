/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_codec.c - what is encoded comes back, and what was not encoded does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record_codec.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void) /* xorshift64: the same sequence in every run */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* A number whose length is random, so that every varint length and both signs of differences occur. */
static uint64_t random_of_any_size(void)
{
    uint64_t value = next_random();
    return next_random() % 4 == 0 ? 0 : value >> (next_random() % 64);
}

static struct sbx_record random_record(void)
{
    struct sbx_record record;
    memset(&record, 0, sizeof record); /* padding too: records are compared as bytes */
    record.kind = (uint8_t)(1 + next_random() % (SBX_RECORD_KINDS - 1));
    record.end_ns = random_of_any_size();
    record.begin_ns = next_random() % 2 ? record.end_ns : random_of_any_size();
    record.cpu_ns = random_of_any_size();
    record.alloc_count = random_of_any_size();
    record.alloc_bytes = random_of_any_size();
    record.message = random_of_any_size();
    record.object = random_of_any_size();
    record.amount = random_of_any_size();
    record.thread = (uint32_t)random_of_any_size();
    record.stack = (uint32_t)random_of_any_size();
    record.peer = (uint32_t)random_of_any_size();
    record.op = (uint8_t)random_of_any_size();
    record.fd_class = (uint8_t)random_of_any_size();
    record.flags = (uint8_t)random_of_any_size();
    return record;
}

static void test_random_records_come_back_unchanged(void **unused)
{
    (void)unused;
    enum { RECORDS = 20000 };
    struct sbx_record *records = calloc(RECORDS, sizeof *records);
    uint8_t *bytes = malloc((size_t)RECORDS * SBX_RECORD_BYTES_MAX);
    assert_non_null(records);
    assert_non_null(bytes);
    struct sbx_codec_state start = {1000, 2000, 3000, 4000, 5000, 7}, writer = start, reader = start;
    size_t used = 0;
    for (int i = 0; i < RECORDS; i++) {
        records[i] = random_record();
        size_t wrote = sbx_record_encode(&writer, &records[i], bytes + used);
        assert_in_range(wrote, 4, SBX_RECORD_BYTES_MAX);
        used += wrote;
    }
    size_t at = 0;
    for (int i = 0; i < RECORDS; i++) {
        struct sbx_record record;
        memset(&record, 0xee, sizeof record);
        size_t took = sbx_record_decode(&reader, bytes + at, used - at, &record);
        assert_true(took > 0);
        at += took;
        assert_int_equal(record.begin_ns, records[i].begin_ns);
        assert_int_equal(record.end_ns, records[i].end_ns);
        assert_int_equal(record.cpu_ns, records[i].cpu_ns);
        assert_int_equal(record.alloc_count, records[i].alloc_count);
        assert_int_equal(record.alloc_bytes, records[i].alloc_bytes);
        assert_int_equal(record.message, records[i].message);
        assert_int_equal(record.object, records[i].object);
        assert_int_equal(record.amount, records[i].amount);
        assert_int_equal(record.thread, records[i].thread);
        assert_int_equal(record.stack, records[i].stack);
        assert_int_equal(record.peer, records[i].peer);
        assert_int_equal(record.kind, records[i].kind);
        assert_int_equal(record.op, records[i].op);
        assert_int_equal(record.fd_class, records[i].fd_class);
        assert_int_equal(record.flags, records[i].flags);
    }
    assert_int_equal(at, used);
    /* Field by field: the struct ends in padding. */
    assert_int_equal(reader.last_ns, writer.last_ns);
    assert_int_equal(reader.last_cpu_ns, writer.last_cpu_ns);
    assert_int_equal(reader.last_alloc_count, writer.last_alloc_count);
    assert_int_equal(reader.last_alloc_bytes, writer.last_alloc_bytes);
    assert_int_equal(reader.last_message, writer.last_message);
    assert_int_equal(reader.thread, writer.thread);
    free(records);
    free(bytes);
}

static void test_largest_record_fits_the_stated_maximum(void **unused)
{
    (void)unused;
    struct sbx_codec_state state = {0};
    struct sbx_record record;
    memset(&record, 0xff, sizeof record);
    record.kind = SBX_RECORD_MESSAGE;
    record.begin_ns = record.end_ns + 1; /* the difference is as long as it can be */
    record.end_ns = record.cpu_ns = record.alloc_count = record.alloc_bytes = record.message = UINT64_C(1) << 63;
    uint8_t bytes[SBX_RECORD_BYTES_MAX + 1];
    bytes[SBX_RECORD_BYTES_MAX] = 0x5a;
    size_t used = sbx_record_encode(&state, &record, bytes);
    assert_true(used <= SBX_RECORD_BYTES_MAX);
    assert_int_equal(bytes[SBX_RECORD_BYTES_MAX], 0x5a);
    struct sbx_codec_state reader = {0};
    struct sbx_record back;
    assert_int_equal(sbx_record_decode(&reader, bytes, used, &back), used);
    assert_int_equal(back.message, record.message);
}

static void test_every_truncation_is_refused_and_changes_nothing(void **unused)
{
    (void)unused;
    for (int i = 0; i < 2000; i++) {
        struct sbx_codec_state writer = {random_of_any_size(), 0, 0, 0, 0, 3}, reader = writer, before = reader;
        struct sbx_record record = random_record(), back, untouched;
        uint8_t bytes[SBX_RECORD_BYTES_MAX];
        size_t used = sbx_record_encode(&writer, &record, bytes);
        memset(&back, 0x77, sizeof back);
        untouched = back;
        for (size_t length = 0; length < used; length++) {
            uint8_t *exact = malloc(length == 0 ? 1 : length); /* so that a sanitizer sees a byte read too many */
            assert_non_null(exact);
            memcpy(exact, bytes, length);
            assert_int_equal(sbx_record_decode(&reader, exact, length, &back), 0);
            assert_memory_equal(&reader, &before, sizeof reader);
            assert_memory_equal(&back, &untouched, sizeof back);
            free(exact);
        }
        assert_int_equal(sbx_record_decode(&reader, bytes, used, &back), used);
    }
}

static void test_bytes_that_are_no_record_are_refused(void **unused)
{
    (void)unused;
    static const struct {
        const char *what;
        uint8_t bytes[16];
        size_t count;
    } cases[] = {
        {"zeroes", {0, 0, 0, 0, 0}, 5},
        {"unknown kind", {SBX_RECORD_KINDS, 1, 0, 0}, 4},
        {"no end time", {SBX_RECORD_ALLOC, 0, 0, 0}, 4},
        {"unknown field", {SBX_RECORD_ALLOC, 1, 0x20, 0, 0}, 5},
        {"varint over 64 bits", {SBX_RECORD_ALLOC, 1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}, 13},
        {"varint of 11 bytes",
         {SBX_RECORD_ALLOC, 1, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0},
         14},
        {"stack over 32 bits", {SBX_RECORD_ALLOC, 5, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x10}, 9},
        {"op over 8 bits", {SBX_RECORD_ALLOC, 0x81, 0, 0, 0x80, 2}, 6},
    };
    for (size_t i = 0; i < SBX_COUNT_OF(cases); i++) {
        struct sbx_codec_state state = {0};
        struct sbx_record record;
        if (sbx_record_decode(&state, cases[i].bytes, cases[i].count, &record) != 0) {
            fail_msg("taken for a record: %s", cases[i].what);
        }
    }
    static const uint8_t longest_good[] = {
        SBX_RECORD_ALLOC, 1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
    struct sbx_codec_state state = {0};
    struct sbx_record record;
    assert_int_equal(sbx_record_decode(&state, longest_good, sizeof longest_good, &record), sizeof longest_good);
}

static void test_common_sample_stays_short(void **unused)
{
    (void)unused;
    struct sbx_codec_state state = {.last_ns = 1000000000, .last_cpu_ns = 500000000, .last_alloc_count = 100000,
                                    .last_alloc_bytes = 9000000, .last_message = 17, .thread = 0};
    struct sbx_record record = {.kind = SBX_RECORD_ALLOC, .op = SBX_OP_MALLOC, .thread = 0, .message = 17};
    uint8_t bytes[SBX_RECORD_BYTES_MAX];
    for (int i = 1; i <= 100; i++) { /* a sample each 5 ms of a busy thread that allocates */
        record.begin_ns = record.end_ns = 1000000000 + (uint64_t)i * 5000000;
        record.cpu_ns = 500000000 + (uint64_t)i * 4900000;
        record.alloc_count = 100000 + (uint64_t)i * 3000;
        record.alloc_bytes = 9000000 + (uint64_t)i * 200000;
        record.stack = 9u << 24 | (uint32_t)i * 600; /* epoch 9 */
        assert_in_range(sbx_record_encode(&state, &record, bytes), 4, 23);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_records_come_back_unchanged),
        cmocka_unit_test(test_largest_record_fits_the_stated_maximum),
        cmocka_unit_test(test_every_truncation_is_refused_and_changes_nothing),
        cmocka_unit_test(test_bytes_that_are_no_record_are_refused),
        cmocka_unit_test(test_common_sample_stays_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
