/* SPDX-License-Identifier: Apache-2.0 */
/* test_false_alarms.c - situations that look like a stall but are none. */
#include "host_case.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "control_group.h"
#include "debugger.h"
#include "held_thread.h"
#include "recording_recover.h"

enum {
    LIMIT_MS = 700,
    STOP_MS = 1600
};

#define JUDGED(name)                                                  \
    &(struct host_order)                                              \
    {                                                                 \
        .body = name, .anr_ms = LIMIT_MS, .slow_message_ms = LIMIT_MS \
    }

/* ---- the hosts ---- */

/* Works in a message while it is stopped from outside. It continues on its own as soon as it is allowed to. */
static void work_until_told(void)
{
    char path[160];
    host_tell("in_message");
    snprintf(path, sizeof path, "%s/go_on", getenv("HOST_FOLDER"));
    while (access(path, F_OK) != 0) {
        for (volatile int i = 0; i < 100000; i++) {
        }
    }
    host_tell("out_of_message");
    HOST_KEEP_FRAME();
}

static void is_stopped_in_a_message(void)
{
    for (int i = 0; i < 20; i++) {
        host_loop(1, i == 19 ? work_until_told : NULL);
    }
    host_loop(300, NULL); /* long enough that a late alarm would have come by now */
}

static __attribute__((noinline)) void turn_once(int ms, void (*handle)(void))
{
    struct pollfd none = {.fd = -1};
    poll(&none, 1, ms);
    if (handle != NULL) {
        handle();
    }
    HOST_KEEP_FRAME();
}

static void say_that_it_rests(void)
{
    host_tell("rests");
}

/* Waits for so long that the watch thread goes to sleep. */
static void rests_and_is_in_a_message(void)
{
    for (int i = 0; i < 400; i++) {
        volatile int turn = i; /* one place, as in host_loop() */
        turn_once(turn == 100 ? 4000 : 1, turn == 99 ? say_that_it_rests : turn == 100 ? work_until_told : NULL);
    }
}

/* Hangs for so long that it exceeds the limit even if the watch thread was late for most of it; that time does not
 * count. */
static void hang_for_real(void)
{
    host_pause_ms(5 * LIMIT_MS);
    HOST_KEEP_FRAME();
}

static void is_stopped_and_hangs_later(void)
{
    for (int i = 0; i < 60; i++) {
        host_loop(1, i == 19 ? work_until_told : i == 50 ? hang_for_real : NULL);
    }
}

static void hangs_for_real(void)
{
    for (int i = 0; i < 220; i++) { /* on a busy machine it is hooked some tens of milliseconds late */
        host_loop(1, i == 200 ? hang_for_real : NULL);
    }
}

static void work_five_ms(void)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    do {
        for (volatile int i = 0; i < 10000; i++) {
        }
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 5000000);
    HOST_KEEP_FRAME();
}

static void say_that_it_computes(void)
{
    host_tell("computes");
}

static void works_little_and_slowly(void)
{
    host_loop(20, NULL);
    host_tell("in_message");
    for (int i = 0; i < 25; i++) {
        host_loop(1, work_five_ms);
    }
}

/* No message is long enough for the ticks to come closer together. */
static void computes_in_short_messages(void)
{
    char path[160];
    snprintf(path, sizeof path, "%s/go_on", getenv("HOST_FOLDER"));
    for (int i = 0; access(path, F_OK) != 0; i++) {
        volatile int turn = i; /* one place, as in host_loop() */
        turn_once(1, turn == 200 ? say_that_it_computes : work_five_ms);
    }
}

static void computes_without_a_loop(void)
{
    struct pollfd none = {.fd = -1};
    poll(&none, 1, 1); /* one poll is not a loop */
    host_compute_ms(3 * LIMIT_MS);
}

static void waits_for_nothing(void)
{
    for (int i = 0; i < 4; i++) {
        struct pollfd none = {.fd = -1};
        poll(&none, 1, LIMIT_MS);
    }
}

static void *outlive(void *unused)
{
    (void)unused;
    host_pause_ms(3 * LIMIT_MS);
    return NULL;
}

static void leave_the_loop(void)
{
    pthread_exit(NULL);
}

static void ends_its_loop_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, outlive, NULL);
    for (int i = 0; i < 20; i++) {
        host_loop(1, i == 19 ? leave_the_loop : NULL);
    }
}

/* ---- the judges ---- */

static void expect_no_alarm(int status)
{
    assert_int_equal(status, 0);
    if (host_count_snapshots() != 0) { /* print what it was */
        static char text[16384];
        host_report(text, sizeof text);
        fail_msg("there is an alarm:\n%s", text);
    }
    host_expect_recordings_closed();
}

/* The times between which the test held the host in its message, or the watch thread; by the clock of file times. */
struct hold {
    int64_t begin_ms, end_ms;
};

static int64_t real_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now); /* file times are from this clock */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t told_at_ms(const char *name)
{
    char path[160];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", host_folder, name);
    assert_int_equal(stat(path, &status), 0);
    return (int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000;
}

/* Before and after the hold the message lasts some 200 ms. If the machine gave it so little CPU time that it lasted far
 * longer, an alarm may be right. */
static void expect_no_false_alarm(int status, const struct hold *hold)
{
    int64_t free_ms = hold->begin_ms - told_at_ms("in_message") + told_at_ms("out_of_message") - hold->end_ms;
    if (free_ms < LIMIT_MS / 2) {
        expect_no_alarm(status);
        return;
    }
    print_message("a busy machine: its message went on for %d ms besides\n", (int)free_ms);
    assert_int_equal(status, 0);
}

/* Continue a process that was stopped in its message. The message ends at once, before the watch thread looks, or after
 * a while. */
static void continue_and_expect_no_alarm(pid_t pid, int64_t stopped_ms, bool ends_first, void **state)
{
    if (ends_first) {
        host_answer("go_on");
    }
    struct hold hold = {stopped_ms, real_now_ms()};
    assert_int_equal(kill(pid, SIGCONT), 0);
    if (!ends_first) {
        host_pause_ms(200);
        host_answer("go_on");
    }
    expect_no_false_alarm(host_end(pid), &hold);
    host_tear_down(state);
    host_set_up(state);
}

/* Without this test, the other tests would pass with a recorder that never fires. */
static void host_10_a_message_that_hangs_does_raise_an_alarm(void **state)
{
    (void)state;
    host_run_well(JUDGED("hangs_for_real"));
    struct sbx_snapshot *snapshot = host_read_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_ANR);
    sbx_snapshot_destroy(snapshot);
}

static void host_10_a_process_stopped_for_five_seconds_is_no_stall(void **state)
{
    (void)state;
    for (int ends_first = 0; ends_first < 2; ends_first++) {
        pid_t pid = host_begin(JUDGED("is_stopped_in_a_message"));
        assert_true(host_was_told("in_message"));
        int64_t stopped_ms = real_now_ms();
        assert_int_equal(kill(pid, SIGSTOP), 0);
        host_pause_ms(ends_first ? STOP_MS : 5000);
        continue_and_expect_no_alarm(pid, stopped_ms, ends_first, state);
    }
}

/* Test one group after the other, of each cgroup version of this machine; skips when it has neither. */
static void judge_in_groups(const char *controller, const char *const controls[2],
                            void (*judge)(const struct control_group *group), void **state)
{
    const char *why[2] = {"", ""};
    int judged = 0;
    for (int version = 1; version <= 2; version++) {
        struct control_group group;
        if (!control_group_make(version, controller, controls[version - 1], &group, &why[version - 1])) {
            continue;
        }
        print_message("in a control group of version %d\n", version);
        judge(&group); /* this also removes it */
        judged++;
        host_tear_down(state);
        host_set_up(state);
    }
    if (judged == 0) {
        fprintf(stderr, "version 1: %s; ", why[0]);
        host_skip(why[1]);
    }
}

static void freeze(const struct control_group *group)
{
    bool is_second = group->version == 2;
    pid_t pid = host_begin(JUDGED("is_stopped_in_a_message"));
    bool is_told = host_was_told("in_message");
    bool is_in = control_group_enter(group, pid);
    struct hold hold = {.begin_ms = real_now_ms()};
    bool is_frozen =
        control_group_set(group, is_second ? "cgroup.freeze" : "freezer.state", is_second ? "1" : "FROZEN");
    host_pause_ms(STOP_MS);
    bool was_frozen = !is_second || control_group_read(group, "cgroup.events", "frozen") == 1;
    hold.end_ms = real_now_ms();
    bool is_thawed =
        control_group_set(group, is_second ? "cgroup.freeze" : "freezer.state", is_second ? "0" : "THAWED");
    host_pause_ms(200);
    host_answer("go_on");
    int status = host_end(pid);
    control_group_remove(group);
    assert_true(is_told && is_in && is_frozen && was_frozen && is_thawed);
    expect_no_false_alarm(status, &hold);
}

static void host_10_a_frozen_control_group_is_no_stall(void **state)
{
    judge_in_groups("freezer", (const char *const[2]){"freezer.state", "cgroup.freeze"}, freeze, state);
}

static void throttle(const struct control_group *group)
{
    pid_t pid = host_begin(JUDGED("works_little_and_slowly"));
    bool is_told = host_was_told("in_message");
    bool is_limited = group->version == 2 ? control_group_set(group, "cpu.max", "5000 100000")
                                          : control_group_set(group, "cpu.cfs_period_us", "100000") &&
                                                control_group_set(group, "cpu.cfs_quota_us", "5000");
    bool is_in = control_group_enter(group, pid);
    int status = host_end(pid);
    control_group_remove(group);
    assert_true(is_told && is_in && is_limited);
    expect_no_alarm(status);
}

static void host_10_a_control_group_throttled_to_5_percent_is_no_stall(void **state)
{
    judge_in_groups("cpu", (const char *const[2]){"cpu.cfs_quota_us", "cpu.max"}, throttle, state);
}

/* ---- HOST-11 ---- */

/* Stop the watch thread where it begins its next sleep, or in the middle of its work. Skips where that is forbidden. */
static int stop_watch_thread(pid_t pid, bool is_at_work)
{
    struct __ptrace_syscall_info call = {.op = 0};
    int status, tid = held_thread_find(pid, "sbx-watch");
    assert_true(tid > 0);
    held_thread_stop(tid, pid, pid);
    bool is_asleep = true;
    do {
        assert_int_equal(ptrace(PTRACE_SYSCALL, tid, 0, 0), 0);
        assert_int_equal(waitpid(tid, &status, __WALL), tid);
        assert_true(WIFSTOPPED(status));
        assert_true(ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof call, &call) > 0);
        if (call.op == PTRACE_SYSCALL_INFO_ENTRY) { /* the kernel restarts a sleep that the debugger interrupts */
            is_asleep = call.entry.nr == SYS_futex || call.entry.nr == SYS_restart_syscall;
        }
    } while (call.op != PTRACE_SYSCALL_INFO_ENTRY || is_asleep == is_at_work);
    return tid;
}

/* The watch thread is stopped and stays stopped while the message goes on; `begin_ms`: the time from which it should
 * have looked. */
static void hold_and_expect_no_alarm(pid_t pid, int watch_tid, int64_t begin_ms)
{
    struct hold hold = {.begin_ms = begin_ms};
    host_pause_ms(STOP_MS);
    hold.end_ms = real_now_ms();
    assert_int_equal(ptrace(PTRACE_DETACH, watch_tid, 0, 0), 0);
    host_pause_ms(200);
    host_answer("go_on");
    expect_no_false_alarm(host_end(pid), &hold);
}

static void host_10_time_in_which_our_own_thread_did_not_run_is_not_charged(void **state)
{
    (void)state;
    pid_t pid = host_begin(JUDGED("is_stopped_in_a_message"));
    assert_true(host_was_told("in_message"));
    int watch_tid = stop_watch_thread(pid, false);
    hold_and_expect_no_alarm(pid, watch_tid, real_now_ms());
}

/* The watch thread went to sleep while nothing was open, so no look was due. The message wakes it, but it does not
 * run. */
static void host_10_time_in_which_our_own_thread_was_woken_and_did_not_run_is_not_charged(void **state)
{
    (void)state;
    pid_t pid = host_begin(JUDGED("rests_and_is_in_a_message"));
    assert_true(host_was_told("rests"));
    host_pause_ms(1500);
    int watch_tid = stop_watch_thread(pid, false);
    assert_true(host_was_told("in_message"));
    hold_and_expect_no_alarm(pid, watch_tid, told_at_ms("in_message"));
}

static void host_10_a_process_stopped_while_our_thread_is_at_work_is_no_stall(void **state)
{
    (void)state;
    for (int ends_first = 0; ends_first < 2; ends_first++) {
        pid_t pid = host_begin(JUDGED("is_stopped_in_a_message"));
        assert_true(host_was_told("in_message"));
        int watch_tid = stop_watch_thread(pid, true);
        int64_t stopped_ms = real_now_ms();
        assert_int_equal(kill(pid, SIGSTOP), 0);
        assert_int_equal(ptrace(PTRACE_DETACH, watch_tid, 0, 0), 0);
        host_pause_ms(STOP_MS);
        continue_and_expect_no_alarm(pid, stopped_ms, ends_first, state);
    }
}

static void host_11_a_breakpoint_is_no_stall_and_what_hangs_after_it_is(void **state)
{
    (void)state;
    pid_t pid = host_begin(JUDGED("is_stopped_and_hangs_later"));
    assert_true(host_was_told("in_message"));
    held_thread_stop(pid, pid, pid); /* as a debugger does at a breakpoint */
    host_pause_ms(host_size(60000, STOP_MS));
    assert_int_equal(host_count_snapshots(), 0);
    assert_int_equal(ptrace(PTRACE_DETACH, pid, 0, 0), 0);
    host_pause_ms(300);
    assert_int_equal(host_count_snapshots(), 0); /* the same message, no longer traced */
    host_answer("go_on");
    assert_int_equal(host_end(pid), 0);
    struct sbx_snapshot *snapshot = host_read_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_ANR);
    bool is_the_later = false;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        is_the_later |= (snapshot->records[i].flags & SBX_FLAG_AT_TRIGGER) != 0 &&
                        host_passes(snapshot, snapshot->records[i].stack, (void *)hang_for_real);
    }
    assert_true(is_the_later);
    sbx_snapshot_destroy(snapshot);
}

static bool be_traced(void)
{
    return ptrace(PTRACE_TRACEME, 0, 0, 0) == 0;
}

static void host_11_a_program_started_under_a_debugger_raises_no_alarm(void **state)
{
    int status = 0;
    (void)state;
    struct host_order order = *JUDGED("hangs_for_real");
    order.before_exec = be_traced;
    pid_t pid = host_begin(&order);
    while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
        int signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        ptrace(PTRACE_CONT, pid, 0, signal);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        host_skip("ptrace is not allowed here");
    }
    expect_no_alarm(status);
}

/* gdb stops the whole program at each signal that its user has not configured. */
static void host_11_a_tracer_is_shown_no_signal_of_ours(void **state)
{
    int status = 0, real_time_signals = 0;
    (void)state;
    struct host_order order = *JUDGED("computes_without_a_loop");
    order.before_exec = be_traced;
    pid_t pid = host_begin(&order);
    while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
        int signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        real_time_signals += signal > SIGSYS;
        ptrace(PTRACE_CONT, pid, 0, signal);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        host_skip("ptrace is not allowed here");
    }
    assert_int_equal(real_time_signals, 0);
}

/* The timers for questions ahead are armed, and fire as soon as the program continues: each time before the recorder's
 * next tick. */
static void host_11_a_tracer_that_attaches_is_shown_no_signal_of_who_is_asked_ahead(void **state)
{
    enum {
        TIMES = 10,
        MOST = 4 /* one may be under way, and on a busy machine the watch thread continues after the program */
    };
    struct debugger debugger;
    int times = 0;
    (void)state;
    struct host_order order = {.body = "computes_in_short_messages", .gap_us = 40000};
    pid_t pid = host_begin(&order);
    assert_true(host_was_told("computes"));
    for (int i = 0; i < TIMES; i++) {
        host_pause_ms(700); /* the thread is asked again */
        if (!debugger_attach(&debugger, pid)) {
            kill(pid, SIGKILL);
            host_end(pid);
            host_skip("ptrace is not allowed here");
        }
        debugger_go_on(&debugger, 130);
        debugger_detach(&debugger);
        times += debugger.shown != 0;
    }
    host_answer("go_on");
    assert_int_equal(host_end(pid), 0);
    print_message("shown a signal in %d of %d attachments\n", times, TIMES);
    assert_in_range(times, 0, MOST);
}

static void host_11_a_program_killed_at_a_breakpoint_was_not_killed_by_a_stall(void **state)
{
    (void)state;
    pid_t pid = host_begin(JUDGED("is_stopped_in_a_message"));
    assert_true(host_was_told("in_message"));
    held_thread_stop(pid, pid, pid); /* as a debugger does at a breakpoint */
    host_pause_ms(STOP_MS);
    kill(pid, SIGKILL);
    host_end(pid);
    struct sbx_recovery_counts counts;
    assert_int_equal(sbx_recording_recover_folder(host_recordings, host_spool, NULL, NULL, &counts), 0);
    assert_int_equal(counts.killed, 0);
}

/* ---- HOST-12 ---- */

static void host_12_a_jumping_wall_clock_changes_no_duration(void **state)
{
    (void)state;
    struct host_order order = *JUDGED("waits_for_nothing");
    order.preload_too = HOST_CLOCK_JUMPER;
    expect_no_alarm(host_run(&order));
    order.body = "hangs_for_real";
    host_run_well(&order);
    struct sbx_snapshot *snapshot = host_read_snapshot();
    uint64_t took_ns = snapshot->header.trigger.end_ns - snapshot->header.trigger.begin_ns;
    assert_true(took_ns >= LIMIT_MS * UINT64_C(1000000) && took_ns < 60 * UINT64_C(1000000000));
    for (size_t i = 0; i < snapshot->record_count; i++) {
        assert_true(snapshot->records[i].end_ns - snapshot->records[i].begin_ns < 60 * UINT64_C(1000000000));
    }
    sbx_snapshot_destroy(snapshot);
}

/* ---- programs that are no loops ---- */

static void host_10_a_batch_program_is_not_judged(void **state)
{
    (void)state;
    expect_no_alarm(host_run(JUDGED("computes_without_a_loop")));
}

static void host_10_an_idle_loop_is_no_stall(void **state)
{
    (void)state;
    expect_no_alarm(host_run(JUDGED("waits_for_nothing")));
}

static void host_10_a_loop_thread_that_ended_is_no_stall(void **state)
{
    (void)state;
    expect_no_alarm(host_run(JUDGED("ends_its_loop_thread")));
}

int main(int argc, char **argv)
{
    const struct host_body bodies[] = {
        HOST_BODY(is_stopped_in_a_message),
        HOST_BODY(is_stopped_and_hangs_later),
        HOST_BODY(hangs_for_real),
        HOST_BODY(works_little_and_slowly),
        HOST_BODY(computes_without_a_loop),
        HOST_BODY(waits_for_nothing),
        HOST_BODY(ends_its_loop_thread),
        HOST_BODY(rests_and_is_in_a_message),
        HOST_BODY(computes_in_short_messages),
    };
    const struct CMUnitTest tests[] = {
        HOST_TEST(host_10_a_message_that_hangs_does_raise_an_alarm),
        HOST_TEST(host_10_a_process_stopped_for_five_seconds_is_no_stall),
        HOST_TEST(host_10_a_frozen_control_group_is_no_stall),
        HOST_TEST(host_10_a_control_group_throttled_to_5_percent_is_no_stall),
        HOST_TEST(host_10_time_in_which_our_own_thread_did_not_run_is_not_charged),
        HOST_TEST(host_10_time_in_which_our_own_thread_was_woken_and_did_not_run_is_not_charged),
        HOST_TEST(host_10_a_process_stopped_while_our_thread_is_at_work_is_no_stall),
        HOST_TEST(host_10_a_batch_program_is_not_judged),
        HOST_TEST(host_10_an_idle_loop_is_no_stall),
        HOST_TEST(host_10_a_loop_thread_that_ended_is_no_stall),
        HOST_TEST(host_11_a_breakpoint_is_no_stall_and_what_hangs_after_it_is),
        HOST_TEST(host_11_a_program_started_under_a_debugger_raises_no_alarm),
        HOST_TEST(host_11_a_tracer_is_shown_no_signal_of_ours),
        HOST_TEST(host_11_a_tracer_that_attaches_is_shown_no_signal_of_who_is_asked_ahead),
        HOST_TEST(host_11_a_program_killed_at_a_breakpoint_was_not_killed_by_a_stall),
        HOST_TEST(host_12_a_jumping_wall_clock_changes_no_duration),
    };
    return host_main(argc, argv, bodies, SBX_COUNT_OF(bodies), tests, SBX_COUNT_OF(tests));
}
