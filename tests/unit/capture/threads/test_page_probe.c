/* SPDX-License-Identifier: Apache-2.0 */
/* test_page_probe.c - whether memory can be read is found out without a fault, and the question changes no signal
 * mask. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "page_probe.h"

static uint64_t map(size_t pages, int protection)
{
    void *memory = mmap(NULL, pages * 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return (uint64_t)(uintptr_t)memory;
}

static void test_only_what_a_load_may_read_can_be_read(void **state)
{
    (void)state;
    struct sbx_page_probe probe = {0};
    uint64_t page = map(3, PROT_READ);
    assert_int_equal(munmap((void *)(uintptr_t)(page + 4096), 4096), 0);
    assert_int_equal(mprotect((void *)(uintptr_t)(page + 8192), 4096, PROT_NONE), 0);
    for (int i = 0; i < 3; i++) {
        struct sbx_page_probe *asked = i == 0 ? NULL : &probe; /* the third answer is a remembered one */
        assert_true(sbx_page_probe_can_read(asked, page + 5, 4091));
        assert_false(sbx_page_probe_can_read(asked, page + 5, 4092)); /* its last byte is on the next page */
        assert_false(sbx_page_probe_can_read(asked, page + 4096, 1));
        assert_false(sbx_page_probe_can_read(asked, page + 8192, 8));
    }
    assert_false(sbx_page_probe_can_read(&probe, 0, 8));
    assert_false(sbx_page_probe_can_read(&probe, 4095, 1));
    assert_false(sbx_page_probe_can_read(&probe, UINT64_MAX - 3, 8));
    assert_false(sbx_page_probe_can_read(&probe, UINT64_C(1) << 63, 8));
    assert_true(sbx_page_probe_can_read(&probe, (uint64_t)(uintptr_t)&probe, sizeof probe));
}

static void test_an_answer_counts_until_the_next_walk_begins(void **state)
{
    (void)state;
    struct sbx_page_probe probe = {0};
    uint64_t page = map(1, PROT_READ);
    sbx_page_probe_begin(&probe);
    assert_true(sbx_page_probe_can_read(&probe, page, 8));
    assert_int_equal(munmap((void *)(uintptr_t)page, 4096), 0);
    assert_true(sbx_page_probe_can_read(&probe, page, 8)); /* a remembered answer */
    for (int i = 0; i < 4096; i++) {                       /* all turns, once round */
        sbx_page_probe_begin(&probe);
        assert_false(sbx_page_probe_can_read(&probe, page, 8));
    }
}

static void test_the_signal_mask_is_left_alone(void **state)
{
    (void)state;
    sigset_t before, after;
    uint64_t full = UINT64_MAX; /* a mask that would block all signals if it were used */
    sigprocmask(SIG_SETMASK, NULL, &before);
    assert_true(sbx_page_probe_can_read(NULL, (uint64_t)(uintptr_t)&full, 8));
    sigprocmask(SIG_SETMASK, NULL, &after);
    assert_memory_equal(&before, &after, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_a_load_may_read_can_be_read),
        cmocka_unit_test(test_an_answer_counts_until_the_next_walk_begins),
        cmocka_unit_test(test_the_signal_mask_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
