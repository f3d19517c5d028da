/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_executable.c - hosts whose executable is not at the path that it was started by: started through
 * /proc/self/exe, deleted, or replaced. */
#include "host_case.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TEXT_BYTES = 32768
};

/* ---- hosts ---- */

__attribute__((noinline)) void naps_in_a_message(void);
__attribute__((noinline)) void naps_in_a_message(void)
{
    host_pause_ms(600);
    __asm__ volatile("");
}

/* Execute the same program by another path. An environment variable tells it that it is the second run. */
static void become(const char *path, const char *body)
{
    if (getenv("HOST_AGAIN") == NULL) {
        setenv("HOST_AGAIN", "1", 1);
        execl(path, "host", "--body", body, (char *)NULL);
        host_expect(false, "the program can be started again");
    }
}

static void starts_itself_by_proc(void)
{
    become("/proc/self/exe", "starts_itself_by_proc");
    host_loop(30, naps_in_a_message);
    host_loop(5, NULL);
    __asm__ volatile(""); /* no tail call: a loop has one place on the stack */
}

__attribute__((noinline)) void leaves_by_a_signal(void);
__attribute__((noinline)) void leaves_by_a_signal(void)
{
    raise(SIGSEGV);
    __asm__ volatile("");
}

static void delete_this_copy(const char *body)
{
    char path[128], command[PATH_MAX + 300], own[PATH_MAX] = "";
    snprintf(path, sizeof path, "%.90s/leaver", getenv("HOST_COPY"));
    host_expect(readlink("/proc/self/exe", own, sizeof own - 1) > 0, "the kernel tells what runs");
    if (getenv("HOST_AGAIN") == NULL) {
        snprintf(command, sizeof command, "cp '%s' '%s'", own, path);
        host_expect(system(command) == 0, "the program can be copied");
        become(path, body);
    }
    host_expect(unlink(path) == 0, "the copy can be deleted");
}

static void deletes_itself(void)
{
    delete_this_copy("deletes_itself");
    host_loop(30, naps_in_a_message);
    host_loop(5, NULL);
    __asm__ volatile(""); /* no tail call: a loop has one place on the stack */
}

static void deletes_itself_and_crashes(void)
{
    delete_this_copy("deletes_itself_and_crashes");
    host_loop(30, NULL);
    leaves_by_a_signal();
}

/* ---- judges ---- */

static char text[TEXT_BYTES];

static void report_of(const char *body)
{
    setenv("HOST_COPY", host_folder, 1);
    int status = host_run(&(struct host_order){.body = body, .slow_message_ms = 400, .has_companion = true});
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    host_report(text, sizeof text);
}

static void test_a_program_started_as_proc_self_exe_has_its_name_and_its_functions(void **state)
{
    (void)state;
    report_of("starts_itself_by_proc");
    if (strstr(text, "naps_in_a_message") == NULL || strstr(text, "application  test_host_executable") == NULL) {
        fail_msg("%.3000s", text);
    }
}

static void test_a_program_whose_file_is_gone_has_its_name_and_its_functions(void **state)
{
    (void)state;
    report_of("deletes_itself");
    if (strstr(text, "application  leaver\n") == NULL || strstr(text, "naps_in_a_message") == NULL) {
        fail_msg("%.3000s", text);
    }
}

static void test_a_program_whose_file_is_gone_and_that_crashed_has_its_functions(void **state)
{
    (void)state;
    setenv("HOST_COPY", host_folder, 1);
    int status = host_run(&(struct host_order){.body = "deletes_itself_and_crashes", .has_companion = true});
    assert_true(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
    host_report(text, sizeof text);
    if (strstr(text, "leaves_by_a_signal") == NULL) {
        fail_msg("%.3000s", text);
    }
}

int main(int argc, char **argv)
{
    static const struct host_body bodies[] = {
        HOST_BODY(starts_itself_by_proc),
        HOST_BODY(deletes_itself),
        HOST_BODY(deletes_itself_and_crashes),
    };
    const struct CMUnitTest tests[] = {
        HOST_TEST(test_a_program_started_as_proc_self_exe_has_its_name_and_its_functions),
        HOST_TEST(test_a_program_whose_file_is_gone_has_its_name_and_its_functions),
        HOST_TEST(test_a_program_whose_file_is_gone_and_that_crashed_has_its_functions),
    };
    return host_main(argc, argv, bodies, sizeof bodies / sizeof bodies[0], tests, sizeof tests / sizeof tests[0]);
}
