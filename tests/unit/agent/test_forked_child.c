/* SPDX-License-Identifier: Apache-2.0 */
/* test_forked_child.c - what the recorder of a forked child has from its parent's: real processes, linked with the library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stalling_process.h"

enum {
    KIND_SAVE = 7,
    KIND_DRAW = 8,
    KIND_SEND = 9,
};

static void child_names_kinds_before_it_forks(void)
{
    struct stallbox_options options = stalling_options();
    stalling_start(&options);
    stallbox_message_name(KIND_SAVE, "save");
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        stallbox_message_name(KIND_SAVE, "not any more");
        stallbox_message_name(KIND_DRAW, "draw");
        enum stallbox_result result = stallbox_start(NULL);
        while (result == STALLBOX_TIMED_OUT) {
            result = stallbox_start(NULL);
        }
        stallbox_message_name(KIND_SEND, "send");
        exit((result != STALLBOX_OK && result != STALLBOX_ALREADY_RUNNING) || stallbox_snapshot(20000) != STALLBOX_OK);
    }
    stalling_expect(waitpid(pid, &status, 0) == pid && status == 0, "the child makes a snapshot");
    stallbox_stop(5000);
}

static void test_a_forked_child_knows_the_names_that_were_said_before(void **state)
{
    (void)state;
    stalling_process_run(child_names_kinds_before_it_forks);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    assert_int_equal(snapshot->header.family.role, SBX_ROLE_WORKER);
    assert_string_equal(snapshot->kinds[KIND_SAVE].name, "save");
    assert_string_equal(snapshot->kinds[KIND_DRAW].name, "draw");
    assert_string_equal(snapshot->kinds[KIND_SEND].name, "send");
    sbx_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_forked_child_knows_the_names_that_were_said_before,
                                        stalling_process_set_up, stalling_process_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
