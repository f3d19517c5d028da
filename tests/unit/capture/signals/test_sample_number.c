/* SPDX-License-Identifier: Apache-2.0 */
/* test_sample_number.c - one word that the recorder, which takes a signal number, shares with the program, which may
 * set a handler for any signal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attached_recording.h"
#include "sample_handler.h"
#include "sample_number.h"
#include "the_capture.h"
#include "thread_end.h"
#include "thread_registry.h"
#include "thread_timer.h"

static int attach(void **state)
{
    (void)state;
    return attached_recording_begin(&sbx_thread_end);
}

static int begin_anew(void **state)
{
    (void)state;
    for (int number = SBX_SIGNAL_LAST; number <= SBX_SIGNAL_FIRST; number++) {
        signal(number, SIG_DFL);
    }
    sbx_sample_number_start();
    return 0;
}

static void pause_ms(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static struct sbx_thread *register_once(void)
{
    static struct sbx_thread *self;
    self = self != NULL ? self : sbx_thread_register_self();
    return self;
}

static bool has_default_action(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_DFL;
}

static void test_the_first_free_signal_is_taken(void **state)
{
    (void)state;
    signal(SBX_SIGNAL_FIRST, SIG_IGN);
    assert_int_equal(sbx_sample_number_choose(), SBX_SIGNAL_FIRST - 1);
    assert_int_equal(sbx_the_capture.sample_signal, SBX_SIGNAL_FIRST - 1);
    assert_true(sbx_sample_number_is_ours(SBX_SIGNAL_FIRST - 1));
    assert_int_equal(sbx_the_capture.signal_changes, 0);
}

static void test_none_is_taken_while_any_thread_sets_one(void **state)
{
    (void)state;
    assert_true(sbx_sample_number_begin_set(40, false));
    assert_true(sbx_sample_number_begin_set(50, false));
    assert_int_equal(sbx_sample_number_choose(), 0);
    assert_false(sbx_sample_number_try(SBX_SIGNAL_FIRST, -1));
    sbx_sample_number_end_set(40); /* the end of one setting is not the end of the other */
    assert_int_equal(sbx_sample_number_choose(), 0);
    assert_true(has_default_action(SBX_SIGNAL_FIRST));
    sbx_sample_number_end_set(50);
    assert_int_equal(sbx_sample_number_choose(), SBX_SIGNAL_FIRST);
}

static void test_signals_of_the_c_library_and_others_are_nothing_to_us(void **state)
{
    (void)state;
    assert_false(sbx_sample_number_begin_set(SIGUSR1, false));
    assert_false(sbx_sample_number_begin_set(34, false));
    assert_false(sbx_sample_number_begin_set(64, false));
    assert_int_equal(sbx_the_capture.signal_changes, 0);
}

static void test_a_signal_that_is_set_is_given_up_unless_it_is_to_be_kept(void **state)
{
    (void)state;
    assert_int_equal(sbx_sample_number_choose(), SBX_SIGNAL_FIRST);
    assert_true(sbx_sample_number_begin_set(SBX_SIGNAL_FIRST, true));
    sbx_sample_number_end_set(SBX_SIGNAL_FIRST);
    assert_int_equal(sbx_the_capture.sample_signal, SBX_SIGNAL_FIRST);
    assert_true(sbx_sample_number_begin_set(SBX_SIGNAL_FIRST - 1, false));
    sbx_sample_number_end_set(SBX_SIGNAL_FIRST - 1);
    assert_int_equal(sbx_the_capture.sample_signal, SBX_SIGNAL_FIRST);
    assert_true(sbx_sample_number_begin_set(SBX_SIGNAL_FIRST, false));
    sbx_sample_number_end_set(SBX_SIGNAL_FIRST);
    assert_int_equal(sbx_the_capture.sample_signal, 0);
}

static int choose_patiently(void)
{
    int number = 0;
    for (int i = 0; i < 3000 && number == 0; i++) {
        number = sbx_sample_number_choose();
        pause_ms(10);
    }
    return number;
}

/* The setter left by siglongjmp() out of a handler, or its thread ended. The recorder waits for it for a second, not
 * for good. */
static void test_who_never_comes_back_from_setting_one_is_forgotten(void **state)
{
    (void)state;
    assert_true(sbx_sample_number_begin_set(40, false));
    assert_int_equal(choose_patiently(), SBX_SIGNAL_FIRST);
    sbx_sample_number_end_set(40); /* it comes back after all */
    assert_int_equal(sbx_the_capture.signal_changes, 0);
    assert_int_equal(sbx_sample_number_choose(), SBX_SIGNAL_FIRST);
}

/* The setter had no processor for that long, and sets its handler only then. */
static void test_what_a_forgotten_setter_was_about_to_set_is_never_ours(void **state)
{
    (void)state;
    assert_true(sbx_sample_number_begin_set(SBX_SIGNAL_FIRST, false));
    assert_int_equal(choose_patiently(), SBX_SIGNAL_FIRST - 1);
    sbx_sample_number_end_set(SBX_SIGNAL_FIRST);
    assert_int_equal(sbx_sample_number_choose(), SBX_SIGNAL_FIRST - 1);
}

static void test_a_forgotten_setter_that_comes_back_does_not_end_what_another_is_at(void **state)
{
    (void)state;
    assert_true(sbx_sample_number_begin_set(40, false));
    assert_int_equal(choose_patiently(), SBX_SIGNAL_FIRST);
    assert_true(sbx_sample_number_begin_set(50, false));
    sbx_sample_number_end_set(40);
    assert_int_equal(sbx_sample_number_choose(), 0);
    sbx_sample_number_end_set(50);
    assert_int_equal(sbx_sample_number_choose(), SBX_SIGNAL_FIRST);
    assert_false(sbx_sample_number_begin_set(40, false)); /* nothing of the recorder can be in its way */
}

/* Symptom: a real-time signal that nobody had sent ended the program. The watch thread sleeps until just before a tick,
 * and then tried out a signal that the program had taken and reset meanwhile. */
static void test_what_the_program_has_had_meanwhile_is_not_tried_out(void **state)
{
    (void)state;
    assert_int_equal(sbx_sample_number_choose(), SBX_SIGNAL_FIRST);
    assert_true(sbx_sample_number_begin_set(SBX_SIGNAL_FIRST, false));
    signal(SBX_SIGNAL_FIRST, SIG_DFL);
    sbx_sample_number_end_set(SBX_SIGNAL_FIRST);
    assert_false(sbx_sample_number_try(SBX_SIGNAL_FIRST, -1));
    assert_int_equal(sbx_the_capture.signal_changes, 0);
    assert_int_equal(sbx_sample_number_choose(), SBX_SIGNAL_FIRST);
    signal(SBX_SIGNAL_FIRST, SIG_DFL); /* by a call that no hook sees */
    assert_false(sbx_sample_number_try(SBX_SIGNAL_FIRST, -1));
}

/* The program uses a system call of its own. Symptom: a real-time signal that the program had reset meanwhile ended
 * it. */
static void test_no_timer_is_left_out_for_a_signal_that_was_taken_past_the_hooks(void **state)
{
    struct sbx_thread *thread = register_once();
    (void)state;
    assert_non_null(thread);
    assert_int_equal(sbx_sample_number_choose(), SBX_SIGNAL_FIRST);
    long timer = sbx_raw_thread_timer((uint32_t)syscall(SYS_gettid), CLOCK_MONOTONIC, SBX_SIGNAL_FIRST, 0);
    assert_true(timer >= 0);
    sbx_store_seq_cst(&thread->sample_timer, (uint32_t)timer + 1);
    signal(SBX_SIGNAL_FIRST, SIG_IGN);
    assert_int_equal(sbx_sample_number_choose(), SBX_SIGNAL_FIRST - 1);
    assert_int_equal(thread->sample_timer, 0);
    assert_int_not_equal(sbx_raw_timer_arm((uint32_t)timer, 1, 0), 0); /* the timer is gone */
}

static void test_what_others_have_set_in_time_may_be_ours_when_one_is_forgotten(void **state)
{
    (void)state;
    assert_true(sbx_sample_number_begin_set(SBX_SIGNAL_FIRST, false));
    sbx_sample_number_end_set(SBX_SIGNAL_FIRST);
    assert_true(sbx_sample_number_begin_set(40, false));
    assert_int_equal(choose_patiently(), SBX_SIGNAL_FIRST); /* 40 is forgotten, but not this signal's setting */
    sbx_sample_number_end_set(40);
}

static atomic_bool is_in, is_through;

static void *set_it(void *unused)
{
    is_in = true;
    bool has_begun = sbx_sample_number_begin_set(SBX_SIGNAL_FIRST, false);
    is_through = true;
    if (has_begun) {
        sbx_sample_number_end_set(SBX_SIGNAL_FIRST);
    }
    return unused;
}

static void test_who_sets_a_signal_that_is_tried_out_waits_for_the_end_of_it(void **state)
{
    pthread_t setter;
    (void)state;
    is_in = is_through = false;
    assert_int_equal(sbx_sample_number_choose(), SBX_SIGNAL_FIRST);
    assert_true(sbx_sample_number_try(SBX_SIGNAL_FIRST, -1));
    assert_int_equal(pthread_create(&setter, NULL, set_it, NULL), 0);
    while (!sbx_sample_number_is_wanted()) {
        pause_ms(1);
    }
    assert_int_equal(sbx_the_capture.sample_signal, SBX_SIGNAL_FIRST); /* until then it is ours */
    sbx_sample_number_end_try();
    pthread_join(setter, NULL);
    assert_true(is_in && is_through);
    assert_int_equal(sbx_the_capture.sample_signal, 0);
    assert_int_equal(sbx_the_capture.signal_changes, 0);
}

static void test_who_waits_in_vain_goes_on(void **state)
{
    (void)state;
    assert_int_equal(sbx_sample_number_choose(), SBX_SIGNAL_FIRST);
    assert_true(sbx_sample_number_try(SBX_SIGNAL_FIRST, -1));
    set_it(NULL); /* the trial is not ended meanwhile */
    assert_int_equal(sbx_the_capture.sample_signal, 0);
    sbx_sample_number_end_try();
    assert_int_equal(sbx_the_capture.signal_changes, 0);
}

static atomic_int handled;

static void on_signal_of_the_program(int number)
{
    (void)number;
    handled++;
}

/* The thread that tries the signal out gets no processor for so long that its timer would fire when the program's
 * handler is already set. */
static void test_who_waits_in_vain_is_not_called_for_what_was_tried_out(void **state)
{
    sigset_t ours, before;
    (void)state;
    handled = 0;
    sigemptyset(&ours);
    sigaddset(&ours, SBX_SIGNAL_FIRST);
    assert_int_equal(sigprocmask(SIG_BLOCK, &ours, &before), 0); /* as if the thread did not run */
    assert_int_equal(sbx_sample_number_choose(), SBX_SIGNAL_FIRST);
    long timer = sbx_raw_thread_timer((uint32_t)syscall(SYS_gettid), CLOCK_MONOTONIC, SBX_SIGNAL_FIRST,
                                      sbx_sample_value(SBX_SAMPLE_PROBE, 0));
    assert_true(timer >= 0 && sbx_sample_number_try(SBX_SIGNAL_FIRST, timer));
    set_it(NULL);
    signal(SBX_SIGNAL_FIRST, on_signal_of_the_program);
    assert_int_not_equal(sbx_raw_timer_arm((uint32_t)timer, 1, 0), 0); /* the timer is gone */
    pause_ms(50);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    assert_int_equal(handled, 0);
    sbx_sample_number_end_try();
    assert_int_equal(sbx_the_capture.signal_changes, 0);
}

/* Meanwhile another thread has waited in vain, set its handler and returned. Nothing of its call is left to see. */
static void test_who_tries_one_out_knows_that_somebody_has_gone_on_meanwhile(void **state)
{
    (void)state;
    assert_int_equal(sbx_sample_number_choose(), SBX_SIGNAL_FIRST);
    assert_true(sbx_sample_number_try(SBX_SIGNAL_FIRST, -1));
    assert_false(sbx_sample_number_is_wanted());
    set_it(NULL);
    assert_true(sbx_sample_number_is_wanted());
    sbx_sample_number_end_try();
    assert_int_equal(sbx_the_capture.signal_changes, 0);
}

static void send_ours(void)
{
    siginfo_t info = {.si_code = SI_QUEUE, .si_pid = getpid()};
    info.si_value.sival_ptr = (void *)(uintptr_t)sbx_sample_value(SBX_SAMPLE_NOBODY, 0);
    assert_int_equal(syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SBX_SIGNAL_FIRST, &info), 0);
}

#ifndef SIGNALS_ARE_THE_EMULATORS
/* The recorder's signal is pending for a thread that gets no processor. Not under qemu-user, which hides pending
 * signals. */
static void test_a_handler_that_is_set_is_not_called_for_what_was_made_before(void **state)
{
    sigset_t ours, before;
    (void)state;
    handled = 0;
    sigemptyset(&ours);
    sigaddset(&ours, SBX_SIGNAL_FIRST);
    assert_int_equal(sigprocmask(SIG_BLOCK, &ours, &before), 0); /* as if the thread did not run */
    assert_int_equal(sbx_sample_number_choose(), SBX_SIGNAL_FIRST);
    assert_true(sbx_sample_number_try(SBX_SIGNAL_FIRST, -1));
    send_ours();
    set_it(NULL);
    signal(SBX_SIGNAL_FIRST, on_signal_of_the_program);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    assert_int_equal(handled, 0);
    sbx_sample_number_end_try();
}

/* The timer of a thread that was asked has sent its signal and is then deleted. Kernels before 6.13 keep the signal
 * pending. */
static void test_a_handler_that_is_set_is_not_called_for_a_sample_under_way(void **state)
{
    sigset_t ours, before;
    struct sbx_thread *thread = register_once();
    (void)state;
    handled = 0;
    sigemptyset(&ours);
    sigaddset(&ours, SBX_SIGNAL_FIRST);
    assert_non_null(thread);
    assert_int_equal(sigprocmask(SIG_BLOCK, &ours, &before), 0);
    assert_int_equal(sbx_sample_number_choose(), SBX_SIGNAL_FIRST);
    long timer = sbx_raw_thread_timer((uint32_t)syscall(SYS_gettid), CLOCK_MONOTONIC, SBX_SIGNAL_FIRST, 0);
    assert_true(timer >= 0);
    sbx_store_seq_cst(&thread->sample_timer, (uint32_t)timer + 1);
    send_ours();
    set_it(NULL);
    assert_int_equal(thread->sample_timer, 0);
    signal(SBX_SIGNAL_FIRST, on_signal_of_the_program);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    assert_int_equal(handled, 0);
}
#endif

/* A signal that the program sent to itself before it set its handler is handled, because no signal of the recorder was
 * under way. */
static void test_what_the_program_has_sent_is_kept_where_nothing_of_ours_is_under_way(void **state)
{
    sigset_t ours, before;
    (void)state;
    handled = 0;
    sigemptyset(&ours);
    sigaddset(&ours, SBX_SIGNAL_FIRST);
    assert_int_equal(sigprocmask(SIG_BLOCK, &ours, &before), 0);
    assert_int_equal(sbx_sample_number_choose(), SBX_SIGNAL_FIRST);
    send_ours();
    set_it(NULL);
    signal(SBX_SIGNAL_FIRST, on_signal_of_the_program);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    assert_int_equal(handled, 1);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup(test, begin_anew)
    const struct CMUnitTest tests[] = {
        CASE(test_the_first_free_signal_is_taken),
        CASE(test_none_is_taken_while_any_thread_sets_one),
        CASE(test_signals_of_the_c_library_and_others_are_nothing_to_us),
        CASE(test_a_signal_that_is_set_is_given_up_unless_it_is_to_be_kept),
        CASE(test_who_never_comes_back_from_setting_one_is_forgotten),
        CASE(test_what_a_forgotten_setter_was_about_to_set_is_never_ours),
        CASE(test_a_forgotten_setter_that_comes_back_does_not_end_what_another_is_at),
        CASE(test_what_the_program_has_had_meanwhile_is_not_tried_out),
        CASE(test_no_timer_is_left_out_for_a_signal_that_was_taken_past_the_hooks),
        CASE(test_what_others_have_set_in_time_may_be_ours_when_one_is_forgotten),
        CASE(test_who_sets_a_signal_that_is_tried_out_waits_for_the_end_of_it),
        CASE(test_who_waits_in_vain_goes_on),
        CASE(test_who_waits_in_vain_is_not_called_for_what_was_tried_out),
        CASE(test_who_tries_one_out_knows_that_somebody_has_gone_on_meanwhile),
#ifndef SIGNALS_ARE_THE_EMULATORS
        CASE(test_a_handler_that_is_set_is_not_called_for_what_was_made_before),
        CASE(test_a_handler_that_is_set_is_not_called_for_a_sample_under_way),
#endif
        CASE(test_what_the_program_has_sent_is_kept_where_nothing_of_ours_is_under_way),
    };
    return cmocka_run_group_tests(tests, attach, attached_recording_end);
}
