/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread_scan.c - what the watch thread's scan asks the kernel: the list of threads when an unknown thread has
 * appeared, and thread names by turns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "order.h"
#include "attached_recording.h"
#include "the_capture.h"
#include "thread_registry.h"
#include "thread_seats.h"

enum {
    MEETINGS = 2,   /* a thread that passes no hook is adopted when it is seen again */
    NAME_TURNS = 8, /* scans in which the name of each older thread is read once */
};

static struct sbx_thread *first;

static void nothing(struct sbx_thread *thread)
{
    (void)thread;
}

static const struct sbx_thread_end end = {.begins = nothing, .completes = nothing};

static void scan(int times)
{
    for (int i = 0; i < times; i++) {
        sbx_thread_registry_scan(0, 0);
    }
}

/* A sanitizer or an emulator may start threads at any time, and they are adopted. */
static void scan_until_all_are_known(void)
{
    uint32_t lists;
    do {
        lists = sbx_scan_counts.lists;
        scan(1);
    } while (lists != sbx_scan_counts.lists);
}

static int attach(void **state)
{
    (void)state;
    return attached_recording_begin_here(&end, &first);
}

/* A thread that passes no hook: it publishes its tid and waits until it is released. */
static struct {
    uint32_t tid;
    int turn[2]; /* a pipe */
} quiet;

static void *wait_for_its_end(void *unused)
{
    char byte;
    (void)unused;
    /* order: release quiet.tid */
    sbx_store_release(&quiet.tid, (uint32_t)syscall(SYS_gettid));
    return read(quiet.turn[0], &byte, 1) == 1 ? NULL : &quiet;
}

static void the_list_is_not_read_while_everybody_is_known(void **state)
{
    (void)state;
    scan_until_all_are_known();
    uint32_t lists = sbx_scan_counts.lists;
    scan(5);
    assert_int_equal(sbx_scan_counts.lists, lists);
}

static void a_thread_that_passes_no_hook_gets_a_seat_and_the_list_is_left_alone_again(void **state)
{
    pthread_t thread;
    (void)state;
    assert_int_equal(pipe(quiet.turn), 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_its_end, NULL), 0);
    while (sbx_load_acquire(&quiet.tid) == 0) { /* order: acquire quiet.tid */
    }
    uint32_t lists = sbx_scan_counts.lists;
    scan(MEETINGS);
    assert_int_equal(sbx_scan_counts.lists, lists + MEETINGS);
    assert_non_null(sbx_seat_of(quiet.tid));
    scan_until_all_are_known();
    lists = sbx_scan_counts.lists;
    scan(5);
    assert_int_equal(sbx_scan_counts.lists, lists);
    assert_int_equal(write(quiet.turn[1], "", 1), 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    while (sbx_seat_of(quiet.tid) != NULL) { /* a join may return a moment before the kernel is done */
        scan(1);
    }
    lists = sbx_scan_counts.lists;
    scan(5);
    assert_int_equal(sbx_scan_counts.lists, lists);
    close(quiet.turn[0]);
    close(quiet.turn[1]);
}

/* Symptom: with 2,000 threads all were listed twice a second for seats that none of them could get. */
static void where_seats_are_scarce_the_list_is_not_read_and_nobody_there_gets_one(void **state)
{
    pthread_t thread;
    uint32_t most = sbx_seats_most;
    (void)state;
    sbx_store_release(&quiet.tid, 0); /* order: release quiet.tid */
    assert_int_equal(pipe(quiet.turn), 0);
    scan_until_all_are_known();
    assert_int_equal(pthread_create(&thread, NULL, wait_for_its_end, NULL), 0);
    while (sbx_load_acquire(&quiet.tid) == 0) { /* order: acquire quiet.tid */
    }
    sbx_seats_most = 1;
    uint32_t lists = sbx_scan_counts.lists;
    scan(2 * MEETINGS);
    assert_int_equal(sbx_scan_counts.lists, lists);
    assert_null(sbx_seat_of(quiet.tid));
    sbx_seats_most = most;
    scan(MEETINGS);
    assert_true(sbx_scan_counts.lists > lists);
    assert_non_null(sbx_seat_of(quiet.tid));
    assert_int_equal(write(quiet.turn[1], "", 1), 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    while (sbx_seat_of(quiet.tid) != NULL) {
        scan(1);
    }
    close(quiet.turn[0]);
    close(quiet.turn[1]);
}

static void be_old(void)
{
    for (uint32_t i = 0; i < sbx_thread_count(); i++) {
        attached_recording->threads[i].born_ns = 0;
    }
}

static void the_name_of_a_thread_that_is_not_young_is_read_in_one_scan_of_eight(void **state)
{
    (void)state;
    uint32_t living = 0;
    scan_until_all_are_known();
    for (uint32_t i = 0; i < sbx_thread_count(); i++) {
        living += sbx_thread_at(i) != NULL;
    }
    be_old();
    uint32_t names = sbx_scan_counts.names;
    scan(NAME_TURNS);
    assert_int_equal(sbx_scan_counts.names, names + living);
    prctl(PR_SET_NAME, "renamed late");
    scan(NAME_TURNS);
    assert_string_equal(first->entry->name, "renamed late");
}

static void at_a_trigger_each_name_is_what_it_is_now(void **state)
{
    (void)state;
    be_old();
    prctl(PR_SET_NAME, "at the trigger");
    sbx_thread_registry_refresh_names(UINT64_MAX);
    assert_string_equal(first->entry->name, "at the trigger");
}

static void a_young_thread_is_asked_for_its_name_in_each_scan(void **state)
{
    (void)state;
    be_old();
    for (int i = 0; i < NAME_TURNS; i++) {
        char name[16];
        snprintf(name, sizeof name, "name %d", i);
        prctl(PR_SET_NAME, name);
        first->entry->born_ns = sbx_now_ns();
        scan(1);
        assert_string_equal(first->entry->name, name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_is_not_read_while_everybody_is_known),
        cmocka_unit_test(a_thread_that_passes_no_hook_gets_a_seat_and_the_list_is_left_alone_again),
        cmocka_unit_test(where_seats_are_scarce_the_list_is_not_read_and_nobody_there_gets_one),
        cmocka_unit_test(the_name_of_a_thread_that_is_not_young_is_read_in_one_scan_of_eight),
        cmocka_unit_test(at_a_trigger_each_name_is_what_it_is_now),
        cmocka_unit_test(a_young_thread_is_asked_for_its_name_in_each_scan),
    };
    return cmocka_run_group_tests(tests, attach, attached_recording_end);
}
