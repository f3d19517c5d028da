/* SPDX-License-Identifier: Apache-2.0 */
/* test_sealed_pages.c - pages that share a memory file: one mapping, which nobody changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pages.h"
#include "sealed_pages.h"

enum {
    MODULES = 12
};

static size_t bytes_of(int module)
{
    return (size_t)(module % 3) * 5000 + 100;
}

static const uint8_t *seal(int module)
{
    uint8_t *pages = sbx_pages_map(bytes_of(module));
    assert_non_null(pages);
    memset(pages, 'a' + module, bytes_of(module));
    return sbx_pages_seal(pages, bytes_of(module));
}

static void assert_holds(const uint8_t *pages, int module)
{
    for (size_t i = 0; i < bytes_of(module); i++) {
        assert_int_equal(pages[i], 'a' + module);
    }
}

/* How many mappings of memory files there are; and of addresses without memory, as large as those are set aside. */
static void count_mappings(int *files_out, int *reserves_out)
{
    char line[600];
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    *files_out = *reserves_out = 0;
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long begin, end;
        char access[5];
        assert_int_equal(sscanf(line, "%lx-%lx %4s", &begin, &end, access), 3);
        *files_out += strstr(line, "stallbox-rows") != NULL;
        *reserves_out += strcmp(access, "---p") == 0 && end - begin > 8 << 20;
    }
    fclose(maps);
}

static void expect_mappings(int files, int reserves)
{
    int files_now, reserves_now;
    count_mappings(&files_now, &reserves_now);
    assert_int_equal(files_now, files);
    assert_int_equal(reserves_now, reserves);
}

static int open_descriptors(void)
{
    int count = 0;
    for (int descriptor = 0; descriptor < 100; descriptor++) {
        count += fcntl(descriptor, F_GETFD) >= 0;
    }
    return count;
}

static void test_pages_sealed_together_are_one_mapping_and_the_rest_is_given_back(void **state)
{
    const uint8_t *pages[MODULES];
    (void)state;
    int descriptors = open_descriptors();
    sbx_pages_seal_together(true);
    for (int i = 0; i < MODULES; i++) {
        pages[i] = seal(i);
    }
    expect_mappings(1, 1);
    assert_int_equal(open_descriptors(), descriptors + 1);
    sbx_pages_seal_rest();
    expect_mappings(1, 0);
    assert_int_equal(open_descriptors(), descriptors);
    for (int i = 0; i < MODULES; i++) {
        assert_holds(pages[i], i);
    }
    for (int i = 1; i < MODULES; i += 2) { /* a module goes */
        assert_int_equal(munmap((void *)(uintptr_t)pages[i], bytes_of(i)), 0);
    }
    for (int i = 0; i < MODULES; i += 2) {
        assert_holds(pages[i], i);
        assert_int_equal(munmap((void *)(uintptr_t)pages[i], bytes_of(i)), 0);
    }
    expect_mappings(0, 0);
}

static void test_pages_that_come_later_get_another_file(void **state)
{
    (void)state;
    sbx_pages_seal_together(true);
    const uint8_t *first = seal(1);
    sbx_pages_seal_rest();
    sbx_pages_seal_rest(); /* nothing is left to seal */
    const uint8_t *second = seal(2);
    sbx_pages_seal_rest();
    expect_mappings(2, 0);
    assert_holds(first, 1);
    assert_holds(second, 2);
    munmap((void *)(uintptr_t)first, bytes_of(1));
    munmap((void *)(uintptr_t)second, bytes_of(2));
}

/* A child has neither the descriptor nor a way to the file that takes writes. */
static void test_a_child_changes_only_its_own_copy(void **state)
{
    int status = -1;
    (void)state;
    sbx_pages_seal_together(true);
    const uint8_t *pages = seal(3);
    sbx_pages_seal_rest();
    pid_t pid = fork();
    if (pid == 0) {
        uint8_t *own = (uint8_t *)(uintptr_t)pages;
        int result = mprotect(own, bytes_of(3), PROT_READ | PROT_WRITE);
        own[0] = 'X';
        _exit(result);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_holds(pages, 3);
    munmap((void *)(uintptr_t)pages, bytes_of(3));
}

static void test_without_descriptors_of_its_own_a_thread_seals_pages_one_by_one(void **state)
{
    (void)state;
    int descriptors = open_descriptors();
    sbx_pages_seal_together(false);
    const uint8_t *first = seal(4), *second = seal(5);
    expect_mappings(2, 0);
    assert_int_equal(open_descriptors(), descriptors);
    assert_holds(first, 4);
    assert_holds(second, 5);
    munmap((void *)(uintptr_t)first, bytes_of(4));
    munmap((void *)(uintptr_t)second, bytes_of(5));
}

static void test_more_than_one_file_holds_goes_into_the_next(void **state)
{
    enum {
        LARGE = 6 << 20
    };
    uint8_t *pages[4];
    (void)state;
    sbx_pages_seal_together(true);
    for (int i = 0; i < 4; i++) {
        pages[i] = sbx_pages_map(LARGE);
        assert_non_null(pages[i]);
        pages[i][LARGE - 1] = (uint8_t)i;
        pages[i] = sbx_pages_seal(pages[i], LARGE);
    }
    uint8_t *huge = sbx_pages_map(5 * LARGE); /* more than any */
    assert_non_null(huge);
    huge[5 * LARGE - 1] = 9;
    huge = sbx_pages_seal(huge, 5 * LARGE);
    expect_mappings(3, 0); /* the second file has no addresses left that are worth a word */
    sbx_pages_seal_rest();
    expect_mappings(3, 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pages[i][LARGE - 1], i);
        munmap(pages[i], LARGE);
    }
    assert_int_equal(huge[5 * LARGE - 1], 9);
    munmap(huge, 5 * LARGE);
}

/* Runs `body` in a child, because a limit cannot be raised again. */
static void with_limit(int resource, rlim_t most, void (*body)(void))
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit limit = {most, most};
        if (setrlimit(resource, &limit) != 0) {
            _exit(9);
        }
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void seal_where_addresses_are_few(void)
{
    sbx_pages_seal_together(true);
    const uint8_t *pages = seal(6);
    expect_mappings(1, 0); /* a file of its own, and nothing is set aside */
    assert_holds(pages, 6);
}

static void seal_where_files_are_small(void)
{
    sbx_pages_seal_together(true);
    const uint8_t *pages = seal(7);
    expect_mappings(1, 0);
    assert_holds(pages, 7);
}

static void test_a_program_with_a_limit_of_addresses_or_of_files_keeps_them(void **state)
{
    (void)state;
    with_limit(RLIMIT_AS, (rlim_t)1 << 40, seal_where_addresses_are_few);
    with_limit(RLIMIT_FSIZE, 1 << 20, seal_where_files_are_small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_sealed_together_are_one_mapping_and_the_rest_is_given_back),
        cmocka_unit_test(test_pages_that_come_later_get_another_file),
        cmocka_unit_test(test_a_child_changes_only_its_own_copy),
        cmocka_unit_test(test_without_descriptors_of_its_own_a_thread_seals_pages_one_by_one),
        cmocka_unit_test(test_more_than_one_file_holds_goes_into_the_next),
        cmocka_unit_test(test_a_program_with_a_limit_of_addresses_or_of_files_keeps_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
