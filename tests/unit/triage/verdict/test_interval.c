/* SPDX-License-Identifier: Apache-2.0 */
/* test_interval.c - which time is judged, and that measured waits are not counted twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "interval.h"
#include "stall_scene.h"

#define MS(ms) ((int64_t)(ms)*1000)
#define NS(ms) ((int64_t)(ms)*1000000)

static void put(struct sbx_stall_scene *scene, uint8_t kind, int64_t begin_ms, int64_t end_ms, uint64_t message)
{
    sbx_scene_record(scene, (struct sbx_build_record){
                                .kind = kind, .begin_us = MS(begin_ms), .end_us = MS(end_ms), .message = message});
}

static int64_t judged_ms(struct sbx_stall_scene *scene)
{
    struct sbx_interval interval = sbx_interval_judged(sbx_scene_stall(scene));
    assert_int_equal(interval.end_ns, 0);
    sbx_scene_destroy(scene);
    return -interval.begin_ns / 1000000;
}

static void test_triggers_with_a_duration_are_judged_over_it(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {SBX_TRIGGER_ANR, SBX_TRIGGER_SLOW_MESSAGE, SBX_TRIGGER_KILLED,
                                     SBX_TRIGGER_DEADLINE};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(judged_ms(sbx_scene_create(1, kinds[i], 1234000)), 1234);
    }
}

static struct sbx_stall_scene *manual_in_message_since(int64_t begin_ms)
{
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_MANUAL, 0);
    sbx_scene_payload(scene)->trigger->message = 5;
    put(scene, SBX_RECORD_ASYNC, -3000, -3000, 4);
    put(scene, SBX_RECORD_IDLE, -2600, -2500, 5);
    put(scene, SBX_RECORD_ASYNC, begin_ms, begin_ms, 5);
    put(scene, SBX_RECORD_ASYNC, -10, -10, 5);
    return scene;
}

static void test_manual_judges_the_open_message_when_that_is_long(void **state)
{
    (void)state;
    assert_int_equal(judged_ms(manual_in_message_since(-1700)), 1700);
    assert_int_equal(judged_ms(manual_in_message_since(-300)), 5000); /* one of several, perhaps */
}

static void test_manual_without_an_open_message_judges_the_recent_past(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_MANUAL, 0);
    put(scene, SBX_RECORD_ASYNC, -700, -700, 1);
    put(scene, SBX_RECORD_MESSAGE, -800, -600, 1); /* message 1 has ended */
    assert_int_equal(judged_ms(scene), 5000);
    scene = sbx_scene_create(1, SBX_TRIGGER_MANUAL, 0);
    sbx_scene_payload(scene)->trigger->message = 0;
    sbx_scene_payload(scene)->trigger->history_us = 800000;
    assert_int_equal(judged_ms(scene), 800);
}

static void test_nested_waits_count_once_for_the_outer_one(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    put(scene, SBX_RECORD_POLL, -800, -700, 1);
    put(scene, SBX_RECORD_FILE, -600, -550, 1);
    put(scene, SBX_RECORD_SOCKET, -900, -500, 1); /* getaddrinfo, which contains both */
    put(scene, SBX_RECORD_ASYNC, -300, -300, 1);
    put(scene, SBX_RECORD_SLEEP, -200, -100, 1);
    struct sbx_wait *waits;
    size_t count;
    assert_int_equal(sbx_waits_create(sbx_scene_stall(scene), 0, &waits, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(waits[0].kind, SBX_RECORD_SOCKET);
    assert_int_equal(waits[0].cause, SBX_CAUSE_NETWORK);
    assert_int_equal(waits[1].kind, SBX_RECORD_SLEEP);
    assert_int_equal(sbx_waits_free_ns(waits, count, NS(-1000), 0), NS(500));
    assert_int_equal(sbx_waits_free_ns(waits, count, NS(-850), NS(-150)), NS(300));
    assert_int_equal(sbx_waits_free_ns(waits, count, NS(-850), NS(-600)), 0);
    assert_int_equal(sbx_waits_free_ns(waits, count, 0, NS(-10)), 0);
    assert_ptr_equal(sbx_waits_at(waits, count, NS(-900)), &waits[0]);
    assert_ptr_equal(sbx_waits_at(waits, count, NS(-100) - 1), &waits[1]);
    assert_null(sbx_waits_at(waits, count, NS(-100)));
    assert_null(sbx_waits_at(waits, count, NS(-300)));
    free(waits);
    sbx_scene_destroy(scene);
}

static void test_open_call_reaches_to_the_trigger_with_the_stack_seen_in_it(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_ANR, 1000000);
    uint32_t before = sbx_scene_stack(scene, "before < main"), within = sbx_scene_stack(scene, "within < main");
    sbx_scene_record(
        scene,
        (struct sbx_build_record){
            .kind = SBX_RECORD_BLOCKED, .begin_us = MS(-950), .end_us = MS(-950), .stack = before, .message = 1});
    sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_BLOCKED,
                                                      .begin_us = MS(-500),
                                                      .end_us = MS(-500),
                                                      .stack = within,
                                                      .message = 1,
                                                      .fd_class = SBX_FD_PIPE});
    sbx_scene_call(scene, 0,
                   (struct sbx_build_call){.kind = SBX_RECORD_FILE, .op = SBX_OP_READ, .duration_us = 900000});
    struct sbx_wait *waits;
    size_t count;
    assert_int_equal(sbx_waits_create(sbx_scene_stall(scene), 0, &waits, &count), 0);
    assert_int_equal(count, 1);
    assert_true(waits[0].open);
    assert_int_equal(waits[0].begin_ns, NS(-900));
    assert_int_equal(waits[0].end_ns, 0);
    assert_int_equal(waits[0].stack, within);
    assert_int_equal(waits[0].cause, SBX_CAUSE_IPC);
    free(waits);
    sbx_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_triggers_with_a_duration_are_judged_over_it),
        cmocka_unit_test(test_manual_judges_the_open_message_when_that_is_long),
        cmocka_unit_test(test_manual_without_an_open_message_judges_the_recent_past),
        cmocka_unit_test(test_nested_waits_count_once_for_the_outer_one),
        cmocka_unit_test(test_open_call_reaches_to_the_trigger_with_the_stack_seen_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
