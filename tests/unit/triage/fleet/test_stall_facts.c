/* SPDX-License-Identifier: Apache-2.0 */
/* test_stall_facts.c - the stored facts of a stall; its times add up. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stall_facts.h"
#include "stall_scene.h"

static struct sbx_stall_fact facts[SBX_STALL_FACTS_MAX];
static size_t count;

static const struct sbx_stall_fact *find(enum sbx_fact_kind kind)
{
    for (size_t i = 0; i < count; i++) {
        if (facts[i].kind == kind) {
            return &facts[i];
        }
    }
    return NULL;
}

static int64_t time_in_all(void)
{
    int64_t us = 0;
    for (size_t i = 0; i < count; i++) {
        us += facts[i].kind == SBX_FACT_TIME ? facts[i].us : 0;
    }
    return us;
}

static void test_a_wait_for_a_lock_tells_holder_pair_and_times_that_add_up(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(2, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 1, SBX_RECORD_ASYNC, "compress < flush_log", -1000000, 0, 10000, 990);
    sbx_scene_record(scene, (struct sbx_build_record){
                                .kind = SBX_RECORD_LOCK,
                                .begin_us = -980000,
                                .end_us = -1000,
                                .stack = sbx_scene_stack(scene, "libc:pthread_mutex_lock < save.part.0 < main"),
                                .message = 1,
                                .object = 1,
                                .peer = 2});
    count = sbx_stall_facts(sbx_scene_report(scene), facts);
    assert_string_equal(find(SBX_FACT_CAUSE)->word, "lock");
    assert_string_equal(find(SBX_FACT_DETAIL)->word, "lock > compress");
    assert_string_equal(find(SBX_FACT_FUNCTION)->word, "save");
    assert_string_equal(find(SBX_FACT_HOLDER)->word, "compress");
    assert_string_equal(find(SBX_FACT_PAIR)->word, "save < compress");
    assert_true(llabs(find(SBX_FACT_HOLDER)->us - 979000) <= 1000);
    assert_null(find(SBX_FACT_WAKER));
    assert_true(llabs(time_in_all() - find(SBX_FACT_CAUSE)->us) <= 1000);
    sbx_scene_destroy(scene);
}

static void test_a_wait_for_a_disk_tells_its_call(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_SYNC,
                                                      .op = SBX_OP_FSYNC,
                                                      .fd_class = SBX_FD_REGULAR,
                                                      .begin_us = -900000,
                                                      .end_us = -1000,
                                                      .stack = sbx_scene_stack(scene, "libc:__GI_fsync < save < main"),
                                                      .message = 1});
    count = sbx_stall_facts(sbx_scene_report(scene), facts);
    assert_string_equal(find(SBX_FACT_DETAIL)->word, "io > fsync");
    assert_null(find(SBX_FACT_HOLDER));
    assert_non_null(find(SBX_FACT_KERNEL));
    sbx_scene_destroy(scene);
}

static size_t count_of(enum sbx_fact_kind kind)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        found += facts[i].kind == kind;
    }
    return found;
}

/* A stall of a second. Before it the thread ran one function for a second, another for half a second, and a third for
 * one sample. */
static void test_what_came_before_is_told_by_function_without_the_stall_and_what_is_too_old(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "long_ago < on_start < main", -9000000, -8000000, 10000, 1000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "parse_feed.part.0 < on_feed < main", -4000000, -3500000, 10000,
                      1000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "libc:memcpy < load_index < on_timer < main", -2500000, -1500000,
                      10000, 1000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "draw < on_click < main", -1000000, 0, 10000, 1000);
    count = sbx_stall_facts(sbx_scene_report(scene), facts);
    assert_string_equal(find(SBX_FACT_FUNCTION)->word, "draw");
    assert_int_equal(count_of(SBX_FACT_BEFORE), 2);
    const struct sbx_stall_fact *first = find(SBX_FACT_BEFORE);
    assert_string_equal(first[0].word, "load_index");
    assert_true(llabs(first[0].us - 1000000) <= 50000);
    assert_string_equal(first[1].word, "parse_feed");
    assert_true(llabs(first[1].us - 500000) <= 50000);
    assert_true(llabs(time_in_all() - find(SBX_FACT_CAUSE)->us) <= 1000);
    sbx_scene_destroy(scene);
}

static void test_of_an_idle_thread_nothing_came_before(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "draw < on_click < main", -1000000, 0, 10000, 1000);
    count = sbx_stall_facts(sbx_scene_report(scene), facts);
    assert_int_equal(count_of(SBX_FACT_BEFORE), 0);
    assert_int_equal(count_of(SBX_FACT_SCENE), 0);
    sbx_scene_destroy(scene);
}

static void test_the_scene_that_the_application_told_is_one_word(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_payload(scene)->trigger->scene = 7;
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "draw < on_click < main", -1000000, 0, 10000, 1000);
    count = sbx_stall_facts(sbx_scene_report(scene), facts);
    assert_int_equal(count_of(SBX_FACT_SCENE), 1);
    assert_string_equal(find(SBX_FACT_SCENE)->word, "scene 7");
    sbx_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wait_for_a_lock_tells_holder_pair_and_times_that_add_up),
        cmocka_unit_test(test_a_wait_for_a_disk_tells_its_call),
        cmocka_unit_test(test_what_came_before_is_told_by_function_without_the_stall_and_what_is_too_old),
        cmocka_unit_test(test_of_an_idle_thread_nothing_came_before),
        cmocka_unit_test(test_the_scene_that_the_application_told_is_one_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
