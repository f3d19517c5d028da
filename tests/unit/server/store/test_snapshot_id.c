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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_id_reads_back_as_it_was_printed),
        cmocka_unit_test(test_only_32_lower_hex_digits_are_an_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
