/* SPDX-License-Identifier: Apache-2.0 */
/* test_shared_memory.c - the same address in two processes, which is the same memory or is not. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

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

/* A child that has done `work` to the pages, until it is ended. */
static uint32_t keep(void (*work)(uint8_t *), uint8_t *pages)
{
    int ready[2];
    char letter = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        work(pages);
        (void)!write(ready[1], &letter, 1);
        for (;;) {
            pause();
        }
    }
    assert_int_equal(read(ready[0], &letter, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return (uint32_t)child;
}

static void end(uint32_t pid)
{
    kill((pid_t)pid, SIGKILL);
    waitpid((pid_t)pid, NULL, 0);
}

static void leave_alone(uint8_t *pages)
{
    (void)pages;
}

static void map_others_there(uint8_t *pages)
{
    (void)map(pages, MAP_SHARED);
}

static void swap_pages(uint8_t *pages)
{
    uint8_t *spare = map(NULL, MAP_SHARED);
    (void)mremap(pages, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, spare);
    (void)mremap(pages + PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, pages);
}

static void test_what_was_shared_before_the_fork_is_the_same(void **state)
{
    (void)state;
    uint8_t *pages = map(NULL, MAP_SHARED);
    uint32_t child = keep(leave_alone, pages);
    assert_true(sbx_memory_is_shared((uint64_t)(uintptr_t)(pages + 40), child));
    assert_true(sbx_memory_is_shared((uint64_t)(uintptr_t)(pages + PAGE + 40), child));
    assert_false(sbx_memory_is_shared((uint64_t)(uintptr_t)(pages + 2 * PAGE), child));
    end(child);
    assert_false(sbx_memory_is_shared((uint64_t)(uintptr_t)(pages + 40), child));
    munmap(pages, 2 * PAGE);
}

static void test_what_is_private_is_not(void **state)
{
    (void)state;
    uint8_t *pages = map(NULL, MAP_PRIVATE);
    uint32_t child = keep(leave_alone, pages);
    assert_false(sbx_memory_is_shared((uint64_t)(uintptr_t)pages, child));
    assert_false(sbx_memory_is_shared((uint64_t)(uintptr_t)&child, child)); /* a stack */
    end(child);
    munmap(pages, 2 * PAGE);
}

static void test_other_memory_at_the_same_address_is_not(void **state)
{
    (void)state;
    uint8_t *pages = map(NULL, MAP_SHARED);
    uint32_t child = keep(map_others_there, pages);
    assert_false(sbx_memory_is_shared((uint64_t)(uintptr_t)pages, child));
    end(child);
    child = keep(swap_pages, pages);
    assert_false(sbx_memory_is_shared((uint64_t)(uintptr_t)pages, child)); /* the same file, another page of it */
    end(child);
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
