/* SPDX-License-Identifier: Apache-2.0 */
/* test_look_stack.c - which stack is used for a look from outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "look_stack.h"
#include "one_scene.h"

#define MS(ms) ((int64_t)(ms)*1000)

static void put(uint8_t kind, uint8_t op, int64_t at_ms, const char *stack)
{
    sbx_scene_record(scene, (struct sbx_build_record){.kind = kind,
                                                      .op = op,
                                                      .begin_us = MS(at_ms),
                                                      .end_us = MS(at_ms),
                                                      .message = 1,
                                                      .stack = stack != NULL ? sbx_scene_stack(scene, stack) : 0});
}

/* Check which of the stored records is that of the same look, and from which record it takes its stack. */
static void expect_stack_of(size_t look, size_t record)
{
    const struct sbx_stall *stall = sbx_scene_stall(scene);
    const struct sbx_stall_thread *thread = &stall->threads[0];
    assert_int_equal(sbx_look_stack(stall, thread, look), stall->records[thread->record_begin + record].stack);
}

#define ASKED "uv_fs_fsync < gen: < uv_run < main"
#define TOLD  "uv_fs_fsync < save_order#shop.js:7 < uv_run < main"

static void test_a_look_at_generated_code_takes_the_functions_of_the_same_call(void **state)
{
    (void)state;
    put(SBX_RECORD_LEAF, SBX_OP_WRITE, -500, "uv_fs_write < write_order#shop.js:5 < uv_run < main");
    put(SBX_RECORD_BLOCKED, SBX_OP_FSYNC, -490, ASKED);
    put(SBX_RECORD_LEAF, SBX_OP_FSYNC, -470, TOLD);
    expect_stack_of(1, 2);
}

static void test_a_look_without_a_stack_takes_that_of_the_same_call(void **state)
{
    (void)state;
    put(SBX_RECORD_LEAF, SBX_OP_FSYNC, -500, "save < main");
    put(SBX_RECORD_BLOCKED, SBX_OP_FSYNC, -490, NULL);
    expect_stack_of(1, 0);
}

static void test_a_call_of_long_ago_is_another(void **state)
{
    (void)state;
    put(SBX_RECORD_LEAF, SBX_OP_FSYNC, -600, TOLD);
    put(SBX_RECORD_BLOCKED, SBX_OP_FSYNC, -490, ASKED);
    expect_stack_of(1, 1);
}

static void test_a_look_that_has_its_functions_keeps_them(void **state)
{
    (void)state;
    put(SBX_RECORD_BLOCKED, SBX_OP_FSYNC, -490, TOLD);
    put(SBX_RECORD_LEAF, SBX_OP_FSYNC, -489, "uv_fs_fsync < save_bill#shop.js:9 < uv_run < main");
    expect_stack_of(0, 0);
}

static void test_a_sample_stands_for_itself(void **state)
{
    (void)state;
    put(SBX_RECORD_ASYNC, 0, -490, "gen: < uv_run < main");
    put(SBX_RECORD_ASYNC, 0, -480, "price#shop.js:3 < uv_run < main");
    expect_stack_of(0, 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin_scene, end_scene)
    const struct CMUnitTest tests[] = {
        CASE(test_a_look_at_generated_code_takes_the_functions_of_the_same_call),
        CASE(test_a_look_without_a_stack_takes_that_of_the_same_call),
        CASE(test_a_call_of_long_ago_is_another),
        CASE(test_a_look_that_has_its_functions_keeps_them),
        CASE(test_a_sample_stands_for_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
