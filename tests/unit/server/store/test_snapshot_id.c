/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot_id.h"

static void test_an_id_reads_back_as_it_was_printed(void **state)
{
    (void)state;
    uint8_t id[SBX_ID_BYTES], back[SBX_ID_BYTES];
    char text[SBX_ID_TEXT_BYTES];
    for (int i = 0; i < SBX_ID_BYTES; i++)
        id[i] = (uint8_t)(i * 17);
    sbx_id_print(id, text);
    assert_string_equal(text, "00112233445566778899aabbccddeeff");
    assert_true(sbx_id_parse(text, 32, back));
    assert_memory_equal(id, back, SBX_ID_BYTES);
}

static void test_only_32_lower_hex_digits_are_an_id(void **state)
{
    (void)state;
    static const char *const others[] = {"",
                                         "0",
                                         "00112233445566778899aabbccddeef",
                                         "00112233445566778899aabbccddeeff0",
                                         "00112233445566778899AABBCCDDEEFF",
                                         "../../../../../../../../../etc/pa",
                                         "00112233445566778899aabbccddeef\n",
                                         "00112233445566778899aabbccddeeg0",
                                         "0x112233445566778899aabbccddeeff"};
    uint8_t id[SBX_ID_BYTES];
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(sbx_id_parse(others[i], strlen(others[i]), id));
}

static void assert_key(const char *function, const char *module, const char *wanted)
{
    uint8_t key[SBX_ID_BYTES];
    char text[SBX_ID_TEXT_BYTES];
    sbx_issue_key("sleep", function, module, "redis-server", key);
    sbx_id_print(key, text);
    assert_string_equal(text, wanted);
}

/* Links to issues outlive servers: this value must never change. */
static void test_the_key_of_an_issue_is_the_same_for_ever(void **state)
{
    (void)state;
    assert_key("debugCommand", "redis-server", "c1fa79801a8d3cfd77532338309862be");
}

static void test_copies_that_compilers_make_are_one_function(void **state)
{
    (void)state;
    assert_key("debugCommand.constprop.0", "redis-server", "c1fa79801a8d3cfd77532338309862be");
    assert_key("debugCommand.part.1.cold", "redis-server", "c1fa79801a8d3cfd77532338309862be");
}

static void test_neighbouring_parts_of_a_key_do_not_run_together(void **state)
{
    (void)state;
    uint8_t one[SBX_ID_BYTES], other[SBX_ID_BYTES];
    sbx_issue_key("io", "ab", "c", "d", one);
    sbx_issue_key("io", "a", "bc", "d", other);
    assert_memory_not_equal(one, other, SBX_ID_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_id_reads_back_as_it_was_printed),
        cmocka_unit_test(test_only_32_lower_hex_digits_are_an_id),
        cmocka_unit_test(test_the_key_of_an_issue_is_the_same_for_ever),
        cmocka_unit_test(test_copies_that_compilers_make_are_one_function),
        cmocka_unit_test(test_neighbouring_parts_of_a_key_do_not_run_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
