/* SPDX-License-Identifier: Apache-2.0 */
/* test_payload_verify.c - everything that must not leave is put into a valid payload, one at a time, and must be
 * found. */
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
#include "payload_verify.h"
#include "scene.h"

/* The bytes of a valid payload. */
static uint8_t *true_payload;
static size_t true_bytes;

static int make_true_payload(void **state)
{
    (void)state;
    struct sbx_recording_builder *builder = sbx_scene_create();
    struct sbx_snapshot *snapshot = sbx_recording_read_back(builder);
    struct sbx_redaction redaction = sbx_scene_redaction(2);
    uint8_t *envelope;
    size_t bytes;
    struct sbx_envelope header;
    if (sbx_encode(snapshot, &redaction, &envelope, &bytes, NULL, 0) != 0 ||
        sbx_envelope_read(envelope, bytes, &header, NULL, 0) != 0 ||
        sbx_envelope_payload(&header, &true_payload, &true_bytes, NULL, 0) != 0) {
        return -1;
    }
    free(envelope);
    sbx_snapshot_destroy(snapshot);
    sbx_recording_builder_destroy(builder);
    return 0;
}

static int free_true_payload(void **state)
{
    (void)state;
    free(true_payload);
    return 0;
}

/* Expect that the bytes are refused and that the reason contains `what`. Checked in a copy of exact size. */
static void assert_refused(const uint8_t *bytes, size_t count, const char *what)
{
    uint8_t *exact = malloc(count == 0 ? 1 : count);
    assert_non_null(exact);
    memcpy(exact, bytes, count);
    char why[200] = "";
    int result = sbx_payload_verify(exact, count, NULL, why, sizeof why);
    free(exact);
    assert_int_equal(result, -EPERM);
    if (strstr(why, what) == NULL) {
        fail_msg("the reason is \"%s\", without \"%s\"", why, what);
    }
}

static void test_a_true_payload_passes_and_its_bytes_add_up(void **state)
{
    (void)state;
    struct sbx_payload_survey survey;
    char why[200] = "";
    assert_int_equal(sbx_payload_verify(true_payload, true_bytes, &survey, why, sizeof why), 0);
    assert_int_equal(survey.bytes, true_bytes);
    uint64_t sum = 0;
    for (size_t i = 0; i < sbx_payload_field_count; i++) {
        sum += survey.fields[i].bytes;
    }
    assert_int_equal(sum, true_bytes);
    assert_int_equal(survey.fields[sbx_payload_field_find(SBX_IN_RECORDS, 2)].values, 104);
    assert_int_equal(survey.fields[sbx_payload_field_find(SBX_IN_TRIGGER, 4)].max, 1000);
}

static void append_and_expect(const void *extra, size_t extra_bytes, const char *what)
{
    uint8_t *bytes = malloc(true_bytes + extra_bytes);
    assert_non_null(bytes);
    memcpy(bytes, true_payload, true_bytes);
    memcpy(bytes + true_bytes, extra, extra_bytes);
    assert_refused(bytes, true_bytes + extra_bytes, what);
    free(bytes);
}

/* Only the end of a stall names another payload, and it contains nothing else. */
static void test_an_end_that_tells_more_and_a_stall_that_names_another_are_refused(void **state)
{
    (void)state;
    Stallbox__V1__Payload *payload = stallbox__v1__payload__unpack(NULL, true_bytes, true_payload);
    assert_non_null(payload);
    uint8_t bytes[16384], id[16] = {1};
    assert_true(stallbox__v1__payload__get_packed_size(payload) + 64 < sizeof bytes);
    payload->completes = (ProtobufCBinaryData){.len = sizeof id, .data = id};
    assert_refused(bytes, stallbox__v1__payload__pack(payload, bytes), "payload.completes");
    payload->trigger->ended = SBX_END_ANSWERED;
    assert_refused(bytes, stallbox__v1__payload__pack(payload, bytes), "payload.completes");
    payload->trigger->kind = SBX_TRIGGER_END;
    assert_refused(bytes, stallbox__v1__payload__pack(payload, bytes), "the end of a stall tells more");
    payload->completes = (ProtobufCBinaryData){.len = 0};
    assert_refused(bytes, stallbox__v1__payload__pack(payload, bytes), "payload.completes");
    stallbox__v1__payload__free_unpacked(payload, NULL);
}

/* Function begins are given for all frames or for none, only for code, and not before the begin of the file. */
static void test_functions_of_hidden_modules_and_of_no_place_are_refused(void **state)
{
    (void)state;
    Stallbox__V1__Payload *payload = stallbox__v1__payload__unpack(NULL, true_bytes, true_payload);
    assert_non_null(payload);
    Stallbox__V1__Frames *frames = payload->frames;
    uint32_t functions[64] = {0}, *before = frames->function;
    size_t count_before = frames->n_function, hidden = SIZE_MAX;
    uint8_t bytes[16384];
    char why[200];
    assert_true(frames->n_module >= 3 && frames->n_module <= 64);
    for (size_t i = 0; i < frames->n_module; i++) {
        bool is_hidden =
            frames->module[i] >= payload->modules->n_kind || payload->modules->kind[frames->module[i]] == 5;
        hidden = is_hidden && hidden == SIZE_MAX ? i : hidden;
    }
    assert_true(hidden != SIZE_MAX && frames->offset[0] > 8 && frames->module[1] == frames->module[0]);
    frames->function = functions;
    frames->n_function = frames->n_module;
    functions[0] = SBX_FUNCTION_BEGINS + 8;
    functions[1] = SBX_FUNCTION_SAME;
    assert_int_equal(sbx_payload_verify(bytes, stallbox__v1__payload__pack(payload, bytes), NULL, why, sizeof why), 0);
    frames->n_function--;
    assert_refused(bytes, stallbox__v1__payload__pack(payload, bytes), "frames.function");
    frames->n_function++;
    functions[0] = SBX_FUNCTION_SAME; /* the same as none before */
    assert_refused(bytes, stallbox__v1__payload__pack(payload, bytes), "frames.function");
    functions[0] = SBX_FUNCTION_UNKNOWN; /* then the second has none before it either */
    assert_refused(bytes, stallbox__v1__payload__pack(payload, bytes), "frames.function");
    functions[0] = SBX_FUNCTION_BEGINS + (uint32_t)frames->offset[0] + 1;
    assert_refused(bytes, stallbox__v1__payload__pack(payload, bytes), "frames.function");
    functions[0] = functions[1] = SBX_FUNCTION_UNKNOWN;
    functions[hidden] = SBX_FUNCTION_BEGINS;
    assert_refused(bytes, stallbox__v1__payload__pack(payload, bytes), "frames.function");
    frames->function = before;
    frames->n_function = count_before;
    stallbox__v1__payload__free_unpacked(payload, NULL);
}

static void test_unknown_fields_are_refused(void **state)
{
    (void)state;
    append_and_expect("\xa2\x06\x04name", 7, "#100");                    /* a string, field 100 */
    append_and_expect("\xf8\xff\xff\xff\x0f\x01", 6, "not in the list"); /* the largest field number */
    append_and_expect("\x00\x01", 2, "#0");
    append_and_expect("\x92\x02\x02\x08\x01", 5, "#34");
}

static void test_known_fields_in_another_shape_are_refused(void **state)
{
    (void)state;
    append_and_expect("\x2a\x04name", 6, "created_day"); /* a string where a number belongs (and a second one) */
    append_and_expect("\x92\x01\x02\x0a\x00", 5, "no identifier"); /* a function id of length 0 */
    append_and_expect("\x92\x01\x0b\x0a\x09"
                      "pay.lua:9",
                      14, "no identifier");                      /* and one that is a position in a script */
    append_and_expect("\x2d\x01\x02\x03\x04", 5, "created_day"); /* fixed32 */
    append_and_expect("\x8a\x01\x04name", 7, "app_version");     /* text as packed numbers: too many, too large, odd */
    append_and_expect("\x88\x01\x01", 3, "app_version");         /* not packed */
    append_and_expect("\x0b", 1, "format");                      /* a group */
    append_and_expect("\x08\x01", 2, "twice");
    append_and_expect("\x22\x07"
                      "1234567",
                      9, "app_build_id");
}

static void test_cut_off_payloads_are_refused(void **state)
{
    (void)state;
    /* Fields 28 and 33 are the last and are optional. */
    const uint8_t *program = memrchr(true_payload, 0xe0, true_bytes),
                  *runtimes = memmem(true_payload, true_bytes, "\x8a\x02", 2);
    assert_true(program != NULL && program[1] == 1 && runtimes > program);
    for (size_t bytes = 0; bytes < true_bytes; bytes++) {
        if (bytes == (size_t)(program - true_payload) || bytes == (size_t)(runtimes - true_payload)) {
            continue;
        }
        uint8_t *exact = malloc(bytes + 1);
        assert_non_null(exact);
        memcpy(exact, true_payload, bytes);
        char why[200];
        struct sbx_payload_survey survey;
        int result = sbx_payload_verify(exact, bytes, &survey, why, sizeof why);
        assert_int_equal(result, -EPERM); /* also between two fields: the last group is then missing or short */
        free(exact);
    }
}

static void test_numbers_not_in_their_shortest_form_are_refused(void **state)
{
    (void)state;
    append_and_expect("\x8a\x01\x02\x81\x00", 5, "shortest"); /* 1 in two bytes */
    append_and_expect("\x8a\x01\x03\x80\x80\x00", 6, "shortest");
    append_and_expect("\x8a\x81\x00\x01\x01", 5, "tag"); /* a tag in three bytes */
    append_and_expect("\x8a\x01\x0b\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 14, "shortest"); /* eleven bytes */
}

/* Change something in the decoded payload, encode it again, and expect that the check names `what`. */
typedef void change(Stallbox__V1__Payload *payload);

static void change_and_expect(change *apply, const char *what)
{
    Stallbox__V1__Payload *payload = stallbox__v1__payload__unpack(NULL, true_bytes, true_payload);
    assert_non_null(payload);
    apply(payload);
    size_t bytes = stallbox__v1__payload__get_packed_size(payload);
    uint8_t *encoded = malloc(bytes);
    assert_non_null(encoded);
    assert_int_equal(stallbox__v1__payload__pack(payload, encoded), bytes);
    assert_refused(encoded, bytes, what);
    free(encoded);
    stallbox__v1__payload__free_unpacked(payload, NULL);
}

/* clang-format off */
static void address_as_amount(Stallbox__V1__Payload *p) { p->records->amount[5] = SBX_SCENE_LOCK; }
static void address_as_call_time(Stallbox__V1__Payload *p) { p->threads->call_us[0] = SBX_SCENE_LOCK; }
static void kernel_address_as_drop(Stallbox__V1__Payload *p) { p->drops[1] = UINT64_C(0xffff888000000000); }
static void address_as_offset(Stallbox__V1__Payload *p) { p->frames->offset[1] = (int64_t)SBX_SCENE_APP_BASE; }
static void negative_offset(Stallbox__V1__Payload *p) { p->frames->offset[0] = -4096; }
static void address_in_two_deltas(Stallbox__V1__Payload *p)
{
    p->records->alloc_bytes[3] = (INT64_C(1) << 40) - 1;
    p->records->alloc_bytes[4] = (INT64_C(1) << 40) - 1;
}
static void address_as_message(Stallbox__V1__Payload *p) { p->records->message[0] = (int64_t)SBX_SCENE_LOCK; }
static void lock_address_as_object(Stallbox__V1__Payload *p) { p->records->object[0] = 0xdeadbeef; }
static void descriptor_as_object(Stallbox__V1__Payload *p) { p->records->object[0] = 1017; }
static void tid_as_peer(Stallbox__V1__Payload *p) { p->records->peer[0] = 71001; }
static void tid_as_call_peer(Stallbox__V1__Payload *p) { p->threads->call_peer[0] = 71001; }
static void seconds_as_day(Stallbox__V1__Payload *p) { p->created_day = 1700000000; }
static void exact_uptime(Stallbox__V1__Payload *p) { p->uptime_bucket = 100000; }
static void rolling_release(Stallbox__V1__Payload *p) { p->platform->os_major = 20240212; }
static void other_format(Stallbox__V1__Payload *p) { p->format = 0; }
static void no_payload_id(Stallbox__V1__Payload *p) { p->payload_id.len = 0; }
static void long_payload_id(Stallbox__V1__Payload *p) { p->payload_id.len = 15; }
static void path_as_build_id(Stallbox__V1__Payload *p)
{
    free(p->app_build_id.data);
    p->app_build_id.data = (uint8_t *)strdup("/home/anna.smith/bin/payroll-server");
    p->app_build_id.len = 33;
}
static void short_build_id(Stallbox__V1__Payload *p) { p->modules->build_id[0].len = 7; }
static void shorter_column(Stallbox__V1__Payload *p) { p->records->n_amount--; }
static void shorter_threads(Stallbox__V1__Payload *p) { p->threads->n_flags--; }
static void missing_column(Stallbox__V1__Payload *p) { p->frames->n_exact = 0; }
static void missing_build_id(Stallbox__V1__Payload *p) { p->modules->n_build_id--; }
static void rows_that_do_not_add_up(Stallbox__V1__Payload *p) { p->records->thread_rows[0]++; }
static void rows_of_too_few_threads(Stallbox__V1__Payload *p)
{
    p->records->thread_rows[0] += p->records->thread_rows[2];
    p->records->n_thread_rows--;
}
static void module_out_of_range(Stallbox__V1__Payload *p) { p->frames->module[0] = 7; }
static void frame_out_of_range(Stallbox__V1__Payload *p) { p->callstacks->frame[0] = (uint32_t)p->frames->n_module; }
static void parent_before_the_first(Stallbox__V1__Payload *p) { p->callstacks->parent[0] = 1; }
static void stack_out_of_range(Stallbox__V1__Payload *p) { p->records->stack[0] = p->callstacks->n_frame + 2; }
static void trigger_of_no_thread(Stallbox__V1__Payload *p) { p->trigger->thread = 3; }
static void unknown_module_name(Stallbox__V1__Payload *p) { p->modules->name[1] = 4000; }
static void unknown_thread_name(Stallbox__V1__Payload *p) { p->threads->name[2] = 4000; }
static void hidden_module_with_name(Stallbox__V1__Payload *p) { p->modules->name[2] = 4; }
static void hidden_module_with_build_id(Stallbox__V1__Payload *p) { p->modules->kind[1] = 5; p->modules->name[1] = 0; }
static void hidden_frame_with_offset(Stallbox__V1__Payload *p) { p->frames->offset[p->frames->n_offset - 1] += 0x9999; }
static void module_without_kind(Stallbox__V1__Payload *p) { p->modules->kind[0] = 0; }
static void unknown_signal(Stallbox__V1__Payload *p) { p->trigger->signal = SBX_SIGNAL_MAX + 1; }
static void address_as_fault(Stallbox__V1__Payload *p) { p->trigger->fault = 0x401000; }
static void runtime_with_a_build_id(Stallbox__V1__Payload *p) { p->modules->kind[0] = 6; }
static void runtime_without_functions(Stallbox__V1__Payload *p)
{
    p->modules->kind[0] = 6;
    p->modules->build_id[0].len = 8;
    p->frames->offset[0] = 1 << 20;
}
static void unknown_trigger(Stallbox__V1__Payload *p) { p->trigger->kind = SBX_TRIGGER_KINDS; }
static void unknown_op(Stallbox__V1__Payload *p) { p->records->op[0] = SBX_OP_MAX; }
static void unknown_flag(Stallbox__V1__Payload *p) { p->records->flags[0] = 0x1000; }
static void wait_of_a_day(Stallbox__V1__Payload *p) { p->records->duration_us[0] = UINT64_C(86400000000); }
static void wait_id_as_wait(Stallbox__V1__Payload *p) { p->records->wait[0] = 0x10000; }
static void usage_without_values(Stallbox__V1__Payload *p) { p->records->flags[0] |= SBX_FLAG_USAGE; }
static void address_as_name(Stallbox__V1__Payload *p) { p->watches->what[0] = UINT64_C(0x7f31a0001234); }
static void watch_of_no_thread(Stallbox__V1__Payload *p) { p->watches->thread[1] = 4; }
static void unknown_watch(Stallbox__V1__Payload *p) { p->watches->kind[0] = 3; }
static void timeout_of_a_week(Stallbox__V1__Payload *p) { p->watches->timeout_ms[0] = 604800000; }
static void shorter_watches(Stallbox__V1__Payload *p) { p->watches->n_state--; }
static void trigger_of_no_watch(Stallbox__V1__Payload *p) { p->trigger->watch = 3; }
static void burst_of_a_thousand(Stallbox__V1__Payload *p) { p->trigger->frames = 1000; }
static void shorter_repeats(Stallbox__V1__Payload *p) { p->records->n_repeats--; }
static void pid_as_process(Stallbox__V1__Payload *p)
{
    p->threads->n_process = p->threads->n_name;
    p->threads->process = calloc(p->threads->n_name, sizeof *p->threads->process);
    p->threads->process[0] = 71001;
}
static void process_without_its_number(Stallbox__V1__Payload *p)
{
    pid_as_process(p);
    p->threads->process[0] = 1;
    p->processes = malloc(sizeof *p->processes);
    stallbox__v1__processes__init(p->processes);
    p->processes->n_role = p->processes->n_session_id = 1;
    p->processes->role = calloc(1, sizeof *p->processes->role);
    p->processes->role[0] = SBX_ROLE_WORKER;
    p->processes->session_id = calloc(1, sizeof *p->processes->session_id);
}
/* clang-format on */

static void test_each_forbidden_thing_is_found(void **state)
{
    (void)state;
    const struct {
        change *apply;
        const char *what;
    } changes[] = {
        {address_as_amount, "records.amount: value 139851"},
        {address_as_call_time, "threads.call_us"},
        {kernel_address_as_drop, "could be an address"},
        {address_as_offset, "could be an address"},
        {negative_offset, "frames.offset"},
        {address_in_two_deltas, "records.alloc_bytes"},
        {address_as_message, "records.message"},
        {lock_address_as_object, "records.object"},
        {descriptor_as_object, "records.object"},
        {tid_as_peer, "records.peer"},
        {tid_as_call_peer, "threads.call_peer"},
        {pid_as_process, "threads.process"},
        {process_without_its_number, "processes.session_id"},
        {seconds_as_day, "payload.created_day"},
        {exact_uptime, "payload.uptime_bucket"},
        {rolling_release, "platform.os_major"},
        {other_format, "format 1"},
        {no_payload_id, "ids"},
        {long_payload_id, "payload.payload_id"},
        {path_as_build_id, "payload.app_build_id"},
        {short_build_id, "modules.build_id"},
        {shorter_column, "records.amount: 103 values in a table of 104 rows"},
        {shorter_threads, "threads.flags"},
        {missing_column, "frames.exact"},
        {missing_build_id, "modules.build_id"},
        {rows_that_do_not_add_up, "records.thread_rows"},
        {rows_of_too_few_threads, "records.thread_rows"},
        {module_out_of_range, "frames.module"},
        {frame_out_of_range, "callstacks.frame"},
        {parent_before_the_first, "callstacks.parent"},
        {stack_out_of_range, "records.stack"},
        {trigger_of_no_thread, "trigger.thread"},
        {unknown_module_name, "modules.name"},
        {unknown_thread_name, "threads.name"},
        {hidden_module_with_name, "modules.name"},
        {hidden_module_with_build_id, "modules.build_id"},
        {hidden_frame_with_offset, "frames.offset"},
        {module_without_kind, "modules.kind"},
        {runtime_with_a_build_id, "modules.build_id"},
        {runtime_without_functions, "function that is not there"},
        {unknown_trigger, "trigger.kind"},
        {unknown_signal, "trigger.signal"},
        {address_as_fault, "trigger.fault"},
        {unknown_op, "records.op"},
        {unknown_flag, "records.flags"},
        {wait_of_a_day, "records.duration_us"},
        {wait_id_as_wait, "records.wait"},
        {usage_without_values, "records.minor_faults: 0 values for 1 rows"},
        {shorter_repeats, "records.repeats: 103 values"},
        {address_as_name, "watches.what"},
        {watch_of_no_thread, "watches.thread"},
        {unknown_watch, "watches.kind"},
        {timeout_of_a_week, "watches.timeout_ms"},
        {shorter_watches, "watches.state"},
        {trigger_of_no_watch, "trigger.watch"},
        {burst_of_a_thousand, "trigger.frames"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        change_and_expect(changes[i].apply, changes[i].what);
    }
}

static void test_a_string_hidden_in_a_table_is_found(void **state)
{
    (void)state;
    /* Field 4 of Modules, as in a later schema that has names in it. */
    Stallbox__V1__Payload *payload = stallbox__v1__payload__unpack(NULL, true_bytes, true_payload);
    assert_non_null(payload);
    uint8_t text[] = "\x22\x0cmailbox.anna";
    size_t modules_bytes = stallbox__v1__modules__get_packed_size(payload->modules);
    uint8_t bytes[512];
    assert_true(modules_bytes + sizeof text < 127 + 80);
    size_t at = 0;
    bytes[at++] = 10 << 3 | 2;
    size_t whole = modules_bytes + sizeof text - 1;
    bytes[at++] = (uint8_t)(whole & 0x7f) | (whole > 127 ? 0x80 : 0);
    if (whole > 127) {
        bytes[at++] = (uint8_t)(whole >> 7);
    }
    at += stallbox__v1__modules__pack(payload->modules, bytes + at);
    memcpy(bytes + at, text, sizeof text - 1);
    at += sizeof text - 1;
    assert_refused(bytes, at, "modules.#4");
    stallbox__v1__payload__free_unpacked(payload, NULL);
}

static void test_an_empty_and_an_enormous_payload_are_refused(void **state)
{
    (void)state;
    assert_refused((const uint8_t *)"", 0, "empty");
    uint8_t *zeros = calloc(1, SBX_PAYLOAD_BYTES_MAX + 1);
    assert_non_null(zeros);
    char why[100];
    assert_int_equal(sbx_payload_verify(zeros, SBX_PAYLOAD_BYTES_MAX + 1, NULL, why, sizeof why), -EPERM);
    free(zeros);
}

static void test_any_changed_byte_is_refused_or_still_says_only_numbers(void **state)
{
    (void)state;
    uint8_t *bytes = malloc(true_bytes);
    assert_non_null(bytes);
    unsigned refused = 0;
    for (size_t at = 0; at < true_bytes; at++) {
        for (int bit = 0; bit < 8; bit++) {
            memcpy(bytes, true_payload, true_bytes);
            bytes[at] ^= (uint8_t)(1u << bit);
            struct sbx_payload_survey survey;
            if (sbx_payload_verify(bytes, true_bytes, &survey, NULL, 0) != 0) {
                refused++;
            } else {
                assert_int_equal(survey.bytes, true_bytes); /* every byte of an accepted payload is accounted for */
            }
        }
    }
    assert_true(refused > true_bytes); /* framing, references and sums fix most bytes of a payload */
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_true_payload_passes_and_its_bytes_add_up),
        cmocka_unit_test(test_an_end_that_tells_more_and_a_stall_that_names_another_are_refused),
        cmocka_unit_test(test_functions_of_hidden_modules_and_of_no_place_are_refused),
        cmocka_unit_test(test_unknown_fields_are_refused),
        cmocka_unit_test(test_known_fields_in_another_shape_are_refused),
        cmocka_unit_test(test_cut_off_payloads_are_refused),
        cmocka_unit_test(test_numbers_not_in_their_shortest_form_are_refused),
        cmocka_unit_test(test_each_forbidden_thing_is_found),
        cmocka_unit_test(test_a_string_hidden_in_a_table_is_found),
        cmocka_unit_test(test_an_empty_and_an_enormous_payload_are_refused),
        cmocka_unit_test(test_any_changed_byte_is_refused_or_still_says_only_numbers),
    };
    return cmocka_run_group_tests(tests, make_true_payload, free_true_payload);
}
