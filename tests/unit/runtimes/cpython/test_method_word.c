/* SPDX-License-Identifier: Apache-2.0 */
/* test_method_word.c - tables of methods made by hand, in the order of CPython's structures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "method_word.h"

struct method {
    const char *name;
    void *(*function)(void *, void *);
    uint32_t flags;
    const char *text;
};

static void *first(void *self, void *unused)
{
    (void)unused;
    return self;
}

static void *second(void *self, void *unused)
{
    (void)self;
    return unused;
}

static struct method methods[4];
static struct {
    uint64_t before[232 / 8];
    struct method *methods;
    uint64_t after[16];
} type;

static uint64_t address_of(const void *object)
{
    return (uint64_t)(uintptr_t)object;
}

static int make_type(void **state)
{
    (void)state;
    memset(methods, 0, sizeof methods);
    methods[0] = (struct method){.name = "put", .function = first, .flags = METHOD_FAST_WITH_NAMES};
    methods[1] = (struct method){.name = "get", .function = first, .flags = METHOD_FAST_OF_CLASS};
    methods[2] = (struct method){
        .name = "get_nowait", .function = second, .flags = 0x8}; /* takes one argument: must not be called */
    type.methods = methods;
    return 0;
}

static void test_a_method_is_found_by_its_name_and_by_how_it_is_called(void **state)
{
    (void)state;
    struct method_word put = method_word_of_type(address_of(&type), "put", METHOD_FAST_WITH_NAMES);
    assert_int_equal(put.at, address_of(&methods[0].function));
    assert_int_equal(put.flags, METHOD_FAST_WITH_NAMES);
    struct method_word get = method_word_of_type(address_of(&type), "get", METHOD_ANY);
    assert_int_equal(get.at, address_of(&methods[1].function));
    assert_int_equal(get.flags, METHOD_FAST_OF_CLASS);
}

static void test_a_method_that_is_called_otherwise_is_none(void **state)
{
    (void)state;
    assert_int_equal(method_word_of_type(address_of(&type), "put", METHOD_FAST_OF_CLASS).at, 0);
    assert_int_equal(method_word_of_type(address_of(&type), "get_nowait", METHOD_ANY).at, 0);
    assert_int_equal(method_word_of_type(address_of(&type), "empty", METHOD_ANY).at, 0);
}

static void test_what_cannot_be_read_has_no_methods(void **state)
{
    (void)state;
    assert_int_equal(method_word_of_type(0, "put", METHOD_ANY).at, 0);
    type.methods = (struct method *)16; /* NOLINT(performance-no-int-to-ptr): where nothing is */
    assert_int_equal(method_word_of_type(address_of(&type), "put", METHOD_ANY).at, 0);
}

static void test_a_word_leads_to_another_function_and_tells_the_former(void **state)
{
    (void)state;
    void *(*real)(void *, void *) = NULL;
    int self, unused;
    method_word_lead_to(address_of(&methods[0].function), (const void *)second, &real);
    assert_ptr_equal(real(&self, &unused), &self);
    assert_ptr_equal(methods[0].function(&self, &unused), &unused);
}

static void test_a_function_of_a_module_has_its_word_behind_it(void **state)
{
    (void)state;
    uint64_t function[3] = {0, 0, address_of(&methods[0])};
    assert_int_equal(method_word_of_function(address_of(function), "put", METHOD_FAST_WITH_NAMES),
                     address_of(&methods[0].function));
    assert_int_equal(method_word_of_function(address_of(function), "get", METHOD_FAST_WITH_NAMES), 0);
    assert_int_equal(method_word_of_function(0, "put", METHOD_FAST_WITH_NAMES), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_method_is_found_by_its_name_and_by_how_it_is_called, make_type),
        cmocka_unit_test_setup(test_a_method_that_is_called_otherwise_is_none, make_type),
        cmocka_unit_test_setup(test_what_cannot_be_read_has_no_methods, make_type),
        cmocka_unit_test_setup(test_a_word_leads_to_another_function_and_tells_the_former, make_type),
        cmocka_unit_test_setup(test_a_function_of_a_module_has_its_word_behind_it, make_type),
    };
    return cmocka_run_group_tests_name("method_word", tests, NULL, NULL);
}
