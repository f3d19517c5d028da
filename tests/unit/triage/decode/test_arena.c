/* SPDX-License-Identifier: Apache-2.0 */
/* test_arena.c - the limit holds, allocations do not overlap, equal texts are stored once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "arena.h"

static void test_pieces_are_aligned_zeroed_and_apart(void **state)
{
    (void)state;
    struct sbx_arena *arena = sbx_arena_create(8 << 20);
    unsigned char *pieces[300];
    for (size_t i = 0; i < 300; i++) {
        size_t bytes = i % 7 == 0 ? 20000 + i : i + 1;
        pieces[i] = sbx_arena_take(arena, bytes);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        for (size_t j = 0; j < bytes; j++) {
            assert_int_equal(pieces[i][j], 0);
        }
        memset(pieces[i], (int)(i % 255) + 1, bytes);
    }
    for (size_t i = 0; i < 300; i++) {
        size_t bytes = i % 7 == 0 ? 20000 + i : i + 1;
        assert_int_equal(pieces[i][0], i % 255 + 1);
        assert_int_equal(pieces[i][bytes - 1], i % 255 + 1);
    }
    sbx_arena_destroy(arena);
}

static void test_limit_is_not_exceeded(void **state)
{
    (void)state;
    struct sbx_arena *arena = sbx_arena_create(1 << 20);
    size_t taken = 0;
    while (sbx_arena_take(arena, 1000) != NULL) {
        taken += 1000;
    }
    assert_true(taken > (1 << 20) * 9 / 10 && taken <= 1 << 20);
    assert_null(sbx_arena_take(arena, SIZE_MAX));
    assert_null(sbx_arena_take(arena, SIZE_MAX - 8));
    sbx_arena_destroy(arena);
}

static void test_equal_texts_are_one_pointer(void **state)
{
    (void)state;
    struct sbx_arena *arena = sbx_arena_create(8 << 20);
    const char *first[2000];
    char text[32];
    for (int i = 0; i < 2000; i++) {
        snprintf(text, sizeof text, "function %d", i);
        first[i] = sbx_arena_intern(arena, text);
        assert_string_equal(first[i], text);
    }
    for (int i = 0; i < 2000; i++) {
        snprintf(text, sizeof text, "function %d", i);
        assert_ptr_equal(sbx_arena_intern(arena, text), first[i]);
    }
    assert_ptr_not_equal(first[0], first[1]);
    sbx_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_are_aligned_zeroed_and_apart),
        cmocka_unit_test(test_limit_is_not_exceeded),
        cmocka_unit_test(test_equal_texts_are_one_pointer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
