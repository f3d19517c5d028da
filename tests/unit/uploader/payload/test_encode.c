/* SPDX-License-Identifier: Apache-2.0 */
/* test_encode.c - from a snapshot full of names and addresses to an envelope without any, and back. */
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
#include "id_table.h"
#include "names.h"
#include "payload_verify.h"
#include "scene.h"
#include "test_folder.h"

/* The payload of a scene, encoded and opened again. */
struct opened {
    uint8_t *envelope, *payload;
    size_t envelope_bytes, payload_bytes;
    struct sbx_envelope header;
    Stallbox__V1__Payload *decoded;
};

/* Not the architecture that this test runs on. */
#ifdef __aarch64__
enum {
    OTHER_ARCHITECTURE = SBX_ARCHITECTURE_X86_64
};
#else
enum {
    OTHER_ARCHITECTURE = SBX_ARCHITECTURE_AARCH64
};
#endif

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

static void test_signal_and_kind_of_fault_of_a_crash_come_back_and_numbers_that_are_none_do_not(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    struct sbx_trigger_entry trigger = {
        .kind = SBX_TRIGGER_CRASH, .end_ns = 1000000000, .signal = 11, .fault = SBX_FAULT_UNMAPPED, .scene = 9};
    sbx_recording_set_trigger(builder, &trigger);
    struct opened it = encode(builder, 1);
    assert_int_equal(it.decoded->trigger->kind, SBX_TRIGGER_CRASH);
    assert_int_equal(it.decoded->trigger->signal, 11);
    assert_int_equal(it.decoded->trigger->fault, SBX_FAULT_UNMAPPED);
    assert_int_equal(it.decoded->trigger->scene, 9);
    close_opened(&it);
    trigger.signal = 0x7fff1234; /* as much of an address as fits */
    trigger.fault = UINT32_MAX;
    trigger.scene = 256;
    sbx_recording_set_trigger(builder, &trigger);
    it = encode(builder, 1);
    assert_int_equal(it.decoded->trigger->signal, 0);
    assert_int_equal(it.decoded->trigger->fault, SBX_FAULT_UNKNOWN);
    assert_int_equal(it.decoded->trigger->scene, 0);
    close_opened(&it);
    sbx_recording_builder_destroy(builder);
}

static void test_what_recording_cost_leaves_as_shares_in_bounds(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    struct sbx_overhead *overhead = &builder->header->overhead;
    *overhead = (struct sbx_overhead){.application_ns = 100000000000,
                                      .watch_ns = 100000000,
                                      .modules_ns = 50000000,
                                      .captures_ns = 200000000,
                                      .calls_ns = 33000000,
                                      .budget_permille = 5,
                                      .budget_tenths = 4,
                                      .window_ppm = 4321,
                                      .interval_us = 2000,
                                      .gap_us = 10000,
                                      .shed = SBX_POINT_BIT(SBX_GROUP_ALLOC),
                                      .changes = 3};
    struct opened it = encode(builder, 1);
    assert_int_equal(it.decoded->overhead->budget_permille, 5);
    assert_int_equal(it.decoded->overhead->budget_tenths, 4);
    assert_int_equal(it.decoded->overhead->cost_ppm, 3330);
    assert_int_equal(it.decoded->overhead->modules_ppm, 500);
    assert_int_equal(it.decoded->overhead->window_ppm, 4321);
    assert_int_equal(it.decoded->overhead->interval_us, 2000);
    assert_int_equal(it.decoded->overhead->gap_us, 10000);
    assert_int_equal(it.decoded->overhead->shed, SBX_POINT_BIT(SBX_GROUP_ALLOC));
    assert_int_equal(it.decoded->overhead->changes, 3);
    assert_null(it.decoded->sampling); /* it was not selected from several */
    close_opened(&it);
    memset(overhead, 0xff, sizeof *overhead); /* as in a damaged recording */
    it = encode(builder, 1);
    assert_int_equal(it.decoded->overhead->budget_permille, 1000);
    assert_int_equal(it.decoded->overhead->budget_tenths, 9);
    assert_int_equal(it.decoded->overhead->window_ppm, 1000000000);
    assert_int_equal(it.decoded->overhead->shed, SBX_POINTS_KNOWN);
    close_opened(&it);
    sbx_recording_builder_destroy(builder);
}

static void test_a_cost_in_time_leaves_in_steps_and_only_while_it_is_small(void **state)
{
    static const struct {
        uint64_t cost_us;
        uint32_t told_ms;
    } cases[] = {{1, 1}, {1000, 1}, {1001, 2}, {4900, 5}, {10001, 20}, {999999, 1000}, {1000001, 0}};
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        builder->header->overhead = (struct sbx_overhead){.application_ns = 1, .watch_ns = cases[i].cost_us * 1000};
        struct opened it = encode(builder, 1);
        assert_int_equal(it.decoded->overhead->cost_ms, cases[i].told_ms);
        close_opened(&it);
    }
    sbx_recording_builder_destroy(builder);
}

static void test_what_the_application_is_called_leaves_as_a_number_and_its_version_as_three(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    struct opened it = encode(builder, 1);
    assert_int_equal(it.decoded->app_name, 0); /* the name was not given */
    assert_int_equal(it.decoded->program, sbx_app_what("payroll-server"));
    assert_int_equal(it.decoded->n_app_version, 0);
    close_opened(&it);
    strcpy(builder->header->app_name, "orders-service");
    builder->header->app_version[0] = 1;
    builder->header->app_version[1] = 4;
    it = encode(builder, 1);
    assert_int_equal(it.decoded->app_name, sbx_app_what("orders-service"));
    assert_int_equal(it.decoded->program, 0); /* one name is enough, so the program is not named */
    assert_true(it.decoded->app_name != sbx_app_what("orders-servicf") && it.decoded->app_name < UINT64_C(1) << 40);
    assert_int_equal(it.decoded->n_app_version, 3);
    assert_int_equal(it.decoded->app_version[1], 4);
    assert_null(memmem(it.payload, it.payload_bytes, "orders", 6));
    close_opened(&it);
    memset(builder->header->app_name, 0xff, sizeof builder->header->app_name); /* damaged: no end */
    memset(builder->header->app_version, 0xff, sizeof builder->header->app_version);
    it = encode(builder, 1);
    assert_int_equal(it.decoded->app_version[2], 999999);
    close_opened(&it);
    sbx_recording_builder_destroy(builder);
}

static void test_what_was_recorded_comes_back(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    builder->header->architecture = OTHER_ARCHITECTURE;
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
    assert_int_equal(payload->trigger->watch, 2);
    const Stallbox__V1__Watches *watches = payload->watches;
    assert_int_equal(watches->n_kind, 2);
    assert_int_equal(watches->kind[0], SBX_WATCH_WATCHDOG);
    assert_int_equal(watches->thread[0], 3);
    assert_int_equal(watches->age_us[0], 300000);
    assert_int_equal(watches->kind[1], SBX_WATCH_DEADLINE);
    assert_int_equal(watches->state[1], SBX_WATCH_OPEN);
    assert_int_equal(watches->thread[1], 1); /* the main thread comes first */
    assert_int_equal(watches->timeout_ms[1], 2000);
    assert_int_equal(watches->age_us[1], 2000000);
    assert_int_equal(watches->what[1], builder->watches[1].what & 0xffffffffff);
    assert_int_equal(payload->policy->interval_us, 5000);
    assert_int_equal(payload->policy->anr_ms, 5000);
    assert_int_equal(payload->policy->detail_level, 2);
    assert_int_equal(payload->policy->async_interval_us, 9876);
    assert_int_equal(payload->n_drops, SBX_DROP_COUNT);
    assert_int_equal(payload->drops[SBX_DROP_NESTED], 3);
    const Stallbox__V1__Runtimes *runtimes = payload->runtimes;
    assert_non_null(runtimes);
    assert_int_equal(runtimes->n_kind, 2);
    assert_int_equal(runtimes->kind[0], SBX_RUNTIME_PYTHON);
    assert_int_equal(runtimes->state[0], SBX_RUNTIME_LEFT_ALONE);
    assert_int_equal(runtimes->major[0], 3);
    assert_int_equal(runtimes->minor[0], 8);
    assert_int_equal(runtimes->kind[1], SBX_RUNTIME_OTHER); /* an unknown value is not passed on */
    assert_int_equal(runtimes->state[1], SBX_RUNTIME_LEFT_ALONE);
    assert_int_equal(runtimes->major[1], 9999);
    assert_int_equal(payload->redactions->modules_hidden, 1);
    assert_int_equal(payload->redactions->records_cut, 1);
    assert_int_equal(payload->platform->arch, OTHER_ARCHITECTURE); /* of the recording, not the encoder */
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
        /* Samples are as exact as the recording stores them; the sleep is exact. */
        assert_in_range((i < 100 ? -3000000 + i * 10000 : 0) - end_us, 0, i < 100 ? 3 : 0);
        assert_in_range((i < 100 ? i * 9000 : 901000) - cpu_us + 4, i < 100 ? 0 : 4, i < 100 ? 8 : 4);
    }
    assert_int_equal(records->kind[100], SBX_RECORD_SLEEP);
    assert_int_equal(records->op[100], SBX_OP_NANOSLEEP);
    assert_int_equal(records->duration_us[100], 2000000);
    assert_int_equal(records->flags[101], SBX_FLAG_AT_TRIGGER);
    assert_int_equal(records->end_us[102], -100000); /* deltas start again at the next thread */
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
    assert_in_range(records->cpu_us[1], 9000 - 4, 9000);
    assert_false(records->has_cpu[2]);
    assert_int_equal(records->cpu_us[2], 0);
    assert_true(records->has_cpu[3]);
    assert_in_range(records->cpu_us[3], 9000 - 4, 9000 + 4); /* relative to row 1 */
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
    for (size_t i = 0; i < COUNT; i++) { /* numbers that cannot be compressed */
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
    assert_true(it.envelope_bytes > SBX_ENVELOPE_BYTES_MAX / 2); /* and not smaller than necessary */
    assert_int_equal(sbx_envelope_read(it.envelope, it.envelope_bytes, &it.header, why, sizeof why), 0);
    assert_int_equal(sbx_envelope_payload(&it.header, &it.payload, &it.payload_bytes, why, sizeof why), 0);
    it.decoded = stallbox__v1__payload__unpack(NULL, it.payload_bytes, it.payload);
    size_t kept = it.decoded->records->n_kind;
    assert_int_equal(it.decoded->redactions->records_cut, COUNT - kept);
    int64_t end_us = 0;
    for (size_t i = 0; i < kept; i++) {
        end_us += it.decoded->records->end_us[i];
    }
    assert_int_equal(end_us, 0);                                                 /* the newest record is there */
    assert_int_equal(it.decoded->records->end_us[0], -(int64_t)(kept - 1) * 20); /* and no record is missing */
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
    assert_int_equal(it.decoded->program, 0);
    close_opened(&it);
    sbx_recording_builder_destroy(builder);
}

static void test_runs_waits_usage_and_cuts_leave_as_relative_numbers(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    const struct sbx_built_frame frames[] = {{SBX_SCENE_APP, 0x1000, 0}, {SBX_MODULE_CUT, 0, 0}};
    uint32_t stack = sbx_recording_add_stack(builder, frames, 2, SBX_WALK_COMPLETE);
    for (uint64_t i = 0; i < 3; i++) { /* of the worker, after its only record */
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
        assert_int_equal(records->wait[first + i], i == 1 ? 0 : 1); /* an ordinal, the same for both */
        assert_int_equal(records->flags[first + i], i == 1 ? 0 : SBX_FLAG_USAGE);
    }
    assert_int_equal(records->n_minor_faults, 2);
    assert_int_equal(records->minor_faults[0], 0); /* the other readings are relative to the first */
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

/* Two functions of a script, one of them at two lines; one frame without a known provider; and the hash of "lua". */
static void test_logical_frames_leave_as_numbers_that_a_provider_made(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    struct sbx_recording_header *header = builder->header;
    uint64_t *ids = (uint64_t *)(void *)((uint8_t *)header + header->ids.at);
    uint32_t run = sbx_id_intern(ids, header->ids.count, UINT64_C(0x0123456789abcdef));
    uint32_t main_chunk = sbx_id_intern(ids, header->ids.count, UINT64_C(0xfedcba9876543210));
    header->provider_count = 1;
    strcpy(header->providers[0].name, "lua");
    const struct sbx_built_frame frames[] = {{SBX_MODULE_LOGICAL, (uint64_t)run << SBX_LOGICAL_LINE_BITS | 7, 0},
                                             {SBX_MODULE_LOGICAL, (uint64_t)run << SBX_LOGICAL_LINE_BITS | 9, 0},
                                             {SBX_MODULE_LOGICAL, (uint64_t)main_chunk << SBX_LOGICAL_LINE_BITS, 1},
                                             {SBX_MODULE_LOGICAL, 3, 0},
                                             {SBX_MODULE_LOGICAL + 1, 3, 0}, /* without a provider */
                                             {SBX_SCENE_APP, 0x1000, 0}};
    struct sbx_record record = {.begin_ns = SBX_SCENE_TRIGGER_NS - 1000,
                                .end_ns = SBX_SCENE_TRIGGER_NS - 1000,
                                .thread = SBX_SCENE_MAIN,
                                .kind = SBX_RECORD_LEAF,
                                .stack = sbx_recording_add_stack(builder, frames, 6, SBX_WALK_COMPLETE)};
    assert_int_equal(sbx_recording_put(builder, &record), 1);
    struct opened it = encode(builder, 2);
    char why[200] = "";
    assert_int_equal(sbx_payload_verify(it.payload, it.payload_bytes, NULL, why, sizeof why), 0);
    const Stallbox__V1__Payload *payload = it.decoded;
    assert_non_null(payload->functions);
    assert_int_equal(payload->functions->n_function_id, 2);
    size_t runtime = 0;
    while (payload->modules->kind[runtime] != 6) {
        runtime++;
        assert_true(runtime < payload->modules->n_kind);
    }
    assert_int_equal(payload->modules->build_id[runtime].len, 8);
    assert_memory_equal(payload->modules->build_id[runtime].data, "\x12\xa9\x91\x19\x1d\xfb\xb0\x01", 8);
    /* From the leaf outwards: function number + 1, and line. */
    const uint64_t expected[] = {7, 9, 0, 3};
    const char *const functions[] = {"\x01\x23\x45\x67\x89\xab\xcd\xef", "\x01\x23\x45\x67\x89\xab\xcd\xef",
                                     "\xfe\xdc\xba\x98\x76\x54\x32\x10", NULL};
    uint32_t row = 0;
    for (size_t i = 0; i < payload->records->n_kind && row == 0; i++) {
        row = payload->records->kind[i] == SBX_RECORD_LEAF ? payload->records->stack[i] : 0;
    }
    assert_true(row != 0);
    for (int i = 0; i < 4; i++, row -= payload->callstacks->parent[row - 1]) {
        uint32_t frame = payload->callstacks->frame[row - 1];
        int64_t offset = 0;
        for (uint32_t j = 0; j <= frame; j++) {
            offset += payload->frames->offset[j];
        }
        assert_int_equal(payload->frames->module[frame], runtime);
        assert_false(payload->frames->exact[frame]);
        assert_int_equal(offset & 0xfffff, expected[i]);
        uint64_t number = (uint64_t)offset >> 20;
        assert_int_equal(number != 0, functions[i] != NULL);
        if (number != 0) {
            assert_memory_equal(payload->functions->function_id[number - 1].data, functions[i], 8);
        }
    }
    assert_int_equal(payload->frames->module[payload->callstacks->frame[row - 1]], payload->modules->n_kind + 1);
    close_opened(&it);
    sbx_recording_builder_destroy(builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_waits_usage_and_cuts_leave_as_relative_numbers),
        cmocka_unit_test(test_signal_and_kind_of_fault_of_a_crash_come_back_and_numbers_that_are_none_do_not),
        cmocka_unit_test(test_logical_frames_leave_as_numbers_that_a_provider_made),
        cmocka_unit_test(test_what_recording_cost_leaves_as_shares_in_bounds),
        cmocka_unit_test(test_a_cost_in_time_leaves_in_steps_and_only_while_it_is_small),
        cmocka_unit_test(test_what_the_application_is_called_leaves_as_a_number_and_its_version_as_three),
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
