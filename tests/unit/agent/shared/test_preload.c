/* SPDX-License-Identifier: Apache-2.0 */
/* test_preload.c - orders survive the environment, and no other text is taken for an order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "preload.h"
#include "recording_format.h"

static void make(struct sbx_preload_orders *orders)
{
    memset(orders, 0, sizeof *orders);
    orders->layout_hash = sbx_layout_hash();
    orders->settings.anr_ms = 1234;
    orders->settings.points = 0xfedcba98;
    orders->companion_key = UINT64_C(0x8877665544332211);
}

static void test_orders_come_back_as_they_were(void **state)
{
    struct sbx_preload_orders orders, back;
    char text[SBX_ORDERS_TEXT_BYTES];
    (void)state;
    make(&orders);
    sbx_orders_print(&orders, text);
    assert_int_equal(strlen(text), sizeof text - 1);
    assert_true(sbx_orders_parse(text, &back));
    assert_memory_equal(&orders, &back, sizeof back);
}

static void test_orders_of_another_version_are_refused(void **state)
{
    struct sbx_preload_orders orders, back;
    char text[SBX_ORDERS_TEXT_BYTES];
    (void)state;
    make(&orders);
    orders.layout_hash ^= 1;
    sbx_orders_print(&orders, text);
    assert_false(sbx_orders_parse(text, &back));
}

static void test_orders_cut_short_or_with_other_letters_are_refused(void **state)
{
    struct sbx_preload_orders orders, back;
    char text[SBX_ORDERS_TEXT_BYTES];
    (void)state;
    make(&orders);
    sbx_orders_print(&orders, text);
    for (size_t length = 0; length < sizeof text - 1; length++) {
        char kept = text[length];
        text[length] = 0;
        assert_false(sbx_orders_parse(text, &back));
        text[length] = 'x';
        assert_false(sbx_orders_parse(text, &back));
        text[length] = kept;
    }
    assert_true(sbx_orders_parse(text, &back));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders_come_back_as_they_were),
        cmocka_unit_test(test_orders_of_another_version_are_refused),
        cmocka_unit_test(test_orders_cut_short_or_with_other_letters_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
