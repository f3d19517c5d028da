/* SPDX-License-Identifier: Apache-2.0 */
/* test_deoptimized.c - a thread that stalls because its compiled code was discarded is reported as such, and no other
 * thread is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "known_names.h"
#include "one_scene.h"

#define MS(ms) ((int64_t)(ms)*1000)

#define MARK  "(deoptimized)#jvm.java:0"
#define PRICE "Shop.price#Shop.java:9 < Shop.reprice#Shop.java:7 < start_thread"
#define TRAP  "libc:Deoptimization::uncommon_trap_inner(JavaThread*, int) < libc:Deoptimization::uncommon_trap < " PRICE
#define TARGET                                                                                             \
    "libc:Handshake::execute(HandshakeClosure*) < libc:Deoptimization::deoptimize_all_marked(nmethod*) < " \
    "java.lang.invoke.MutableCallSite.setTarget#MutableCallSite.java:1 < Shop.reprice#Shop.java:7 < start_thread"

static void count(struct sbx_stall_scene *where, uint8_t what, int64_t at_ms, uint64_t value)
{
    sbx_scene_record(
        where, (struct sbx_build_record){
                   .kind = SBX_RECORD_KERNEL, .op = what, .begin_us = MS(at_ms), .end_us = MS(at_ms), .amount = value});
}

static void counts(struct sbx_stall_scene *where, int64_t at_ms, uint64_t frames, uint64_t compilations)
{
    count(where, SBX_KERNEL_DEOPTIMIZED, at_ms, frames);
    count(where, SBX_KERNEL_COMPILED, at_ms, compilations);
}

/* The thread computes for the second: in `stack` for the first part and in compiled code for the rest. */
static void computes(const char *stack, int64_t permille)
{
    counts(scene, -1000, 0, 0);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, stack, MS(-1000), MS(-1000 + permille), MS(10), 1000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, PRICE, MS(-1000 + permille), 0, MS(10), 1000);
    counts(scene, 0, 40, 90);
}

static void test_what_is_interpreted_though_it_had_been_compiled_is_the_cause(void **state)
{
    (void)state;
    computes(MARK " < " PRICE, 700);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_DEOPTIMIZATION);
    assert_int_equal(report->verdict.class_, SBX_CLASS_ON_CPU);
    assert_string_equal(report->verdict.location.function, "Shop.price");
    assert_non_null(strstr(report->verdict.headline, "on code that was deoptimized, in Shop.price (Shop.java:9)"));
    assert_non_null(strstr(sbx_scene_evidence(report, "deoptimization"), "for 70 % of its time"));
    assert_string_equal(sbx_scene_evidence(report, "recompiled"),
                        "in 1.00 s the runtime deoptimized 40 frames and began 90 compilations");
    assert_non_null(strstr(sbx_scene_evidence(report, "given_up"), "Shop.price"));
}

static void test_the_machine_at_giving_code_up_is_the_cause(void **state)
{
    (void)state;
    computes(TRAP, 600);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_DEOPTIMIZATION);
    assert_string_equal(report->verdict.location.function, "Shop.price");
    assert_null(sbx_scene_evidence(report, "given_up")); /* which function's code it was is not known */
}

/* All threads stand still while code is discarded. That is not a garbage collection. */
static void test_who_waits_until_code_is_thrown_away_is_no_collectors_victim(void **state)
{
    (void)state;
    counts(scene, -1000, 0, 0);
    for (int64_t at = -1000; at < 0; at += 100) {
        sbx_scene_record(scene,
                         (struct sbx_build_record){
                             .kind = SBX_RECORD_COND,
                             .op = SBX_OP_COND_WAIT,
                             .begin_us = MS(at),
                             .end_us = MS(at + 80),
                             .stack = sbx_scene_stack(scene, "libc:VMThread::execute(VM_Operation*) < " TARGET)});
    }
    counts(scene, 0, 400, 400);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_DEOPTIMIZATION);
    assert_int_equal(report->verdict.class_, SBX_CLASS_OFF_CPU);
    assert_string_equal(report->verdict.location.function, "Shop.reprice");
}

static void test_who_is_in_it_for_less_than_half_of_the_time_computes(void **state)
{
    (void)state;
    computes(MARK " < " PRICE, 400);
    assert_int_equal(sbx_scene_report(scene)->verdict.cause, SBX_CAUSE_CPU);
    assert_null(sbx_scene_evidence(sbx_scene_report(scene), "deoptimization"));
}

/* Work of the virtual machine below an interpreted method is the machine's own work. The exception is counting, after
 * which the method is compiled again. */
static void test_work_of_the_machines_below_an_interpreted_method_is_no_interpreting(void **state)
{
    (void)state;
    computes("libc:InterpreterRuntime::_new(JavaThread*) < " MARK " < " PRICE, 1000);
    assert_int_equal(sbx_scene_report(scene)->verdict.cause, SBX_CAUSE_CPU);
    sbx_scene_destroy(scene);
    scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    computes("libc:CompilationPolicy::event < libc:InterpreterRuntime::frequency_counter_overflow(JavaThread*, "
             "unsigned char*) < " MARK " < " PRICE,
             1000);
    assert_int_equal(sbx_scene_report(scene)->verdict.cause, SBX_CAUSE_DEOPTIMIZATION);
}

/* A wait is not interpretation, even if interpreted frames are around it. */
static void test_a_wait_below_what_is_interpreted_is_what_it_was(void **state)
{
    (void)state;
    counts(scene, -1000, 0, 0);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, MARK " < " PRICE, MS(-1000), MS(-900), MS(10), 1000);
    sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_SLEEP,
                                                      .op = SBX_OP_NANOSLEEP,
                                                      .begin_us = MS(-890),
                                                      .end_us = 0,
                                                      .stack = sbx_scene_stack(scene, "libc:nanosleep < " PRICE)});
    counts(scene, 0, 40, 90);
    assert_int_equal(sbx_scene_report(scene)->verdict.cause, SBX_CAUSE_SLEEP);
}

static void test_payloads_without_the_counts_are_judged_as_before(void **state)
{
    (void)state;
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, TRAP, MS(-1000), 0, MS(10), 1000);
    assert_int_equal(sbx_scene_report(scene)->verdict.cause, SBX_CAUSE_CPU);
    assert_null(sbx_scene_evidence(sbx_scene_report(scene), "deoptimization"));
}

/* The thread gets a third of the time. Another thread of the process gets the rest, or almost none. */
static void expect_of_one_who_did_not_run(const char *stack, int64_t rivals_permille, enum sbx_cause cause)
{
    struct sbx_stall_scene *own = sbx_scene_create(2, SBX_TRIGGER_ANR, 1000000);
    counts(own, -1000, 0, 0);
    count(own, SBX_KERNEL_RUN_DELAY, -1000, 0);
    sbx_scene_samples(own, 0, SBX_RECORD_ASYNC, stack, MS(-1000), 0, MS(10), 300);
    count(own, SBX_KERNEL_RUN_DELAY, 0, MS(700));
    counts(own, 0, 40, 90);
    sbx_scene_samples(own, 1, SBX_RECORD_ASYNC, "libc:Compile::Code_Gen() < start_thread", MS(-1000), 0, MS(10),
                      rivals_permille);
    const struct sbx_report *report = sbx_scene_report(own);
    assert_int_equal(report->verdict.cause, cause);
    assert_non_null(sbx_scene_evidence(report, "deoptimization"));
    sbx_scene_destroy(own);
}

static void test_who_was_kept_from_it_by_the_compilers_stalls_of_it_all_the_same(void **state)
{
    (void)state;
    static const char *const stacks[] = {MARK " < " PRICE, "libc:VMThread::execute(VM_Operation*) < " TARGET};
    for (int i = 0; i < 2; i++) {
        expect_of_one_who_did_not_run(stacks[i], 900, SBX_CAUSE_DEOPTIMIZATION);
        expect_of_one_who_did_not_run(stacks[i], 10, SBX_CAUSE_CPU_CONTENTION);
    }
}

static void test_the_mark_and_the_machines_functions_are_known_and_a_programs_are_not(void **state)
{
    (void)state;
    struct sbx_location location = {.function = "(deoptimized)", .module = "java", .logical = true, .named = true};
    assert_true(sbx_is_deoptimization(&location));
    assert_true(sbx_is_runtime_library(&location)); /* nobody is blamed by that name */
    location.module = "lua";
    assert_false(sbx_is_deoptimization(&location));
    location =
        (struct sbx_location){.function = "Deoptimization::unpack_frames(JavaThread*, int)", .module = "libjvm.so"};
    assert_true(sbx_is_deoptimization(&location));
    location.function = "MHN_setCallSiteTargetNormal"; /* also where it waits for the compilers' lock */
    assert_true(sbx_is_deoptimization(&location));
    location.function = "shop::Deoptimization::run()";
    assert_false(sbx_is_deoptimization(&location));
    location = (struct sbx_location){.function = "Deoptimization.run", .module = "java", .logical = true};
    assert_false(sbx_is_deoptimization(&location));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_scene, end_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_interpreted_though_it_had_been_compiled_is_the_cause),
        TEST(test_the_machine_at_giving_code_up_is_the_cause),
        TEST(test_who_waits_until_code_is_thrown_away_is_no_collectors_victim),
        TEST(test_who_is_in_it_for_less_than_half_of_the_time_computes),
        TEST(test_work_of_the_machines_below_an_interpreted_method_is_no_interpreting),
        TEST(test_a_wait_below_what_is_interpreted_is_what_it_was),
        TEST(test_payloads_without_the_counts_are_judged_as_before),
        TEST(test_who_was_kept_from_it_by_the_compilers_stalls_of_it_all_the_same),
        TEST(test_the_mark_and_the_machines_functions_are_known_and_a_programs_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
