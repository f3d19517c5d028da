/* SPDX-License-Identifier: Apache-2.0 */
/* test_stall_decode.c - the content of a payload is decoded unchanged. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "payload_builder.h"
#include "stall.h"

static struct sbx_stall *decode(struct sbx_payload_builder *builder)
{
    uint8_t *envelope;
    size_t bytes;
    struct sbx_stall *stall = NULL;
    char why[160] = "";
    sbx_builder_envelope(builder, &envelope, &bytes);
    if (sbx_stall_decode(envelope, bytes, &stall, why, sizeof why) != 0) {
        fail_msg("refused: %s", why);
    }
    free(envelope);
    return stall;
}

/* A payload that reports only how a stall ended. */
static struct sbx_payload_builder *build_end(uint8_t first_id[16], uint32_t how)
{
    struct sbx_payload_builder *builder = sbx_payload_builder_create(9);
    Stallbox__V1__Payload *payload = sbx_builder_payload(builder);
    payload->completes = (ProtobufCBinaryData){.len = 16, .data = first_id};
    payload->trigger->kind = SBX_TRIGGER_END;
    payload->trigger->duration_us = 9000000;
    payload->trigger->ended = how;
    payload->trigger->signal = 9;
    return builder;
}

/* The decoded stall, or NULL when it is refused. */
static struct sbx_stall *decode_or_null(struct sbx_payload_builder *builder)
{
    uint8_t *envelope;
    size_t bytes;
    struct sbx_stall *stall = NULL;
    char why[160] = "";
    sbx_builder_envelope(builder, &envelope, &bytes);
    int result = sbx_stall_decode(envelope, bytes, &stall, why, sizeof why);
    free(envelope);
    assert_true(result == 0 || (result == -EPROTO && why[0] != '\0' && stall == NULL));
    return stall;
}

static void test_a_stall_is_completed_by_its_own_end_and_once(void **state)
{
    (void)state;
    struct sbx_payload_builder *first = sbx_payload_builder_create(3);
    sbx_builder_thread(first, "main", 3);
    sbx_builder_payload(first)->trigger->in_progress = true;
    sbx_builder_payload(first)->trigger->duration_us = 5000000;
    struct sbx_stall *stall = decode(first);
    struct sbx_payload_builder *builder = build_end(stall->payload_id, SBX_END_DIED);
    struct sbx_stall *end = decode(builder);
    assert_true(sbx_stall_is_end(end) && !sbx_stall_is_end(stall));
    assert_int_equal(sbx_stall_lasted_ns(stall), INT64_C(5000000000));
    end->completes[0] ^= 1; /* another snapshot */
    assert_false(sbx_stall_complete(stall, end));
    end->completes[0] ^= 1;
    memcpy(end->session_id, stall->session_id, sizeof end->session_id);
    end->session_id[0] ^= 1; /* of another process */
    assert_false(sbx_stall_complete(stall, end));
    end->session_id[0] ^= 1;
    assert_false(sbx_stall_complete(end, end));
    assert_false(sbx_stall_complete(stall, stall));
    assert_true(sbx_stall_complete(stall, end));
    assert_false(sbx_stall_complete(stall, end));
    assert_int_equal(stall->end.how, SBX_END_DIED);
    assert_int_equal(stall->end.signal, 9);
    assert_int_equal(sbx_stall_lasted_ns(stall), INT64_C(9000000000));
    assert_int_equal(stall->trigger.duration_ns, INT64_C(5000000000)); /* as long as it was observed */
    sbx_stall_destroy(end);
    sbx_stall_destroy(stall);
    sbx_payload_builder_destroy(builder);
    sbx_payload_builder_destroy(first);
}

static void test_an_end_that_is_none_is_refused(void **state)
{
    (void)state;
    uint8_t first_id[16] = {1};
    struct sbx_payload_builder *builder = build_end(first_id, SBX_END_NONE);
    assert_null(decode_or_null(builder)); /* how it ended is missing */
    sbx_payload_builder_destroy(builder);
    builder = build_end(first_id, SBX_END_ANSWERED);
    sbx_builder_payload(builder)->completes.len = 15;
    assert_null(decode_or_null(builder)); /* the stall that it ends is missing */
    sbx_payload_builder_destroy(builder);
    builder = build_end(first_id, SBX_END_ANSWERED);
    sbx_builder_thread(builder, "main", 3);
    assert_null(decode_or_null(builder)); /* contains more than an end */
    sbx_payload_builder_destroy(builder);
    builder = build_end(first_id, SBX_END_ANSWERED);
    sbx_builder_thread(builder, "main", 3);
    sbx_builder_payload(builder)->trigger->kind = SBX_TRIGGER_ANR;
    assert_null(decode_or_null(builder)); /* a stall that names another */
    sbx_payload_builder_destroy(builder);
}

static void test_every_field_of_a_record_comes_back(void **state)
{
    (void)state;
    static const uint8_t build_id[20] = {9, 8, 7};
    struct sbx_payload_builder *builder = sbx_payload_builder_create(3);
    int32_t module = sbx_builder_module(builder, SBX_MODULE_KIND_APP, build_id, sizeof build_id, NULL);
    sbx_builder_thread(builder, "main", 3);
    sbx_builder_thread(builder, "worker-12", 4);
    struct sbx_build_frame frames[] = {{module, 0x500, true},
                                       {module, 0x123456, false},
                                       {SBX_BUILD_GENERATED, 0, false},
                                       {SBX_BUILD_END, SBX_WALK_TOO_DEEP, false}};
    uint32_t stack = sbx_builder_stack(builder, frames, 4);
    sbx_builder_record(builder, (struct sbx_build_record){.thread = 1,
                                                          .kind = SBX_RECORD_ALLOC,
                                                          .op = SBX_OP_MALLOC,
                                                          .begin_us = -900,
                                                          .end_us = -900,
                                                          .cpu_us = 50,
                                                          .stack = stack,
                                                          .alloc_count = 10,
                                                          .alloc_bytes = 1000});
    sbx_builder_record(builder, (struct sbx_build_record){.thread = 1,
                                                          .kind = SBX_RECORD_FILE,
                                                          .op = SBX_OP_READ,
                                                          .fd_class = SBX_FD_PIPE,
                                                          .flags = SBX_FLAG_FAILED,
                                                          .begin_us = -800,
                                                          .end_us = 20,
                                                          .stack = UINT32_MAX,
                                                          .message = 77,
                                                          .amount = 4096,
                                                          .object = 3,
                                                          .peer = 1,
                                                          .alloc_count = 9,
                                                          .alloc_bytes = 5000});
    sbx_builder_record(builder, (struct sbx_build_record){.thread = 1,
                                                          .kind = SBX_RECORD_ASYNC,
                                                          .begin_us = 30,
                                                          .end_us = 30,
                                                          .cpu_us = 70,
                                                          .stack = stack,
                                                          .message = 5});
    sbx_builder_thread_call(builder, 1, (struct sbx_build_call){SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, 1, 2, 1234});
    struct sbx_stall *stall = decode(builder);

    assert_int_equal(stall->thread_count, 2);
    assert_true(stall->threads[0].is_main && stall->threads[0].runs_loop && !stall->threads[0].ended);
    assert_string_equal(stall->threads[0].name, "main");
    assert_true(stall->threads[1].ended && !stall->threads[1].is_main);
    assert_string_equal(stall->threads[1].name, "worker-#");
    assert_int_equal(stall->threads[1].call_kind, SBX_RECORD_LOCK);
    assert_int_equal(stall->threads[1].call_op, SBX_OP_MUTEX_LOCK);
    assert_int_equal(stall->threads[1].call_peer, 0);
    assert_int_equal(stall->threads[1].call_object, 2);
    assert_int_equal(stall->threads[1].call_ns, 1234000);
    assert_int_equal(stall->threads[0].call_peer, -1);
    assert_int_equal(stall->threads[1].record_begin, 0);
    assert_int_equal(stall->threads[1].record_count, 3);
    assert_int_equal(stall->threads[1].last_stack, stack);

    const struct sbx_stall_record *record = &stall->records[0];
    assert_int_equal(record->begin_ns, -900000);
    assert_int_equal(record->end_ns, -900000);
    assert_int_equal(record->cpu_ns, 50000);
    assert_int_equal(record->alloc_count, 10);
    assert_int_equal(record->stack, stack);
    assert_int_equal(record->peer, -1);
    record = &stall->records[1];
    assert_int_equal(record->begin_ns, -800000);
    assert_int_equal(record->end_ns, 20000);
    assert_int_equal(record->cpu_ns, -1);
    assert_int_equal(record->alloc_count, 9);
    assert_int_equal(record->alloc_bytes, 5000);
    assert_int_equal(record->message, 77);
    assert_int_equal(record->amount, 4096);
    assert_int_equal(record->object, 3);
    assert_int_equal(record->peer, 0);
    assert_int_equal(record->kind, SBX_RECORD_FILE);
    assert_int_equal(record->op, SBX_OP_READ);
    assert_int_equal(record->fd_class, SBX_FD_PIPE);
    assert_int_equal(record->flags, SBX_FLAG_FAILED);
    assert_true(record->stack_lost && record->stack == 0);
    assert_int_equal(stall->records[2].cpu_ns, 70000);
    assert_int_equal(stall->records[2].message, 5);

    uint32_t indexes[8];
    assert_int_equal(sbx_stall_frames(stall, stack, indexes, 8), 4);
    const struct sbx_stall_frame *frame = &stall->frames[indexes[0]];
    assert_true(frame->kind == SBX_FRAME_CODE && frame->exact && frame->offset == 0x500 && frame->module == 0);
    frame = &stall->frames[indexes[1]];
    assert_true(frame->kind == SBX_FRAME_CODE && !frame->exact && frame->offset == 0x123456);
    assert_int_equal(stall->frames[indexes[2]].kind, SBX_FRAME_GENERATED);
    assert_int_equal(stall->frames[indexes[3]].kind, SBX_FRAME_END);
    assert_int_equal(stall->frames[indexes[3]].offset, SBX_WALK_TOO_DEEP);
    assert_int_equal(sbx_stall_frames(stall, 0, indexes, 8), 0);
    assert_int_equal(sbx_stall_frames(stall, stack + 1, indexes, 8), 0);
    sbx_stall_destroy(stall);
    sbx_payload_builder_destroy(builder);
}

static void test_circumstances_come_back(void **state)
{
    (void)state;
    struct sbx_payload_builder *builder;
    assert_true(sbx_scenario_build(SBX_SCENARIO_ANR_ASLEEP, false, 11, &builder));
    Stallbox__V1__Payload *payload = sbx_builder_payload(builder);
    payload->drops[SBX_DROP_TORN_CHUNK] = 12;
    payload->redactions->records_cut = 34;
    payload->policy->seq = UINT64_C(1) << 40;
    struct sbx_stall *stall = decode(builder);
    assert_memory_equal(stall->payload_id, payload->payload_id.data, 16);
    assert_int_equal(strlen(stall->payload_id_text), 32);
    assert_int_equal(stall->trigger.kind, SBX_TRIGGER_ANR);
    assert_int_equal(stall->trigger.duration_ns, INT64_C(5000000000));
    assert_int_equal(stall->trigger.history_ns, INT64_C(5900000000));
    assert_int_equal(stall->trigger.threshold_ms, 5000);
    assert_true(stall->trigger.in_progress);
    assert_int_equal(stall->app_version[0], 7);
    assert_int_equal(stall->app_version[2], 15);
    assert_int_equal(stall->app_build_id_bytes, 20);
    assert_memory_equal(stall->app_build_id, stall->modules[0].build_id, 20);
    assert_int_equal(stall->drops[SBX_DROP_TORN_CHUNK], 12);
    assert_int_equal(stall->redactions.records_cut, 34);
    assert_int_equal(stall->policy.seq, UINT64_C(1) << 40);
    assert_int_equal(stall->policy.async_interval_us, 10000);
    assert_int_equal(stall->platform.os_major, 12);
    assert_string_equal(stall->modules[1].name, "libc.so.6");
    assert_null(stall->modules[0].name);
    sbx_stall_destroy(stall);
    sbx_payload_builder_destroy(builder);
}

static void test_a_payload_without_weight_stands_for_itself_and_none_for_more_than_the_wire_allows(void **state)
{
    (void)state;
    static const struct {
        bool is_told;
        uint64_t weight;
        uint32_t one_in, read_weight, read_one_in;
    } cases[] = {{false, 0, 0, 1, 1},
                 {true, 0, 0, 1, 1},
                 {true, 1061, 1024, 1061, 1024},
                 {true, SBX_WEIGHT_MAX, SBX_WEIGHT_MAX, SBX_WEIGHT_MAX, SBX_WEIGHT_MAX},
                 {true, UINT64_MAX, UINT32_MAX, SBX_WEIGHT_MAX, SBX_WEIGHT_MAX}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Stallbox__V1__Sampling sampling = STALLBOX__V1__SAMPLING__INIT;
        Stallbox__V1__Overhead overhead = STALLBOX__V1__OVERHEAD__INIT;
        struct sbx_payload_builder *builder = sbx_payload_builder_create(2);
        sbx_builder_thread(builder, "main", 1);
        sampling.weight = cases[i].weight;
        sampling.one_in = cases[i].one_in;
        overhead.budget_permille = 2;
        overhead.budget_tenths = 5;
        overhead.cost_ppm = 3210;
        overhead.interval_us = 32000;
        overhead.shed = UINT64_MAX;
        sbx_builder_payload(builder)->sampling = cases[i].is_told ? &sampling : NULL;
        sbx_builder_payload(builder)->overhead = &overhead;
        struct sbx_stall *stall = decode(builder);
        assert_int_equal(stall->sampling.weight, cases[i].read_weight);
        assert_int_equal(stall->sampling.one_in, cases[i].read_one_in);
        assert_int_equal(stall->overhead.budget_ppm, 2500);
        assert_int_equal(stall->overhead.cost_ppm, 3210);
        assert_int_equal(stall->overhead.shed, SBX_POINTS_KNOWN); /* unknown bits are dropped */
        assert_int_equal(stall->policy.interval_us, 32000);       /* the distance of samples */
        sbx_stall_destroy(stall);
        sbx_payload_builder_destroy(builder);
    }
}

static void test_other_id_in_the_envelope_is_refused(void **state)
{
    (void)state;
    static const uint8_t other[16] = {1};
    struct sbx_payload_builder *builder;
    struct sbx_stall *stall = NULL;
    uint8_t body[16384], *envelope;
    size_t bytes;
    char why[160];
    assert_true(sbx_scenario_build(SBX_SCENARIO_SLEEP, false, 1, &builder));
    size_t body_bytes = stallbox__v1__payload__pack(sbx_builder_columns(builder), body);
    sbx_build_wrap_body(other, body, body_bytes, &envelope, &bytes);
    assert_int_equal(sbx_stall_decode(envelope, bytes, &stall, why, sizeof why), -EPROTO);
    assert_non_null(strstr(why, "id is not the envelope's"));
    free(envelope);
    sbx_payload_builder_destroy(builder);
}

static void test_newer_format_is_not_supported(void **state)
{
    (void)state;
    struct sbx_payload_builder *builder = sbx_payload_builder_create(1);
    struct sbx_stall *stall = NULL;
    uint8_t *envelope;
    size_t bytes;
    char why[160];
    sbx_builder_thread(builder, "main", 1);
    sbx_builder_payload(builder)->format = 2;
    sbx_builder_envelope(builder, &envelope, &bytes);
    assert_int_equal(sbx_stall_decode(envelope, bytes, &stall, why, sizeof why), -ENOTSUP);
    assert_null(stall);
    assert_int_equal(sbx_stall_decode(envelope, bytes, &stall, NULL, 0), -ENOTSUP); /* nobody asks for the reason */
    free(envelope);
    sbx_payload_builder_destroy(builder);
}

static void test_unknown_fields_of_a_newer_agent_are_skipped(void **state)
{
    (void)state;
    struct sbx_payload_builder *builder;
    struct sbx_stall *stall = NULL;
    uint8_t body[16384], *envelope;
    size_t bytes;
    char why[160];
    assert_true(sbx_scenario_build(SBX_SCENARIO_SLEEP, false, 1, &builder));
    const Stallbox__V1__Payload *payload = sbx_builder_columns(builder);
    size_t body_bytes = stallbox__v1__payload__pack(payload, body);
    static const uint8_t newer[] = {0x98, 0x06, 0x2a}; /* field 99 = 42 */
    memcpy(body + body_bytes, newer, sizeof newer);
    sbx_build_wrap_body(payload->payload_id.data, body, body_bytes + sizeof newer, &envelope, &bytes);
    assert_int_equal(sbx_stall_decode(envelope, bytes, &stall, why, sizeof why), 0);
    sbx_stall_destroy(stall);
    free(envelope);
    sbx_payload_builder_destroy(builder);
}

static void test_runs_waits_usage_and_cuts_come_back(void **state)
{
    (void)state;
    struct sbx_payload_builder *builder = sbx_payload_builder_create(3);
    sbx_builder_thread(builder, "main", 1);
    const struct sbx_build_frame frames[] = {{SBX_BUILD_CUT, 0, false}};
    uint32_t stack = sbx_builder_stack(builder, frames, 1);
    for (uint32_t i = 0; i < 4; i++) {
        sbx_builder_record(builder, (struct sbx_build_record){.kind = SBX_RECORD_LEAF,
                                                              .flags = i % 2 != 0 ? SBX_FLAG_USAGE : 0,
                                                              .begin_us = 100 * i,
                                                              .end_us = 100 * i + 50,
                                                              .stack = stack,
                                                              .repeats = i,
                                                              .wait = i + 5,
                                                              .usage = {1, 20, 300, 4000}});
    }
    struct sbx_stall *stall = decode(builder);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(stall->records[i].repeats, i);
        assert_int_equal(stall->records[i].wait, i + 5);
    }
    assert_int_equal(stall->records[3].minor_faults, 2); /* growth is summed up */
    assert_int_equal(stall->records[3].major_faults, 40);
    assert_int_equal(stall->records[3].voluntary_switches, 600);
    assert_int_equal(stall->records[3].involuntary_switches, 8000);
    assert_int_equal(stall->records[2].minor_faults, 0);
    assert_int_equal(stall->frames[0].kind, SBX_FRAME_CUT);
    sbx_stall_destroy(stall);
    sbx_payload_builder_destroy(builder);
}

static void test_payload_of_an_agent_without_runs_is_read(void **state)
{
    (void)state;
    struct sbx_payload_builder *builder = sbx_payload_builder_create(3);
    sbx_builder_thread(builder, "main", 1);
    sbx_builder_record(builder, (struct sbx_build_record){.kind = SBX_RECORD_ALLOC, .repeats = 3, .wait = 4});
    Stallbox__V1__Payload *payload = sbx_builder_columns(builder);
    payload->records->n_repeats = payload->records->n_wait = 0;
    struct sbx_stall *stall = decode(builder);
    assert_int_equal(stall->records[0].repeats, 0);
    assert_int_equal(stall->records[0].wait, 0);
    sbx_stall_destroy(stall);
    sbx_payload_builder_destroy(builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_waits_usage_and_cuts_come_back),
        cmocka_unit_test(test_payload_of_an_agent_without_runs_is_read),
        cmocka_unit_test(test_a_stall_is_completed_by_its_own_end_and_once),
        cmocka_unit_test(test_an_end_that_is_none_is_refused),
        cmocka_unit_test(test_every_field_of_a_record_comes_back),
        cmocka_unit_test(test_circumstances_come_back),
        cmocka_unit_test(test_a_payload_without_weight_stands_for_itself_and_none_for_more_than_the_wire_allows),
        cmocka_unit_test(test_other_id_in_the_envelope_is_refused),
        cmocka_unit_test(test_newer_format_is_not_supported),
        cmocka_unit_test(test_unknown_fields_of_a_newer_agent_are_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
