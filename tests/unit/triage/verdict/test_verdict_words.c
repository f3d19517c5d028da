/* SPDX-License-Identifier: Apache-2.0 */
/* test_verdict_words.c - an amount of zero is not evidence, and names are not cut in the middle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stall_scene.h"

#define MS(ms) ((int64_t)(ms)*1000)

/* Finds a number 0 with a unit, as in "throttled for 0 us", "0.0 KiB were moved", "0 stacks; 0 % of their time". */
static const char *amount_of_nothing(const char *text)
{
    static const char *const units[] = {" us",     " ms",    " s",        " KiB",    " MiB",
                                        " stacks", " pages", " messages", " records"};
    for (const char *at = text; *at != '\0'; at++) {
        bool begins = at == text || strchr(" ,;(", at[-1]) != NULL;
        size_t digits = strspn(at, "0.");
        for (size_t i = 0; begins && digits > 0 && i < sizeof units / sizeof units[0]; i++) {
            size_t bytes = strlen(units[i]);
            if (at[0] == '0' && strncmp(at + digits, units[i], bytes) == 0 && strchr(" ,;.)", at[digits + bytes])) {
                return at;
            }
        }
    }
    return NULL;
}

static void assert_tells_of_something(const struct sbx_report *report)
{
    for (size_t i = 0; i < report->verdict.evidence_count; i++) {
        const char *nothing = amount_of_nothing(report->verdict.evidence[i].text);
        if (nothing != NULL) {
            fail_msg("%s: \"%s\" in \"%s\"", report->verdict.evidence[i].kind, nothing,
                     report->verdict.evidence[i].text);
        }
    }
}

static void put_count(struct sbx_stall_scene *scene, uint8_t what, int64_t at_ms, uint64_t value)
{
    sbx_scene_record(
        scene, (struct sbx_build_record){
                   .kind = SBX_RECORD_KERNEL, .op = what, .begin_us = MS(at_ms), .end_us = MS(at_ms), .amount = value});
}

/* kill -SEGV of a shell: no message was open, so the judged interval is empty, and 0 counted as all of it. */
static void test_a_crash_outside_of_messages_was_not_throttled(void **state)
{
    (void)state;
    static const uint8_t counted[] = {SBX_KERNEL_GROUP_THROTTLED, SBX_KERNEL_MEMORY_SOME, SBX_KERNEL_MEMORY_FULL,
                                      SBX_KERNEL_CPU_SOME,        SBX_KERNEL_IO_SOME,     SBX_KERNEL_GROUP_MEMORY_SOME};
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_CRASH, 0);
    for (size_t i = 0; i < sizeof counted; i++) {
        put_count(scene, counted[i], -300, 0);
    }
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "work < main", MS(-200), 0, MS(10), 0);
    for (size_t i = 0; i < sizeof counted; i++) {
        put_count(scene, counted[i], 0, 0);
    }
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_null(sbx_scene_evidence(report, "throttled"));
    assert_null(sbx_scene_evidence(report, "pressure"));
    assert_tells_of_something(report);
    sbx_scene_destroy(scene);
}

/* redis writes 27 bytes and waits for the disk in the same function. */
static void test_a_few_bytes_beside_an_fsync_are_not_told(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    uint32_t stack = sbx_scene_stack(scene, "flush < handle < main");
    sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_FILE,
                                                      .op = SBX_OP_WRITE,
                                                      .fd_class = SBX_FD_REGULAR,
                                                      .amount = 27,
                                                      .begin_us = MS(-980),
                                                      .end_us = MS(-900),
                                                      .stack = stack});
    sbx_scene_record(
        scene,
        (struct sbx_build_record){
            .kind = SBX_RECORD_SYNC, .op = SBX_OP_FDATASYNC, .begin_us = MS(-900), .end_us = MS(-10), .stack = stack});
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_IO);
    assert_null(sbx_scene_evidence(report, "bytes"));
    assert_tells_of_something(report);
    sbx_scene_destroy(scene);
}

/* For any recorded values. */
static void test_no_evidence_tells_of_an_amount_of_nothing(void **state)
{
    (void)state;
    static const uint8_t kinds[] = {SBX_RECORD_ASYNC, SBX_RECORD_ALLOC, SBX_RECORD_SLEEP, SBX_RECORD_LOCK,
                                    SBX_RECORD_FILE,  SBX_RECORD_SYNC,  SBX_RECORD_WAIT,  SBX_RECORD_COND};
    static const uint32_t triggers[] = {SBX_TRIGGER_SLOW_MESSAGE, SBX_TRIGGER_ANR, SBX_TRIGGER_CRASH,
                                        SBX_TRIGGER_KILLED};
    srand(1);
    for (int turn = 0; turn < 400; turn++) {
        uint32_t threads = 1 + (uint32_t)rand() % 3;
        struct sbx_stall_scene *scene =
            sbx_scene_create(threads, triggers[rand() % 4], rand() % 3 == 0 ? 0 : (uint64_t)rand() % 2000000);
        for (int what = SBX_KERNEL_NONE + 1; what < SBX_KERNEL_COUNTS; what++) {
            put_count(scene, (uint8_t)what, -1000, 0);
        }
        int64_t at_us = MS(-1000);
        for (int i = rand() % 40; i > 0; i--) {
            int64_t begin_us = at_us;
            at_us += rand() % 2 == 0 ? 0 : rand() % 50000;
            sbx_scene_record(scene, (struct sbx_build_record){
                                        .thread = (uint32_t)rand() % threads,
                                        .kind = kinds[(size_t)rand() % sizeof kinds],
                                        .op = (uint8_t)(rand() % 8),
                                        .amount = (uint64_t)rand() % 3,
                                        .begin_us = begin_us < 0 ? begin_us : 0,
                                        .end_us = at_us < 0 ? at_us : 0,
                                        .cpu_us = rand() % 2 == 0 ? 0 : 7,
                                        .message = (uint64_t)rand() % 2,
                                        .peer = (uint32_t)rand() % (threads + 1),
                                        .flags = rand() % 4 == 0 ? SBX_FLAG_USAGE : 0,
                                        .stack = sbx_scene_stack(scene, rand() % 2 == 0 ? "a < main" : "b < main")});
        }
        for (int what = SBX_KERNEL_NONE + 1; what < SBX_KERNEL_COUNTS; what++) {
            put_count(scene, (uint8_t)what, 0, rand() % 2 == 0 ? 0 : (uint64_t)rand() % 900000);
        }
        assert_tells_of_something(sbx_scene_report(scene));
        sbx_scene_destroy(scene);
    }
}

/* The sentences had room for 80 bytes of a name, and used the first 80. */
static void test_names_in_evidence_are_whole_or_shortened_at_their_joints(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC,
                      "v8::internal::(anonymous namespace)::Invoke(v8::internal::Isolate*, v8::internal::(anonymous "
                      "namespace)::InvokeParams const&) < main",
                      MS(-1000), 0, MS(10), 1000);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_non_null(strstr(sbx_scene_evidence(report, "samples"), " v8::internal::(anonymous namespace)::Invoke(...)"));
    assert_non_null(strstr(report->verdict.headline, " v8::internal::(anonymous namespace)::Invoke(...)"));
    sbx_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_crash_outside_of_messages_was_not_throttled),
        cmocka_unit_test(test_a_few_bytes_beside_an_fsync_are_not_told),
        cmocka_unit_test(test_no_evidence_tells_of_an_amount_of_nothing),
        cmocka_unit_test(test_names_in_evidence_are_whole_or_shortened_at_their_joints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
