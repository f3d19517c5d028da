/* SPDX-License-Identifier: Apache-2.0 */
/* test_provider_options.c - which options a registration accepts. Apart from test_provider.c, because a process has
 * room for only four providers. */
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

static size_t walk_at(void *context, const struct stallbox_interrupted *interrupted, size_t first, uint64_t *functions,
                      uint32_t *lines, size_t max)
{
    (void)interrupted;
    return walk(context, first, functions, lines, max);
}

static void test_options_of_the_first_header_are_taken(void **state)
{
    (void)state;
    struct stallbox_provider *provider = NULL;
    struct stallbox_provider_options options = good;
    options.sizeof_options = offsetof(struct stallbox_provider_options, resolve);
    memset((char *)&options + options.sizeof_options, 0xa5, sizeof options - options.sizeof_options); /* not ours */
    assert_int_equal(stallbox_provider_register(&options, &provider), STALLBOX_OK);
    assert_non_null(provider);
    options = good;
    options.sizeof_options -= sizeof(void *); /* a size between two versions */
    assert_int_equal(stallbox_provider_register(&options, &provider), STALLBOX_OK);
    options.sizeof_options = offsetof(struct stallbox_provider_options, resolve) - sizeof(void *);
    assert_int_equal(stallbox_provider_register(&options, &provider), STALLBOX_BAD_ARGUMENT);
    options.sizeof_options = sizeof options + sizeof(void *); /* from a future header */
    assert_int_equal(stallbox_provider_register(&options, &provider), STALLBOX_BAD_ARGUMENT);
    options = good;
    options.walk = NULL;
    options.walk_at = walk_at;
    assert_int_equal(stallbox_provider_register(&options, &provider), STALLBOX_OK);
}

static void test_ranges_of_code_are_taken_eight_times(void **state)
{
    (void)state;
    static char code[64];
    struct stallbox_provider *provider = NULL;
    assert_int_equal(stallbox_provider_register(&good, &provider), STALLBOX_OK);
    assert_int_equal(stallbox_provider_add_code(NULL, code, code + 1), STALLBOX_BAD_ARGUMENT);
    assert_int_equal(stallbox_provider_add_code(provider, code, code), STALLBOX_BAD_ARGUMENT);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(stallbox_provider_add_code(provider, code + i, code + i + 1), STALLBOX_OK);
    }
    assert_int_equal(stallbox_provider_add_code(provider, code, code + 1), STALLBOX_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_of_the_first_header_are_taken),
        cmocka_unit_test(test_ranges_of_code_are_taken_eight_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
