/* SPDX-License-Identifier: Apache-2.0 */
/* test_relro_word.c - stores to words in pages that the loader made read-only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "relro_word.h"

/* Whole pages of each kind, wherever the neighbouring words are. */
enum {
    WORDS = 16384
};
#define EIGHT(x) x, x, x, x, x, x, x, x
static int pointed_at;
static void *const relocated[WORDS] = {EIGHT(&pointed_at)}; /* read-only after relocation */
static const uintptr_t constants[WORDS] = {EIGHT(7)};
static uintptr_t variables[WORDS];

static uintptr_t *word_of_relocated(void)
{
    return (uintptr_t *)(uintptr_t)&relocated[WORDS / 2];
}

static void test_a_word_that_the_loader_made_read_only_is_stored_and_is_read_only_again(void **state)
{
    (void)state;
    uintptr_t *word = word_of_relocated();
    assert_false(sbx_word_is_writable(word));
#ifdef FILTERS_ARE_NOT_TOLD
    assert_false(sbx_relro_store(word, 42)); /* a seccomp filter might forbid the call */
    assert_int_equal(__atomic_load_n(word, __ATOMIC_RELAXED), 0);
#else
    assert_true(sbx_relro_store(word, 42));
    assert_int_equal(__atomic_load_n(word, __ATOMIC_RELAXED), 42);
#endif
    assert_false(sbx_word_is_writable(word));
}

static void test_a_word_that_can_be_written_to_is_stored_and_stays_so(void **state)
{
    (void)state;
    assert_true(sbx_relro_store(&variables[WORDS / 2], 43));
    assert_int_equal(variables[WORDS / 2], 43);
    assert_true(sbx_word_is_writable(&variables[WORDS / 2]));
}

static void test_constants_code_and_pages_that_are_no_modules_are_left_alone(void **state)
{
    (void)state;
    uintptr_t *constant = (uintptr_t *)(uintptr_t)&constants[WORDS / 2];
    uintptr_t *code = (uintptr_t *)((uintptr_t)word_of_relocated & ~(uintptr_t)7);
    uintptr_t was = *code;
    void *page = mmap(NULL, getauxval(AT_PAGESZ), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    assert_false(sbx_relro_store(constant, 44));
    assert_int_equal(*constant, 0);
    assert_false(sbx_relro_store(code, 44));
    assert_int_equal(*code, was);
    assert_false(sbx_relro_store(page, 44));
    assert_int_equal(munmap(page, getauxval(AT_PAGESZ)), 0);
}

static void test_nothing_is_stored_while_somebody_else_is_at_such_pages(void **state)
{
    (void)state;
    assert_true(sbx_relro_begin());
    assert_false(sbx_relro_store(&variables[0], 45));
    assert_int_equal(variables[0], 0);
    sbx_relro_end();
    assert_true(sbx_relro_store(&variables[0], 45));
    assert_true(sbx_relro_begin());
    sbx_relro_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_word_that_the_loader_made_read_only_is_stored_and_is_read_only_again),
        cmocka_unit_test(test_a_word_that_can_be_written_to_is_stored_and_stays_so),
        cmocka_unit_test(test_constants_code_and_pages_that_are_no_modules_are_left_alone),
        cmocka_unit_test(test_nothing_is_stored_while_somebody_else_is_at_such_pages),
    };
    sbx_relro_prepare(getauxval(AT_PAGESZ));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
