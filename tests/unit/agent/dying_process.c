/* SPDX-License-Identifier: Apache-2.0 */
/* dying_process.c - a child process that ends, and what it leaves behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dying_process.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "snapshot_folder.h"

/* ---- in the child ---- */

/* cmocka sets handlers for faults, and a forked child inherits them. A host with handlers of its own would look the
 * same. */
void dying_take_no_handlers_along(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        signal(numbers[i], SIG_DFL);
    }
}

void dying_start(bool leave_crashes)
{
    struct stallbox_options options = stalling_options();
    options.leave_crashes = leave_crashes;
    stalling_start(&options);
    stalling_pause_ms(150); /* the rows of this executable are built meanwhile */
}

__attribute__((noinline)) static void poll_once(int fd)
{
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    poll(&watched, 1, 5);
    KEEP_FRAME();
}

void dying_stall(void)
{
    int fd = eventfd(0, EFD_CLOEXEC);
    for (int i = 0; i < 10; i++) {
        poll_once(fd);
    }
    stalling_pause_ms(1000);
}

/* ---- in the test ---- */

pid_t dying_process_begin(void (*body)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        unsetenv("STALLBOX_DISABLE");
        alarm(60);
        dying_take_no_handlers_along();
        body();
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

int dying_process_end(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

int dying_process_run(void (*body)(void))
{
    return dying_process_end(dying_process_begin(body));
}

bool died_by(int status, int number)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == number;
}

bool exited_with(int status, int code)
{
    return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

void dying_process_wait_until(bool (*holds)(void), const char *what)
{
    for (uint64_t end_ms = stalling_now_ms() + 20000; !holds(); stalling_pause_ms(20)) {
        if (stalling_now_ms() > end_ms) {
            fail_msg("not after 20 s: %s", what);
        }
    }
}

int dying_process_recordings_left(void)
{
    return (int)snapshot_folder_count(stalling_process_recordings(), SBX_RECORDING_SUFFIX);
}

int dying_process_snapshots_of(const char *suffix)
{
    char raw[128];
    snprintf(raw, sizeof raw, "%s/raw", stalling_process_spool());
    return (int)snapshot_folder_count(raw, suffix);
}

int dying_process_snapshots_left(void)
{
    return dying_process_snapshots_of(SBX_RAW_SUFFIX);
}

struct sbx_recovery_counts dying_process_recover(void)
{
    struct sbx_recovery_counts counts;
    assert_int_equal(
        sbx_recording_recover_folder(stalling_process_recordings(), stalling_process_spool(), NULL, NULL, &counts), 0);
    assert_int_equal(counts.failed, 0);
    return counts;
}

void dying_process_expect_nothing(void)
{
    dying_process_recover();
    assert_int_equal(dying_process_recordings_left(), 0);
    assert_int_equal(dying_process_snapshots_left(), 0);
}

void dying_process_expect_killed(void)
{
    assert_int_equal(dying_process_recover().killed, 1);
    assert_int_equal(dying_process_recordings_left(), 0);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    const struct sbx_trigger_entry *trigger = &snapshot->header.trigger;
    assert_int_equal(trigger->kind, SBX_TRIGGER_KILLED);
    assert_true(trigger->end_ns - trigger->begin_ns >= 500000000);
    assert_int_equal(dying_process_recover().killed, 0);
    sbx_snapshot_destroy(snapshot);
}
