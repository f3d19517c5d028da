/* SPDX-License-Identifier: Apache-2.0 */
/* test_sample_handler.c - every sample signal is answered, whatever the thread was doing when it came.
 *
 * A thread in the middle of sbx_thread_register_self() was asked (its block is live by then), did not answer, and was
 * never asked again; each of its blocking calls then yielded fifty times for a signal that had come long ago. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture.h"
#include "recording_builder.h"
#include "sample_handler.h"

static struct sbx_recording_builder *the_builder;
static uint32_t gate[2];
static struct sbx_thread *the_thread;

/* Once for all tests: a thread's block stays with its entry for good. */
static int attach(void **state)
{
    (void)state;
    struct sigaction action = {.sa_sigaction = sbx_on_sample_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    the_builder = sbx_recording_builder_create(SBX_RECORDING_SHAPE_FULL, NULL);
    sbx_capture_attach(the_builder->header);
    gate[0] = gate[1] = 1;
    sbx_the_capture.gate = gate;
    if (sigaction(SIGURG, &action, NULL) != 0 ||
        sbx_thread_registry_start(the_builder->header, the_builder->threads) != 0) {
        return -1;
    }
    the_thread = sbx_thread_register_self();
    return the_thread != NULL ? 0 : -1;
}

static int detach(void **state)
{
    (void)state;
    sbx_thread_registry_stop();
    sbx_recording_builder_destroy(the_builder);
    return 0;
}

static int begin_anew(void **state)
{
    (void)state;
    gate[0] = 1;
    the_builder->header->captures_async = 0;
    the_builder->header->drops[SBX_DROP_NESTED] = 0;
    sbx_thread_become(the_thread);
    return 0;
}

/* The signal as send_signal() in sampler.c sends it, for the block with that index, to the calling thread: it comes
 * before the call returns. */
static void ask(uint32_t index)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = (void *)(uintptr_t)(SBX_SAMPLE_COOKIE | index);
    sbx_store_seq_cst(&the_thread->signal_pending, 1);
    errno = ENOTTY;
    assert_int_equal(syscall(SYS_rt_tgsigqueueinfo, (long)getpid(), syscall(SYS_gettid), SIGURG, &info), 0);
    assert_int_equal(errno, ENOTTY);
}

static void test_a_registered_thread_records_itself(void **state)
{
    (void)state;
    ask(the_thread->index);
    assert_int_equal(the_thread->signal_pending, 0);
    assert_int_equal(the_builder->header->captures_async, 1);
}

static void test_our_own_code_is_not_sampled_but_answers(void **state)
{
    (void)state;
    the_thread->inside = 1;
    ask(the_thread->index);
    the_thread->inside = 0;
    assert_int_equal(the_thread->signal_pending, 0);
    assert_int_equal(the_builder->header->captures_async, 0);
    assert_int_equal(the_builder->header->drops[SBX_DROP_NESTED], 1);
}

static void test_a_thread_that_is_just_registering_answers(void **state)
{
    (void)state;
    sbx_thread_become(SBX_THREAD_GONE); /* as sbx_thread_register_self() is while it looks for a block */
    ask(the_thread->index);
    assert_ptr_equal(sbx_self, SBX_THREAD_GONE);
    assert_int_equal(the_thread->signal_pending, 0);
    assert_int_equal(the_builder->header->captures_async, 0);
}

static void test_an_adopted_thread_finds_its_block_in_the_handler(void **state)
{
    (void)state;
    sbx_thread_become(NULL);
    ask(the_thread->index);
    assert_ptr_equal(sbx_self, the_thread);
    assert_int_equal(the_thread->signal_pending, 0);
    assert_int_equal(the_builder->header->captures_async, 1);
}

static void test_a_shut_gate_is_an_answer_for_registered_and_adopted_threads(void **state)
{
    (void)state;
    gate[0] = 0;
    ask(the_thread->index);
    assert_int_equal(the_thread->signal_pending, 0);
    sbx_thread_become(NULL);
    ask(the_thread->index);
    assert_int_equal(the_thread->signal_pending, 0);
    assert_null(sbx_self);
    assert_int_equal(the_builder->header->captures_async, 0);
}

static void test_the_block_of_another_thread_is_left_alone(void **state)
{
    (void)state;
    sbx_thread_become(NULL);
    ask(the_thread->index + 1);
    ask(0xffff);
    assert_null(sbx_self);
    assert_int_equal(the_thread->signal_pending, 1);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup(test, begin_anew)
    const struct CMUnitTest tests[] = {
        CASE(test_a_registered_thread_records_itself),
        CASE(test_our_own_code_is_not_sampled_but_answers),
        CASE(test_a_thread_that_is_just_registering_answers),
        CASE(test_an_adopted_thread_finds_its_block_in_the_handler),
        CASE(test_a_shut_gate_is_an_answer_for_registered_and_adopted_threads),
        CASE(test_the_block_of_another_thread_is_left_alone),
    };
    return cmocka_run_group_tests(tests, attach, detach);
}
