/* SPDX-License-Identifier: Apache-2.0 */
/* test_report.c - complete stalls with real symbol files: those of Debian's redis-server, which has dynamic symbols
 * only. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "attribute.h"
#include "build_id.h"
#include "hot.h"
#include "names.h"
#include "payload_builder.h"
#include "print_json.h"
#include "print_text.h"
#include "provider_map.h"
#include "report.h"
#include "symbolizer.h"

static struct sbx_stall *stall;
static struct sbx_symbolizer *symbolizer;
static struct sbx_report *report;

static void decode(struct sbx_payload_builder *builder)
{
    uint8_t *envelope;
    size_t bytes;
    char why[160];
    sbx_builder_envelope(builder, &envelope, &bytes);
    assert_int_equal(sbx_stall_decode(envelope, bytes, &stall, why, sizeof why), 0);
    free(envelope);
}

static void make_report(enum sbx_scenario scenario)
{
    struct sbx_payload_builder *builder;
    if (!sbx_scenario_build(scenario, true, 1, &builder)) {
        print_message("skipped: redis-server is not installed\n");
        skip();
    }
    decode(builder);
    sbx_payload_builder_destroy(builder);
    symbolizer = sbx_symbolizer_create(NULL, 0);
    assert_int_equal(sbx_report_create(stall, symbolizer, &report), 0);
    assert_int_equal(sbx_attribute(report), 0);
}

static int destroy(void **state)
{
    (void)state;
    sbx_report_destroy(report);
    sbx_symbolizer_destroy(symbolizer);
    sbx_stall_destroy(stall);
    report = NULL;
    symbolizer = NULL;
    stall = NULL;
    return 0;
}

/* Reported at five seconds, and later how it ended. */
static void test_a_completed_stall_says_how_long_it_was_and_how_it_ended(void **state)
{
    (void)state;
    static const struct {
        uint32_t how, signal;
        const char *holds, *ends, *text;
    } ends[] = {
        {SBX_END_NONE, 0, " so far ", ")", "still going on"},
        {SBX_END_ANSWERED, 0, " of 9.00 s ", ")", "it ended after 9.00 s"},
        {SBX_END_DIED, 9, " of 9.00 s ", "; still hung when it was killed by SIGKILL",
         "still hung after 9.00 s, when it was killed by SIGKILL"},
        {SBX_END_DIED, 0, " of 9.00 s ", "; still hung when the process ended",
         "still hung after 9.00 s, when the process ended"},
        {SBX_END_UNSEEN, 0, " of 9.00 s ", "; still hung when recording stopped",
         "still hung after 9.00 s, when recording stopped"},
    };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct sbx_payload_builder *builder;
        char *text = NULL;
        size_t bytes = 0;
        assert_true(sbx_scenario_build(SBX_SCENARIO_ANR_ASLEEP, false, 1, &builder));
        decode(builder);
        sbx_payload_builder_destroy(builder);
        stall->end.how = ends[i].how;
        stall->end.signal = ends[i].signal;
        stall->end.duration_ns = INT64_C(9000000000);
        assert_int_equal(sbx_report_create(stall, NULL, &report), 0);
        assert_int_equal(sbx_attribute(report), 0);
        const char *headline = report->verdict.headline;
        assert_non_null(strstr(headline, ends[i].holds));
        assert_string_equal(headline + strlen(headline) - strlen(ends[i].ends), ends[i].ends);
        FILE *out = open_memstream(&text, &bytes);
        assert_int_equal(sbx_print_text(report, out, false), 0);
        assert_int_equal(fclose(out), 0);
        assert_non_null(strstr(text, ends[i].text));
        free(text);
        destroy(state);
    }
}

static bool has_function(uint32_t stack, const char *function)
{
    const struct sbx_location *locations[64];
    size_t count = sbx_report_callstack(report, stack, locations, 64);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(locations[i]->function, function) == 0) {
            return true;
        }
    }
    return false;
}

static void test_sleep_of_redis(void **state)
{
    (void)state;
    make_report(SBX_SCENARIO_SLEEP);
    const struct sbx_verdict *verdict = &report->verdict;
    assert_int_equal(verdict->cause, SBX_CAUSE_SLEEP);
    assert_int_equal(verdict->class_, SBX_CLASS_OFF_CPU);
    assert_string_equal(verdict->location.function, "debugCommand");
    assert_string_equal(verdict->location.module, "redis-server");
    assert_true(verdict->location.app && verdict->location.named);
    assert_string_equal(verdict->headline, "main thread slept 2.00 s in debugCommand (nanosleep)");
    assert_true(verdict->confidence > 0.95);
    assert_string_equal(report->app_name, "redis-server"); /* the file is redis-check-rdb */
    assert_true(has_function(verdict->stack, "main"));
    assert_true(has_function(verdict->stack, "_start"));
}

static void test_script_of_redis(void **state)
{
    (void)state;
    make_report(SBX_SCENARIO_CPU);
    const struct sbx_verdict *verdict = &report->verdict;
    assert_int_equal(verdict->cause, SBX_CAUSE_CPU);
    assert_string_equal(verdict->location.function, "lua_pcall");
    assert_true(has_function(verdict->stack, "evalGenericCommand"));
    assert_true(has_function(verdict->stack, "main"));
    assert_non_null(strstr(verdict->headline, "under luaCallFunction, evalGenericCommand"));
    const struct sbx_location *leaf;
    assert_int_equal(sbx_report_callstack(report, verdict->stack, &leaf, 1), 1);
    assert_false(leaf->named);
    assert_int_equal(strncmp(leaf->function, "redis-server+0x", 15), 0);
    struct sbx_hot hot[4];
    assert_int_equal(sbx_report_hot(report, 0, hot, 4), 1);
    assert_string_equal(hot[0].function, "lua_pcall");
    assert_true(hot[0].ms_min > 1970 && hot[0].ms_max < 2001);
}

static void test_lock_of_redis(void **state)
{
    (void)state;
    make_report(SBX_SCENARIO_LOCK);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_LOCK);
    assert_string_equal(report->verdict.location.function, "moduleAcquireGIL");
    assert_int_equal(report->verdict.culprit_thread, 1);
    assert_string_equal(report->verdict.culprit_function, "lazyfreeFreeDatabase");
}

static void test_fsync_of_redis(void **state)
{
    (void)state;
    make_report(SBX_SCENARIO_IO);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_IO);
    assert_string_equal(report->verdict.location.function, "flushAppendOnlyFile");
}

static void test_anr_in_a_sleep_of_redis(void **state)
{
    (void)state;
    make_report(SBX_SCENARIO_ANR_ASLEEP);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_SLEEP);
    assert_string_equal(report->verdict.location.function, "debugCommand");
    assert_true(has_function(report->verdict.stack, "nanosleep")); /* libc's own frames stay on the stack */
}

static void test_index_tells_the_name_that_was_executed(void **state)
{
    (void)state;
    struct sbx_payload_builder *builder;
    if (!sbx_scenario_build(SBX_SCENARIO_SLEEP, true, 1, &builder)) {
        print_message("skipped: redis-server is not installed\n");
        skip();
    }
    decode(builder);
    sbx_payload_builder_destroy(builder);
    char path[] = "/tmp/test_report.XXXXXX", hex[65];
    FILE *index = fdopen(mkstemp(path), "w");
    sbx_build_id_format(stall->app_build_id, stall->app_build_id_bytes, hex);
    fprintf(index, "%s /usr/bin/redis-check-rdb\n", hex);
    assert_int_equal(fclose(index), 0);
    symbolizer = sbx_symbolizer_create(NULL, 0);
    assert_int_equal(sbx_symbolizer_add_index(symbolizer, path), 0);
    assert_int_equal(sbx_report_create(stall, symbolizer, &report), 0);
    assert_string_equal(report->app_name, "redis-check-rdb");
    unlink(path);
}

static void test_without_symbol_files_offsets_stand(void **state)
{
    (void)state;
    struct sbx_payload_builder *builder;
    assert_true(sbx_scenario_build(SBX_SCENARIO_SLEEP, false, 1, &builder));
    decode(builder);
    sbx_payload_builder_destroy(builder);
    symbolizer = sbx_symbolizer_create(NULL, 0);
    assert_int_equal(sbx_report_create(stall, symbolizer, &report), 0);
    assert_int_equal(sbx_attribute(report), 0);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_SLEEP);
    assert_int_equal(strncmp(report->verdict.location.function, "build-id a1a2a3a4+0x", 20), 0);
    assert_false(report->verdict.location.named);
    assert_string_equal(report->app_name, "build-id a1a2a3a4");
}

/* Two frames of one function: the return address right after its end belongs to it, but the exact address there does
 * not. */
static void test_return_addresses_are_looked_up_at_the_call(void **state)
{
    (void)state;
    struct sbx_payload_builder *builder = sbx_payload_builder_create(1);
    int32_t module = sbx_builder_module_file(builder, SBX_MODULE_KIND_APP, SAMPLE_STRIPPED, NULL);
    assert_true(module >= 0);
    sbx_builder_thread(builder, "main", 1);
    uint64_t end = sbx_build_symbol(SAMPLE_FULL, "sample_hidden"); /* directly after sample_outer, except for padding */
    uint64_t begin = sbx_build_symbol(SAMPLE_FULL, "sample_outer");
    struct sbx_build_frame frames[] = {
        {module, begin, true}, {module, begin + 1, false}, {module, begin, false}, {module, end, true}};
    uint32_t stack = sbx_builder_stack(builder, frames, 4);
    sbx_builder_record(builder, (struct sbx_build_record){.kind = SBX_RECORD_ASYNC, .stack = stack});
    decode(builder);
    sbx_payload_builder_destroy(builder);
    const char *dirs[] = {SAMPLE_FOLDER};
    symbolizer = sbx_symbolizer_create(dirs, 1);
    assert_int_equal(sbx_report_create(stall, symbolizer, &report), 0);
    const struct sbx_location *locations[32];
    size_t count = sbx_report_callstack(report, stack, locations, 32);
    assert_true(count >= 4); /* the folder has the file with debug information too: inlined frames */
    assert_string_equal(locations[count - 1]->function, "sample_hidden");
    assert_string_not_equal(locations[count - 2]->function, "sample_outer"); /* the byte before it */
    assert_string_equal(locations[count - 3]->function, "sample_outer");
}

/* A program of build-id 7 that sent a name, or the file name of its executable, as numbers. */
static void report_of_names(const char *told, const char *program)
{
    struct sbx_payload_builder *builder = sbx_payload_builder_create(1);
    static const uint8_t build_id[20] = {7};
    sbx_builder_module(builder, SBX_MODULE_KIND_APP, build_id, 20, NULL);
    sbx_builder_thread(builder, "main", 1);
    Stallbox__V1__Payload *payload = sbx_builder_payload(builder);
    payload->app_build_id = (ProtobufCBinaryData){.len = 20, .data = (uint8_t *)(uintptr_t)build_id};
    payload->app_name = sbx_app_what(told);
    payload->program = sbx_app_what(program);
    decode(builder);
    sbx_payload_builder_destroy(builder);
    assert_int_equal(sbx_report_create(stall, symbolizer, &report), 0);
}

static void test_an_application_is_known_by_its_name_not_by_its_build(void **state)
{
    (void)state;
    char text[64];
    report_of_names("", "orders");
    assert_true(report->app_id == sbx_app_what("orders"));
    snprintf(text, sizeof text, "program #%010llx", (unsigned long long)report->app_id);
    assert_string_equal(report->app_name, text); /* no one here knows the name */
    destroy(state);
    report_of_names("shop", "");
    assert_true(report->app_id == sbx_app_what("shop"));
    snprintf(text, sizeof text, "build-id 07000000 #%010llx", (unsigned long long)report->app_id);
    assert_string_equal(report->app_name, text);
    destroy(state);
    report_of_names("", ""); /* from an older agent */
    assert_int_equal(report->app_id, 0);
}

static void test_hidden_modules_and_markers_have_words(void **state)
{
    (void)state;
    struct sbx_payload_builder *builder = sbx_payload_builder_create(1);
    int32_t hidden = sbx_builder_module(builder, SBX_MODULE_KIND_OTHER, NULL, 0, NULL);
    static const uint8_t build_id[20] = {7};
    int32_t vdso = sbx_builder_module(builder, SBX_MODULE_KIND_VDSO, build_id, 20, NULL);
    sbx_builder_thread(builder, "main", 1);
    struct sbx_build_frame frames[] = {{vdso, 0x900, true},
                                       {hidden, 0, false},
                                       {SBX_BUILD_GENERATED, 0, false},
                                       {SBX_BUILD_END, SBX_WALK_TOO_DEEP, false}};
    uint32_t stack = sbx_builder_stack(builder, frames, 4);
    sbx_builder_record(builder, (struct sbx_build_record){.kind = SBX_RECORD_ASYNC, .stack = stack});
    decode(builder);
    sbx_payload_builder_destroy(builder);
    assert_int_equal(sbx_report_create(stall, NULL, &report), 0); /* also without a symbolizer */
    const struct sbx_location *locations[8];
    assert_int_equal(sbx_report_callstack(report, stack, locations, 8), 4);
    assert_string_equal(locations[0]->function, "[vdso]+0x900");
    assert_string_equal(locations[1]->function, "[hidden]");
    assert_string_equal(locations[1]->module, "[hidden]");
    assert_string_equal(locations[2]->function, "[generated]");
    assert_string_equal(locations[3]->function, "[stack ends here: too_deep]");
    assert_string_equal(report->app_name, "unknown application");
}

static void test_a_report_that_nobody_attributed_has_no_verdict_and_can_be_printed(void **state)
{
    (void)state;
    struct sbx_payload_builder *builder = sbx_payload_builder_create(1);
    sbx_builder_thread(builder, "main", 1);
    decode(builder);
    sbx_payload_builder_destroy(builder);
    assert_int_equal(sbx_report_create(stall, NULL, &report), 0);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_UNKNOWN);
    assert_string_equal(report->verdict.headline, "");
    assert_int_equal(report->verdict.culprit_thread, -1);
    FILE *nowhere = fopen("/dev/null", "w");
    assert_non_null(nowhere);
    assert_int_equal(sbx_print_text(report, nowhere, false), 0);
    assert_int_equal(sbx_print_json(report, nowhere), 0);
    fclose(nowhere);
}

/* A payload of a Lua script: the frames {LUA, function + 1, line} above a frame of the program. */
static void build_script(const struct sbx_build_frame *frames, size_t count, Stallbox__V1__Functions *functions)
{
    struct sbx_payload_builder *builder = sbx_payload_builder_create(1);
    static const uint8_t build_id[20] = {7};
    uint8_t lua[8];
    for (int i = 0; i < 8; i++) {
        lua[i] = (uint8_t)(sbx_provider_number("lua") >> (56 - 8 * i));
    }
    assert_int_equal(sbx_builder_module(builder, SBX_MODULE_KIND_RUNTIME, lua, 8, NULL), 0);
    assert_int_equal(sbx_builder_module(builder, SBX_MODULE_KIND_APP, build_id, 20, NULL), 1);
    sbx_builder_thread(builder, "main", 1);
    uint32_t stack = sbx_builder_stack(builder, frames, count);
    for (int i = 0; i < 100; i++) {
        sbx_builder_record(builder, (struct sbx_build_record){.kind = SBX_RECORD_ASYNC,
                                                              .stack = stack,
                                                              .cpu_us = 10000 * i + 1,
                                                              .message = 1,
                                                              .begin_us = -1000000 + 10000 * i,
                                                              .end_us = -1000000 + 10000 * i});
    }
    Stallbox__V1__Trigger *trigger = sbx_builder_payload(builder)->trigger;
    trigger->duration_us = 1000000;
    trigger->message = 1;
    sbx_builder_columns(builder)->functions = functions;
    decode(builder);
    sbx_builder_columns(builder)->functions = NULL;
    sbx_payload_builder_destroy(builder);
}

static void test_functions_of_a_script_are_named_by_a_file_and_blamed(void **state)
{
    (void)state;
    char folder[] = "/tmp/stallbox-report-XXXXXX", path[64], command[64];
    uint8_t ids[2][8] = {"\x01\x23\x45\x67\x89\xab\xcd\xef", "\0\0\0\0\0\0\0\xff"};
    ProtobufCBinaryData columns[] = {{8, ids[0]}, {8, ids[1]}};
    Stallbox__V1__Functions functions = STALLBOX__V1__FUNCTIONS__INIT;
    functions.n_function_id = 2;
    functions.function_id = columns;
    const struct sbx_build_frame frames[] = {
        {0, 1 << 20 | 17, false}, {0, 1 << 20, false}, {0, 2 << 20 | 5, false}, {0, 0, false}, {1, 0x900, false}};
    build_script(frames, 5, &functions);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/provider-lua.map", folder);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs("stallbox-provider-map 1\tlua\n0123456789abcdef\t12\tapp.lua\trun\n", file);
    fclose(file);
    const char *dirs[] = {folder};
    symbolizer = sbx_symbolizer_create(dirs, 1);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0); /* it has been read */
    assert_int_equal(sbx_report_create(stall, symbolizer, &report), 0);
    assert_int_equal(sbx_attribute(report), 0);
    const struct sbx_location *at[8];
    assert_int_equal(sbx_report_callstack(report, stall->records[0].stack, at, 8), 5);
    assert_true(at[0]->logical && at[0]->app && at[0]->named && !at[0]->inlined);
    assert_string_equal(at[0]->function, "run");
    assert_string_equal(at[0]->module, "lua");
    assert_string_equal(at[0]->file, "app.lua");
    assert_int_equal(at[0]->line, 17);
    assert_int_equal(at[1]->line, 12); /* the line of its definition, if no line was sent */
    assert_string_equal(at[2]->function, "function 00000000000000ff");
    assert_int_equal(at[2]->line, 5);
    assert_false(at[2]->named);
    assert_string_equal(at[3]->function, "[unknown function]");
    assert_false(at[4]->logical);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_CPU);
    assert_string_equal(report->verdict.location.function, "run");
    assert_true(report->verdict.location.line == 17 || report->verdict.location.line == 12); /* it is there twice */
}

static void test_without_names_a_runtime_and_its_functions_are_numbers(void **state)
{
    (void)state;
    uint8_t id[8] = "\0\0\0\0\0\0\0\xff";
    ProtobufCBinaryData columns[] = {{8, id}};
    Stallbox__V1__Functions functions = STALLBOX__V1__FUNCTIONS__INIT;
    functions.n_function_id = 1;
    functions.function_id = columns;
    const struct sbx_build_frame frames[] = {{0, 1 << 20 | 17, false}, {1, 0x900, false}};
    build_script(frames, 2, &functions);
    assert_int_equal(sbx_report_create(stall, NULL, &report), 0);
    assert_int_equal(sbx_attribute(report), 0);
    assert_string_equal(report->verdict.location.function, "function 00000000000000ff");
    assert_int_equal(strncmp(report->verdict.location.module, "runtime ", 8), 0);
}

static void test_a_frame_of_a_function_that_is_not_there_is_refused(void **state)
{
    (void)state;
    static const uint8_t lua[8] = {1};
    const struct sbx_build_frame frame = {0, 1 << 20, false};
    struct sbx_payload_builder *builder = sbx_payload_builder_create(1);
    uint8_t *envelope;
    size_t bytes;
    char why[160];
    sbx_builder_module(builder, SBX_MODULE_KIND_RUNTIME, lua, 8, NULL);
    sbx_builder_thread(builder, "main", 1);
    uint32_t stack = sbx_builder_stack(builder, &frame, 1);
    sbx_builder_record(builder, (struct sbx_build_record){.kind = SBX_RECORD_ASYNC, .stack = stack});
    sbx_builder_envelope(builder, &envelope, &bytes);
    assert_int_equal(sbx_stall_decode(envelope, bytes, &stall, why, sizeof why), -EPROTO);
    assert_non_null(strstr(why, "names a function that is not there"));
    stall = NULL;
    free(envelope);
    sbx_payload_builder_destroy(builder);
}

/* A module with full debug information, one without any symbols, a system module that cannot be named, and one that was
 * hidden. */
static void test_modules_whose_symbols_would_help_are_told(void **state)
{
    (void)state;
    static const char *const folders[] = {SAMPLE_FOLDER};
    static const uint8_t unknown[20] = {7}, system[20] = {8}, other[20] = {9}, unused[20] = {10};
    struct sbx_payload_builder *builder = sbx_payload_builder_create(1);
    int32_t named = sbx_builder_module_file(builder, SBX_MODULE_KIND_APP, SAMPLE_FULL, NULL);
    int32_t app = sbx_builder_module(builder, SBX_MODULE_KIND_APP, unknown, 20, NULL);
    int32_t library = sbx_builder_module(builder, SBX_MODULE_KIND_SYSTEM, system, 20, "libc.so.6");
    int32_t hidden = sbx_builder_module(builder, SBX_MODULE_KIND_OTHER, other, 0, NULL);
    sbx_builder_module(builder, SBX_MODULE_KIND_APP, unused, 20, NULL); /* on no stack, so its symbols are not missed */
    const struct sbx_build_frame frames[] = {{named, sbx_build_symbol(SAMPLE_FULL, "sample_outer") + 4, false},
                                             {app, 0x10, false},
                                             {app, 0x20, false},
                                             {library, 0x30, false},
                                             {hidden, 0, false}};
    sbx_builder_thread(builder, "main", 1);
    uint32_t stack = sbx_builder_stack(builder, frames, 5);
    sbx_builder_record(builder, (struct sbx_build_record){.kind = SBX_RECORD_ASYNC, .stack = stack, .cpu_us = 1});
    decode(builder);
    sbx_payload_builder_destroy(builder);
    symbolizer = sbx_symbolizer_create(folders, 1);
    assert_int_equal(sbx_report_create(stall, symbolizer, &report), 0);
    assert_int_equal(report->gap_count, 2);
    assert_int_equal(report->gaps[0].module, app);
    assert_int_equal(report->gaps[0].unnamed, 2);
    assert_string_equal(report->gaps[0].name, "");
    assert_false(report->gaps[0].is_runtime);
    assert_int_equal(report->gaps[1].module, library);
    assert_int_equal(report->gaps[1].unnamed, 1);
    assert_string_equal(report->gaps[1].name, "libc.so.6");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_completed_stall_says_how_long_it_was_and_how_it_ended),
        cmocka_unit_test_teardown(test_functions_of_a_script_are_named_by_a_file_and_blamed, destroy),
        cmocka_unit_test_teardown(test_without_names_a_runtime_and_its_functions_are_numbers, destroy),
        cmocka_unit_test_teardown(test_a_frame_of_a_function_that_is_not_there_is_refused, destroy),
        cmocka_unit_test_teardown(test_sleep_of_redis, destroy),
        cmocka_unit_test_teardown(test_script_of_redis, destroy),
        cmocka_unit_test_teardown(test_lock_of_redis, destroy),
        cmocka_unit_test_teardown(test_fsync_of_redis, destroy),
        cmocka_unit_test_teardown(test_anr_in_a_sleep_of_redis, destroy),
        cmocka_unit_test_teardown(test_index_tells_the_name_that_was_executed, destroy),
        cmocka_unit_test_teardown(test_without_symbol_files_offsets_stand, destroy),
        cmocka_unit_test_teardown(test_return_addresses_are_looked_up_at_the_call, destroy),
        cmocka_unit_test_teardown(test_an_application_is_known_by_its_name_not_by_its_build, destroy),
        cmocka_unit_test_teardown(test_hidden_modules_and_markers_have_words, destroy),
        cmocka_unit_test_teardown(test_a_report_that_nobody_attributed_has_no_verdict_and_can_be_printed, destroy),
        cmocka_unit_test_teardown(test_modules_whose_symbols_would_help_are_told, destroy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
