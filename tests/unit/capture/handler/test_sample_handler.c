/* SPDX-License-Identifier: Apache-2.0 */
/* test_sample_handler.c - every timer signal is answered, whatever the thread was doing when it arrived. A signal that
 * is not from our timers has the effect that it would have without the recorder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attached_recording.h"
#include "sample_handler.h"
#include "signal_stack.h"
#include "the_capture.h"
#include "thread_block.h"
#include "thread_end.h"
#include "thread_registry.h"
#include "thread_timer.h"

enum {
    TIMER = 7, /* as the kernel numbers them */
};

static int the_signal;
static struct sbx_thread *the_thread;

static int attach(void **state)
{
    (void)state;
    struct sigaction action = {.sa_sigaction = sbx_on_sample_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    the_signal = SIGRTMAX - 2;
    return sigaction(the_signal, &action, NULL) == 0 ? attached_recording_begin_here(&sbx_thread_end, &the_thread) : -1;
}

static int begin_anew(void **state)
{
    (void)state;
    attached_gate[0] = 1;
    attached_recording->header->captures_async = 0;
    attached_recording->header->drops[SBX_DROP_NESTED] = 0;
    sbx_thread_become(the_thread);
    sbx_thread_take_signal_stack(the_thread);
    return 0;
}

/* Send the signal that a timer of sbx_sample_ask() makes, for the block with that index, to the calling thread. It
 * arrives before the call returns. */
static void ask_before(uint32_t index, uint16_t questions_ago)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_code = SI_TIMER;
    info.si_value.sival_ptr =
        (void *)(uintptr_t)sbx_sample_value(index, (uint16_t)(the_thread->question - questions_ago));
    errno = ENOTTY;
    assert_int_equal(syscall(SYS_rt_tgsigqueueinfo, (long)getpid(), syscall(SYS_gettid), the_signal, &info), 0);
    assert_int_equal(errno, ENOTTY);
}

static void ask(uint32_t index)
{
    ask_before(index, 0);
}

static void arm(void)
{
    the_thread->question++;
    sbx_store_seq_cst(&the_thread->sample_timer, TIMER + 1);
}

static void test_a_registered_thread_records_itself(void **state)
{
    (void)state;
    arm();
    ask(the_thread->index);
    assert_int_equal(the_thread->sample_timer, (TIMER + 1) | SBX_TIMER_ANSWERED);
    assert_int_equal(attached_recording->header->captures_async, 1);
}

static void test_a_question_that_stands_is_answered_each_time_and_stays_out(void **state)
{
    (void)state;
    uint32_t answers = the_thread->answers;
    the_thread->question = (the_thread->question + 1) | SBX_QUESTION_AHEAD;
    sbx_store_seq_cst(&the_thread->sample_timer, TIMER + 1);
    the_thread->signal_sent_ns = the_thread->sampled_cpu_ns = 0;
    for (uint64_t times = 1; times <= 3; times++) {
        ask(the_thread->index);
        assert_int_equal(the_thread->sample_timer, TIMER + 1);
        assert_int_equal(attached_recording->header->captures_async, times);
    }
    assert_int_equal(the_thread->answers, answers + 3);
    assert_int_not_equal(the_thread->signal_sent_ns, 0); /* it was looked at then */
    assert_int_not_equal(the_thread->sampled_cpu_ns, 0);
    sbx_store_seq_cst(&the_thread->sample_timer, 0);
    ask(the_thread->index);
    assert_int_equal(attached_recording->header->captures_async, 3);
    the_thread->question &= SBX_QUESTION_AHEAD - 1;
}

/* A message of that age is open, and the thread was sampled by a signal just now. Returns how many samples the answer to
 * a standing question adds. */
static uint64_t answered_in_message(uint64_t age_ns)
{
    struct sbx_times now = sbx_thread_times(the_thread);
    uint64_t before = attached_recording->header->captures_async;
    the_thread->entry->message_begin_ns = age_ns != 0 ? now.wall_ns - age_ns : 0;
    the_thread->sampled_cpu_ns = now.cpu_ns;
    ask(the_thread->index);
    the_thread->entry->message_begin_ns = 0;
    return attached_recording->header->captures_async - before;
}

/* Symptom: a Java server's threads, whose messages take 30 us, were looked at 33 times in each second of CPU time,
 * however long the governor had made the interval. */
static void test_short_messages_of_a_pool_are_sampled_by_signal_once_an_interval(void **state)
{
    const uint64_t second_ns = 1000000000, interval_ns = sbx_the_capture.interval_ns;
    bool had_loop = the_thread->has_loop;
    uint32_t answers = the_thread->answers, declined = the_thread->cost.declined;
    (void)state;
    the_thread->has_loop = false;
    the_thread->work.learned = 1;
    the_thread->question = (the_thread->question + 1) | SBX_QUESTION_AHEAD;
    sbx_store_seq_cst(&the_thread->sample_timer, TIMER + 1);
    sbx_the_capture.interval_ns = 100 * second_ns;
    assert_int_equal(answered_in_message(1000), 0);
    assert_int_equal(answered_in_message(0), 0);
    assert_int_equal(answered_in_message(20000000), 1); /* it may become a stall */
    assert_int_equal(the_thread->answers, answers + 3);
    assert_int_equal(the_thread->cost.declined, declined + 2);
    sbx_the_capture.interval_ns = 0; /* one is due */
    assert_int_equal(answered_in_message(1000), 1);
    sbx_the_capture.interval_ns = 100 * second_ns;
    the_thread->work.learned = 0; /* it has answered no client */
    assert_int_equal(answered_in_message(1000), 1);
    the_thread->work.learned = 1;
    the_thread->has_loop = true;
    assert_int_equal(answered_in_message(1000), 1);
    the_thread->has_loop = had_loop;
    the_thread->work.learned = 0;
    sbx_the_capture.interval_ns = interval_ns;
    sbx_store_seq_cst(&the_thread->sample_timer, 0);
    the_thread->question &= SBX_QUESTION_AHEAD - 1;
}

static void test_our_own_code_is_not_sampled_but_answers(void **state)
{
    (void)state;
    arm();
    the_thread->inside = 1;
    ask(the_thread->index);
    the_thread->inside = 0;
    assert_int_equal(the_thread->sample_timer, (TIMER + 1) | SBX_TIMER_ANSWERED);
    assert_int_equal(attached_recording->header->captures_async, 0);
    assert_int_equal(attached_recording->header->drops[SBX_DROP_NESTED], 1);
}

static void test_a_signal_of_a_timer_that_was_taken_back_records_nothing(void **state)
{
    (void)state;
    sbx_store_seq_cst(&the_thread->sample_timer, 0);
    ask(the_thread->index);
    assert_int_equal(the_thread->sample_timer, 0);
    arm();
    ask_before(the_thread->index, 1); /* there is a newer question */
    assert_int_equal(the_thread->sample_timer, TIMER + 1);
    assert_int_equal(attached_recording->header->captures_async, 0);
}

static void test_a_thread_that_is_ending_is_left_alone(void **state)
{
    (void)state;
    arm();
    sbx_thread_become(SBX_THREAD_GONE);
    ask(the_thread->index);
    assert_ptr_equal(sbx_self, SBX_THREAD_GONE);
    assert_int_equal(the_thread->sample_timer, TIMER + 1);
    assert_int_equal(attached_recording->header->captures_async, 0);
}

static void test_a_shut_gate_is_an_answer(void **state)
{
    (void)state;
    arm();
    attached_gate[0] = 0;
    ask(the_thread->index);
    assert_int_equal(the_thread->sample_timer, (TIMER + 1) | SBX_TIMER_ANSWERED);
    assert_int_equal(attached_recording->header->captures_async, 0);
}

static void test_what_is_meant_for_another_thread_is_left_alone(void **state)
{
    (void)state;
    arm();
    ask(the_thread->index + 1);
    ask(SBX_SAMPLE_NOBODY);
    assert_int_equal(the_thread->sample_timer, TIMER + 1);
    assert_int_equal(attached_recording->header->captures_async, 0);
}

/* The host has disabled its alternate signal stack by a system call that no hook sees. */
static void test_on_a_stack_that_nobody_knows_of_nothing_is_recorded_and_nobody_is_asked_again(void **state)
{
    const stack_t none = {.ss_flags = SS_DISABLE};
    (void)state;
    arm();
    assert_int_equal(sbx_raw_sigaltstack(&none, NULL), 0);
    ask(the_thread->index);
    assert_int_equal(the_thread->sample_timer, (TIMER + 1) | SBX_TIMER_ANSWERED);
    assert_int_equal(the_thread->may_be_asked, 0);
    assert_int_equal(attached_recording->header->captures_async, 0);
}

static void test_a_signal_that_somebody_else_sends_ends_the_process_as_it_would_alone(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        pid_t child = fork();
        if (child == 0) {
            const struct rlimit none = {0, 0};
            setrlimit(RLIMIT_CORE, &none);
            if (way == 0) {
                raise(the_signal);
            } else {
                sigqueue(getpid(), the_signal, (union sigval){.sival_int = 3});
            }
            _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), the_signal);
    }
}

/* ---- a handler of the host's beside ours ---- */

static volatile sig_atomic_t calls, values;

static void call_ours_first(int number, siginfo_t *info, void *context)
{
    if (++calls == 1) {
        sbx_on_sample_signal(number, info, context);
    } else {
        values += info->si_value.sival_int;
    }
}

static void set_with_mask(int number, int byte)
{
    struct sigaction action = {.sa_sigaction = call_ours_first, .sa_flags = SA_SIGINFO};
    memset(&action.sa_mask, byte, sizeof action.sa_mask);
    calls = values = 0;
    assert_int_equal(sigaction(number, &action, NULL), 0);
}

/* The kernel calls our handler, with the mask that only our handler has, although another handler has been installed
 * meanwhile. Earlier versions swallowed the signal: the host's handler never ran, and one of its calls ended with
 * EINTR. */
static void test_a_signal_goes_on_to_a_handler_that_was_installed_since_the_kernel_called_ours(void **state)
{
    (void)state;
    set_with_mask(SIGRTMAX - 3, 0xff);
    assert_int_equal(sigqueue(getpid(), SIGRTMAX - 3, (union sigval){.sival_int = 42}), 0);
    assert_int_equal(calls, 2);
    assert_int_equal(values, 42);
    signal(SIGRTMAX - 3, SIG_DFL);
}

/* The host's handler found ours installed, and calls it as the next in the chain. */
static void test_a_handler_of_the_hosts_that_calls_ours_is_not_called_again(void **state)
{
    (void)state;
    set_with_mask(SIGRTMAX - 3, 0);
    assert_int_equal(sigqueue(getpid(), SIGRTMAX - 3, (union sigval){.sival_int = 42}), 0);
    assert_int_equal(calls, 1);
    signal(SIGRTMAX - 3, SIG_DFL);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup(test, begin_anew)
    const struct CMUnitTest tests[] = {
        CASE(test_a_registered_thread_records_itself),
        CASE(test_a_question_that_stands_is_answered_each_time_and_stays_out),
        CASE(test_short_messages_of_a_pool_are_sampled_by_signal_once_an_interval),
        CASE(test_our_own_code_is_not_sampled_but_answers),
        CASE(test_a_signal_of_a_timer_that_was_taken_back_records_nothing),
        CASE(test_a_thread_that_is_ending_is_left_alone),
        CASE(test_a_shut_gate_is_an_answer),
        CASE(test_what_is_meant_for_another_thread_is_left_alone),
        CASE(test_on_a_stack_that_nobody_knows_of_nothing_is_recorded_and_nobody_is_asked_again),
        CASE(test_a_signal_that_somebody_else_sends_ends_the_process_as_it_would_alone),
        CASE(test_a_signal_goes_on_to_a_handler_that_was_installed_since_the_kernel_called_ours),
        CASE(test_a_handler_of_the_hosts_that_calls_ours_is_not_called_again),
    };
    return cmocka_run_group_tests(tests, attach, attached_recording_end);
}
