/* SPDX-License-Identifier: Apache-2.0 */
/* test_print_json.c - the contract of the JSON report, checked with another program's parser. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "print_json.h"
#include "print_text.h"
#include "stall_scene.h"

#define MS(ms) ((int64_t)(ms)*1000)

static char *text;
static size_t text_bytes;

static void print(const struct sbx_report *report)
{
    FILE *out = open_memstream(&text, &text_bytes);
    assert_int_equal(sbx_print_json(report, out), 0);
    fclose(out);
}

static void assert_contains(const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("no %s in %s", part, text);
    }
}

static struct sbx_stall_scene *lock_scene(void)
{
    struct sbx_stall_scene *scene = sbx_scene_create(2, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_LOCK,
                                                      .op = SBX_OP_MUTEX_LOCK,
                                                      .peer = 2,
                                                      .begin_us = MS(-950),
                                                      .end_us = MS(-50),
                                                      .cpu_us = 1000,
                                                      .message = 1,
                                                      .object = 1,
                                                      .stack = sbx_scene_stack(scene, "Cache::get(\"\xff\") < main")});
    sbx_scene_samples(scene, 1, SBX_RECORD_ASYNC, "compact < run", MS(-950), MS(-50), MS(10), 900);
    return scene;
}

static void test_contract_fields_are_there_in_one_line(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = lock_scene();
    sbx_scene_payload(scene)->drops[SBX_DROP_NO_CHUNK] = 3;
    print(sbx_scene_report(scene));
    assert_ptr_equal(strchr(text, '\n'), text + text_bytes - 1);
    assert_contains("\"app\":{\"name\":\"app\",\"version\":\"7.0.15\"}");
    assert_contains("\"trigger\":{\"kind\":\"slow_message\",\"duration_ms\":1000,\"threshold_ms\":1000,\"thread\":0,"
                    "\"in_progress\":false,\"after_ms\":0,\"frames_dropped\":0,\"watch\":null}");
    assert_contains("\"interval\":{\"begin_ns\":-1000000000,\"end_ns\":0}");
    assert_contains(
        "\"attribution\":{\"cause\":\"lock\",\"class\":\"off_cpu\",\"function\":\"Cache::get(\\\"\\ufffd\\\")\","
        "\"module\":\"app\",\"file\":null,\"line\":null,\"confidence\":0.");
    assert_contains(
        "\"culprit_thread\":{\"tid\":1,\"name\":\"worker\",\"function\":\"compact\",\"file\":null,\"line\":null}");
    assert_contains("\"evidence\":[{\"kind\":\"blocked\",\"text\":\"900 ms in pthread_mutex_lock");
    assert_contains("\"main\":{\"on_cpu_ms\":0,\"runnable_ms\":0,\"off_cpu_ms\":900,\"unknown_ms\":100,"
                    "\"off_cpu_by\":{\"idle\":0,\"lock\":900},\"messages\":0,\"runnable_counted\":false}");
    assert_contains("\"loss\":{\"no_chunk\":3,");
    assert_contains("\"no_watch\":0,\"no_consent\":0,\"logical_skipped\":0,\"signal_deaf\":0,\"call_cut\":0,\"thread_"
                    "unmet\":0,\"call_moved\":0,\"stall_end\":0,\"no_task\":0,\"no_queue\":0,\"unreadable\":0,"
                    "\"loader_held\":0}");
    assert_contains("\"threads\":[{\"tid\":0,\"name\":\"main\",\"main\":true,\"stack_from\":\"interval\","
                    "\"stack_at_ms\":0,\"frames\":[{\"function\":");
    assert_contains(
        "\"hot\":[{\"function\":\"Cache::get(\\\"\\ufffd\\\")\",\"module\":\"app\",\"ms_min\":900,\"ms_max\":900}]");
    assert_contains(
        "\"history\":[{\"t_ms\":-50,\"kind\":\"lock\",\"thread\":0,\"duration_ms\":900,\"looks\":0,\"cpu_ms\":null,"
        "\"alloc_count\":0,\"alloc_bytes\":0,\"stack\":[\"Cache::get(\\\"\\ufffd\\\")\",\"main\"]}]");
    assert_contains("\"headline\":\"main thread waited 900 ms for a lock");
    assert_contains("\"watches\":[]");
    free(text);
    sbx_scene_destroy(scene);
}

/* A watch of the worker that rests, and a deadline of the main thread that was missed. */
static void test_an_unmet_deadline_is_told_without_its_name(void **state)
{
    (void)state;
    Stallbox__V1__Watches watches = STALLBOX__V1__WATCHES__INIT;
    uint32_t kinds[] = {SBX_WATCH_WATCHDOG, SBX_WATCH_DEADLINE}, states[] = {SBX_WATCH_RESTING, SBX_WATCH_LATE};
    uint32_t threads[] = {2, 1}, timeouts[] = {5000, 400};
    uint64_t whats[] = {0xab, UINT64_C(0x123456789a)}, ages[] = {250000, 1000000};
    watches.n_kind = watches.n_state = watches.n_thread = watches.n_what = watches.n_timeout_ms = watches.n_age_us = 2;
    watches.kind = kinds;
    watches.state = states;
    watches.thread = threads;
    watches.what = whats;
    watches.timeout_ms = timeouts;
    watches.age_us = ages;
    struct sbx_stall_scene *scene = sbx_scene_create(2, SBX_TRIGGER_DEADLINE, 1000000);
    sbx_scene_payload(scene)->watches = &watches;
    sbx_scene_payload(scene)->trigger->watch = 2;
    sbx_scene_payload(scene)->trigger->after_ms = 300;
    print(sbx_scene_report(scene));
    assert_contains("\"trigger\":{\"kind\":\"deadline\",\"duration_ms\":1000,");
    assert_contains("\"after_ms\":300,\"frames_dropped\":0,\"watch\":{\"kind\":\"deadline\",\"state\":\"late\","
                    "\"what\":\"123456789a\",\"name\":null,\"thread\":0,\"timeout_ms\":400,\"age_ms\":1000}}");
    assert_contains(
        "\"watches\":[{\"kind\":\"watch\",\"state\":\"resting\",\"what\":\"00000000ab\",\"name\":null,\"thread\":1,"
        "\"timeout_ms\":5000,\"age_ms\":250},");
    free(text);
    FILE *out = open_memstream(&text, &text_bytes);
    assert_int_equal(sbx_print_text(sbx_scene_report(scene), out, false), 0);
    fclose(out);
    assert_contains("promise      deadline 123456789a of main thread: 400 ms, kept too late");
    assert_contains("afterwards   recorded for 300 ms after the trigger");
    free(text);
    sbx_scene_destroy(scene);
}

static void test_unknown_stays_honest(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_ANR, 1000000);
    print(sbx_scene_report(scene));
    assert_contains(
        "\"cause\":\"unknown\",\"class\":\"unknown\",\"function\":null,\"module\":null,\"file\":null,\"line\":null,"
        "\"confidence\":0,\"culprit_thread\":null");
    assert_contains("\"history\":[]");
    free(text);
    sbx_scene_destroy(scene);
}

static void test_external_rival_has_no_thread(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "act < main", MS(-1000), 1, MS(20), 100);
    print(sbx_scene_report(scene));
    assert_contains(
        "\"culprit_thread\":{\"tid\":null,\"name\":null,\"function\":\"external\",\"file\":null,\"line\":null}");
    free(text);
    sbx_scene_destroy(scene);
}

static void test_history_is_bounded(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 4000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "act < main", MS(-4000), 0, MS(1), 1000);
    print(sbx_scene_report(scene));
    size_t steps = 0;
    for (const char *at = strstr(text, "\"history\""); (at = strstr(at, "\"t_ms\"")) != NULL; at++) {
        steps++;
    }
    assert_in_range(steps, 350, 500);
    free(text);
    sbx_scene_destroy(scene);
}

static void test_another_parser_reads_it(void **state)
{
    (void)state;
    if (system("python3 -c 'import json' > /dev/null 2>&1") != 0) {
        print_message("skipped: no python3\n");
        skip();
    }
    struct sbx_stall_scene *scene = lock_scene();
    FILE *parser = popen("python3 -c '"
                         "import json, sys\n"
                         "d = json.loads(sys.stdin.buffer.read().decode(\"utf-8\"))\n"
                         "keys = \"payload_id app trigger interval attribution main loss threads watches headline "
                         "history overhead sampling\"\n"
                         "assert set(keys.split()) == set(d), set(d)\n"
                         "assert d[\"attribution\"][\"culprit_thread\"][\"function\"] == \"compact\"\n"
                         "assert [t[\"main\"] for t in d[\"threads\"]] == [True, False]\n'",
                         "w");
    assert_non_null(parser);
    assert_int_equal(sbx_print_json(sbx_scene_report(scene), parser), 0);
    assert_int_equal(pclose(parser), 0);
    sbx_scene_destroy(scene);
}

static void test_full_disk_is_reported(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = lock_scene();
    FILE *full = fopen("/dev/full", "we");
    assert_non_null(full);
    assert_int_equal(sbx_print_json(sbx_scene_report(scene), full), -ENOSPC);
    fclose(full);
    full = fopen("/dev/full", "we");
    assert_int_equal(sbx_print_text(sbx_scene_report(scene), full, false), -ENOSPC);
    fclose(full);
    sbx_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contract_fields_are_there_in_one_line),
        cmocka_unit_test(test_an_unmet_deadline_is_told_without_its_name),
        cmocka_unit_test(test_unknown_stays_honest),
        cmocka_unit_test(test_external_rival_has_no_thread),
        cmocka_unit_test(test_history_is_bounded),
        cmocka_unit_test(test_another_parser_reads_it),
        cmocka_unit_test(test_full_disk_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
