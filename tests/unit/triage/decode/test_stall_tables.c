/* SPDX-License-Identifier: Apache-2.0 */
/* test_stall_tables.c - columns that contradict each other are refused, each with its own reason. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "payload_builder.h"
#include "stall.h"
#include "stall_tables.h"

/* Damages one thing in a good payload (the lock scenario: two threads, three modules). */
typedef void damage_function(Stallbox__V1__Payload *payload);

static void assert_refused(damage_function *damage, const char *part_of_why)
{
    struct sbx_payload_builder *builder;
    struct sbx_stall *stall = NULL;
    uint8_t *envelope;
    size_t bytes;
    char why[160] = "";
    assert_true(sbx_scenario_build(SBX_SCENARIO_LOCK, false, 1, &builder));
    damage(sbx_builder_columns(builder));
    sbx_builder_envelope(builder, &envelope, &bytes);
    int result = sbx_stall_decode(envelope, bytes, &stall, why, sizeof why);
    if (strstr(why, part_of_why) == NULL) {
        print_error("expected \"%s\", got %d \"%s\"\n", part_of_why, result, why);
    }
    assert_int_equal(result, -EPROTO);
    assert_non_null(strstr(why, part_of_why));
    assert_null(stall);
    free(envelope);
    sbx_payload_builder_destroy(builder);
}

#define DAMAGE(name, statement)                      \
    static void name(Stallbox__V1__Payload *payload) \
    {                                                \
        statement;                                   \
    }

DAMAGE(short_module_column, payload->modules->n_name--)
DAMAGE(unknown_module_kind, payload->modules->kind[1] = 9)
DAMAGE(short_build_id, payload->modules->build_id[1].len = 7)
DAMAGE(hidden_with_identity, payload->modules->kind[1] = 5)
DAMAGE(short_frame_column, payload->frames->n_exact--)
DAMAGE(frame_of_no_module, payload->frames->module[0] = 6)
DAMAGE(frame_of_the_last_module, payload->frames->module[0] = UINT32_MAX)
DAMAGE(negative_offset, payload->frames->offset[0] = -1)
DAMAGE(huge_offset, payload->frames->offset[0] = INT64_MAX)
/* The columns with function begins; by default no frame has one. */
static uint32_t told[256];

static void tell_functions(Stallbox__V1__Payload *payload, size_t count, uint32_t first, uint32_t second)
{
    assert_true(payload->frames->n_module <= sizeof told / sizeof told[0]);
    payload->frames->function = told;
    payload->frames->n_function = count;
    told[0] = first;
    told[1] = second;
}

DAMAGE(short_function_column, tell_functions(payload, payload->frames->n_module - 1, 0, 0))
DAMAGE(function_before_its_file, tell_functions(payload, payload->frames->n_module, UINT32_MAX, 0))
DAMAGE(function_as_that_of_nothing, tell_functions(payload, payload->frames->n_module, SBX_FUNCTION_SAME, 0))
DAMAGE(function_as_an_unknown_one, tell_functions(payload, payload->frames->n_module, 0, SBX_FUNCTION_SAME))
DAMAGE(short_callstack_column, payload->callstacks->n_parent--)
DAMAGE(callstack_of_no_frame, payload->callstacks->frame[3] = (uint32_t)payload->frames->n_module)
DAMAGE(own_parent, payload->callstacks->parent[3] = UINT32_MAX)
DAMAGE(parent_before_the_first, payload->callstacks->parent[0] = 1)
DAMAGE(short_thread_column, payload->threads->n_call_peer--)
DAMAGE(call_of_ages, payload->threads->call_us[0] = UINT64_MAX)
DAMAGE(call_peer_of_no_thread, payload->threads->call_peer[0] = 3)
DAMAGE(last_stack_of_nothing, payload->threads->last_stack[0] = (uint32_t)payload->callstacks->n_frame + 2)
DAMAGE(short_record_column, payload->records->n_amount--)
DAMAGE(rows_of_more_threads, payload->records->n_thread_rows--)
DAMAGE(more_rows_than_records, payload->records->thread_rows[1] += 1)
DAMAGE(records_of_no_thread, payload->records->thread_rows[1] -= 1)
DAMAGE(wide_kind, payload->records->kind[0] = 256)
DAMAGE(wide_flags, payload->records->flags[0] = 1 << 16)
DAMAGE(record_back_in_time, payload->records->end_us[1] = -1)
DAMAGE(record_at_the_end_of_time, payload->records->end_us[0] = INT64_MAX)
DAMAGE(record_of_ages, payload->records->duration_us[0] = UINT64_MAX)
DAMAGE(record_from_before_time, payload->records->duration_us[0] = UINT64_C(1) << 52)
DAMAGE(negative_cpu, payload->records->cpu_us[0] = -5)
DAMAGE(negative_allocations, payload->records->alloc_count[0] = -5)
DAMAGE(negative_message, payload->records->message[0] = -5)
DAMAGE(stack_of_nothing, payload->records->stack[0] = (uint32_t)payload->callstacks->n_frame + 2)
DAMAGE(short_repeats, payload->records->n_repeats--)
DAMAGE(short_wait, payload->records->n_wait--)
DAMAGE(usage_of_no_row, (payload->records->n_minor_faults = payload->records->n_major_faults = 1,
                         payload->records->n_voluntary_switches = payload->records->n_involuntary_switches = 1,
                         payload->records->minor_faults = payload->records->major_faults = payload->records->amount,
                         payload->records->voluntary_switches = payload->records->amount,
                         payload->records->involuntary_switches = payload->records->amount))
DAMAGE(row_without_usage, payload->records->flags[0] |= SBX_FLAG_USAGE)
DAMAGE(peer_of_no_thread, payload->records->peer[0] = 3)
DAMAGE(trigger_of_no_thread, payload->trigger->thread = 2)
DAMAGE(trigger_of_ages, payload->trigger->duration_us = UINT64_MAX)
DAMAGE(no_trigger, payload->trigger = NULL)
DAMAGE(no_threads, payload->threads = NULL)

/* Runtimes as a newer recorder would report them: one more than exist now, of an unknown kind. */
static void tell_runtimes(Stallbox__V1__Payload *payload, size_t versions)
{
    static Stallbox__V1__Runtimes runtimes;
    static uint32_t kinds[5] = {SBX_RUNTIME_PYTHON, 9}, states[5] = {SBX_RUNTIME_LEFT_ALONE}, majors[5] = {3},
                    minors[5] = {8};
    stallbox__v1__runtimes__init(&runtimes);
    runtimes.n_kind = runtimes.n_state = runtimes.n_major = 5;
    runtimes.n_minor = versions;
    runtimes.kind = kinds;
    runtimes.state = states;
    runtimes.major = majors;
    runtimes.minor = minors;
    payload->runtimes = &runtimes;
}
DAMAGE(short_runtime_column, tell_runtimes(payload, 4))

static void test_contradictions_are_refused_with_their_reason(void **state)
{
    (void)state;
    assert_refused(short_module_column, "Modules differ in length");
    assert_refused(unknown_module_kind, "module 1 has kind 9");
    assert_refused(short_build_id, "build-id of 7 bytes");
    assert_refused(hidden_with_identity, "hidden but has an identity");
    assert_refused(short_frame_column, "Frames differ in length");
    assert_refused(frame_of_no_module, "names module 6 of 3");
    assert_refused(frame_of_the_last_module, "names module 4294967295 of 3");
    assert_refused(negative_offset, "has offset");
    assert_refused(huge_offset, "has offset");
    assert_refused(short_function_column, "Frames differ in length");
    assert_refused(function_before_its_file, "frame 0 lies in no function");
    assert_refused(function_as_that_of_nothing, "frame 0 lies in no function");
    assert_refused(function_as_an_unknown_one, "frame 1 lies in no function");
    assert_refused(short_callstack_column, "Callstacks differ in length");
    assert_refused(callstack_of_no_frame, "callstack 4 names frame");
    assert_refused(own_parent, "callstack 4 has a parent");
    assert_refused(parent_before_the_first, "callstack 1 has a parent");
    assert_refused(short_thread_column, "Threads differ in length");
    assert_refused(call_of_ages, "thread 0 is in a call");
    assert_refused(call_peer_of_no_thread, "thread 0 waits for thread 3");
    assert_refused(last_stack_of_nothing, "thread 0 has callstack");
    assert_refused(short_record_column, "Records differ in length");
    assert_refused(short_repeats, "Records differ in length");
    assert_refused(short_wait, "Records differ in length");
    assert_refused(usage_of_no_row, "belong to no record");
    assert_refused(row_without_usage, "has no faults");
    assert_refused(rows_of_more_threads, "rows of 1 threads");
    assert_refused(more_rows_than_records, "records");
    assert_refused(records_of_no_thread, "belong to no thread");
    assert_refused(wide_kind, "kind 256");
    assert_refused(wide_flags, "flags 65536");
    assert_refused(record_back_in_time, "ends before");
    assert_refused(record_at_the_end_of_time, "impossible time");
    assert_refused(record_of_ages, "impossible time");
    assert_refused(record_from_before_time, "impossible time");
    assert_refused(negative_cpu, "impossible CPU time");
    assert_refused(negative_allocations, "negative counter");
    assert_refused(negative_message, "negative counter");
    assert_refused(stack_of_nothing, "record 0 has callstack");
    assert_refused(peer_of_no_thread, "record 0 names thread");
    assert_refused(short_runtime_column, "Runtimes differ in length");
    assert_refused(trigger_of_no_thread, "trigger names thread 2");
    assert_refused(trigger_of_ages, "impossible");
    assert_refused(no_trigger, "no trigger");
    assert_refused(no_threads, "rows of 2 threads, there are 0");
}

/* A chain of `depth` callstacks of one frame. */
static int decode_chain(size_t depth, bool end_marker_inside, char *why, size_t why_bytes)
{
    struct sbx_payload_builder *builder = sbx_payload_builder_create(1);
    static struct sbx_build_frame frames[SBX_STALL_DEPTH_MAX + 8];
    static const uint8_t build_id[20] = {1};
    struct sbx_stall *stall = NULL;
    uint8_t *envelope;
    size_t bytes;
    int32_t module = sbx_builder_module(builder, SBX_MODULE_KIND_APP, build_id, sizeof build_id, NULL);
    sbx_builder_thread(builder, "main", 1);
    for (size_t i = 0; i < depth; i++) {
        frames[i] = (struct sbx_build_frame){module, 64, false};
    }
    if (end_marker_inside) {
        frames[depth / 2] = (struct sbx_build_frame){SBX_BUILD_END, SBX_WALK_NO_ROW, false};
    }
    uint32_t stack = sbx_builder_stack(builder, frames, depth);
    sbx_builder_record(builder, (struct sbx_build_record){.kind = SBX_RECORD_ASYNC, .stack = stack});
    sbx_builder_envelope(builder, &envelope, &bytes);
    int result = sbx_stall_decode(envelope, bytes, &stall, why, why_bytes);
    if (result == 0) {
        uint32_t indexes[SBX_STALL_DEPTH_MAX];
        assert_int_equal(sbx_stall_frames(stall, stack, indexes, SBX_STALL_DEPTH_MAX), depth);
        assert_int_equal(sbx_stall_frames(stall, stack, indexes, 3), depth < 3 ? depth : 3);
    }
    sbx_stall_destroy(stall);
    free(envelope);
    sbx_payload_builder_destroy(builder);
    return result;
}

static void test_depth_is_bounded(void **state)
{
    (void)state;
    char why[160];
    assert_int_equal(decode_chain(SBX_STALL_DEPTH_MAX, false, why, sizeof why), 0);
    assert_int_equal(decode_chain(SBX_STALL_DEPTH_MAX + 1, false, why, sizeof why), -EPROTO);
    assert_non_null(strstr(why, "more than 1024 frames"));
}

static void test_end_marker_is_the_outermost(void **state)
{
    (void)state;
    char why[160];
    assert_int_equal(decode_chain(9, true, why, sizeof why), -EPROTO);
    assert_non_null(strstr(why, "behind an end marker"));
}

static void test_where_functions_begin_is_taken_over(void **state)
{
    (void)state;
    struct sbx_payload_builder *builder;
    struct sbx_stall *stall = NULL;
    uint8_t *envelope;
    size_t bytes;
    char why[160] = "";
    assert_true(sbx_scenario_build(SBX_SCENARIO_LOCK, false, 1, &builder));
    Stallbox__V1__Payload *payload = sbx_builder_columns(builder);
    Stallbox__V1__Frames *frames = payload->frames;
    frames->module[1] = frames->module[0];
    frames->offset[2] += frames->offset[1] - 16; /* the third offset stays the same */
    frames->offset[1] = 16;
    tell_functions(payload, frames->n_module, SBX_FUNCTION_BEGINS + 8, SBX_FUNCTION_SAME);
    sbx_builder_envelope(builder, &envelope, &bytes);
    assert_int_equal(sbx_stall_decode(envelope, bytes, &stall, why, sizeof why), 0);
    assert_int_equal(stall->frames[0].function, stall->frames[0].offset - 8);
    assert_int_equal(stall->frames[1].offset, stall->frames[0].offset + 16);
    assert_int_equal(stall->frames[1].function, stall->frames[0].function);
    assert_int_equal(stall->frames[2].function, 0);
    sbx_stall_destroy(stall);
    free(envelope);
    sbx_payload_builder_destroy(builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contradictions_are_refused_with_their_reason),
        cmocka_unit_test(test_where_functions_begin_is_taken_over),
        cmocka_unit_test(test_depth_is_bounded),
        cmocka_unit_test(test_end_marker_is_the_outermost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
