/* SPDX-License-Identifier: Apache-2.0 */
/* test_deoptimized.c - which methods had been compiled and now run interpreted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "deoptimized.h"
#include "made_up_memory.h"

struct method {
    uint64_t counters, code;
    uint64_t between[9];
};
struct counters {
    uint32_t mask, events;
    uint8_t level, loop_level;
    uint8_t behind[6];
};

static struct {
    struct method methods[2];
    struct counters counters[2];
} the;

static const struct sbx_vm_layout layout = {.method_counters = offsetof(struct method, counters),
                                            .method_code = offsetof(struct method, code),
                                            .counters_mask = offsetof(struct counters, mask),
                                            .counters_levels = offsetof(struct counters, level)};

static int setup(void **state)
{
    (void)state;
    memset(&the, 0, sizeof the);
    for (int i = 0; i < 2; i++) {
        the.methods[i].counters = (uint64_t)(uintptr_t)&the.counters[i];
    }
    made_up_memory_is(&the, sizeof the);
    return 0;
}

static bool look(int method)
{
    return sbx_deoptimized_is(&layout, (uint64_t)(uintptr_t)&the.methods[method]);
}

static bool is_one(uint8_t level, uint8_t loop_level, uint64_t code)
{
    the.counters[0].level = level;
    the.counters[0].loop_level = loop_level;
    the.methods[0].code = code;
    return look(0);
}

enum {
    NEVER,
    PROFILED = 3,
    OPTIMIZED = 4,
    CODE = 8
};

static void test_what_was_optimized_or_has_lost_its_code_had_been_compiled(void **state)
{
    (void)state;
    assert_true(is_one(OPTIMIZED, NEVER, 0));
    assert_true(is_one(OPTIMIZED, NEVER, CODE)); /* the frame has left the code */
    assert_true(is_one(NEVER, OPTIMIZED, 0));    /* entered in a loop */
    assert_true(is_one(PROFILED, NEVER, 0));
}

static void test_what_warms_up_had_not_been_compiled(void **state)
{
    (void)state;
    assert_false(is_one(NEVER, NEVER, 0));
    assert_false(is_one(PROFILED, NEVER, CODE)); /* its loop began before the code existed */
    assert_false(is_one(NEVER, PROFILED, 0));
    the.methods[0].counters = 0; /* called a few times only */
    assert_false(is_one(OPTIMIZED, NEVER, 0));
}

static bool is_lesser(uint8_t level, uint8_t highest)
{
    struct {
        uint64_t method;
        uint32_t level;
    } blob = {(uint64_t)(uintptr_t)&the.methods[0], level};
    struct sbx_vm_layout of_code = layout;
    of_code.compile_level = sizeof blob.method;
    of_code.method_of_code = 0;
    the.counters[0].level = highest;
    const struct sbx_code code = {.kind = SBX_CODE_COMPILED, .blob = (uint64_t)(uintptr_t)&blob};
    return sbx_deoptimized_is_lesser(&of_code, &code);
}

static void test_code_that_counts_is_the_lesser_of_what_had_been_optimized_alone(void **state)
{
    (void)state;
    assert_true(is_lesser(PROFILED, OPTIMIZED));
    assert_false(is_lesser(PROFILED, PROFILED)); /* it warms up */
    assert_false(is_lesser(OPTIMIZED, OPTIMIZED));
    assert_false(is_lesser(1, OPTIMIZED)); /* code of level 1 is final */
    const struct sbx_code stub = {.kind = SBX_CODE_STUB};
    assert_false(sbx_deoptimized_is_lesser(&layout, &stub));
}

static void test_a_method_that_cannot_be_read_is_none(void **state)
{
    (void)state;
    the.counters[0].level = OPTIMIZED;
    the.methods[0].counters = 0xdead0000;
    assert_false(look(0));
    made_up_memory_is(&the, 0);
    assert_false(look(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_what_was_optimized_or_has_lost_its_code_had_been_compiled, setup),
        cmocka_unit_test_setup(test_what_warms_up_had_not_been_compiled, setup),
        cmocka_unit_test_setup(test_code_that_counts_is_the_lesser_of_what_had_been_optimized_alone, setup),
        cmocka_unit_test_setup(test_a_method_that_cannot_be_read_is_none, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
