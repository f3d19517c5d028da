/* SPDX-License-Identifier: Apache-2.0 */
/* test_own_thread.c - where the stacks of the recorder's threads lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "own_thread.h"

#ifdef __GLIBC__
static uint8_t *low_of(pthread_t thread)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;
    assert_int_equal(pthread_getattr_np(thread, &attributes), 0);
    assert_int_equal(pthread_attr_getstack(&attributes, &low, &bytes), 0);
    pthread_attr_destroy(&attributes);
    assert_in_range(bytes, 256 * 1024, SIZE_MAX);
    return low;
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void *wait_until_let_go(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    return NULL;
}

static uint32_t alive;

static pthread_t start(enum sbx_own_thread which)
{
    pthread_t thread;
    sbx_own_thread_prepare(&alive);
    assert_int_equal(sbx_own_thread_start(which, &thread, wait_until_let_go), 0);
    return thread;
}

/* Runs `body` in a process of its own, because a place is given out once per process. */
static void run(void (*body)(void))
{
    int status = -1;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void expect(int holds)
{
    if (!holds) {
        _exit(1);
    }
}

static void three_live(void)
{
    pthread_t threads[SBX_OWN_THREADS];
    uint8_t *low[SBX_OWN_THREADS];
    pthread_mutex_lock(&held);
    for (int i = 0; i < SBX_OWN_THREADS; i++) {
        threads[i] = start((enum sbx_own_thread)i);
        low[i] = low_of(threads[i]);
    }
    expect(alive == SBX_OWN_THREADS);
    expect(low[1] > low[0] && low[2] - low[1] == low[1] - low[0]);
    expect((size_t)(low[1] - low[0]) < 2 * 256 * 1024 + 4096 * 1024);
    pthread_mutex_unlock(&held);
    for (int i = 0; i < SBX_OWN_THREADS; i++) {
        expect(pthread_join(threads[i], NULL) == 0);
    }
    expect(alive == 0);
}

/* A fork then has only one mapping to copy for them, and glibc does not walk through it. */
static void test_the_stacks_of_our_threads_lie_side_by_side(void **state)
{
    (void)state;
    run(three_live);
}

static void one_after_the_other(void)
{
    pthread_t first = start(SBX_OWN_STARTER);
    uint8_t *low = low_of(first);
    expect(pthread_join(first, NULL) == 0);
    pthread_t second = start(SBX_OWN_STARTER);
    expect(low_of(second) != low);
    expect(pthread_join(second, NULL) == 0);
}

/* Only a caller that waits for the first thread can know that the kernel has finished with its stack. */
static void test_a_second_thread_of_a_sort_has_another_stack(void **state)
{
    (void)state;
    run(one_after_the_other);
}

/* ThreadSanitizer knows no threads in the child of a program with threads. AddressSanitizer's allocator stays locked there
 * if a thread was in it at the fork (gcc 12). */
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
static void child_has_threads_too(void)
{
    int status = -1;
    pthread_mutex_lock(&held);
    pthread_t thread = start(SBX_OWN_WATCH);
    uint8_t *low = low_of(thread);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t own = start(SBX_OWN_WATCH);
        expect(low_of(own) == low);
        pthread_mutex_unlock(&held);
        expect(pthread_join(own, NULL) == 0);
        _exit(0);
    }
    expect(waitpid(pid, &status, 0) == pid && status == 0);
    pthread_mutex_unlock(&held);
    expect(pthread_join(thread, NULL) == 0);
}

static void test_the_threads_of_a_forked_child_lie_where_its_parents_do(void **state)
{
    (void)state;
    run(child_has_threads_too);
}
#endif

/* Find the mapping that holds the address: its begin and end, and its access rights. */
static void find_mapping(const uint8_t *address, uintptr_t bounds_out[2], char rights_out[5])
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    expect(maps != NULL);
    rights_out[0] = 0;
    while (fgets(line, sizeof line, maps) != NULL) {
        uintptr_t begin, end;
        char rights[5];
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &begin, &end, rights) == 3 && begin <= (uintptr_t)address &&
            (uintptr_t)address < end) {
            memcpy(rights_out, rights, sizeof rights);
            bounds_out[0] = begin;
            bounds_out[1] = end;
        }
    }
    fclose(maps);
}

static void looks_at_maps(void)
{
    char rights[5];
    uintptr_t bounds[2];
    pthread_mutex_lock(&held);
    pthread_t modules = start(SBX_OWN_MODULES), watch = start(SBX_OWN_WATCH);
    uint8_t *low = low_of(modules), *high = low_of(watch);
    find_mapping(low, bounds, rights);
    expect(strcmp(rights, "rw-p") == 0);
    expect(bounds[0] <= (uintptr_t)low - 64 * 1024);
    expect(bounds[1] >= (uintptr_t)high + 256 * 1024);
    pthread_mutex_unlock(&held);
    expect(pthread_join(modules, NULL) == 0 && pthread_join(watch, NULL) == 0);
}

/* Each additional mapping is work for every fork. The whole mapping has to be writable because some programs touch
 * everything that /proc/self/maps calls writable: redis when it crashes, and garbage collectors that scan memory. */
static void test_the_stacks_are_one_mapping_with_room_below_each(void **state)
{
    (void)state;
    run(looks_at_maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_stacks_of_our_threads_lie_side_by_side),
        cmocka_unit_test(test_a_second_thread_of_a_sort_has_another_stack),
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
        cmocka_unit_test(test_the_threads_of_a_forked_child_lie_where_its_parents_do),
#endif
        cmocka_unit_test(test_the_stacks_are_one_mapping_with_room_below_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void) /* musl makes our stacks (own_thread.c) */
{
    return 0;
}
#endif
