/* SPDX-License-Identifier: Apache-2.0 */
/* test_provider.c - the public functions about logical frames, without a recorder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <stallbox/stallbox.h>

static size_t walk(void *context, size_t first, uint64_t *functions, uint32_t *lines, size_t max)
{
    (void)context, (void)first, (void)functions, (void)lines, (void)max;
    return 0;
}

static const struct stallbox_provider_options good = {
    .sizeof_options = sizeof good, .name = "a-runtime_2.0", .walk = walk, .flags = STALLBOX_PROVIDER_SAFEPOINTS};

static void test_an_id_is_the_hash_of_what_the_manual_says(void **state)
{
    (void)state;
    /* FNV-1a of "app.lua:12" and "app.lua:12:run", computed by another program (python3). */
    assert_int_equal(stallbox_function_id("app.lua", 7, 12, NULL), UINT64_C(0x614664ad430dab1d));
    assert_int_equal(stallbox_function_id("app.lua", 7, 12, "run"), UINT64_C(0xe35fec478090ea));
    assert_int_equal(stallbox_function_id("app.lua", 7, 4294967295u, NULL), UINT64_C(0xde2497e350ea310d));
    assert_int_equal(stallbox_function_id("app.lua, of which seven bytes count", 7, 12, NULL),
                     stallbox_function_id("app.lua", 7, 12, NULL));
    assert_int_not_equal(stallbox_function_id("", 0, 0, NULL), 0);
}

static void test_bad_options_are_refused(void **state)
{
    (void)state;
    struct stallbox_provider *provider = NULL;
    static const char *const bad_names[] = {"", "Lua", "a/b", ".hidden", "a name", "twenty-four-characters--"};
    struct stallbox_provider_options options = good;
    assert_int_equal(stallbox_provider_register(NULL, &provider), STALLBOX_BAD_ARGUMENT);
    assert_int_equal(stallbox_provider_register(&good, NULL), STALLBOX_BAD_ARGUMENT);
    for (size_t i = 0; i < sizeof bad_names / sizeof *bad_names; i++) {
        options.name = bad_names[i];
        assert_int_equal(stallbox_provider_register(&options, &provider), STALLBOX_BAD_ARGUMENT);
    }
    options = good;
    options.name = NULL;
    assert_int_equal(stallbox_provider_register(&options, &provider), STALLBOX_BAD_ARGUMENT);
    options = good;
    options.walk = NULL;
    assert_int_equal(stallbox_provider_register(&options, &provider), STALLBOX_BAD_ARGUMENT);
    options = good;
    options.flags = 4;
    assert_int_equal(stallbox_provider_register(&options, &provider), STALLBOX_BAD_ARGUMENT);
    options = good;
    options.sizeof_options--;
    assert_int_equal(stallbox_provider_register(&options, &provider), STALLBOX_BAD_ARGUMENT);
    assert_null(provider);
}

static void test_memory_is_asked_about_without_a_recorder(void **state)
{
    (void)state;
    assert_int_equal(stallbox_provider_can_read(&good, sizeof good), 1);
    assert_int_equal(stallbox_provider_can_read(NULL, 8), 0);
    assert_int_equal(stallbox_provider_tell_name(NULL, 1, 1, "a", 1, "b", 1), 0);
}

static void test_four_are_registered_and_contexts_nest(void **state)
{
    (void)state;
    struct stallbox_provider *providers[4], *fifth = NULL;
    int first, second;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(stallbox_provider_register(&good, &providers[i]), STALLBOX_OK);
    }
    assert_int_equal(stallbox_provider_register(&good, &fifth), STALLBOX_NO_MEMORY);
    assert_null(fifth);
    assert_null(stallbox_provider_enter(providers[1], &first));
    assert_null(stallbox_provider_enter(providers[2], &first)); /* each provider has its own frames */
    assert_ptr_equal(stallbox_provider_enter(providers[1], &second), &first);
    stallbox_provider_leave(providers[1], &first);
    assert_ptr_equal(stallbox_provider_enter(providers[1], &second), &first);
    stallbox_provider_leave(providers[1], NULL); /* the inner frame was jumped over */
    assert_null(stallbox_provider_enter(providers[1], NULL));
    stallbox_provider_leave(providers[2], NULL);
    stallbox_provider_poll(); /* nothing is requested: nobody records */
    assert_null(stallbox_provider_enter(NULL, &first));
    stallbox_provider_leave(NULL, &first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_id_is_the_hash_of_what_the_manual_says),
        cmocka_unit_test(test_bad_options_are_refused),
        cmocka_unit_test(test_memory_is_asked_about_without_a_recorder),
        cmocka_unit_test(test_four_are_registered_and_contexts_nest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
