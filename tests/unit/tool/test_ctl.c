/* SPDX-License-Identifier: Apache-2.0 */
/* test_ctl.c - `stallbox ctl` finds the recorder of a process wherever it is, says why there is none, and does what its
 * help says.
 *
 * The test and the recorded program are one file: `--body NAME FILE` is the program, which writes its process id into
 * FILE. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tool_folder.h"

enum {
    OTHER_USER = 64001, /* a user id that needs no account */
    VICTIM_BYTES = 1 << 20
};

static char own_path[512];

/* ---- bodies ---- */

static void write_number(const char *path, pid_t pid)
{
    char temporary[600];
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    FILE *file = fopen(temporary, "we");
    if (file == NULL || fprintf(file, "%d\n", (int)pid) < 0 || fclose(file) != 0 || rename(temporary, path) != 0) {
        _exit(1);
    }
}

static int be(const char *body, const char *path)
{
    if (strcmp(body, "pretends") == 0) { /* it pretends that another user's file is its recording */
        char own[600];
        snprintf(own, sizeof own, "%.*s/%d-x.rec", (int)(strrchr(path, '/') - path), path, (int)getpid());
        int file = rename("victim.rec", own) == 0 ? open(own, O_RDWR | O_CLOEXEC) : -1;
        if (file < 0 || mmap(NULL, VICTIM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) == MAP_FAILED) {
            _exit(1);
        }
        write_number(path, getpid());
        pause();
    }
    if (strcmp(body, "forks") == 0) {
        pid_t parent = getpid(), pid = fork();
        if (pid == 0) {
            while (getppid() == parent) {
                (void)poll(NULL, 0, 10);
            }
            _exit(0);
        }
        write_number(path, pid);
        pause();
        return 0;
    }
    for (int turn = 0; strcmp(body, "loops") == 0; turn++) {
        (void)poll(NULL, 0, 1);
        if (turn == 20) {
            write_number(path, getpid());
        }
    }
    write_number(path, getpid());
    for (;;) {
        pause();
    }
}

/* ---- judges ---- */

static pid_t companion;

static int set_up(void **state)
{
    if (begin_folder(state) != 0) {
        return -1;
    }
    companion = 0;
    setenv("STALLBOX_RECORDINGS", path_of("recordings"), 1);
    setenv("STALLBOX_ROWS", "/tmp/stallbox-test-rows", 1);
    setenv("XDG_STATE_HOME", path_of("state"), 1);
    unsetenv("STALLBOX_DISABLE");
    return 0;
}

static int tear_down(void **state)
{
    if (companion > 0) {
        kill(companion, SIGTERM); /* the companion passes the signal on */
        waitpid(companion, NULL, 0);
    }
    return end_folder(state);
}

/* Start a body under `stallbox run`, as another user when `user` is not 0. Returns the process id that it wrote, as
 * text. */
static const char *start_body(const char *body, unsigned user)
{
    static char text[32];
    const char *file = path_of("number");
    companion = fork();
    assert_true(companion >= 0);
    if (companion == 0) {
        if (user != 0 && (setgid(user) != 0 || setuid(user) != 0)) {
            _exit(1);
        }
        execl(STALLBOX_BINARY, "stallbox", "run", "--quiet", "--", own_path, "--body", body, file, (char *)NULL);
        _exit(127);
    }
    for (int waited = 0; access(file, F_OK) != 0; waited++) {
        assert_true(waited < 2000);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    FILE *stream = fopen(file, "re");
    assert_non_null(stream);
    assert_non_null(fgets(text, sizeof text, stream));
    fclose(stream);
    text[strcspn(text, "\n")] = '\0';
    return text;
}

static const char *line_of(const char *text, const char *word)
{
    static char line[1024];
    const char *begin = strstr(text, word);
    snprintf(line, sizeof line, "%.*s", begin != NULL ? (int)strcspn(begin, "\n") : 0, begin != NULL ? begin : "");
    return line;
}

/* Symptom: after `ctl PID disable stdio stat` and `ctl PID enable` both were still off. README says "without names: all
 * of it". */
static void test_enable_without_names_puts_all_in_again(void **state)
{
    (void)state;
    const char *pid = start_body("loops", 0);
    char before[1024];
    snprintf(before, sizeof before, "%s", line_of(RUN_TOOL("ctl", pid, "status").out, "points  "));
    assert_non_null(strstr(before, " stdio"));
    assert_int_equal(RUN_TOOL("ctl", pid, "disable", "stdio", "stat").status, 0);
    assert_null(strstr(line_of(RUN_TOOL("ctl", pid, "status").out, "points  "), " stdio"));
    assert_int_equal(RUN_TOOL("ctl", pid, "enable").status, 0);
    assert_string_equal(line_of(RUN_TOOL("ctl", pid, "status").out, "points  "), before);
}

static void test_a_program_that_is_switched_off_is_told_with_the_reason(void **state)
{
    (void)state;
    const char *pid = start_body("loops", 0);
    assert_string_equal(line_of(RUN_TOOL("ctl", pid, "status").out, "enabled "), "enabled            yes");
    assert_int_equal(RUN_TOOL("ctl", pid, "disable").status, 0);
    assert_non_null(strstr(line_of(RUN_TOOL("ctl", pid, "status").out, "enabled "), "no: it was switched off"));
}

static void test_whether_there_is_a_message_loop_is_told(void **state)
{
    (void)state;
    const char *pid = start_body("loops", 0);
    assert_non_null(strstr(RUN_TOOL("ctl", pid, "status").out, "message loop       found in the main thread"));
    (void)tear_down(state);
    (void)set_up(state);
    pid = start_body("rests", 0);
    assert_non_null(strstr(RUN_TOOL("ctl", pid, "status").out, "message loop       none found in the main thread"));
}

/* Symptom: "process 20763 has no recorder", for a backend of postgres. */
static void test_a_forked_child_answers_for_itself(void **state)
{
    (void)state;
    const char *pid = start_body("forks", 0);
    struct tool_result result = {.status = 1};
    for (int tries = 0; tries < 100 && result.status != 0; tries++) { /* it is recorded from its first poll on */
        result = RUN_TOOL("ctl", pid, "status");
        usleep(20000);
    }
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.out, "worker"));
    assert_non_null(strstr(result.out, "ring               128 KiB\n")); /* short while it has little to record */
}

static void test_a_process_without_the_library_is_told_as_such(void **state)
{
    char number[16];
    (void)state;
    snprintf(number, sizeof number, "%d", (int)getpid());
    struct tool_result result = RUN_TOOL("ctl", number, "status");
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.err, "libstallbox is not loaded into it"));
    result = RUN_TOOL("ctl", "4194399", "status"); /* larger than the largest pid */
    assert_non_null(strstr(result.err, "there is no such process"));
}

/* Symptom: "has no recorder (looked in /dev/shm/stallbox-0)", although it had one, in stallbox-101. */
static void test_root_finds_the_recorder_of_another_users_process(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        fputs("skipped: only root can be another user\n", stderr);
        skip();
    }
    assert_int_equal(chown(folder, OTHER_USER, OTHER_USER), 0);
    const char *pid = start_body("loops", OTHER_USER);
    unsetenv("STALLBOX_RECORDINGS"); /* root does not know where that folder is, either */
    struct tool_result result = RUN_TOOL("ctl", pid, "status");
    assert_string_equal(result.err, "");
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.out, "enabled            yes"));
    assert_int_equal(RUN_TOOL("ctl", pid, "snapshot").status, 0);
}

static void test_root_writes_into_no_file_that_a_process_only_says_is_its_recording(void **state)
{
    static uint8_t zeroes[VICTIM_BYTES], after[VICTIM_BYTES];
    char was[600];
    (void)state;
    if (geteuid() != 0) {
        fputs("skipped: only root can be another user\n", stderr);
        skip();
    }
    assert_int_equal(chown(folder, OTHER_USER, OTHER_USER), 0);
    free(write_file(folder, "victim.rec", zeroes, sizeof zeroes, 0666)); /* root's file, which every user may write */
    assert_non_null(getcwd(was, sizeof was));
    assert_int_equal(chdir(folder), 0);
    setenv("STALLBOX_DISABLE", "1", 1);
    const char *pid = start_body("pretends", OTHER_USER);
    assert_int_equal(chdir(was), 0);
    unsetenv("STALLBOX_RECORDINGS");
    assert_int_equal(RUN_TOOL("ctl", pid, "disable").status, 1);
    assert_int_equal(RUN_TOOL("ctl", pid, "snapshot").status, 1);
    char path[64];
    snprintf(path, sizeof path, "%s-x.rec", pid);
    FILE *file = fopen(path_of(path), "re");
    assert_non_null(file);
    assert_int_equal(fread(after, 1, sizeof after, file), sizeof after);
    fclose(file);
    assert_memory_equal(after, zeroes, sizeof zeroes);
}

/* Symptom: "cpu cost 269.72 % ... budget 0.5 %" for a program that had used some milliseconds. */
static void test_the_cost_of_a_program_that_has_hardly_run_is_told_as_time(void **state)
{
    (void)state;
    struct tool_result result = RUN_TOOL("ctl", start_body("rests", 0), "status");
    assert_non_null(strstr(line_of(result.out, "cpu cost "), " ms in all, in "));
    assert_non_null(strstr(line_of(result.out, "cpu cost "), "% of one processor"));
    assert_null(strstr(line_of(result.out, "cpu cost "), "of the application"));
}

#define CTL_TEST(test)                       \
    {                                        \
#test, test, set_up, tear_down, NULL \
    }

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        CTL_TEST(test_enable_without_names_puts_all_in_again),
        CTL_TEST(test_a_program_that_is_switched_off_is_told_with_the_reason),
        CTL_TEST(test_whether_there_is_a_message_loop_is_told),
        CTL_TEST(test_a_forked_child_answers_for_itself),
        CTL_TEST(test_a_process_without_the_library_is_told_as_such),
        CTL_TEST(test_root_finds_the_recorder_of_another_users_process),
        CTL_TEST(test_root_writes_into_no_file_that_a_process_only_says_is_its_recording),
        CTL_TEST(test_the_cost_of_a_program_that_has_hardly_run_is_told_as_time),
    };
    if (argc == 4 && strcmp(argv[1], "--body") == 0) {
        return be(argv[2], argv[3]);
    }
    ssize_t length = readlink("/proc/self/exe", own_path, sizeof own_path - 1);
    return length > 0 ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
