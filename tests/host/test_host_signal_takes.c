/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_signal_takes.c - a host that takes a signal at the very moment at which the recorder takes it or gives it
 * up.
 *
 * Symptoms: the host's signal ended it, or was never handled, or its handler ran for a timer of ours. The kernel has no
 * "set this handler if there is none", so our handler could replace one that had just been set. And any sigaction() of
 * any thread ended the time in which we left signals alone. The test stops the thread in question between its check and
 * its action. */
#include "host_case.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "held_thread.h"

enum {
    SENT = 3,
    BUSY = 6,
    SLEEPERS = 14, /* of FEW_SEATS, besides the first thread and ours */
};
#define FEW_SEATS   "16"
#define OUR_SIGNAL  (SIGRTMAX - 2)
#define NEXT_SIGNAL (OUR_SIGNAL - 1) /* which we take when the host takes ours */

/* ---- the hosts ---- */

static _Atomic bool goes_on = true;
static _Atomic int got[SENT], strangers;

static void begin_thread(pthread_t *thread, void *(*body)(void *))
{
    host_expect(pthread_create(thread, NULL, body, NULL) == 0, "a thread starts");
}

static void *compute(void *unused)
{
    while (goes_on) {
        host_compute_ms(5);
    }
    return unused;
}

static void *wait_for_signals(void *unused)
{
    while (goes_on) {
        host_pause_ms(5);
    }
    return unused;
}

static void await_samples(uint64_t more)
{
    uint64_t before = host_counts().captures_async;
    for (int i = 0; i < 400 && host_counts().captures_async < before + more; i++) {
        host_pause_ms(25);
    }
    host_expect(host_counts().captures_async >= before + more, "running threads are sampled by signal");
}

static void await_judge(const char *word)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", getenv("HOST_FOLDER"), word);
    for (int i = 0; i < 30000 && access(path, F_OK) != 0; i++) {
        host_pause_ms(2);
    }
    host_expect(access(path, F_OK) == 0, "the judge is there");
}

static void on_ours(int number, siginfo_t *info, void *context)
{
    int error = errno;
    (void)number;
    (void)context;
    if (info->si_code == SI_QUEUE && info->si_value.sival_int >= 0 && info->si_value.sival_int < SENT) {
        got[info->si_value.sival_int]++;
    } else {
        strangers++;
    }
    errno = error;
}

static void take(int number, bool is_raw)
{
    struct sigaction action = {.sa_sigaction = on_ours, .sa_flags = SA_SIGINFO | SA_RESTART}, now;
    int (*volatile past_hooks)(int, const struct sigaction *, struct sigaction *) =
        (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(RTLD_DEFAULT, "sigaction");
    host_expect((is_raw ? past_hooks : sigaction)(number, &action, NULL) == 0, "a signal is taken");
    if (!is_raw) {
        host_expect(sigaction(number, NULL, &now) == 0, "and looked at");
    }
}

static void expect_all_once(pthread_t receiver)
{
    (void)receiver;
    for (int i = 0; i < SENT; i++) {
        for (int turn = 0; turn < 5000 && got[i] == 0; turn++) {
            host_pause_ms(2);
        }
        host_expect(got[i] == 1, "each signal that was sent is handled, once");
    }
    host_expect(strangers == 0, "and no other");
}

/* HOST_WAY: hook, raw. */
static void takes_what_we_take(void)
{
    pthread_t receiver, busy[BUSY];
    bool is_raw = strcmp(getenv("HOST_WAY"), "raw") == 0;
    begin_thread(&receiver, wait_for_signals);
    for (int i = 0; i < BUSY; i++) {
        begin_thread(&busy[i], compute);
    }
    await_samples(5);
    host_tell("ready");
    await_judge("traced");
    take(OUR_SIGNAL, false);
    await_judge("stopped");
    host_tell("takes");
    take(NEXT_SIGNAL, is_raw);
    host_tell("taken");
    await_judge("exchanged");
    for (int i = 0; i < SENT; i++) {
        host_expect(pthread_sigqueue(receiver, NEXT_SIGNAL, (union sigval){.sival_int = i}) == 0, "a signal is sent");
    }
    host_tell("sent");
    expect_all_once(receiver);
    await_samples(5); /* by a third */
    host_expect(strangers == 0, "whose handler nobody calls for us");
    goes_on = false;
    pthread_join(receiver, NULL);
    for (int i = 0; i < BUSY; i++) {
        pthread_join(busy[i], NULL);
    }
}

static void *sleep_for_long(void *unused)
{
    while (goes_on) {
        host_pause_ms(1000);
    }
    return unused;
}

/* Seats are scarce: the watch thread has our handler called once, to see a frame of the kernel's. */
static void takes_ours_while_it_is_shown(void)
{
    pthread_t sleepers[SLEEPERS];
    host_tell("ready");
    await_judge("traced");
    for (int i = 0; i < SLEEPERS; i++) {
        begin_thread(&sleepers[i], sleep_for_long);
    }
    await_judge("stopped");
    take(OUR_SIGNAL, false);
    host_tell("taken");
    await_judge("released");
    host_pause_ms(100);
    host_expect(strangers == 0, "no handler of the host's is called for what nobody has sent");
    goes_on = false;
    for (int i = 0; i < SLEEPERS; i++) {
        pthread_join(sleepers[i], NULL);
    }
}

static void on_nothing(int number)
{
    (void)number;
}

static void *set_another_again_and_again(void *unused)
{
    while (goes_on) {
        signal(SIGUSR2, on_nothing);
        host_pause_ms(1);
    }
    return unused;
}

static void takes_ours_slowly(void)
{
    pthread_t setter, busy[BUSY];
    begin_thread(&setter, set_another_again_and_again);
    for (int i = 0; i < BUSY; i++) {
        begin_thread(&busy[i], compute);
    }
    await_samples(5);
    host_tell("ready");
    await_judge("traced");
    take(OUR_SIGNAL, false); /* is stopped in the middle */
    host_pause_ms(300);
    host_expect(strangers == 0, "no timer of ours sends what the host has taken");
    await_samples(5);
    host_expect(strangers == 0, "nor later");
    goes_on = false;
    pthread_join(setter, NULL);
    for (int i = 0; i < BUSY; i++) {
        pthread_join(busy[i], NULL);
    }
}

/* As shells and servers do before they call exec: in our memory, but with signal actions of its own. */
static void resets_signals_in_vfork_children(void)
{
    pthread_t busy[BUSY];
    for (int i = 0; i < BUSY; i++) {
        begin_thread(&busy[i], compute);
    }
    await_samples(5);
    for (int i = 0; i < 100; i++) {
        int status = 1;
        pid_t child = vfork();
        if (child == 0) {
            for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
                signal(number, i % 3 == 0 ? SIG_DFL : i % 3 == 1 ? SIG_IGN : on_nothing);
            }
            _exit(0);
        }
        host_expect(waitpid(child, &status, 0) == child && status == 0, "a child ends well");
    }
    await_samples(5);
    host_expect_snapshot();
    goes_on = false;
    for (int i = 0; i < BUSY; i++) {
        pthread_join(busy[i], NULL);
    }
}

/* ---- the judge ---- */

static bool has_told(const char *word)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", host_folder, word);
    return access(path, F_OK) == 0;
}

/* Let the thread continue to where it enters or leaves the call that sets the action of `number`. */
static void go_on_to_set(int tid, int number, uint8_t where)
{
    struct __ptrace_syscall_info call = {.op = 0};
    bool is_in_it = false;
    for (;;) {
        int status, passed_on = 0;
        assert_int_equal(ptrace(PTRACE_SYSCALL, tid, 0, passed_on), 0);
        assert_int_equal(waitpid(tid, &status, __WALL), tid);
        assert_true(WIFSTOPPED(status));
        if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
            continue;
        }
        assert_true(ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof call, &call) > 0);
        if (call.op == PTRACE_SYSCALL_INFO_ENTRY) {
            is_in_it =
                call.entry.nr == SYS_rt_sigaction && (int)call.entry.args[0] == number && call.entry.args[1] != 0;
        }
        if (call.op == where && (is_in_it || where == PTRACE_SYSCALL_INFO_EXIT)) {
            return;
        }
    }
}

static void judge_taking(const char *way, bool is_let_go)
{
    setenv("HOST_WAY", way, 1);
    pid_t pid = host_begin(&(struct host_order){.body = "takes_what_we_take", .interval_us = 1000});
    unsetenv("HOST_WAY");
    assert_true(host_was_told("ready"));
    int watch_tid = held_thread_find(pid, "sbx-watch");
    assert_true(watch_tid > 0);
    held_thread_stop(watch_tid, pid, pid);
    host_answer("traced");
    go_on_to_set(watch_tid, NEXT_SIGNAL, PTRACE_SYSCALL_INFO_ENTRY); /* it has checked, and found no handler */
    host_answer("stopped");
    if (is_let_go) {
        assert_true(host_was_told("takes"));
        host_pause_ms(30);
        assert_false(has_told("taken")); /* it waits for us */
    } else {
        assert_true(host_was_told("taken"));
        go_on_to_set(watch_tid, NEXT_SIGNAL, PTRACE_SYSCALL_INFO_EXIT); /* our handler has replaced the host's */
        host_answer("exchanged");
        assert_true(host_was_told("sent"));
        host_pause_ms(30);
    }
    assert_int_equal(ptrace(PTRACE_DETACH, watch_tid, 0, 0), 0);
    if (is_let_go) {
        host_answer("exchanged");
    }
    assert_int_equal(host_end(pid), 0);
}

static void host_06_a_host_that_takes_a_signal_which_we_are_taking_waits_until_we_have_it(void **state)
{
    (void)state;
    judge_taking("hook", true);
}

static void host_06_a_signal_sent_while_our_handler_stands_over_the_hosts_is_handled_by_the_host(void **state)
{
    judge_taking("raw", false);
    host_tear_down(state);
    host_set_up(state);
    judge_taking("hook", false); /* the host has waited for us in vain */
}

static void host_06_no_signal_is_taken_while_a_thread_of_the_hosts_is_about_to_take_it(void **state)
{
    (void)state;
    pid_t pid = host_begin(&(struct host_order){.body = "takes_ours_slowly", .interval_us = 1000});
    assert_true(host_was_told("ready"));
    held_thread_stop(pid, pid, pid);
    host_answer("traced");
    go_on_to_set(pid, OUR_SIGNAL, PTRACE_SYSCALL_INFO_ENTRY);
    host_pause_ms(200);
    assert_int_equal(ptrace(PTRACE_DETACH, pid, 0, 0), 0);
    assert_int_equal(host_end(pid), 0);
}

static bool has_few_seats(void)
{
    return setenv("STALLBOX_SEATS", FEW_SEATS, 1) == 0;
}

/* Symptom: a handler of the host ran for a signal that nobody had sent. Our thread checked whether the program wants
 * the number. Between that check and its signal it had no processor for longer than the host's sigaction() waits. */
static void host_06_no_handler_of_the_hosts_is_called_for_a_signal_that_we_were_about_to_send_ourselves(void **state)
{
    (void)state;
    pid_t pid = host_begin(&(struct host_order){
        .body = "takes_ours_while_it_is_shown", .interval_us = 1000, .before_exec = has_few_seats});
    assert_true(host_was_told("ready"));
    int watch_tid = held_thread_find(pid, "sbx-watch");
    assert_true(watch_tid > 0);
    held_thread_stop(watch_tid, pid, pid);
    host_answer("traced");
    held_thread_go_on_to_call(watch_tid, SYS_rt_tgsigqueueinfo);
    host_answer("stopped");
    assert_true(host_was_told("taken"));
    assert_int_equal(ptrace(PTRACE_DETACH, watch_tid, 0, 0), 0);
    host_answer("released");
    assert_int_equal(host_end(pid), 0);
}

static void host_06_what_a_child_of_vfork_sets_takes_nothing_from_its_parent(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "resets_signals_in_vfork_children", .interval_us = 1000});
    struct sbx_snapshot *snapshot = host_read_snapshot();
    assert_int_equal(snapshot->header.async_signal, OUR_SIGNAL);
    assert_int_equal(snapshot->drops[SBX_DROP_SIGNAL_TAKEN], 0);
    sbx_snapshot_destroy(snapshot);
}

int main(int argc, char **argv)
{
    const struct host_body bodies[] = {HOST_BODY(takes_what_we_take), HOST_BODY(takes_ours_slowly),
                                       HOST_BODY(takes_ours_while_it_is_shown),
                                       HOST_BODY(resets_signals_in_vfork_children)};
    const struct CMUnitTest tests[] = {
        HOST_TEST(host_06_a_host_that_takes_a_signal_which_we_are_taking_waits_until_we_have_it),
        HOST_TEST(host_06_a_signal_sent_while_our_handler_stands_over_the_hosts_is_handled_by_the_host),
        HOST_TEST(host_06_no_signal_is_taken_while_a_thread_of_the_hosts_is_about_to_take_it),
        HOST_TEST(host_06_no_handler_of_the_hosts_is_called_for_a_signal_that_we_were_about_to_send_ourselves),
        HOST_TEST(host_06_what_a_child_of_vfork_sets_takes_nothing_from_its_parent),
    };
    return host_main(argc, argv, bodies, SBX_COUNT_OF(bodies), tests, SBX_COUNT_OF(tests));
}
