/* SPDX-License-Identifier: Apache-2.0 */
/* test_seat_turns.c - threads that give their seats back while they wait inside of tasks (tests/host/test_host_seats.c
 * has the rest). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "recorded_process.h"
#include "stallbox/stallbox.h"

#define SEATS "16"

enum {
    WAITERS = 40,
    TASKS = 3,             /* one inside another */
    TURNS_MOST = 300000,   /* more than a minute: then something is wrong */
    TURNS_OF_THE_LAST = 50 /* of threads that end: enough that some end without a seat */
};

static atomic_int moved; /* threads that moved to another seat during their tasks */

/* The seat of the thread; NULL: it has none, and has just asked for one in vain. */
static const struct sbx_thread_entry *ask_for_seat(void)
{
    stallbox_task_cancelled(stallbox_task_queued());
    return child_entry();
}

static const struct sbx_thread_entry *take_seat(void)
{
    const struct sbx_thread_entry *entry;
    while ((entry = ask_for_seat()) == NULL) {
        sched_yield();
    }
    return entry;
}

/* Tasks in the table that have not ended. */
static int count_running(void)
{
    const struct sbx_recording_header *header = child_header();
    const struct sbx_task_entry *tasks = (const void *)((const char *)header + header->tasks.at);
    int count = 0;
    for (uint32_t i = 0; i < header->tasks.count; i++) {
        count += sbx_task_state_of(tasks[i].word) == SBX_TASK_RUNNING;
    }
    return count;
}

static void run_waiters(void *(*body)(void *))
{
    pthread_t threads[WAITERS];
    for (int i = 0; i < WAITERS; i++) {
        child_expect(pthread_create(&threads[i], NULL, body, NULL) == 0, "a thread starts");
    }
    for (int i = 0; i < WAITERS; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void wait_until_all_have_moved(const struct sbx_thread_entry *begun_on)
{
    bool has_moved = false;
    for (int turn = 0; turn < TURNS_MOST && (turn < 20 || atomic_load(&moved) < WAITERS); turn++) {
        usleep(200);
        const struct sbx_thread_entry *entry = ask_for_seat();
        if (!has_moved && entry != NULL && entry != begun_on) {
            has_moved = true;
            atomic_fetch_add(&moved, 1);
        }
    }
}

/* Each level has a frame of its own, because two tasks that begin at the same place are not nested. */
static __attribute__((noinline)) void run_tasks(int nested)
{
    uint64_t task = stallbox_task_queued();
    const struct sbx_thread_entry *begun_on = take_seat();
    stallbox_task_begin(task);
    if (nested > 1) {
        run_tasks(nested - 1);
    } else {
        wait_until_all_have_moved(begun_on);
    }
    (void)take_seat();
    stallbox_task_end(task);
    KEEP_FRAME();
}

static void *wait_inside_of_tasks(void *unused)
{
    run_tasks(TASKS);
    return unused;
}

static void child_waits_inside_of_tasks(void)
{
    run_waiters(wait_inside_of_tasks);
    child_expect(atomic_load(&moved) == WAITERS, "all took another seat");
    child_expect(count_running() == 0, "all tasks are over");
}

static void test_a_thread_that_gives_its_seat_back_for_a_wait_still_tells_of_the_two_innermost_tasks(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_waits_inside_of_tasks);
    unsigned told = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        told += snapshot->records[i].kind == SBX_RECORD_TASK && snapshot->records[i].op == SBX_OP_TASK;
    }
    assert_in_range(told, 2 * WAITERS, 3 * WAITERS);
    sbx_snapshot_destroy(snapshot);
}

static void *end_inside_of_a_task(void *unused)
{
    stallbox_task_begin(stallbox_task_queued());
    for (int turn = 0; turn < TURNS_OF_THE_LAST; turn++) {
        usleep(200);
    }
    return unused;
}

static void child_has_threads_that_end_inside_of_tasks(void)
{
    run_waiters(end_inside_of_a_task);
    child_expect(count_running() == 0, "who has ended runs nothing");
}

static void test_tasks_of_a_thread_that_ends_without_a_seat_are_over(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_has_threads_that_end_inside_of_tasks));
}

int main(int argc, char **argv)
{
    (void)argc;
    if (getenv("STALLBOX_SEATS") == NULL) { /* the library reads it when it is loaded */
        setenv("STALLBOX_SEATS", SEATS, 1);
        execv("/proc/self/exe", argv);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thread_that_gives_its_seat_back_for_a_wait_still_tells_of_the_two_innermost_tasks),
        cmocka_unit_test(test_tasks_of_a_thread_that_ends_without_a_seat_are_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
