/* SPDX-License-Identifier: Apache-2.0 */
/* test_run.c - `stallbox run` as a new user meets it: the program starts even if the recorder fails. The text at the
 * end is about that program, and says what was not recorded.
 *
 * The test and the recorded program are one file: `--body NAME` is the program. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tool_folder.h"

static char own_path[512];

/* ---- bodies ---- */

static void pause_ms(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/* One message loop. Each 40th message takes `stall_ms`, `stalls` times. */
static void be_stalling(int stalls, long stall_ms, long between_ms)
{
    for (int turn = 1; turn <= 40 * stalls + 20; turn++) {
        (void)poll(NULL, 0, 1);
        if (turn % 40 == 0) {
            pause_ms(stall_ms);
            (void)poll(NULL, 0, 1);
            pause_ms(between_ms); /* shorter than the limit: an ordinary message */
        }
    }
}

/* A master process whose worker has the message loop. */
static void be_forking(void)
{
    if (fork() == 0) {
        be_stalling(1, 1500, 0); /* three limits: time in which our own thread was late does not count */
        _exit(0);
    }
    while (wait(NULL) > 0) {
    }
    if (fork() == 0) { /* a child that calls exec waits for nothing before */
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    while (wait(NULL) > 0) {
    }
}

static void be_forking_what_stalls_often(void)
{
    if (fork() == 0) {
        be_stalling(6, 600, 0);
        _exit(0);
    }
    while (wait(NULL) > 0) {
    }
}

static int be(const char *body)
{
    if (strcmp(body, "stalls") == 0) {
        be_stalling(2, 700, 450);
    } else if (strcmp(body, "stalls_often") == 0) {
        be_stalling(6, 600, 0);
    } else if (strcmp(body, "sleeps") == 0) {
        pause_ms(3500);
    } else if (strcmp(body, "forks") == 0) {
        be_forking();
    } else if (strcmp(body, "forks_often") == 0) {
        be_forking_what_stalls_often();
    } else {
        puts("it ran");
    }
    return 0;
}

/* ---- judges ---- */

static int set_up(void **state)
{
    if (begin_folder(state) != 0) {
        return -1;
    }
    setenv("STALLBOX_RECORDINGS", path_of("recordings"), 1);
    setenv("STALLBOX_ROWS", "/tmp/stallbox-test-rows", 1);
    setenv("XDG_STATE_HOME", path_of("state"), 1);
    unsetenv("STALLBOX_DISABLE");
    return 0;
}

#define RUN(...) RUN_TOOL("run", "--slow-message-ms", "500", "--anr-ms", "0", __VA_ARGS__)

/* Symptom: `env -i stallbox run -- /bin/echo x`, the environment in which a systemd unit starts it, ended with status
 * 1, and echo never ran. */
static void test_without_a_home_the_program_runs_and_one_line_says_what_is_missing(void **state)
{
    (void)state;
    char *home = strdup(getenv("HOME") != NULL ? getenv("HOME") : "/");
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
    struct tool_result result = RUN("--", own_path, "--body", "speaks");
    setenv("HOME", home, 1);
    free(home);
    assert_int_equal(result.status, 0);
    assert_string_equal(result.out, "it ran\n");
    assert_non_null(strstr(result.err, "nothing is recorded of test_tool_run: "));
    assert_non_null(strstr(result.err, "--spool DIR"));
    assert_ptr_equal(strchr(result.err, '\n'), result.err + strlen(result.err) - 1);
}

/* Symptom: `STALLBOX_RECORDINGS= stallbox run` said "nothing is recorded of ...: : File name too long". */
static void test_a_variable_that_is_empty_is_as_if_it_were_not_set(void **state)
{
    (void)state;
    setenv("STALLBOX_RECORDINGS", "", 1);
    setenv("STALLBOX_LIBRARY", "", 1);
    struct tool_result result = RUN("--", own_path, "--body", "speaks");
    unsetenv("STALLBOX_LIBRARY");
    assert_int_equal(result.status, 0);
    assert_string_equal(result.out, "it ran\n");
    assert_string_equal(result.err, "");
}

/* Earlier the name was cut, and the folder with the cut name was made. */
static void test_a_folder_whose_name_is_too_long_is_said_to_be_so_and_none_is_made(void **state)
{
    (void)state;
    char name[700];
    int length = snprintf(name, sizeof name, "%s/", path_of("too"));
    memset(name + length, 'a', sizeof name - 1 - (size_t)length);
    name[200] = name[400] = '/'; /* each component is short enough */
    name[sizeof name - 1] = '\0';
    setenv("STALLBOX_RECORDINGS", name, 1);
    struct tool_result result = RUN("--", own_path, "--body", "speaks");
    assert_string_equal(result.out, "it ran\n");
    assert_non_null(strstr(result.err, "File name too long"));
    assert_int_equal(access(path_of("too"), F_OK), -1);
}

static void test_a_spool_that_cannot_be_made_keeps_no_program_from_starting(void **state)
{
    (void)state;
    free(write_file(folder, "file", "x", 1, 0600));
    char *spool = NULL;
    assert_true(asprintf(&spool, "%s/file/spool", folder) > 0);
    struct tool_result result = RUN("--spool", spool, "--", own_path, "--body", "speaks");
    free(spool);
    assert_int_equal(result.status, 0);
    assert_string_equal(result.out, "it ran\n");
    assert_non_null(strstr(result.err, "nothing is recorded of test_tool_run: "));
    assert_ptr_equal(strchr(result.err, '\n'), result.err + strlen(result.err) - 1);
}

static void test_the_exit_status_of_what_cannot_be_started_is_that_of_env(void **state)
{
    (void)state;
    char *plain = write_file(folder, "plain", "x", 1, 0600);
    struct tool_result result = RUN("--", "/no/such/program");
    assert_int_equal(result.status, 127);
    assert_string_equal(result.err, "stallbox run: /no/such/program: No such file or directory\n");
    result = RUN("--", plain);
    assert_int_equal(result.status, 126);
    unsetenv("XDG_STATE_HOME");
    char *home = strdup(getenv("HOME") != NULL ? getenv("HOME") : "/");
    unsetenv("HOME"); /* in the recorder's environment too */
    assert_int_equal(RUN("--", "/no/such/program").status, 127);
    assert_int_equal(RUN("--", plain).status, 126);
    setenv("HOME", home, 1);
    free(home);
    free(plain);
}

static void test_a_limit_on_the_size_of_files_is_told_and_harms_neither_of_both(void **state)
{
    (void)state;
    struct rlimit before, low;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    low = before;
    low.rlim_cur = 100 * 1024;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    struct tool_result result = RUN("--", own_path, "--body", "speaks");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(result.status, 0);
    assert_string_equal(result.out, "it ran\n");
    assert_non_null(strstr(result.err, "nothing is recorded of test_tool_run: "));
    assert_non_null(strstr(result.err, "ulimit -f"));
}

/* The messages of `stallbox run` about the program, with a limit on open files. */
static void said_with_few_files(const char *how, char text_out[4096])
{
    char command[1200];
    snprintf(command, sizeof command, "(ulimit -n 6; exec %s run %s -- %s --body speaks) >%s/out 2>&1", STALLBOX_BINARY,
             how, own_path, folder);
    assert_int_equal(system(command), 0);
    FILE *said = fopen(path_of("out"), "re");
    assert_non_null(said);
    text_out[fread(text_out, 1, 4095, said)] = '\0';
    fclose(said);
}

/* Symptom: "Too many open files; name a folder of your own with --spool DIR", which is no remedy. */
static void test_a_limit_on_open_files_that_the_spool_meets_is_told_as_what_mends_it(void **state)
{
    (void)state;
    const char *const how[] = {"", "--beside"};
    for (size_t i = 0; i < sizeof how / sizeof how[0]; i++) {
        char text[4096];
        said_with_few_files(how[i], text);
        assert_non_null(strstr(text, "it ran\n"));
        assert_non_null(strstr(text, "nothing is recorded of test_tool_run: "));
        assert_non_null(strstr(text, "Too many open files; raise the limit on open files (ulimit -n)\n"));
        assert_null(strstr(text, "--spool"));
    }
}

/* Symptom: in a container with a /dev/shm of 5 MiB nothing was recorded, without any message. */
static void test_a_file_system_that_has_no_room_for_the_recording_is_told(void **state)
{
    (void)state;
    char command[1600], text[4096] = "";
    if (geteuid() != 0 || system("unshare -m true 2>/dev/null") != 0) {
        fputs("skipped: mounting needs root\n", stderr);
        skip();
    }
    snprintf(command, sizeof command,
             "unshare -m sh -c 'mkdir %1$s/small && mount -t tmpfs -o size=3m,mode=0700 none %1$s/small && "
             "STALLBOX_RECORDINGS=%1$s/small exec %2$s run -- %3$s --body speaks' >%1$s/out 2>&1",
             folder, STALLBOX_BINARY, own_path);
    assert_int_equal(system(command), 0);
    FILE *said = fopen(path_of("out"), "re");
    assert_non_null(said);
    text[fread(text, 1, sizeof text - 1, said)] = '\0';
    fclose(said);
    assert_non_null(strstr(text, "it ran\n"));
    assert_non_null(strstr(text, "nothing is recorded of test_tool_run: there is no room for its recording in "));
    assert_non_null(strstr(text, "--shm-size"));
}

/* Symptom: `sleep 8` ended with "2 stalls recorded" although only a redis with the same spool had stalled, twice. */
static void test_each_of_two_runs_in_one_spool_tells_its_own_stalls(void **state)
{
    (void)state;
    int err;
    unsigned recorded = 0;
    char text[4096], command[256];
    const char *const stalling[] = {
        "run", "--slow-message-ms", "500", "--anr-ms", "0", "--", own_path, "--body", "stalls", NULL};
    pid_t pid = start_tool(stalling, &err);
    struct tool_result result = RUN("--", own_path, "--body", "sleeps");
    assert_int_equal(result.status, 0);
    assert_null(strstr(result.err, "recorded;"));
    assert_true(read_until(err, "recorded; see: ", text, sizeof text));
    assert_int_equal(wait_for_tool(pid), 0);
    close(err);
    assert_int_equal(sscanf(strstr(text, "stallbox run: "), "stallbox run: %u stall", &recorded), 1);
    assert_in_range(recorded, 1, 2); /* on a starved machine one stall may count as the machine's */
    snprintf(command, sizeof command, "[ $(ls %s/state/stallbox/spool/*.sbx | wc -l) = %u ]", folder, recorded);
    assert_int_equal(system(command), 0);
}

static void test_a_program_without_a_message_loop_is_told_when_it_lived_long_enough(void **state)
{
    (void)state;
    struct tool_result result = RUN("--", own_path, "--body", "sleeps");
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.err, "no message loop was found in the main thread of test_tool_run"));
    const char *no_stall = "600000"; /* it lives for less than a stall takes, on any machine: no message */
    result = RUN_TOOL("run", "--slow-message-ms", no_stall, "--anr-ms", "0", "--", own_path, "--body", "speaks");
    assert_string_equal(result.err, "");
    result = RUN("--quiet", "--", own_path, "--body", "sleeps");
    assert_string_equal(result.err, "");
}

static void test_a_forked_worker_is_recorded_like_its_parent(void **state)
{
    char command[300];
    (void)state;
    struct tool_result result = RUN("--", own_path, "--body", "forks");
    assert_int_equal(result.status, 0);
    unsigned recorded = 0;
    const char *told = strstr(result.err, "stallbox run: ");
    if (told == NULL || sscanf(told, "stallbox run: %u stall", &recorded) != 1 || recorded < 1 || recorded > 2) {
        fail_msg("no stall, or more than one and one of the machine's: %s", result.err);
    }
    assert_null(strstr(result.err, "not recorded"));
    assert_null(strstr(result.err, "no message loop")); /* the worker has a message loop */
    snprintf(command, sizeof command, "[ $(ls %s/state/stallbox/spool/*.sbx | wc -l) = %u ]", folder, recorded);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "%s/state/stallbox/spool", folder);
    assert_true(recorded > 1 || strstr(RUN_TOOL("report", command).out, "(a forked worker)") != NULL);
    assert_non_null(strstr(RUN_TOOL("report", "--format", "json", command).out, "\"family\":{\"role\":\"worker\""));
    snprintf(command, sizeof command, "[ -z \"$(ls %s/recordings)\" ]", folder); /* nothing is left behind */
    assert_int_equal(system(command), 0);
}

static void test_stalls_that_the_pace_left_out_are_counted(void **state)
{
    (void)state;
    enum {
        TRIES = 5
    };
    static struct tool_result result;
    unsigned recorded = 0, left_out = 0;
    const char *first = NULL, *second = NULL;
    for (int i = 0; i < TRIES && second == NULL;
         i++) { /* on a starved machine some of the six may count as the machine's */
        result = RUN("--", own_path, "--body", "stalls_often");
        assert_int_equal(result.status, 0);
        first = strstr(result.err, "stallbox run: ");
        second = strstr(result.err, "\nstallbox run: ");
    }
    assert_true(first != NULL && second != NULL);
    assert_int_equal(sscanf(first, "stallbox run: %u stall", &recorded), 1);
    assert_int_equal(sscanf(second, "\nstallbox run: %u more stall", &left_out), 1);
    assert_true(recorded > 0 && left_out > 0);
    assert_null(strstr(result.err, "forked children"));
}

static void test_why_stalls_of_forked_children_were_left_out_is_told(void **state)
{
    (void)state;
    struct tool_result result = RUN("--", own_path, "--body", "forks_often");
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(
        result.err, " not kept: at most one snapshot of a kind is made in so short a time, and 4 a minute of all "
                    "forked children of a program together\n"));
}

/* Symptom: "0 delivered, 1 waiting" with status 0; the reason was only in audit.log. */
static void test_a_server_that_nothing_may_be_sent_to_is_refused_at_the_start(void **state)
{
    (void)state;
    struct tool_result result = RUN("--server", "http://192.0.2.7:7311", "--", own_path, "--body", "speaks");
    assert_int_equal(result.status, 2);
    assert_string_equal(result.out, "");
    assert_non_null(strstr(result.err, "use https"));
}

static void test_why_nothing_was_delivered_is_told_at_the_end(void **state)
{
    (void)state;
    struct tool_result result = RUN("--server", "https://127.0.0.1:9", "--", own_path, "--body", "stalls");
    assert_int_equal(result.status, 0);
    unsigned recorded = 0, waiting = 0;
    const char *said = strstr(result.err, "stallbox run: ");
    assert_non_null(said);
    assert_int_equal(sscanf(said, "stallbox run: %u %*s recorded, 0 delivered to https://127.0.0.1:9, %u waiting",
                            &recorded, &waiting),
                     2);
    assert_true(recorded > 0);
    assert_int_equal(recorded, waiting);
    assert_non_null(strstr(result.err, "stallbox run: not delivered: "));
}

/* Symptom: stalls of two Python programs were one issue, "_PyEval_EvalFrameDefault, python3". */
static void test_a_program_is_called_as_it_was_told_and_no_payload_has_the_name(void **state)
{
    (void)state;
    char command[1200];
    struct tool_result result = RUN("--spool", path_of("spool"), "--app", "orders-service", "--app-version", "1.4.2",
                                    "--", own_path, "--body", "stalls");
    assert_int_equal(result.status, 0);
    result = RUN_TOOL("report", "--format", "json", path_of("spool"));
    assert_non_null(strstr(result.out, "\"name\":\"orders-service\",\"version\":\"1.4.2\""));
    snprintf(command, sizeof command, "mkdir %1$s/elsewhere && cp %1$s/spool/*.sbx %1$s/elsewhere", folder);
    assert_int_equal(system(command), 0);
    result =
        RUN_TOOL("report", path_of("elsewhere")); /* a reader without the name still tells the applications apart */
    assert_null(strstr(result.out, "orders-service"));
    assert_non_null(strstr(result.out, "#c628061012"));
}

static void test_a_name_or_a_version_that_cannot_be_told_is_refused(void **state)
{
    (void)state;
    assert_int_equal(RUN("--app", "a name that has more letters than there is any room for", "--", "true").status, 2);
    assert_int_equal(RUN("--app", "two\nlines", "--", "true").status, 2);
    assert_int_equal(RUN("--app-version", "1.2-rc1", "--", "true").status, 2);
    assert_int_equal(RUN("--app-version", "1.2.3.4", "--", "true").status, 2);
    assert_int_equal(RUN("--app-version", "", "--", "true").status, 2);
    assert_int_equal(RUN("--app-version", "7", "--app", "x", "--", "true").status, 0);
}

#define RUN_TEST(test)                        \
    {                                         \
#test, test, set_up, end_folder, NULL \
    }

static void test_a_budget_has_one_decimal_at_most(void **state)
{
    (void)state;
    const char *const fine[] = {"2.5", "5", "50", "1.0"};
    const char *const wrong[] = {"2.55", ".5", "2.", "0", "0.9", "50.1", "051", "-1", "x", ""};
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        struct tool_result result = RUN("--max-cpu-permille", fine[i], "--", own_path, "--body", "speaks");
        assert_int_not_equal(result.status, 2);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct tool_result result = RUN("--max-cpu-permille", wrong[i], "--", own_path, "--body", "speaks");
        assert_int_equal(result.status, 2);
    }
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        RUN_TEST(test_without_a_home_the_program_runs_and_one_line_says_what_is_missing),
        RUN_TEST(test_a_budget_has_one_decimal_at_most),
        RUN_TEST(test_a_variable_that_is_empty_is_as_if_it_were_not_set),
        RUN_TEST(test_a_folder_whose_name_is_too_long_is_said_to_be_so_and_none_is_made),
        RUN_TEST(test_a_spool_that_cannot_be_made_keeps_no_program_from_starting),
        RUN_TEST(test_the_exit_status_of_what_cannot_be_started_is_that_of_env),
        RUN_TEST(test_a_limit_on_the_size_of_files_is_told_and_harms_neither_of_both),
        RUN_TEST(test_a_limit_on_open_files_that_the_spool_meets_is_told_as_what_mends_it),
        RUN_TEST(test_a_file_system_that_has_no_room_for_the_recording_is_told),
        RUN_TEST(test_each_of_two_runs_in_one_spool_tells_its_own_stalls),
        RUN_TEST(test_a_program_without_a_message_loop_is_told_when_it_lived_long_enough),
        RUN_TEST(test_a_forked_worker_is_recorded_like_its_parent),
        RUN_TEST(test_why_stalls_of_forked_children_were_left_out_is_told),
        RUN_TEST(test_stalls_that_the_pace_left_out_are_counted),
        RUN_TEST(test_a_server_that_nothing_may_be_sent_to_is_refused_at_the_start),
        RUN_TEST(test_why_nothing_was_delivered_is_told_at_the_end),
        RUN_TEST(test_a_program_is_called_as_it_was_told_and_no_payload_has_the_name),
        RUN_TEST(test_a_name_or_a_version_that_cannot_be_told_is_refused),
    };
    if (argc == 3 && strcmp(argv[1], "--body") == 0) {
        return be(argv[2]);
    }
    ssize_t length = readlink("/proc/self/exe", own_path, sizeof own_path - 1);
    return length > 0 ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
