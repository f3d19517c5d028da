/* SPDX-License-Identifier: Apache-2.0 */
/* test_id_table.c - ids of functions: each is stored once, whichever thread comes first; an id without room is
 * counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "id_table.h"
#include "order.h"

enum {
    SLOTS = 1024,
    THREADS = 4,
    IDS = 600
};
static uint64_t table[SLOTS];

static uint64_t id_number(uint32_t number)
{
    return (number + 1) * UINT64_C(0x100000001); /* they differ in both halves, as little as possible */
}

static void test_an_id_has_one_index_and_others_have_others(void **state)
{
    (void)state;
    uint8_t seen[SLOTS] = {0};
    memset(table, 0, sizeof table);
    for (uint32_t i = 0; i < IDS; i++) {
        uint32_t index = sbx_id_intern(table, SLOTS, id_number(i));
        assert_in_range(index, 1, SLOTS - 1);
        assert_int_equal(table[index], id_number(i));
        assert_int_equal(seen[index], 0);
        seen[index] = 1;
    }
    for (uint32_t i = 0; i < IDS; i++) {
        assert_int_equal(table[sbx_id_intern(table, SLOTS, id_number(i))], id_number(i));
    }
    assert_int_equal(table[0], 0); /* index 0 belongs to no id */
}

static void test_id_zero_is_nobodys(void **state)
{
    (void)state;
    memset(table, 0, sizeof table);
    assert_int_equal(sbx_id_intern(table, SLOTS, 0), 0);
}

static void test_a_full_table_gives_none_and_keeps_what_it_has(void **state)
{
    (void)state;
    uint64_t small[16] = {0};
    uint32_t found = 0;
    for (uint32_t i = 0; i < 100; i++) {
        found += sbx_id_intern(small, 16, id_number(i)) != 0;
    }
    assert_int_equal(found, 15);
    for (uint32_t i = 0; i < 15; i++) { /* the first fifteen are those that were stored */
        assert_int_not_equal(sbx_id_intern(small, 16, id_number(i)), 0);
    }
}

static uint32_t indexes[THREADS][IDS];

static void *intern_all(void *own)
{
    for (uint32_t i = 0; i < IDS; i++) {
        ((uint32_t *)own)[i] = sbx_id_intern(table, SLOTS, id_number(i));
    }
    return NULL;
}

static void test_threads_agree_about_every_id(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        pthread_t threads[THREADS];
        memset(table, 0, sizeof table);
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, intern_all, indexes[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            assert_memory_equal(indexes[i], indexes[0], sizeof indexes[0]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_id_has_one_index_and_others_have_others),
        cmocka_unit_test(test_id_zero_is_nobodys),
        cmocka_unit_test(test_a_full_table_gives_none_and_keeps_what_it_has),
        cmocka_unit_test(test_threads_agree_about_every_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
