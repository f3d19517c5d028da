/* SPDX-License-Identifier: Apache-2.0 */
/* test_upload_conditions.c - conditions in the environment, in a file that changes, and of the power supply. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conditions.h"
#include "policy.h"
#include "process_facts.h"
#include "test_folder.h"
#include "upload_conditions.h"

static void test_words_are_conditions_and_others_are_passed_over(void **state)
{
    (void)state;
    assert_int_equal(sbx_upload_conditions_read(""), 0);
    assert_int_equal(sbx_upload_conditions_read("unmetered"), SBX_UPLOAD_UNMETERED);
    assert_int_equal(sbx_upload_conditions_read(" idle,\tcharging "), SBX_UPLOAD_IDLE | SBX_UPLOAD_CHARGING);
    assert_int_equal(sbx_upload_conditions_read("unmeteredx idl"), 0);
    assert_int_equal(sbx_upload_conditions_read(", ,wifi,idle,"), SBX_UPLOAD_IDLE);
}

static void test_a_file_is_read_anew_each_time(void **state)
{
    char value[600];
    const char *path = sbx_test_path(*state, "conditions");
    uint32_t own;
    unsetenv(SBX_ENV_CONDITIONS);
    own = sbx_upload_conditions() & SBX_UPLOAD_CHARGING;
    snprintf(value, sizeof value, "@%s", path);
    setenv(SBX_ENV_CONDITIONS, value, 1);
    assert_int_equal(sbx_upload_conditions(), own); /* the file is missing: no condition holds */
    sbx_test_write(path, "unmetered\n", 10);
    assert_int_equal(sbx_upload_conditions(), own | SBX_UPLOAD_UNMETERED);
    sbx_test_write(path, "idle\n", 5);
    assert_int_equal(sbx_upload_conditions(), own | SBX_UPLOAD_IDLE);
    setenv(SBX_ENV_CONDITIONS, "unmetered idle charging", 1);
    assert_int_equal(sbx_upload_conditions(), SBX_UPLOAD_CONDITIONS_ALL);
    unsetenv(SBX_ENV_CONDITIONS);
}

static void supply(const char *folder, const char *name, const char *type, const char *file, const char *value)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s/type", folder, name);
    sbx_test_write(path, type, strlen(type));
    snprintf(path, sizeof path, "%s/%s/%s", folder, name, file);
    sbx_test_write(path, value, strlen(value));
}

static void test_mains_power_is_told_by_the_supplies(void **state)
{
    assert_true(sbx_is_on_mains(*state)); /* no battery to run down */
    assert_false(sbx_is_on_mains(sbx_test_path(*state, "nothing")));
    supply(*state, "mouse", "Battery\n", "scope", "Device\n");
    assert_true(sbx_is_on_mains(*state));
    supply(*state, "BAT0", "Battery\n", "status", "Discharging\n");
    assert_false(sbx_is_on_mains(*state));
    supply(*state, "AC", "Mains\n", "online", "0\n");
    assert_false(sbx_is_on_mains(*state));
    supply(*state, "AC", "Mains\n", "online", "1\n");
    assert_true(sbx_is_on_mains(*state));
}

static void test_what_a_living_application_says_replaces_the_environment(void **state)
{
    char text[128], ticks[128] = "";
    const char *path = sbx_test_path(*state, "conditions");
    struct sbx_process_facts facts;
    setenv(SBX_ENV_CONDITIONS, "idle", 1);
    uint32_t own = sbx_upload_conditions();
    assert_int_equal(sbx_upload_conditions_of(NULL), own);
    assert_int_equal(sbx_upload_conditions_of(*state), own); /* the process wrote nothing */
    assert_int_equal(sbx_process_facts_read((uint32_t)getpid(), &facts), 0);
    snprintf(ticks, sizeof ticks, "%d %llu", (int)getpid(), (unsigned long long)facts.start_ticks);
    snprintf(text, sizeof text, "%s unmetered\n", ticks);
    sbx_test_write(path, text, strlen(text));
    assert_int_equal(sbx_upload_conditions_of(*state), SBX_UPLOAD_UNMETERED);
    snprintf(text, sizeof text, "%s\n", ticks);
    sbx_test_write(path, text, strlen(text));
    assert_int_equal(sbx_upload_conditions_of(*state), 0); /* it says that no condition holds */
    static const char *const others[] = {
        "", "unmetered", "1", "x 1 unmetered", "4294967296 1 unmetered", "999999999 1 unmetered", "\n", "-1 -1 idle"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        sbx_test_write(path, others[i], strlen(others[i]));
        assert_int_equal(sbx_upload_conditions_of(*state), own);
    }
    snprintf(text, sizeof text, "%d %llu unmetered\n", (int)getpid(), (unsigned long long)facts.start_ticks + 1);
    sbx_test_write(path, text, strlen(text)); /* a process that had our process id */
    assert_int_equal(sbx_upload_conditions_of(*state), own);
    unsetenv(SBX_ENV_CONDITIONS);
}

/* Its pid does not exist in our pid namespace, and its start time differs. Only the lock shows that it lives. */
static void test_loc_13_an_application_of_another_pid_namespace_is_believed_while_it_lives(void **state)
{
    int ready[2], status;
    char byte;
    setenv(SBX_ENV_CONDITIONS, "idle", 1);
    uint32_t own = sbx_upload_conditions();
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(chmod(*state, 0700), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (sbx_conditions_write(*state, 999999999, 1, SBX_UPLOAD_CHARGING) != 0 || write(ready[1], "x", 1) != 1) {
            _exit(1);
        }
        pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    assert_int_equal(sbx_upload_conditions_of(*state), SBX_UPLOAD_CHARGING);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(sbx_upload_conditions_of(*state), own);
    unsetenv(SBX_ENV_CONDITIONS);
}

static int make(void **state)
{
    *state = sbx_test_folder_make();
    return 0;
}

static int take_away(void **state)
{
    sbx_test_folder_remove(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_are_conditions_and_others_are_passed_over),
        cmocka_unit_test_setup_teardown(test_a_file_is_read_anew_each_time, make, take_away),
        cmocka_unit_test_setup_teardown(test_loc_13_an_application_of_another_pid_namespace_is_believed_while_it_lives,
                                        make, take_away),
        cmocka_unit_test_setup_teardown(test_what_a_living_application_says_replaces_the_environment, make, take_away),
        cmocka_unit_test_setup_teardown(test_mains_power_is_told_by_the_supplies, make, take_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
