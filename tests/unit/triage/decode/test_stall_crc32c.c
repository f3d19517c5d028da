/* SPDX-License-Identifier: Apache-2.0 */
/* test_stall_crc32c.c - compared with published check values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "stall_crc32c.h"

static void test_known_answers(void **state)
{
    (void)state;
    uint8_t zeros[32] = {0}, ones[32], counting[32];
    memset(ones, 0xff, sizeof ones);
    for (size_t i = 0; i < sizeof counting; i++) {
        counting[i] = (uint8_t)i;
    }
    assert_int_equal(sbx_stall_crc32c(0, "123456789", 9), 0xe3069283); /* the check value of CRC-32C */
    assert_int_equal(sbx_stall_crc32c(0, zeros, 32), 0x8a9136aa);      /* RFC 3720, B.4 */
    assert_int_equal(sbx_stall_crc32c(0, ones, 32), 0x62a8ab43);
    assert_int_equal(sbx_stall_crc32c(0, counting, 32), 0x46dd794e);
    assert_int_equal(sbx_stall_crc32c(0, "", 0), 0);
}

static void test_pieces_give_what_the_whole_gives(void **state)
{
    (void)state;
    static const char text[] = "a checksum may be taken in pieces";
    for (size_t cut = 0; cut < sizeof text; cut++) {
        uint32_t crc = sbx_stall_crc32c(0, text, cut);
        assert_int_equal(sbx_stall_crc32c(crc, text + cut, sizeof text - cut), sbx_stall_crc32c(0, text, sizeof text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_pieces_give_what_the_whole_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
