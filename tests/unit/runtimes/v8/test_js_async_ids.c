/* SPDX-License-Identifier: Apache-2.0 */
/* test_js_async_ids.c - the ids of the callback that node's event loop runs, in a made-up heap and Environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "js_async_ids.h"
#include "made_up_heap.h"

enum {
    TYPE_OF_CONTEXT = 220,
    TYPE_OF_EMBEDDER = 247,
    ENVIRONMENT_WORDS = 600,
    ARRAYS_AT = 100, /* words */
    ARRAY_WORDS = 7,
};

#define ISOLATE UINT64_C(0x5840e00)
#define MARK    UINT64_C(0x1234560)

static struct js_layout layout;
static uint64_t environment[ENVIRONMENT_WORDS];
static double numbers[4];
static uint64_t context, embedder;

static uint64_t address_of(const void *object)
{
    return (uint64_t)(uintptr_t)object;
}

static void put_array(uint32_t number, uint64_t count, const void *words)
{
    uint64_t *array = &environment[ARRAYS_AT + number * ARRAY_WORDS];
    array[1] = ISOLATE;
    array[2] = count;
    array[3] = 0;
    array[4] = address_of(words);
}

static int begin(void **state)
{
    static uint64_t elsewhere[16];
    (void)state;
    heap_clear();
    memset(environment, 0, sizeof environment);
    layout = heap_layout;
    layout.type_context_first = layout.type_context_last = TYPE_OF_CONTEXT;
    layout.type_embedder = TYPE_OF_EMBEDDER;
    uint64_t native = heap_object(TYPE_OF_CONTEXT, 8);
    embedder = heap_object(TYPE_OF_EMBEDDER, 2 + 40);
    heap_put(embedder, JS_ARRAY_LENGTH, heap_number(40));
    heap_put(embedder, JS_ARRAY_ITEMS + 32 * 8, address_of(environment));
    heap_put(embedder, JS_ARRAY_ITEMS + 39 * 8, MARK);
    heap_put(native, JS_CONTEXT_EMBEDDER, embedder);
    uint64_t map = heap_take(6);
    const uint16_t type = TYPE_OF_CONTEXT;
    memcpy((void *)(uintptr_t)(map + JS_MAP_TYPE), &type, sizeof type);
    memcpy((void *)(uintptr_t)(map + JS_MAP_NATIVE_CONTEXT), &native, sizeof native);
    context = heap_take(8) + JS_OBJECT_TAG;
    heap_put(context, 0, map + JS_OBJECT_TAG);
    put_array(0, 64, elsewhere);
    put_array(1, 9, elsewhere);
    put_array(2, 4, numbers);
    const double some[4] = {70, 9, 4503599627370497.0, -1};
    memcpy(numbers, some, sizeof numbers);
    return 0;
}

static bool read_with(struct js_environments *environments, uint64_t mark, struct js_async_ids *ids)
{
    struct js_pages pages = {.known = {0}};
    return js_async_ids_read(environments, &layout, &pages, ISOLATE, context, mark, ids);
}

static bool read(struct js_async_ids *ids)
{
    struct js_environments environments = {0};
    return read_with(&environments, MARK, ids);
}

static void test_the_numbers_are_read_where_they_look_like_these(void **state)
{
    (void)state;
    struct js_environments environments = {0};
    struct js_async_ids ids;
    assert_true(read_with(&environments, MARK, &ids));
    assert_int_equal(ids.environment, address_of(environment));
    assert_int_equal(ids.running, 70);
    assert_int_equal(ids.queued_in, 9);
    assert_int_equal(ids.newest, 4503599627370497);
    assert_int_equal(environments.at, (ARRAYS_AT + 2 * ARRAY_WORDS) * 8);
    numbers[0] = 71;
    assert_true(read_with(&environments, MARK, &ids)); /* already found before */
    assert_int_equal(ids.running, 71);
}

static void test_what_is_no_whole_number_is_none(void **state)
{
    (void)state;
    struct js_async_ids ids;
    numbers[1] = -1;
    assert_true(read(&ids));
    assert_int_equal(ids.queued_in, 0);
    numbers[0] = 0;
    assert_true(read(&ids));
    assert_int_equal(ids.running, 0);
    numbers[0] = 70.5;
    assert_false(read(&ids));
    numbers[0] = -70;
    assert_false(read(&ids));
    numbers[0] = 1e300;
    assert_false(read(&ids));
}

static void test_what_runs_is_no_newer_than_the_newest(void **state)
{
    (void)state;
    struct js_async_ids ids;
    numbers[2] = 69;
    assert_false(read(&ids));
}

static void test_a_context_of_another_embedder_has_none(void **state)
{
    (void)state;
    struct js_environments environments = {0};
    struct js_async_ids ids;
    assert_false(read_with(&environments, MARK + 8, &ids));
    assert_false(read_with(&environments, 0, &ids));
    layout.type_embedder = 0;
    assert_false(read(&ids));
    begin(state);
    heap_put(embedder, JS_ARRAY_LENGTH, heap_number(39)); /* the array is too short for the mark */
    assert_false(read(&ids));
}

static void test_arrays_of_another_isolate_or_of_other_lengths_are_not_these(void **state)
{
    (void)state;
    struct js_async_ids ids;
    environment[ARRAYS_AT + 2 * ARRAY_WORDS + 1] = ISOLATE + 8;
    assert_false(read(&ids));
    begin(state);
    environment[ARRAYS_AT + ARRAY_WORDS + 2] = 3;
    assert_false(read(&ids));
    begin(state);
    environment[ARRAYS_AT + 2] = 31;
    assert_false(read(&ids));
    begin(state);
    environment[ARRAYS_AT + 2 * ARRAY_WORDS + 4] = 8; /* no valid memory */
    assert_false(read(&ids));
}

static void test_an_environment_that_is_gone_is_not_read(void **state)
{
    (void)state;
    struct js_environments environments = {0};
    struct js_async_ids ids;
    assert_true(read_with(&environments, MARK, &ids));
    heap_put(embedder, JS_ARRAY_ITEMS + 32 * 8, 4096);
    assert_false(read_with(&environments, MARK, &ids));
    heap_put(embedder, JS_ARRAY_ITEMS + 32 * 8, address_of(environment) + 1);
    assert_false(read_with(&environments, MARK, &ids));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_the_numbers_are_read_where_they_look_like_these, begin),
        cmocka_unit_test_setup(test_what_is_no_whole_number_is_none, begin),
        cmocka_unit_test_setup(test_what_runs_is_no_newer_than_the_newest, begin),
        cmocka_unit_test_setup(test_a_context_of_another_embedder_has_none, begin),
        cmocka_unit_test_setup(test_arrays_of_another_isolate_or_of_other_lengths_are_not_these, begin),
        cmocka_unit_test_setup(test_an_environment_that_is_gone_is_not_read, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
