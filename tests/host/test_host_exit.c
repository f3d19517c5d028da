/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_exit.c - a host exits right after a stall, on a machine that gives the watch thread no processor.
 *
 * Symptom: a worker of gunicorn's that hung was ended by its master, and the stall was not reported. The end of its
 * message was handed to the watch thread, which had no processor for half a second. The exit waits no longer than that,
 * and closed the recording as that of a program that ended well. The test stops the watch thread. */
#include "host_case.h"

#include <errno.h>
#include <glob.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "held_thread.h"
#include "recording_format.h"

enum {
    SLOW_MS = 1000,
    TURNS = 4,
    TEXT_BYTES = 16384
};

/* ---- the host: it serves one client, and keeps it waiting ---- */

static struct sockaddr_in address = {.sin_family = AF_INET};

static void *ask(void *unused)
{
    int client = socket(AF_INET, SOCK_STREAM, 0);
    char answer;
    host_expect(connect(client, (struct sockaddr *)&address, sizeof address) == 0 && write(client, "?", 1) == 1,
                "a client asks");
    (void)!read(client, &answer, 1);
    return unused;
}

static bool has_been_told(const char *word)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", getenv("HOST_FOLDER"), word);
    return access(path, F_OK) == 0;
}

static __attribute__((noinline)) void keep_a_client_waiting(int client)
{
    char question;
    host_expect(read(client, &question, 1) == 1, "a question is read");
    host_pause_ms(SLOW_MS + SLOW_MS / 2);
    host_tell("stalls");
    while (!has_been_told("held")) {
        host_pause_ms(10);
    }
    if (strcmp(getenv("HOST_WAY"), "told") == 0) {
        exit(0); /* gunicorn's workers leave like this when their master ends them; the message ends here */
    }
    host_expect(write(client, "!", 1) == 1, "it is answered");
    HOST_KEEP_FRAME();
}

static void serves_a_client_slowly(void)
{
    pthread_t asker;
    socklen_t bytes = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    host_expect(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 1) == 0 &&
                    getsockname(listener, (struct sockaddr *)&address, &bytes) == 0,
                "there is a socket to listen on");
    for (int turn = 0; !has_been_told("stopped"); turn++) { /* the watch thread is then in its snapshot */
        struct pollfd fds = {.fd = listener, .events = POLLIN};
        if (turn == TURNS) {
            host_expect(pthread_create(&asker, NULL, ask, NULL) == 0, "a client begins");
        }
        if (poll(&fds, 1, 20) == 1) {
            keep_a_client_waiting(accept(listener, NULL, NULL));
        }
    }
    exit(0);
}

/* ---- the judge ---- */

static pid_t find_host(pid_t companion)
{
    char path[64];
    int pid = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)companion, (int)companion);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        (void)!fscanf(file, "%d", &pid);
        fclose(file);
    }
    return pid;
}

/* Has the watch thread left a note of the open message? */
static bool has_note(pid_t pid)
{
    static struct sbx_recording_header header;
    char pattern[160];
    glob_t found;
    bool has = false;
    snprintf(pattern, sizeof pattern, "%s/%d-*.rec", host_recordings, (int)pid);
    if (glob(pattern, 0, NULL, &found) == 0) {
        FILE *file = fopen(found.gl_pathv[0], "re");
        has = file != NULL && fread(&header, sizeof header, 1, file) == 1 && header.note.open == 1;
        if (file != NULL) {
            fclose(file);
        }
        globfree(&found);
    }
    return has;
}

/* The host exits while its watch thread is stopped: in the way "told" before it has seen the end of the message, in the
 * way "written" when it is about to make the snapshot durable. */
static void judge_exit(const char *way, char *report)
{
    int status;
    setenv("HOST_WAY", way, 1);
    pid_t companion = host_begin(
        &(struct host_order){.body = "serves_a_client_slowly", .slow_message_ms = SLOW_MS, .has_companion = true});
    unsetenv("HOST_WAY");
    assert_true(host_was_told("stalls"));
    pid_t pid = find_host(companion);
    int tid = held_thread_find(pid, "sbx-watch");
    assert_true(pid > 0 && tid > 0);
    for (int i = 0; i < 6000 && !has_note(pid); i++) {
        host_pause_ms(10);
    }
    assert_true(has_note(pid));
    held_thread_stop(tid, pid, companion);
    host_answer("held");
    if (strcmp(way, "written") == 0) {
        held_thread_go_on_to_call(tid, SYS_fsync);
        host_answer("stopped");
    }
    while (waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status)) { /* it ends with its process */
        (void)ptrace(PTRACE_CONT, tid, 0, 0);
    }
    assert_int_equal(host_end(companion), 0);
    host_report(report, TEXT_BYTES);
}

static void host_16_a_stall_whose_end_the_recorder_had_no_processor_for_is_found_when_the_host_has_exited(void **state)
{
    static char report[TEXT_BYTES];
    (void)state;
    judge_exit("told", report);
    assert_non_null(strstr(report, "keep_a_client_waiting"));
}

static void host_16_a_stall_whose_snapshot_the_exit_cut_off_is_found_when_the_host_has_exited(void **state)
{
    static char report[TEXT_BYTES];
    (void)state;
    judge_exit("written", report);
    assert_non_null(strstr(report, "keep_a_client_waiting"));
    assert_non_null(strstr(report, "slow_message"));
}

int main(int argc, char **argv)
{
    const struct host_body bodies[] = {HOST_BODY(serves_a_client_slowly)};
    const struct CMUnitTest tests[] = {
        HOST_TEST(host_16_a_stall_whose_end_the_recorder_had_no_processor_for_is_found_when_the_host_has_exited),
        HOST_TEST(host_16_a_stall_whose_snapshot_the_exit_cut_off_is_found_when_the_host_has_exited),
    };
    return host_main(argc, argv, bodies, SBX_COUNT_OF(bodies), tests, SBX_COUNT_OF(tests));
}
