/* SPDX-License-Identifier: Apache-2.0 */
/* test_answer_cache.c - answers that are cached by address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "answer_cache.h"
#include "symbol_places.h"

/* Store two frames for `address`, with texts that contain it. Returns false when the cache is full. */
static bool add(struct sbx_answer_cache *cache, uint64_t address)
{
    char function[64];
    snprintf(function, sizeof function, "function_of_%llx", (unsigned long long)address);
    const struct sbx_symbol_frame frames[2] = {
        {sbx_answer_cache_keep(cache, function), NULL, (uint32_t)address, true},
        {sbx_answer_cache_keep(cache, "main"), sbx_answer_cache_keep(cache, "main.c"), 7, false}};
    memset(function, 'x', sizeof function - 1); /* the cache has a copy */
    return frames[0].function != NULL && frames[1].function != NULL && frames[1].file != NULL &&
           sbx_answer_cache_add(cache, address, &(struct sbx_answer){frames, 2, SBX_SYMBOLS_DWARF}) != NULL;
}

static void must_have(const struct sbx_answer_cache *cache, uint64_t address)
{
    char function[64];
    snprintf(function, sizeof function, "function_of_%llx", (unsigned long long)address);
    const struct sbx_answer *answer = sbx_answer_cache_find(cache, address);
    assert_non_null(answer);
    assert_int_equal(answer->count, 2);
    assert_int_equal(answer->source, SBX_SYMBOLS_DWARF);
    assert_string_equal(answer->frames[0].function, function);
    assert_null(answer->frames[0].file);
    assert_int_equal(answer->frames[0].line, (uint32_t)address);
    assert_true(answer->frames[0].inlined);
    assert_string_equal(answer->frames[1].function, "main");
    assert_string_equal(answer->frames[1].file, "main.c");
}

static void test_each_address_has_its_own_answer_however_many_there_are(void **state)
{
    (void)state;
    struct sbx_answer_cache *cache = sbx_answer_cache_create(8 << 20);
    assert_null(sbx_answer_cache_find(cache, 0));
    for (uint64_t i = 0; i < 20000; i++) {
        assert_true(add(cache, i * 4096));
    }
    for (uint64_t i = 0; i < 20000; i++) {
        must_have(cache, i * 4096);
        assert_null(sbx_answer_cache_find(cache, i * 4096 + 1));
    }
    sbx_answer_cache_destroy(cache);
}

static void test_that_nothing_names_an_address_is_an_answer(void **state)
{
    (void)state;
    struct sbx_answer_cache *cache = sbx_answer_cache_create(1 << 20);
    assert_non_null(sbx_answer_cache_add(cache, 5, &(struct sbx_answer){.count = 0}));
    const struct sbx_answer *answer = sbx_answer_cache_find(cache, 5);
    assert_non_null(answer);
    assert_int_equal(answer->count, 0);
    sbx_answer_cache_destroy(cache);
}

static void test_a_full_cache_says_so_and_goes_on_once_it_forgot(void **state)
{
    (void)state;
    struct sbx_answer_cache *cache = sbx_answer_cache_create(256 << 10);
    uint64_t last = 0, fills = 0;
    for (uint64_t i = 0; i < 50000; i++) {
        if (!add(cache, i)) {
            must_have(cache, last);
            sbx_answer_cache_forget(cache);
            assert_null(sbx_answer_cache_find(cache, last));
            assert_true(add(cache, i));
            fills++;
        }
        last = i;
    }
    assert_true(fills > 2);
    must_have(cache, last);
    sbx_answer_cache_destroy(cache);
    sbx_answer_cache_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_address_has_its_own_answer_however_many_there_are),
        cmocka_unit_test(test_that_nothing_names_an_address_is_an_answer),
        cmocka_unit_test(test_a_full_cache_says_so_and_goes_on_once_it_forgot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
