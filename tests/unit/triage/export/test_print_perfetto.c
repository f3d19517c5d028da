/* SPDX-License-Identifier: Apache-2.0 */
/* test_print_perfetto.c - the packets are read back: framing, balance, references. How Perfetto itself reads them is
 * tested in tests/integration/perfetto. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exporters.h"
#include "printed.h"
#include "proto_reader.h"
#include "random_report.h"
#include "sample_reports.h"

enum {
    TRACKS_MAX = 512,
    IIDS_MAX = 65536
};

/* A trace as a consumer reads it. */
struct trace {
    size_t packets, events, samples, instants;
    uint64_t tracks[TRACKS_MAX];
    uint64_t last_ns[TRACKS_MAX]; /* by track: the time of its last slice event */
    int depth[TRACKS_MAX];
    size_t track_count;
    uint64_t flows[64], ended_flows[64];
    size_t flow_count, ended_flow_count;
    bool event_names[IIDS_MAX], annotation_names[IIDS_MAX], frames[IIDS_MAX], callstacks[IIDS_MAX];
};

static uint64_t varint_of(struct proto_field message, uint32_t number)
{
    return proto_find(message.bytes, message.count, number).value;
}

static size_t track_at(const struct trace *trace, uint64_t uuid)
{
    for (size_t i = 0; i < trace->track_count; i++) {
        if (trace->tracks[i] == uuid) {
            return i;
        }
    }
    fail_msg("an event of track %llu, which is not described before it", (unsigned long long)uuid);
    return 0;
}

static void take_interned(struct trace *trace, struct proto_field interned)
{
    struct proto_reader reader = proto_reader_of(interned.bytes, interned.count);
    struct proto_field entry;
    while (proto_reader_next(&reader, &entry)) {
        uint64_t iid = varint_of(entry, 1);
        assert_true(iid > 0 && iid < IIDS_MAX);
        bool *table = entry.number == 2   ? trace->event_names
                      : entry.number == 3 ? trace->annotation_names
                      : entry.number == 6 ? trace->frames
                      : entry.number == 7 ? trace->callstacks
                                          : NULL;
        if (table != NULL) {
            assert_false(table[iid]); /* each is written only once */
            table[iid] = true;
        }
        if (entry.number == 7) {
            struct proto_reader frames = proto_reader_of(entry.bytes, entry.count);
            struct proto_field frame;
            while (proto_reader_next(&frames, &frame)) {
                assert_true(frame.number != 2 || trace->frames[frame.value]);
            }
        }
    }
}

static void take_event(struct trace *trace, struct proto_field event, uint64_t at_ns)
{
    uint64_t type = varint_of(event, 9);
    size_t track = track_at(trace, varint_of(event, 11));
    if (type == 1 || type == 2) {
        assert_true(at_ns >= trace->last_ns[track]); /* the slices of a track are in order */
        trace->last_ns[track] = at_ns;
        trace->depth[track] += type == 1 ? 1 : -1;
        assert_true(trace->depth[track] >= 0);
    }
    trace->instants += type == 3;
    bool named = type == 2 || type == 4;
    struct proto_reader reader = proto_reader_of(event.bytes, event.count);
    struct proto_field field;
    while (proto_reader_next(&reader, &field)) {
        named |= field.number == 23 || (field.number == 10 && trace->event_names[field.value]);
        assert_true(field.number != 56 || trace->callstacks[field.value]);
        assert_true(field.number != 4 || trace->annotation_names[varint_of(field, 1)]);
        if (field.number == 47) {
            assert_int_equal(field.wire, 1); /* fixed64 */
            trace->flows[trace->flow_count++ % 64] = field.value;
        } else if (field.number == 48) {
            assert_int_equal(field.wire, 1);
            trace->ended_flows[trace->ended_flow_count++ % 64] = field.value;
        }
    }
    assert_true(named);
    trace->events++;
}

static struct trace *trace_of(struct report_fixture *fixture)
{
    size_t count;
    char *bytes = printed(sbx_print_perfetto, report_fixture_report(fixture), &count);
    struct trace *trace = calloc(1, sizeof *trace);
    assert_non_null(trace);
    struct proto_reader reader = proto_reader_of(bytes, count);
    struct proto_field packet;
    while (proto_reader_next(&reader, &packet)) {
        assert_int_equal(packet.number, 1);
        assert_int_equal(varint_of(packet, 13), trace->packets++ == 0 ? 1 : 2);
        assert_int_equal(varint_of(packet, 10), 1);
        struct proto_field field = proto_find(packet.bytes, packet.count, 12);
        if (field.number != 0) {
            take_interned(trace, field);
        }
        field = proto_find(packet.bytes, packet.count, 60);
        if (field.number != 0) {
            assert_true(trace->track_count < TRACKS_MAX);
            uint64_t parent = varint_of(field, 5);
            assert_true(parent == 0 || trace->tracks[track_at(trace, parent)] == parent);
            trace->tracks[trace->track_count++] = varint_of(field, 1);
        }
        field = proto_find(packet.bytes, packet.count, 11);
        if (field.number != 0) {
            take_event(trace, field, varint_of(packet, 8));
        }
        field = proto_find(packet.bytes, packet.count, 66);
        if (field.number != 0) {
            assert_true(trace->callstacks[varint_of(field, 4)]);
            trace->samples++;
        }
    }
    for (size_t i = 0; i < trace->track_count; i++) {
        assert_int_equal(trace->depth[i], 0); /* every slice that begins also ends */
    }
    free(bytes);
    return trace;
}

static void test_samples_of_every_kind_of_stall_are_sound_traces(void **state)
{
    (void)state;
    struct report_fixture *fixtures[] = {sample_sleep(), sample_script(), sample_lock(), sample_unanswered()};
    for (size_t i = 0; i < sizeof fixtures / sizeof fixtures[0]; i++) {
        struct trace *trace = trace_of(fixtures[i]);
        assert_true(trace->events > 100);
        assert_true(trace->samples > 10);
        free(trace);
        report_fixture_destroy(fixtures[i]);
    }
}

static void test_a_lock_wait_points_at_its_holder_and_its_waker_at_its_end(void **state)
{
    (void)state;
    struct report_fixture *fixture = sample_lock();
    struct trace *trace = trace_of(fixture);
    assert_int_equal(trace->flow_count, 2);
    assert_int_equal(trace->ended_flow_count, 2);
    assert_int_equal(trace->flows[0], trace->ended_flows[0]);
    assert_int_equal(trace->flows[1], trace->ended_flows[1]);
    assert_int_equal(trace->instants, 4); /* the marks of holder and waker, the end of the wait, and the trigger */
    free(trace);
    report_fixture_destroy(fixture);
}

static void test_a_stall_without_records_still_has_its_verdict(void **state)
{
    (void)state;
    struct report_fixture *fixture = report_fixture_create();
    struct trace *trace = trace_of(fixture);
    assert_int_equal(trace->track_count, 2);
    assert_int_equal(trace->events, 3); /* the interval's begin and end, the trigger */
    free(trace);
    report_fixture_destroy(fixture);
}

static void test_traces_are_sound_whatever_the_records_say(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct report_fixture *fixture = random_report_from_seed(seed, 100);
        free(trace_of(fixture));
        report_fixture_destroy(fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_of_every_kind_of_stall_are_sound_traces),
        cmocka_unit_test(test_a_lock_wait_points_at_its_holder_and_its_waker_at_its_end),
        cmocka_unit_test(test_a_stall_without_records_still_has_its_verdict),
        cmocka_unit_test(test_traces_are_sound_whatever_the_records_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
