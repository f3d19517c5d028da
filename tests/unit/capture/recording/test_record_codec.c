/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_codec.c - encoded records come back, and bytes that were not encoded do not become records. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
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
    record.wait = (uint32_t)random_of_any_size();
    record.repeats = (uint32_t)random_of_any_size();
    if (record.flags & SBX_FLAG_USAGE) {
        record.minor_faults = (uint32_t)random_of_any_size();
        record.major_faults = (uint32_t)random_of_any_size();
        record.voluntary_switches = (uint32_t)random_of_any_size();
        record.involuntary_switches = (uint32_t)random_of_any_size();
    }
    return record;
}

/* A sample as a busy thread makes them one after another: mostly in the short form, sometimes on either side of one of
 * its limits. */
static struct sbx_record random_sample_after(const struct sbx_record *last)
{
    static const uint8_t kinds[] = {SBX_RECORD_ALLOC, SBX_RECORD_LEAF, SBX_RECORD_ASYNC, SBX_RECORD_BLOCKED};
    struct sbx_record record = *last;
    uint64_t gap_ns = next_random() % 8 == 0 ? next_random() >> (30 + next_random() % 30) : next_random() % 5000000;
    record.begin_ns = record.end_ns = last->end_ns + gap_ns;
    record.kind = kinds[next_random() % 16 < 15 ? next_random() % 3 : 3];
    record.op = (uint8_t)(next_random() % (next_random() % 4 ? 7 : SBX_OP_MAX));
    record.op = record.kind == SBX_RECORD_ASYNC && next_random() % 16 != 0 ? 0 : record.op;
    record.cpu_ns = last->cpu_ns + gap_ns - next_random() % 4096;
    if (next_random() % 16 == 0) {
        record.cpu_ns = next_random() % 4 == 0 ? next_random() % 256 : last->cpu_ns + gap_ns / (1 + next_random() % 8);
    }
    record.alloc_count += next_random() % 2 ? 0 : next_random() >> (38 + next_random() % 26);
    record.alloc_bytes += next_random() % 2 ? 0 : next_random() >> (38 + next_random() % 26);
    record.message += next_random() % 8 == 0 ? next_random() % 300 : 0;
    record.amount = next_random() % 4 == 0 ? next_random() >> (24 + next_random() % 40) : 0;
    record.flags = 0;
    record.minor_faults = record.major_faults = record.voluntary_switches = record.involuntary_switches = 0;
    if (next_random() % 16 == 0) {
        record.flags = SBX_FLAG_USAGE;
        record.minor_faults = (uint32_t)(next_random() >> (32 + next_random() % 32));
        record.voluntary_switches = (uint32_t)(next_random() % 1000);
    }
    record.stack = (uint32_t)(next_random() % 8 == 0 ? next_random() >> 32 : last->stack + next_random() % 9);
    record.repeats = 0;
    if (next_random() % 8 == 0) {
        record.repeats = (uint32_t)(next_random() % 100);
        record.begin_ns = last->end_ns + (next_random() % 4 == 0 ? gap_ns / 2 : 0);
    }
    return record;
}

/* The value of a time in the long form: the begin of its unit. A CPU time that was read stays not 0. */
static uint64_t kept_ns(uint64_t ns)
{
    return ns / SBX_TIME_UNIT_NS * SBX_TIME_UNIT_NS;
}

static bool is_short(const uint8_t *bytes)
{
    return (bytes[0] & 63) != 0;
}

/* The fields that both forms keep exactly. */
static void assert_named(const struct sbx_record *back, const struct sbx_record *put)
{
    assert_int_equal(back->message, put->message);
    assert_int_equal(back->object, put->object);
    assert_int_equal(back->thread, put->thread);
    assert_int_equal(back->stack, put->stack);
    assert_int_equal(back->peer, put->peer);
    assert_int_equal(back->wait, put->wait);
    assert_int_equal(back->repeats, put->repeats);
    assert_int_equal(back->minor_faults, put->minor_faults);
    assert_int_equal(back->major_faults, put->major_faults);
    assert_int_equal(back->voluntary_switches, put->voluntary_switches);
    assert_int_equal(back->involuntary_switches, put->involuntary_switches);
    assert_int_equal(back->kind, put->kind);
    assert_int_equal(back->op, put->op);
    assert_int_equal(back->fd_class, put->fd_class);
    assert_int_equal(back->flags, put->flags);
}

static void assert_came_back_exactly(const struct sbx_record *back, const struct sbx_record *put)
{
    uint64_t cpu_ns = kept_ns(put->cpu_ns);
    assert_named(back, put);
    assert_int_equal(back->begin_ns, kept_ns(put->begin_ns));
    assert_int_equal(back->end_ns, kept_ns(put->end_ns));
    assert_int_equal(back->cpu_ns, put->cpu_ns != 0 && cpu_ns == 0 ? 1 : cpu_ns);
    assert_int_equal(back->alloc_count, put->alloc_count);
    assert_int_equal(back->alloc_bytes, put->alloc_bytes);
    assert_int_equal(back->amount, put->amount);
}

/* `told` is the decoded value of a counter. The reader had `before`, and the true value is `now`. `told` is not less
 * than before and not more than the true value. It is short by less than a sixteenth of the growth, or by less than a
 * unit. */
static void assert_told_roughly(uint64_t told, uint64_t before, uint64_t now, uint64_t unit)
{
    uint64_t growth = now - before, missing = now - told;
    assert_true(told - before <= growth);
    assert_true(missing < unit || missing - unit < growth / 16);
    assert_true(growth >= 32 * unit || missing < unit);
}

/* `before`: the reader's state before the record. */
static void assert_came_back_roughly(const struct sbx_record *back, const struct sbx_record *put,
                                     const struct sbx_codec_state *before)
{
    const uint64_t unit = SBX_SAMPLE_UNIT_NS;
    assert_named(back, put);
    assert_true(back->end_ns <= put->end_ns && put->end_ns - back->end_ns < unit + SBX_TIME_UNIT_NS);
    if (put->repeats == 0) {
        assert_int_equal(back->begin_ns, back->end_ns);
    } else {
        assert_int_equal(back->begin_ns, before->last_end * SBX_TIME_UNIT_NS);
        assert_true(back->begin_ns - put->begin_ns + unit + SBX_TIME_UNIT_NS <= 2 * (unit + SBX_TIME_UNIT_NS));
    }
    assert_true(back->cpu_ns != 0);
    assert_true(back->cpu_ns - put->cpu_ns + 4 * unit <= 8 * unit);
    assert_told_roughly(back->alloc_count, before->last_alloc_count, put->alloc_count, 1);
    assert_told_roughly(back->alloc_bytes, before->last_alloc_bytes, put->alloc_bytes, SBX_ALLOC_UNIT);
    if (put->kind == SBX_RECORD_ASYNC) {
        assert_true(back->amount <= put->amount && put->amount / 2 <= back->amount);
    } else {
        assert_int_equal(back->amount, put->amount);
    }
}

/* Encode all and decode all; returns how many used the short form. */
static size_t assert_all_come_back(const struct sbx_record *records, size_t count)
{
    uint8_t *bytes = malloc(count * SBX_RECORD_BYTES_MAX);
    assert_non_null(bytes);
    struct sbx_codec_state writer = {.last_end = 1000, .last_off = 2000, .thread = 7}, reader = writer;
    size_t used = 0, at = 0, short_count = 0;
    for (size_t i = 0; i < count; i++) {
        size_t wrote = sbx_record_encode(&writer, &records[i], bytes + used);
        assert_in_range(wrote, 3, SBX_RECORD_BYTES_MAX);
        used += wrote;
    }
    for (size_t i = 0; i < count; i++) {
        struct sbx_codec_state before = reader;
        struct sbx_record record;
        memset(&record, 0xee, sizeof record);
        size_t took = sbx_record_decode(&reader, bytes + at, used - at, &record);
        assert_true(took > 0);
        if (is_short(bytes + at)) {
            short_count++;
            assert_came_back_roughly(&record, &records[i], &before);
        } else {
            assert_came_back_exactly(&record, &records[i]);
        }
        at += took;
    }
    assert_int_equal(at, used);
    assert_memory_equal(&reader, &writer, sizeof reader);
    free(bytes);
    return short_count;
}

enum {
    RECORDS = 20000
};

static void test_random_records_come_back_with_times_to_the_unit(void **unused)
{
    (void)unused;
    struct sbx_record *records = calloc(RECORDS, sizeof *records);
    assert_non_null(records);
    for (int i = 0; i < RECORDS; i++) {
        records[i] = random_record();
    }
    assert_all_come_back(records, RECORDS);
    free(records);
}

static void test_samples_around_the_limits_of_the_short_form_come_back(void **unused)
{
    (void)unused;
    struct sbx_record *records = calloc(RECORDS, sizeof *records);
    assert_non_null(records);
    struct sbx_record last = {.end_ns = 1000000, .cpu_ns = 500000, .stack = 77, .thread = 7};
    for (int i = 0; i < RECORDS; i++) {
        records[i] = last = random_sample_after(&last);
    }
    size_t short_count = assert_all_come_back(records, RECORDS);
    assert_in_range(short_count, RECORDS / 2, RECORDS * 9 / 10); /* both forms occur */
    free(records);
}

static void test_begin_and_order_of_ends_survive_the_rounding(void **unused)
{
    (void)unused;
    struct sbx_codec_state writer = {.thread = 0}, reader = writer;
    uint64_t end_ns = 1, last_ns = 0;
    for (int i = 0; i < 10000; i++) {
        struct sbx_record back, record = {.kind = SBX_RECORD_LOCK, .begin_ns = end_ns};
        end_ns += next_random() % 300;
        record.end_ns = end_ns;
        uint8_t bytes[SBX_RECORD_BYTES_MAX];
        size_t used = sbx_record_encode(&writer, &record, bytes);
        assert_int_equal(sbx_record_decode(&reader, bytes, used, &back), used);
        assert_true(back.begin_ns <= back.end_ns);
        assert_true(last_ns <= back.end_ns);
        last_ns = back.end_ns;
    }
}

/* Samples keep rounded values, but nothing is lost: the next message is exact, whatever was before it. */
static void test_what_samples_leave_out_is_told_with_the_next_message(void **unused)
{
    (void)unused;
    struct sbx_codec_state writer = {.last_end = 1, .thread = 7}, reader = writer;
    struct sbx_record now = {.kind = SBX_RECORD_ALLOC, .op = SBX_OP_MALLOC, .stack = 77, .thread = 7, .end_ns = 200};
    uint8_t bytes[SBX_RECORD_BYTES_MAX];
    size_t short_count = 0;
    for (int i = 0; i < 10000; i++) {
        struct sbx_record back;
        bool is_sample = i % 100 != 99;
        now.kind = is_sample ? SBX_RECORD_ALLOC : SBX_RECORD_MESSAGE;
        now.begin_ns = now.end_ns += 1000 + next_random() % 2000000;
        now.cpu_ns = now.end_ns - 100;
        now.alloc_count += next_random() % 1000;
        now.alloc_bytes += next_random() % 100000;
        struct sbx_codec_state before = reader;
        size_t used = sbx_record_encode(&writer, &now, bytes);
        assert_int_equal(sbx_record_decode(&reader, bytes, used, &back), used);
        if (is_short(bytes)) {
            short_count++;
            assert_came_back_roughly(&back, &now, &before);
        } else {
            assert_came_back_exactly(&back, &now);
        }
        assert_true(is_sample || !is_short(bytes));
    }
    assert_true(short_count > 9000);
}

static void test_largest_record_fits_the_stated_maximum(void **unused)
{
    (void)unused;
    struct sbx_codec_state state = {0};
    struct sbx_record record;
    memset(&record, 0xff, sizeof record);
    record.kind = SBX_RECORD_MESSAGE;
    record.begin_ns = record.end_ns + 1; /* the longest possible difference */
    record.end_ns = record.cpu_ns = record.alloc_count = record.alloc_bytes = record.message = UINT64_C(1) << 63;
    uint8_t bytes[SBX_RECORD_BYTES_MAX + 1];
    bytes[SBX_RECORD_BYTES_MAX] = 0x5a;
    size_t used = sbx_record_encode(&state, &record, bytes);
    assert_true(used <= SBX_RECORD_BYTES_MAX);
    assert_int_equal(bytes[SBX_RECORD_BYTES_MAX], 0x5a);
    struct sbx_codec_state reader = {0};
    struct sbx_record back;
    assert_int_equal(sbx_record_decode(&reader, bytes, used, &back), used);
    assert_came_back_exactly(&back, &record);
}

static void test_every_truncation_is_refused_and_changes_nothing(void **unused)
{
    (void)unused;
    for (int i = 0; i < 2000; i++) {
        struct sbx_codec_state writer = {.last_end = random_of_any_size(), .thread = 3}, reader = writer;
        struct sbx_codec_state before = reader;
        struct sbx_record record = random_record(), back, untouched;
        if (i % 2 == 0) {
            record = random_sample_after(&(struct sbx_record){.stack = 5, .thread = 3});
        }
        uint8_t bytes[SBX_RECORD_BYTES_MAX];
        size_t used = sbx_record_encode(&writer, &record, bytes);
        memset(&back, 0x77, sizeof back);
        untouched = back;
        for (size_t length = 0; length < used; length++) {
            uint8_t *exact = malloc(length == 0 ? 1 : length); /* exact size: a sanitizer sees a read past the end */
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
    enum {
        LOCK = SBX_RECORD_LOCK >> 2,
        LENGTH = 0x08,
        STACK = 0x10,
        COUNTERS = 0x40
    }; /* in the second byte */
    static_assert(SBX_RECORD_LOCK % 4 == 0, "its lower two bits are in the first byte");
    static const struct {
        const char *what;
        uint8_t bytes[16];
        size_t count;
    } cases[] = {
        {"zeroes", {0, 0, 0, 0, 0}, 5},
        {"unknown kind", {(SBX_RECORD_KINDS & 3) << 6, SBX_RECORD_KINDS >> 2, 0, 0}, 4},
        {"no kind", {0, 0x10, 0, 1, 1}, 5},
        {"varint over 64 bits", {0, LOCK, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}, 13},
        {"varint of 11 bytes", {0, LOCK, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}, 14},
        {"length over 57 bits", {0, LOCK | LENGTH, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02}, 13},
        {"stack over 32 bits", {0, LOCK | STACK, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x10}, 9},
        {"one counter of two", {0, LOCK | COUNTERS, 0, 0, 2}, 5},
        {"op over 8 bits", {0, LOCK, 0x01, 0, 0x80, 2}, 6},
        {"a flag of usage without it", {0, LOCK, 0x10, 0, SBX_FLAG_USAGE}, 5},
        {"usage over 32 bits", {0, LOCK, 0x10, 0, SBX_FLAG_USAGE, 0x80, 0x80, 0x80, 0x80, 0x10, 0, 0, 0}, 13},
        {"a recent stack where there is none", {1, 0, 0}, 3},
        {"a new stack that is none", {7, 0x10, 0, 0, 0}, 5},
        {"a second byte that says nothing", {7 | 0x80, 0, 0x10, 0, 1, 0}, 6},
        {"a second byte that says the unknown", {7 | 0x80, 0x80, 0x10, 0, 1, 0}, 6},
    };
    for (size_t i = 0; i < SBX_COUNT_OF(cases); i++) {
        struct sbx_codec_state state = {0};
        struct sbx_record record;
        if (sbx_record_decode(&state, cases[i].bytes, cases[i].count, &record) != 0) {
            fail_msg("taken for a record: %s", cases[i].what);
        }
    }
    static const uint8_t longest_good[] = {0, LOCK, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
    struct sbx_codec_state state = {0};
    struct sbx_record record;
    assert_int_equal(sbx_record_decode(&state, longest_good, sizeof longest_good, &record), sizeof longest_good);
}

/* ---- how short ---- */

static double random_share(void)
{
    return (double)((next_random() >> 11) + 1) / 9007199254740993.0;
}

/* One busy thread as it is recorded: a sample each millisecond on average (exponential); a stack drawn from 300 by
 * Zipf's law; CPU time that lags because of noise and occasional preemption. */
struct busy_thread {
    struct sbx_record record;
    uint32_t stacks[300];
    double weights_until[300];
};

static void begin_busy_thread(struct busy_thread *thread, uint32_t index)
{
    double sum = 0;
    *thread = (struct busy_thread){.record = {.end_ns = 1000000000, .cpu_ns = 50000000, .thread = index, .message = 1}};
    for (uint32_t i = 0; i < SBX_COUNT_OF(thread->stacks); i++) {
        thread->stacks[i] =
            9u << 24 | (uint32_t)(1 + next_random() % (SBX_NODES_MAX - 1)); /* node numbers are hashes */
        thread->weights_until[i] = sum += 1.0 / (i + 1);
    }
}

static void move_busy_thread(struct busy_thread *thread, uint64_t counts_per_ms)
{
    struct sbx_record *record = &thread->record;
    double gap_ms = -log(random_share());
    double at = random_share() * thread->weights_until[SBX_COUNT_OF(thread->stacks) - 1];
    uint32_t stack = 0;
    while (thread->weights_until[stack] < at) {
        stack++;
    }
    uint64_t gap_ns = (uint64_t)(gap_ms * 1e6), lost_ns = next_random() % 1000;
    lost_ns += next_random() % 20 == 0 ? gap_ns / 2 : 0;
    record->begin_ns = record->end_ns += gap_ns;
    record->cpu_ns += gap_ns > lost_ns ? gap_ns - lost_ns : 0;
    uint64_t count = (uint64_t)(gap_ms * (double)counts_per_ms);
    record->alloc_count += count;
    record->alloc_bytes += count * 64;
    record->stack = thread->stacks[stack];
    record->kind = counts_per_ms != 0 ? SBX_RECORD_ALLOC : SBX_RECORD_LEAF;
    record->op = counts_per_ms != 0 ? SBX_OP_MALLOC : SBX_OP_CLOCK_GETTIME;
}

static double mean_bytes(uint64_t counts_per_ms)
{
    enum {
        THREADS = 8,
        SAMPLES = 10000,
        CHUNK = SBX_CHUNK_BYTES - 64
    };
    size_t bytes = 0;
    for (uint32_t i = 0; i < THREADS; i++) {
        struct busy_thread thread;
        struct sbx_codec_state state;
        size_t left = 0;
        begin_busy_thread(&thread, i);
        for (int sample = 0; sample < SAMPLES; sample++) {
            uint8_t out[SBX_RECORD_BYTES_MAX];
            move_busy_thread(&thread, counts_per_ms);
            if (left < SBX_RECORD_BYTES_MAX) { /* the next chunk begins with this record's values */
                struct sbx_chunk chunk = {.base_ns = thread.record.end_ns,
                                          .base_cpu_ns = thread.record.cpu_ns,
                                          .base_alloc_count = thread.record.alloc_count,
                                          .base_alloc_bytes = thread.record.alloc_bytes,
                                          .base_message = thread.record.message,
                                          .thread = i};
                state = sbx_codec_begin(&chunk);
                left = CHUNK;
                bytes += sizeof chunk - CHUNK;
            }
            size_t used = sbx_record_encode(&state, &thread.record, out);
            left -= used;
            bytes += used;
        }
    }
    double mean = (double)bytes / ((double)THREADS * SAMPLES);
    print_message("%llu allocations a millisecond: %.2f bytes a sample, heads of chunks included\n",
                  (unsigned long long)counts_per_ms, mean);
    return mean;
}

static void test_sample_of_a_busy_thread_takes_eight_bytes_at_most(void **unused)
{
    (void)unused;
    assert_true(mean_bytes(0) <= 5.5);
    assert_true(mean_bytes(40) <= 7.5);
    assert_true(mean_bytes(3000) <= 8); /* a thread that only allocates */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_records_come_back_with_times_to_the_unit),
        cmocka_unit_test(test_samples_around_the_limits_of_the_short_form_come_back),
        cmocka_unit_test(test_begin_and_order_of_ends_survive_the_rounding),
        cmocka_unit_test(test_what_samples_leave_out_is_told_with_the_next_message),
        cmocka_unit_test(test_largest_record_fits_the_stated_maximum),
        cmocka_unit_test(test_every_truncation_is_refused_and_changes_nothing),
        cmocka_unit_test(test_bytes_that_are_no_record_are_refused),
        cmocka_unit_test(test_sample_of_a_busy_thread_takes_eight_bytes_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
