/* SPDX-License-Identifier: Apache-2.0 */
/* test_death.c - what a report says about a process that died, and what it must not claim. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cause.h"
#include "stall_scene.h"

#define MS(ms) ((int64_t)(ms)*1000)

/* A process that worked for a second and was in `stack` when the signal came; "": the stack was not recorded. */
static struct sbx_stall_scene *create_crash(uint32_t threads, uint32_t thread, const char *stack)
{
    struct sbx_stall_scene *scene = sbx_scene_create(threads, SBX_TRIGGER_CRASH, 0);
    Stallbox__V1__Trigger *trigger = sbx_scene_payload(scene)->trigger;
    trigger->message = 0;
    trigger->history_us = 1000000;
    trigger->thread = thread;
    trigger->signal = SIGSEGV;
    trigger->fault = SBX_FAULT_UNMAPPED;
    sbx_scene_samples(scene, thread, SBX_RECORD_ASYNC, "work < main", MS(-1000), MS(-5), MS(5), 990);
    if (stack[0] != '\0') {
        sbx_scene_record(scene, (struct sbx_build_record){.thread = thread,
                                                          .kind = SBX_RECORD_ASYNC,
                                                          .flags = SBX_FLAG_AT_TRIGGER,
                                                          .begin_us = 3,
                                                          .end_us = 3,
                                                          .stack = sbx_scene_stack(scene, stack)});
    }
    return scene;
}

static void test_crash_names_signal_fault_and_function(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = create_crash(1, 0, "libc:memcpy < parse < work < main");
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_string_equal(report->verdict.headline, "main thread died by SIGSEGV in parse: no memory at the address");
    assert_string_equal(report->verdict.location.function, "parse");
    assert_string_equal(sbx_scene_evidence(report, "signal"),
                        "the process died by SIGSEGV (no memory at the address): main thread was in parse");
    assert_string_equal(sbx_scene_evidence(report, "fault"), "the fault lies in memcpy, which parse called");
    assert_int_equal(report->verdict.cause, SBX_CAUSE_CRASH);
    assert_string_equal(sbx_cause_name(report->verdict.cause), "crash");
    assert_true(report->verdict.confidence > 0.9);
    sbx_scene_destroy(scene);
}

/* What the thread did before was no stall, so nothing of it explains the crash. */
static void test_crash_with_no_message_open_too_long_tells_of_the_crash_alone(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = create_crash(1, 0, "parse < work < main");
    const struct sbx_report *report = sbx_scene_report(scene);
    for (size_t i = 0; i < report->verdict.evidence_count; i++) {
        assert_string_equal(report->verdict.evidence[i].kind, "signal");
    }
    assert_int_equal(report->verdict.evidence_count, 1);
    assert_string_equal(report->verdict.location.function, "parse");
    sbx_scene_destroy(scene);
}

static void test_crash_in_a_stall_is_a_crash_and_tells_of_the_stall_as_what_was_meanwhile(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_CRASH, 1000000);
    sbx_scene_payload(scene)->trigger->signal = SIGSEGV;
    sbx_scene_payload(scene)->trigger->fault = SBX_FAULT_UNMAPPED;
    sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_SLEEP,
                                                      .op = SBX_OP_NANOSLEEP,
                                                      .begin_us = MS(-900),
                                                      .end_us = MS(-4),
                                                      .stack = sbx_scene_stack(scene, "libc:nanosleep < doze < main")});
    sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_ASYNC,
                                                      .flags = SBX_FLAG_AT_TRIGGER,
                                                      .begin_us = 3,
                                                      .end_us = 3,
                                                      .stack = sbx_scene_stack(scene, "parse < main")});
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_CRASH);
    assert_string_equal(report->verdict.location.function, "parse");
    assert_string_equal(report->verdict.headline, "main thread died by SIGSEGV in parse: no memory at the address");
    assert_string_equal(sbx_scene_evidence(report, "meanwhile"),
                        "its message was open for 1.00 s: main thread slept 896 ms in doze (nanosleep)");
    assert_string_equal(report->verdict.evidence[0].kind, "signal");
    assert_string_equal(report->verdict.evidence[1].kind, "meanwhile");
    sbx_scene_destroy(scene);
}

static void expect_reason(uint32_t number, uint32_t fault, const char *stack, const char *headline)
{
    struct sbx_stall_scene *scene = create_crash(1, 0, stack);
    sbx_scene_payload(scene)->trigger->signal = number;
    sbx_scene_payload(scene)->trigger->fault = fault;
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_string_equal(report->verdict.headline, headline);
    sbx_scene_destroy(scene);
}

static void test_crash_says_what_it_died_of_where_functions_on_its_stack_tell(void **state)
{
    (void)state;
    expect_reason(SIGABRT, SBX_FAULT_ABORT, "libc:raise < libc:abort < parse < main",
                  "main thread died by SIGABRT in parse: raised by the program itself");
    expect_reason(SIGABRT, SBX_FAULT_ABORT,
                  "libc:raise < libc:abort < libc:__assert_fail_base < libc:__assert_fail < parse < main",
                  "main thread died by SIGABRT in parse: an assertion failed");
    expect_reason(SIGABRT, SBX_FAULT_ABORT,
                  "libc:raise < libc:abort < libc:__gnu_cxx::__verbose_terminate_handler() < "
                  "libc:std::terminate() < libc:__cxa_throw < parse < main",
                  "main thread died by SIGABRT in parse: a C++ exception that nothing caught");
    expect_reason(SIGABRT, SBX_FAULT_ABORT,
                  "libc:raise < libc:abort < libc:std::terminate() < libc:__cxa_throw < "
                  "libc:std::__throw_out_of_range_fmt(char const*, ...) < parse < main",
                  "main thread died by SIGABRT in parse: a C++ exception std::out_of_range that nothing caught");
    expect_reason(SIGABRT, SBX_FAULT_ABORT,
                  "libc:raise < libc:abort < libc:std::terminate() < libc:__cxa_throw < libc:?1 < "
                  "std::vector<int>::_M_range_check(unsigned long) const < parse < main",
                  "main thread died by SIGABRT in parse: a C++ exception std::out_of_range that nothing caught");
    expect_reason(SIGABRT, SBX_FAULT_ABORT,
                  "libc:raise < libc:abort < libc:__gxx_personality_v0 < libc:_Unwind_RaiseException < "
                  "libc:__cxa_throw < parse < main",
                  "main thread died by SIGABRT in parse: a C++ exception that left a noexcept function");
    expect_reason(SIGABRT, SBX_FAULT_ABORT,
                  "libc:raise < libc:abort < libc:std::terminate() < std::thread::~thread() < parse < main",
                  "main thread died by SIGABRT in parse: a std::thread that was neither joined nor detached");
    expect_reason(SIGABRT, SBX_FAULT_ABORT, "libc:raise < libc:abort < libc:std::terminate() < parse < main",
                  "main thread died by SIGABRT in parse: std::terminate()");
    expect_reason(
        SIGABRT, SBX_FAULT_ABORT,
        "libc:raise < libc:abort < libc:__libc_message < libc:malloc_printerr < libc:_int_free < parse < main",
        "main thread died by SIGABRT in parse: malloc found its memory damaged");
    expect_reason(SIGABRT, SBX_FAULT_ABORT,
                  "libc:raise < libc:abort < libc:__libc_message < libc:__fortify_fail < libc:__stack_chk_fail < parse "
                  "< main",
                  "main thread died by SIGABRT in parse: a buffer on the stack overflowed");
    expect_reason(SIGSEGV, SBX_FAULT_STACK, "descend < descend < main",
                  "main thread died by SIGSEGV in descend: its stack overflowed");
    /* A function with such a name in the application itself, or a caller of the blamed function, proves nothing. */
    expect_reason(SIGSEGV, SBX_FAULT_UNMAPPED, "parse < __assert_fail < main",
                  "main thread died by SIGSEGV in parse: no memory at the address");
}

static void test_crash_of_another_thread_names_that_thread(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = create_crash(2, 1, "parse < run");
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_non_null(strstr(report->verdict.headline, "thread 1 ("));
    assert_non_null(strstr(report->verdict.headline, "died by SIGSEGV in parse"));
    sbx_scene_destroy(scene);
}

static void test_crash_whose_stack_was_not_recorded_claims_no_place(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = create_crash(1, 0, "");
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_string_equal(report->verdict.headline,
                        "the process died by SIGSEGV (no memory at the address); where is not known");
    assert_int_equal(report->verdict.cause, SBX_CAUSE_CRASH);
    assert_string_equal(report->verdict.location.function, "");
    assert_int_equal(report->verdict.stack, 0);
    assert_true(report->verdict.confidence < 0.7);
    assert_string_equal(sbx_scene_evidence(report, "signal"),
                        "the process died by SIGSEGV (no memory at the address); its stack could not be recorded");
    sbx_scene_destroy(scene);
    scene = create_crash(1, 0, "");
    sbx_scene_payload(scene)->trigger->fault = SBX_FAULT_UNKNOWN; /* only the parent saw it */
    assert_non_null(strstr(sbx_scene_evidence(sbx_scene_report(scene), "signal"), "the handler was not ours"));
    sbx_scene_destroy(scene);
}

static void test_stack_of_an_earlier_trigger_is_not_that_of_the_crash(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = create_crash(1, 0, "");
    sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_ASYNC,
                                                      .flags = SBX_FLAG_AT_TRIGGER,
                                                      .begin_us = MS(-2),
                                                      .end_us = MS(-2),
                                                      .stack = sbx_scene_stack(scene, "innocent < main")});
    assert_string_equal(sbx_scene_report(scene)->verdict.headline,
                        "the process died by SIGSEGV (no memory at the address); where is not known");
    sbx_scene_destroy(scene);
}

static void test_killed_tells_by_which_signal_where_that_is_known(void **state)
{
    (void)state;
    for (uint32_t number = 0; number <= SIGKILL; number += SIGKILL) {
        struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_KILLED, 1000000);
        sbx_scene_payload(scene)->trigger->signal = number;
        sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "work < main", MS(-1000), 0, MS(5), 990);
        const struct sbx_report *report = sbx_scene_report(scene);
        const char *text = sbx_scene_evidence(report, "signal");
        if (number == 0) {
            assert_null(text);
        } else {
            assert_string_equal(text, "the process was ended by SIGKILL");
        }
        assert_string_equal(report->verdict.location.function, "work");
        sbx_scene_destroy(scene);
    }
}

static void test_killed_for_want_of_memory_is_a_crash_that_says_so(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = create_crash(1, 0, "");
    sbx_scene_payload(scene)->trigger->signal = SIGKILL;
    sbx_scene_payload(scene)->trigger->fault = SBX_FAULT_NO_MEMORY;
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_CRASH);
    assert_string_equal(report->verdict.headline,
                        "the kernel killed the process because its control group or the machine had no memory left");
    sbx_scene_destroy(scene);
}

static void test_numbers_that_are_no_signal_and_no_fault_are_unknown(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = create_crash(1, 0, "parse < main");
    sbx_scene_payload(scene)->trigger->signal = 4000;
    sbx_scene_payload(scene)->trigger->fault = 4000;
    assert_string_equal(sbx_scene_report(scene)->verdict.headline,
                        "main thread died by a fatal signal in parse: why is not known");
    sbx_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crash_names_signal_fault_and_function),
        cmocka_unit_test(test_crash_of_another_thread_names_that_thread),
        cmocka_unit_test(test_crash_whose_stack_was_not_recorded_claims_no_place),
        cmocka_unit_test(test_stack_of_an_earlier_trigger_is_not_that_of_the_crash),
        cmocka_unit_test(test_killed_tells_by_which_signal_where_that_is_known),
        cmocka_unit_test(test_crash_with_no_message_open_too_long_tells_of_the_crash_alone),
        cmocka_unit_test(test_crash_in_a_stall_is_a_crash_and_tells_of_the_stall_as_what_was_meanwhile),
        cmocka_unit_test(test_crash_says_what_it_died_of_where_functions_on_its_stack_tell),
        cmocka_unit_test(test_killed_for_want_of_memory_is_a_crash_that_says_so),
        cmocka_unit_test(test_numbers_that_are_no_signal_and_no_fault_are_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
