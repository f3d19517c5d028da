/* SPDX-License-Identifier: Apache-2.0 */
/* test_name_ring.c - names of many threads come out complete and once; a full ring is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "name_ring.h"
#include "pages.h"

enum {
    WRITERS = 3,
    EACH = 20000
};

static int setup(void **state)
{
    (void)state;
    struct sbx_told_name name;
    while (sbx_name_ring_take(&name)) {
    }
    return sbx_name_ring_prepare() ? 0 : -1;
}

static bool tell(uint64_t function, const char *source, const char *name)
{
    return sbx_name_ring_tell(1, function, (uint32_t)function, source, strlen(source), name, strlen(name));
}

static void test_a_name_comes_out_as_it_was_told(void **state)
{
    (void)state;
    struct sbx_told_name name;
    assert_false(sbx_name_ring_take(&name));
    assert_true(tell(77, "app.py", "Shop.price"));
    assert_true(sbx_name_ring_take(&name));
    assert_int_equal(name.function, 77);
    assert_int_equal(name.provider, 1);
    assert_int_equal(name.line, 77);
    assert_int_equal(name.source_bytes, 6);
    assert_memory_equal(name.source, "app.py", 6);
    assert_int_equal(name.name_bytes, 10);
    assert_memory_equal(name.name, "Shop.price", 10);
    assert_false(sbx_name_ring_take(&name));
}

static void test_of_a_long_path_the_end_is_kept_and_of_a_long_name_the_begin(void **state)
{
    (void)state;
    char path[1000], function[1000];
    memset(path, 'p', sizeof path);
    memset(function, 'f', sizeof function);
    path[sizeof path - 1] = 'Z';
    function[0] = 'A';
    assert_true(sbx_name_ring_tell(0, 1, 1, path, sizeof path, function, sizeof function));
    struct sbx_told_name name;
    assert_true(sbx_name_ring_take(&name));
    assert_int_equal(name.source_bytes, SBX_NAME_SOURCE_MAX);
    assert_int_equal(name.source[SBX_NAME_SOURCE_MAX - 1], 'Z');
    assert_int_equal(name.name_bytes, SBX_NAME_FUNCTION_MAX);
    assert_int_equal(name.name[0], 'A');
}

static void test_a_full_ring_says_so_and_has_room_again(void **state)
{
    (void)state;
    struct sbx_told_name name;
    uint64_t full = sbx_name_ring_full_count();
    for (uint64_t i = 0; i < SBX_NAMES; i++) {
        assert_true(tell(i + 1, "a", "b"));
    }
    assert_false(tell(5000, "a", "b"));
    assert_int_equal(sbx_name_ring_full_count(), full + 1);
    assert_true(sbx_name_ring_take(&name));
    assert_int_equal(name.function, 1);
    assert_true(tell(5000, "a", "b"));
    for (uint64_t i = 1; i < SBX_NAMES; i++) {
        assert_true(sbx_name_ring_take(&name));
        assert_int_equal(name.function, i + 1);
    }
    assert_true(sbx_name_ring_take(&name));
    assert_int_equal(name.function, 5000);
}

static atomic_int writers_done;

static void *write_names(void *number)
{
    uint64_t writer = (uint64_t)(uintptr_t)number;
    for (uint64_t i = 0; i < EACH; i++) {
        char source[32];
        snprintf(source, sizeof source, "%llu/%llu", (unsigned long long)writer, (unsigned long long)i);
        while (!tell(writer << 32 | i, source, source)) {
            sched_yield();
        }
    }
    atomic_fetch_add(&writers_done, 1);
    return NULL;
}

static void test_names_of_many_threads_come_whole_and_in_their_order(void **state)
{
    (void)state;
    pthread_t threads[WRITERS];
    uint64_t next[WRITERS] = {0};
    for (uintptr_t i = 0; i < WRITERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, write_names, (void *)i), 0);
    }
    for (uint64_t count = 0; count < (uint64_t)WRITERS * EACH;) {
        struct sbx_told_name name;
        if (!sbx_name_ring_take(&name)) {
            sched_yield();
            continue;
        }
        uint64_t writer = name.function >> 32, number = name.function & UINT32_MAX;
        char expected[32];
        assert_true(writer < WRITERS);
        assert_int_equal(number, next[writer]++);
        snprintf(expected, sizeof expected, "%llu/%llu", (unsigned long long)writer, (unsigned long long)number);
        assert_int_equal(name.source_bytes, strlen(expected));
        assert_memory_equal(name.source, expected, name.source_bytes);
        assert_memory_equal(name.name, expected, name.name_bytes);
        count++;
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* qemu-user accepts MADV_WIPEONFORK but wipes nothing. */
static bool pages_are_wiped(void)
{
    uint32_t *page = sbx_pages_map_wiped_on_fork(4096);
    int status = 0;
    assert_non_null(page);
    *page = 1;
    pid_t child = fork();
    if (child == 0) {
        _exit(*page == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    munmap(page, 4096);
    return status == 0;
}

static void test_a_forked_child_finds_an_empty_ring(void **state)
{
    (void)state;
    if (!pages_are_wiped()) {
        skip();
    }
    assert_true(tell(9, "a", "b"));
    pid_t child = fork();
    if (child == 0) {
        struct sbx_told_name name;
        bool was_empty = !sbx_name_ring_take(&name);
        _exit(was_empty && tell(10, "a", "b") && sbx_name_ring_take(&name) && name.function == 10 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct sbx_told_name name;
    assert_true(sbx_name_ring_take(&name));
    assert_int_equal(name.function, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_name_comes_out_as_it_was_told, setup),
        cmocka_unit_test_setup(test_of_a_long_path_the_end_is_kept_and_of_a_long_name_the_begin, setup),
        cmocka_unit_test_setup(test_a_full_ring_says_so_and_has_room_again, setup),
        cmocka_unit_test_setup(test_names_of_many_threads_come_whole_and_in_their_order, setup),
        cmocka_unit_test_setup(test_a_forked_child_finds_an_empty_ring, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
