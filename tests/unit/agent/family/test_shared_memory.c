/* SPDX-License-Identifier: Apache-2.0 */
/* test_shared_memory.c - whether the same address in two processes is the same memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "kept_child.h"
#include "shared_memory.h"

enum {
    PAGE = 4096
};

static uint8_t *map(void *at, int how)
{
    uint8_t *pages =
        mmap(at, 2 * PAGE, PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS | (at != NULL ? MAP_FIXED : 0), -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    return pages;
}

static void leave_alone(void *pages)
{
    (void)pages;
}

static void map_others_there(void *pages)
{
    (void)map(pages, MAP_SHARED);
}

static void swap_pages(void *both)
{
    uint8_t *pages = both, *spare = map(NULL, MAP_SHARED);
    (void)mremap(pages, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, spare);
    (void)mremap(pages + PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, pages);
}

static void test_what_was_shared_before_the_fork_is_the_same(void **state)
{
    (void)state;
    uint8_t *pages = map(NULL, MAP_SHARED);
    uint32_t child = kept_child_begin(leave_alone, pages);
    assert_true(sbx_memory_is_shared((uint64_t)(uintptr_t)(pages + 40), child));
    assert_true(sbx_memory_is_shared((uint64_t)(uintptr_t)(pages + PAGE + 40), child));
    assert_false(sbx_memory_is_shared((uint64_t)(uintptr_t)(pages + 2 * PAGE), child));
    kept_child_end(child);
    assert_false(sbx_memory_is_shared((uint64_t)(uintptr_t)(pages + 40), child));
    munmap(pages, 2 * PAGE);
}

static void test_what_is_private_is_not(void **state)
{
    (void)state;
    uint8_t *pages = map(NULL, MAP_PRIVATE);
    uint32_t child = kept_child_begin(leave_alone, pages);
    assert_false(sbx_memory_is_shared((uint64_t)(uintptr_t)pages, child));
    assert_false(sbx_memory_is_shared((uint64_t)(uintptr_t)&child, child)); /* on a stack */
    kept_child_end(child);
    munmap(pages, 2 * PAGE);
}

static void test_other_memory_at_the_same_address_is_not(void **state)
{
    (void)state;
    uint8_t *pages = map(NULL, MAP_SHARED);
    uint32_t child = kept_child_begin(map_others_there, pages);
    assert_false(sbx_memory_is_shared((uint64_t)(uintptr_t)pages, child));
    kept_child_end(child);
    child = kept_child_begin(swap_pages, pages);
    assert_false(sbx_memory_is_shared((uint64_t)(uintptr_t)pages, child)); /* the same file, another page of it */
    kept_child_end(child);
    munmap(pages, 2 * PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_shared_before_the_fork_is_the_same),
        cmocka_unit_test(test_what_is_private_is_not),
        cmocka_unit_test(test_other_memory_at_the_same_address_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
