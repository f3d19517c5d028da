/* SPDX-License-Identifier: Apache-2.0 */
/* test_agent.c - the recorder's life in a process: start, stop, fork, exit, death. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorded_process.h"
#include "recording_recover.h"
#include "stallbox/stallbox.h"

static void child_asks_for_a_snapshot(void)
{
    child_start_with(60000, 60000);
    child_run_loop(5, -1, NULL);
    child_expect(stallbox_snapshot(5000) == STALLBOX_OK, "a manual snapshot is made");
    stallbox_stop(5000);
}

static void child_forks(void)
{
    child_start_with(60000, 60000);
    child_run_loop(5, -1, NULL);
    struct stallbox_counts before = {.sizeof_counts = sizeof before}, after = before;
    stallbox_read_counts(&before);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 200; i++) { /* an active recorder would record sleeps and allocations */
            void *volatile memory = malloc(100);
            free(memory);
            child_run_loop(1, -1, NULL);
        }
        exit(0); /* runs the library's destructor: it must leave the parent's recording alone */
    }
    int status = 0;
    child_expect(waitpid(pid, &status, 0) == pid && status == 0, "the forked child ends in order");
    stallbox_read_counts(&after);
    child_expect(after.messages == before.messages, "a child's loop is not the parent's");
    child_expect(stallbox_snapshot(5000) == STALLBOX_OK, "the parent still records after a fork");
    stallbox_stop(5000);
}

/* The address of malloc as this program sees it: in a GOT slot, as any other. The compiler takes the address for a
 * constant, so a function reads it that the compiler may not look into. */
__attribute__((noinline, noipa)) static void *address_of_malloc(void)
{
    void *(*volatile address)(size_t) = malloc;
    return (void *)address;
}

static void child_starts_twice(void)
{
    void *before = address_of_malloc();
    child_start_with(60000, 60000);
    child_expect(address_of_malloc() != before, "the hook is in");
    child_expect(stallbox_start(NULL) == STALLBOX_ALREADY_RUNNING, "a second start is refused");
    child_expect(stallbox_is_running(), "it still runs");
    child_expect(stallbox_stop(5000) == STALLBOX_OK, "it stops");
    child_expect(!stallbox_is_running(), "it does not run any more");
    child_expect(address_of_malloc() == before, "the hook is out");
    child_expect(stallbox_stop(5000) == STALLBOX_NOT_RUNNING, "a second stop is harmless");
    child_expect(stallbox_snapshot(100) == STALLBOX_NOT_RUNNING, "no snapshot without a recorder");
    child_run_loop(5, -1, NULL);
}

static void child_dies_in_a_message(void)
{
    child_start_with(60000, 60000);
    child_run_loop(10, 9, NULL);
    child_sleep_ms(1200); /* note_ms is 500 by default */
    raise(SIGKILL);
}

static void child_exits(void)
{
    child_start_with(60000, 60000);
    child_run_loop(5, -1, NULL);
    exit(0);
}

static void test_a_manual_snapshot_is_durable_when_the_call_returns(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_asks_for_a_snapshot), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_MANUAL);
    sbx_snapshot_destroy(snapshot);
}

static void test_a_forked_child_is_inert(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_forks), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    sbx_snapshot_destroy(snapshot);
}

static void test_starting_and_stopping_twice_is_harmless(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_starts_twice), 0);
    assert_int_equal(count_files(recorded_process_recordings(), SBX_RECORDING_SUFFIX), 0);
}

static void test_death_in_a_message_leaves_a_killed_snapshot_to_be_recovered(void **state)
{
    (void)state;
    int status = recorded_process_run(child_dies_in_a_message);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(count_files(recorded_process_recordings(), SBX_RECORDING_SUFFIX), 1);
    struct sbx_recovery_counts counts;
    assert_int_equal(
        sbx_recording_recover_folder(recorded_process_recordings(), recorded_process_spool(), NULL, NULL, &counts), 0);
    assert_int_equal(counts.killed, 1);
    assert_int_equal(count_files(recorded_process_recordings(), SBX_RECORDING_SUFFIX), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_KILLED);
    assert_true(snapshot->header.trigger.end_ns - snapshot->header.trigger.begin_ns >= 500000000);
    sbx_snapshot_destroy(snapshot);
}

static void test_an_orderly_exit_leaves_no_recording(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_exits), 0);
    assert_int_equal(count_files(recorded_process_recordings(), SBX_RECORDING_SUFFIX), 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, recorded_process_set_up, recorded_process_tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_a_manual_snapshot_is_durable_when_the_call_returns),
        CASE(test_a_forked_child_is_inert),
        CASE(test_starting_and_stopping_twice_is_harmless),
        CASE(test_death_in_a_message_leaves_a_killed_snapshot_to_be_recovered),
        CASE(test_an_orderly_exit_leaves_no_recording),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
