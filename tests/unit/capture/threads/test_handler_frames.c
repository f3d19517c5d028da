/* SPDX-License-Identifier: Apache-2.0 */
/* test_handler_frames.c - the recorder finds that a thread is in a signal handler by the frame that the kernel puts on
 * its stack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "handler_frames.h"
#include "sample_handler.h"
#include "signal_frame.h"

static uint64_t stack_low, stack_high;
static bool frame_is_known, is_seen, is_seen_deep;

static bool may_be(void)
{
    return sbx_may_be_in_handler(stack_low, stack_high, 0);
}

static __attribute__((noinline)) bool may_be_deeper(int depth)
{
    volatile char room[700];
    room[0] = (char)depth;
    bool may = depth == 0 ? may_be() : may_be_deeper(depth - 1);
    return room[0] == (char)depth && may;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    uint64_t low = (uint64_t)(uintptr_t)context;
    frame_is_known = sbx_is_in_frame(sbx_frame_words(context), low, low + sizeof(ucontext_t));
    is_seen = may_be();
    is_seen_deep = may_be_deeper(12);
}

static void install(int flags)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};
    sigemptyset(&action.sa_mask);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    frame_is_known = is_seen = is_seen_deep = false;
}

/* Runs on the thread's own stack, whose bounds are those that the thread itself reports. */
static void *run(void *body)
{
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
    stack_low = (uint64_t)(uintptr_t)low;
    stack_high = stack_low + bytes;
    ((void (*)(void))body)();
    return NULL;
}

/* The stack must be fresh memory, because a reused stack still has frames of handlers that ended long ago. */
static void run_in_thread(void (*body)(void))
{
    const size_t bytes = 1 << 20;
    pthread_t thread;
    pthread_attr_t attributes;
    void *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(stack != MAP_FAILED);
    sbx_signal_frames_are_known = 1;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, bytes), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run, (void *)body), 0);
    pthread_attr_destroy(&attributes);
    pthread_join(thread, NULL);
    munmap(stack, bytes);
}

static bool before, after, looks_before_any;

static void look_around(void)
{
    if (looks_before_any) {
        sbx_signal_frames_are_known = 0;
    }
    before = may_be_deeper(3);
    raise(SIGUSR1);
    after = may_be();
}

static void test_a_handler_on_the_threads_own_stack_is_seen_and_nothing_else_is(void **state)
{
    (void)state;
    install(0);
    run_in_thread(look_around);
    assert_true(frame_is_known);
    assert_true(is_seen);
    assert_true(is_seen_deep);
    assert_false(before);
    assert_false(after);
}

static void look_from_a_stack_on_the_stack(void)
{
    char place[32768];
    stack_t alternate = {.ss_sp = place, .ss_size = sizeof place}, former;
    sigaltstack(&alternate, &former);
    raise(SIGUSR1);
    sigaltstack(&former, NULL);
}

static void test_an_alternate_stack_that_lies_on_the_threads_own_is_one(void **state)
{
    (void)state;
    install(SA_ONSTACK);
    run_in_thread(look_from_a_stack_on_the_stack);
    assert_true(is_seen);
    assert_true(is_seen_deep);
}

static void look_from_elsewhere(void)
{
    stack_t alternate = {.ss_sp = malloc(65536), .ss_size = 65536}, former;
    sigaltstack(&alternate, &former);
    raise(SIGUSR1);
    sigaltstack(&former, NULL);
    free(alternate.ss_sp);
}

static void test_who_is_on_another_stack_may_be_in_a_handler(void **state)
{
    (void)state;
    install(SA_ONSTACK);
    run_in_thread(look_from_elsewhere);
    assert_true(is_seen);
}

static void test_nothing_is_known_before_a_frame_was_seen(void **state)
{
    (void)state;
    install(0);
    run_in_thread(look_around);
    assert_false(before);
    looks_before_any = true;
    run_in_thread(look_around);
    looks_before_any = false;
    assert_true(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_handler_on_the_threads_own_stack_is_seen_and_nothing_else_is),
        cmocka_unit_test(test_an_alternate_stack_that_lies_on_the_threads_own_is_one),
        cmocka_unit_test(test_who_is_on_another_stack_may_be_in_a_handler),
        cmocka_unit_test(test_nothing_is_known_before_a_frame_was_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
