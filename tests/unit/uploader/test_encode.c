/* SPDX-License-Identifier: Apache-2.0 */
/* test_encode.c - a snapshot full of names and addresses to an envelope that has none, and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stallbox/v1/payload.pb-c.h"

#include "encode.h"
#include "envelope.h"
#include "scene.h"
#include "test_folder.h"

/* The payload of a scene, encoded and opened again. */
struct opened {
    uint8_t *envelope, *payload;
    size_t envelope_bytes, payload_bytes;
    struct sbx_envelope header;
    Stallbox__V1__Payload *decoded;
};

static struct opened encode(struct sbx_recording_builder *builder, uint32_t detail_level)
{
    struct opened it = {.envelope = NULL};
    struct sbx_snapshot *snapshot = sbx_recording_read_back(builder);
    struct sbx_redaction redaction = sbx_scene_redaction(detail_level);
    char why[200] = "";
    int result = sbx_encode(snapshot, &redaction, &it.envelope, &it.envelope_bytes, why, sizeof why);
    if (result != 0) {
        fail_msg("%d: %s", result, why);
    }
    assert_int_equal(sbx_envelope_read(it.envelope, it.envelope_bytes, &it.header, why, sizeof why), 0);
    assert_int_equal(sbx_envelope_payload(&it.header, &it.payload, &it.payload_bytes, why, sizeof why), 0);
    it.decoded = stallbox__v1__payload__unpack(NULL, it.payload_bytes, it.payload);
    assert_non_null(it.decoded);
    sbx_snapshot_destroy(snapshot);
    return it;
}

static void close_opened(struct opened *it)
{
    stallbox__v1__payload__free_unpacked(it->decoded, NULL);
    free(it->payload);
    free(it->envelope);
}

static void test_what_was_recorded_comes_back(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    struct opened it = encode(builder, 2);
    const Stallbox__V1__Payload *payload = it.decoded;
    assert_int_equal(payload->format, 1);
    assert_int_equal(payload->payload_id.len, 16);
    assert_memory_equal(payload->payload_id.data, builder->header->snapshot_id, 16);
    assert_memory_equal(it.header.id, builder->header->snapshot_id, 16);
    assert_memory_equal(payload->session_id.data, builder->header->session_id, 16);
    assert_int_equal(payload->app_build_id.len, 20);
    assert_memory_equal(payload->app_build_id.data, builder->modules[SBX_SCENE_APP].build_id, 20);
    assert_int_equal(payload->trigger->kind, SBX_TRIGGER_SLOW_MESSAGE);
    assert_int_equal(payload->trigger->duration_us, 2000000);
    assert_int_equal(payload->trigger->threshold_ms, 1000);
    assert_false(payload->trigger->in_progress);
    assert_int_equal(payload->policy->interval_us, 5000);
    assert_int_equal(payload->policy->anr_ms, 5000);
    assert_int_equal(payload->policy->detail_level, 2);
    assert_int_equal(payload->policy->async_interval_us, 9876);
    assert_int_equal(payload->n_drops, SBX_DROP_COUNT);
    assert_int_equal(payload->drops[SBX_DROP_NESTED], 3);
    assert_int_equal(payload->redactions->modules_hidden, 1);
    assert_int_equal(payload->redactions->records_cut, 1);
    assert_true(payload->platform->arch == 1 || payload->platform->arch == 2);
    assert_true(payload->platform->kernel_major >= 3);

    const Stallbox__V1__Records *records = payload->records;
    assert_int_equal(payload->threads->n_name, 3);
    assert_int_equal(records->n_thread_rows, 3);
    assert_int_equal(records->thread_rows[0], 102);
    assert_int_equal(records->thread_rows[1], 1);
    assert_int_equal(records->thread_rows[2], 1);
    assert_int_equal(records->n_kind, 104);
    int64_t end_us = 0, cpu_us = 0;
    for (int i = 0; i < 101; i++) { /* main: the samples, then the sleep */
        end_us += records->end_us[i];
        cpu_us += records->cpu_us[i];
        assert_true(records->has_cpu[i]);
        assert_int_equal(end_us, i < 100 ? -3000000 + i * 10000 : 0);
        assert_int_equal(cpu_us, i < 100 ? i * 9000 : 901000);
    }
    assert_int_equal(records->kind[100], SBX_RECORD_SLEEP);
    assert_int_equal(records->op[100], SBX_OP_NANOSLEEP);
    assert_int_equal(records->duration_us[100], 2000000);
    assert_int_equal(records->flags[101], SBX_FLAG_AT_TRIGGER);
    assert_int_equal(records->end_us[102], -100000); /* deltas begin anew at the next thread */
    assert_int_equal(records->kind[102], SBX_RECORD_LOCK);
    assert_int_equal(records->peer[102], 1);
    assert_int_equal(records->flags[103], SBX_FD_REGULAR << 8);
    assert_int_equal(records->amount[103], 4096);
    close_opened(&it);
    sbx_recording_builder_destroy(builder);
}

static void test_a_row_without_cpu_time_does_not_break_the_deltas(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    struct sbx_record unread = {.begin_ns = SBX_SCENE_TRIGGER_NS - UINT64_C(2985000000),
                                .thread = SBX_SCENE_MAIN,
                                .end_ns = SBX_SCENE_TRIGGER_NS - UINT64_C(2985000000),
                                .kind = SBX_RECORD_BLOCKED};
    assert_int_equal(sbx_recording_put_observed(builder, SBX_SCENE_WORKER, &unread), 1);
    struct opened it = encode(builder, 1);
    const Stallbox__V1__Records *records = it.decoded->records;
    assert_true(records->has_cpu[1]);
    assert_int_equal(records->cpu_us[1], 9000);
    assert_false(records->has_cpu[2]);
    assert_int_equal(records->cpu_us[2], 0);
    assert_true(records->has_cpu[3]);
    assert_int_equal(records->cpu_us[3], 9000); /* against row 1 */
    close_opened(&it);
    sbx_recording_builder_destroy(builder);
}

static void test_no_string_of_the_process_is_in_the_payload(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    struct opened it = encode(builder, 2);
    for (size_t i = 0; sbx_scene_secrets[i] != NULL; i++) {
        const char *secret = sbx_scene_secrets[i];
        if (sbx_test_contains(it.payload, it.payload_bytes, secret, strlen(secret))) {
            fail_msg("\"%s\" is in the payload", secret);
        }
    }
    close_opened(&it);
    sbx_recording_builder_destroy(builder);
}

static void test_no_address_or_absolute_number_is_in_the_payload(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    struct opened it = encode(builder, 2);
    const uint64_t numbers[] = {
        SBX_SCENE_LOCK,       SBX_SCENE_APP_BASE,     SBX_SCENE_APP_BASE + 0x41234,
        SBX_SCENE_TRIGGER_NS, SBX_SCENE_STARTED_NS,   builder->header->started_real_s,
        UINT64_C(987654321),  UINT64_C(777000000000),
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        uint8_t varint[10], zigzag[10];
        size_t varint_bytes = 0, zigzag_bytes = 0;
        for (uint64_t left = numbers[i]; left != 0; left >>= 7) {
            varint[varint_bytes++] = (uint8_t)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
        }
        for (uint64_t left = numbers[i] << 1; left != 0; left >>= 7) {
            zigzag[zigzag_bytes++] = (uint8_t)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
        }
        assert_false(sbx_test_contains(it.payload, it.payload_bytes, varint, varint_bytes));
        assert_false(sbx_test_contains(it.payload, it.payload_bytes, zigzag, zigzag_bytes));
        assert_false(sbx_test_contains(it.payload, it.payload_bytes, &numbers[i], 6));
    }
    close_opened(&it);
    sbx_recording_builder_destroy(builder);
}

static void test_level_zero_and_a_live_recording_are_refused_with_a_reason(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    struct sbx_snapshot *snapshot = sbx_recording_read_back(builder);
    struct sbx_redaction redaction = sbx_scene_redaction(0);
    uint8_t *envelope;
    size_t bytes;
    char why[200];
    assert_int_equal(sbx_encode(snapshot, &redaction, &envelope, &bytes, why, sizeof why), -EPERM);
    assert_string_equal(why, "detail level 0: nothing may leave");
    redaction.detail_level = 1;
    memset(snapshot->header.snapshot_id, 0, 16);
    assert_int_equal(sbx_encode(snapshot, &redaction, &envelope, &bytes, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "live recording"));
    assert_int_equal(sbx_encode(snapshot, &redaction, &envelope, &bytes, NULL, 0), -EINVAL);
    sbx_snapshot_destroy(snapshot);
    sbx_recording_builder_destroy(builder);
}

static void test_too_much_history_is_cut_from_its_old_end_until_it_fits(void **state)
{
    (void)state;
    enum {
        COUNT = 400000
    };
    struct sbx_recording_builder *builder = sbx_scene_create();
    struct sbx_snapshot *snapshot = sbx_recording_read_back(builder);
    struct sbx_record *own = snapshot->records;
    uint32_t stack = own[0].stack;
    snapshot->records = calloc(COUNT, sizeof *snapshot->records);
    assert_non_null(snapshot->records);
    snapshot->record_count = COUNT;
    uint64_t noise = 1;
    for (size_t i = 0; i < COUNT; i++) { /* numbers that do not compress */
        noise = noise * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t at = SBX_SCENE_TRIGGER_NS - (COUNT - 1 - i) * 20000;
        snapshot->records[i] = (struct sbx_record){.begin_ns = at - (noise >> 44),
                                                   .end_ns = at,
                                                   .amount = noise >> 30,
                                                   .stack = stack,
                                                   .kind = SBX_RECORD_FILE,
                                                   .op = SBX_OP_READ};
    }
    struct sbx_redaction redaction = sbx_scene_redaction(1);
    struct opened it = {.envelope = NULL};
    char why[200] = "";
    assert_int_equal(sbx_encode(snapshot, &redaction, &it.envelope, &it.envelope_bytes, why, sizeof why), 0);
    assert_true(it.envelope_bytes <= SBX_ENVELOPE_BYTES_MAX);
    assert_true(it.envelope_bytes > SBX_ENVELOPE_BYTES_MAX / 2); /* and no more than needed */
    assert_int_equal(sbx_envelope_read(it.envelope, it.envelope_bytes, &it.header, why, sizeof why), 0);
    assert_int_equal(sbx_envelope_payload(&it.header, &it.payload, &it.payload_bytes, why, sizeof why), 0);
    it.decoded = stallbox__v1__payload__unpack(NULL, it.payload_bytes, it.payload);
    size_t kept = it.decoded->records->n_kind;
    assert_int_equal(it.decoded->redactions->records_cut, COUNT - kept);
    int64_t end_us = 0;
    for (size_t i = 0; i < kept; i++) {
        end_us += it.decoded->records->end_us[i];
    }
    assert_int_equal(end_us, 0);                                                 /* the newest is there */
    assert_int_equal(it.decoded->records->end_us[0], -(int64_t)(kept - 1) * 20); /* and none between is missing */
    close_opened(&it);
    free(snapshot->records);
    snapshot->records = own;
    snapshot->record_count = 0;
    sbx_snapshot_destroy(snapshot);
    sbx_recording_builder_destroy(builder);
}

static void test_a_recording_without_threads_or_records_is_still_a_payload(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_recording_builder_create(SBX_RECORDING_SHAPE_SMALL, NULL);
    struct sbx_trigger_entry trigger = {.kind = SBX_TRIGGER_MANUAL, .end_ns = 1000000000};
    sbx_recording_set_trigger(builder, &trigger);
    struct opened it = encode(builder, 1);
    assert_int_equal(it.decoded->trigger->kind, SBX_TRIGGER_MANUAL);
    assert_int_equal(it.decoded->records->n_kind, 0);
    assert_int_equal(it.decoded->app_build_id.len, 0);
    close_opened(&it);
    sbx_recording_builder_destroy(builder);
}

static void test_runs_waits_usage_and_cuts_leave_as_relative_numbers(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    const struct sbx_built_frame frames[] = {{SBX_SCENE_APP, 0x1000, 0}, {SBX_MODULE_CUT, 0, 0}};
    uint32_t stack = sbx_recording_add_stack(builder, frames, 2, SBX_WALK_COMPLETE);
    for (uint64_t i = 0; i < 3; i++) { /* of the worker, behind its one record */
        struct sbx_record record = {.begin_ns = SBX_SCENE_TRIGGER_NS - 30000000 + i * 2000000,
                                    .end_ns = SBX_SCENE_TRIGGER_NS - 29000000 + i * 2000000,
                                    .thread = SBX_SCENE_WORKER,
                                    .stack = stack,
                                    .kind = SBX_RECORD_LEAF,
                                    .op = SBX_OP_READ,
                                    .repeats = (uint32_t)i,
                                    .wait = i == 1 ? 0 : 0xdead0000,
                                    .flags = i == 1 ? 0 : SBX_FLAG_USAGE,
                                    .minor_faults = 1000000 + (uint32_t)i,
                                    .major_faults = 2000000 + (uint32_t)i * 2,
                                    .voluntary_switches = 3000000 + (uint32_t)i * 3,
                                    .involuntary_switches = 4000000};
        assert_int_equal(sbx_recording_put(builder, &record), 1);
    }
    struct opened it = encode(builder, 1);
    const Stallbox__V1__Records *records = it.decoded->records;
    size_t first = records->thread_rows[0] + 1;
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(records->kind[first + i], SBX_RECORD_LEAF);
        assert_int_equal(records->repeats[first + i], i);
        assert_int_equal(records->wait[first + i], i == 1 ? 0 : 1); /* an ordinal, and the same for both */
        assert_int_equal(records->flags[first + i], i == 1 ? 0 : SBX_FLAG_USAGE);
    }
    assert_int_equal(records->n_minor_faults, 2);
    assert_int_equal(records->minor_faults[0], 0); /* the first reading is what the others are relative to */
    assert_int_equal(records->minor_faults[1], 2);
    assert_int_equal(records->major_faults[1], 4);
    assert_int_equal(records->voluntary_switches[1], 6);
    assert_int_equal(records->involuntary_switches[1], 0);
    uint32_t row = records->stack[first];
    uint32_t outer = row - it.decoded->callstacks->parent[row - 1];
    assert_int_equal(it.decoded->frames->module[it.decoded->callstacks->frame[outer - 1]],
                     it.decoded->modules->n_kind + 2);
    close_opened(&it);
    sbx_recording_builder_destroy(builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_waits_usage_and_cuts_leave_as_relative_numbers),
        cmocka_unit_test(test_what_was_recorded_comes_back),
        cmocka_unit_test(test_a_row_without_cpu_time_does_not_break_the_deltas),
        cmocka_unit_test(test_no_string_of_the_process_is_in_the_payload),
        cmocka_unit_test(test_no_address_or_absolute_number_is_in_the_payload),
        cmocka_unit_test(test_level_zero_and_a_live_recording_are_refused_with_a_reason),
        cmocka_unit_test(test_too_much_history_is_cut_from_its_old_end_until_it_fits),
        cmocka_unit_test(test_a_recording_without_threads_or_records_is_still_a_payload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
