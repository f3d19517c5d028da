/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory_kills.c - kills for lack of memory are noticed whenever the companion looks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control_group.h"
#include "memory_kills.h"

static struct control_group group;

/* A process of the group. It waits for a byte, then takes more memory than there is. */
static pid_t start(int *go_out)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char byte;
        close(ends[1]);
        while (read(ends[0], &byte, 1) == 1) {
            for (;;) {
                char *volatile memory = malloc(1 << 20);
                memset(memory, 1, 1 << 20);
            }
        }
        _exit(0);
    }
    close(ends[0]);
    assert_true(control_group_enter(&group, pid));
    *go_out = ends[1];
    return pid;
}

/* Wait until the process is dead, and do not reap it: it keeps its number and its control group. */
static void expect_killed(pid_t pid)
{
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(info.si_status, SIGKILL);
}

static void reap(pid_t pid)
{
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_a_look_at_a_process_that_is_killed_already_does_not_hide_its_kill(void **state)
{
    struct sbx_memory_kills kills = {.count = 0};
    int go;
    (void)state;
    control_group_make_with_memory("33554432", &group);
    pid_t pid = start(&go);
    sbx_memory_kills_look(&kills, pid);
    assert_false(sbx_memory_kills_have_grown(&kills));
    assert_int_equal(write(go, "x", 1), 1);
    expect_killed(pid);
    sbx_memory_kills_look(&kills, pid);
    assert_true(sbx_memory_kills_have_grown(&kills));
    reap(pid);
    close(go);
    control_group_remove(&group);
}

static void test_a_kill_that_a_process_has_outlived_was_another_ones(void **state)
{
    struct sbx_memory_kills kills = {.count = 0};
    int go, never;
    (void)state;
    control_group_make_with_memory("33554432", &group);
    pid_t pid = start(&go), lives = start(&never);
    sbx_memory_kills_look(&kills, lives);
    assert_int_equal(write(go, "x", 1), 1);
    expect_killed(pid);
    reap(pid);
    sbx_memory_kills_look(&kills, lives);
    assert_true(sbx_memory_kills_have_grown(&kills)); /* it may be dying, too */
    sbx_memory_kills_look(&kills, lives);
    assert_false(sbx_memory_kills_have_grown(&kills));
    close(go);
    close(never);
    reap(lives);
    control_group_remove(&group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_look_at_a_process_that_is_killed_already_does_not_hide_its_kill),
        cmocka_unit_test(test_a_kill_that_a_process_has_outlived_was_another_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
