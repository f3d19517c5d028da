/* SPDX-License-Identifier: Apache-2.0 */
/* test_runtimes.c - what a report says about the runtimes of a program, besides their frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "payload_numbers.h"
#include "stall_scene.h"

#define MS(n) ((int64_t)(n)*1000)

static struct sbx_stall_scene *scene;

static int begin(void **state)
{
    (void)state;
    scene = sbx_scene_create(4, SBX_TRIGGER_ANR, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "long_add < _PyEval_EvalFrameDefault < main", MS(-990), MS(-10),
                      MS(10), 10000);
    return 0;
}

static int end_scene(void **state)
{
    (void)state;
    sbx_scene_destroy(scene);
    return 0;
}

static void test_a_runtime_of_an_unknown_version_is_told_with_it(void **state)
{
    (void)state;
    sbx_scene_runtime(scene, SBX_RUNTIME_PYTHON, SBX_RUNTIME_LEFT_ALONE, 3, 8);
    const struct sbx_report *report = sbx_scene_report(scene);
    const char *told = sbx_scene_evidence(report, "runtime");
    assert_non_null(told);
    assert_non_null(strstr(told, "Python 3.8"));
    assert_non_null(strstr(told, "not known"));
    assert_null(sbx_scene_evidence(report, "script")); /* it would say the same with less detail */
}

static void test_a_runtime_that_is_switched_off_is_told_as_such(void **state)
{
    (void)state;
    sbx_scene_runtime(scene, SBX_RUNTIME_JAVA, SBX_RUNTIME_SWITCHED_OFF, 0, 0);
    const char *told = sbx_scene_evidence(sbx_scene_report(scene), "runtime");
    assert_non_null(told);
    assert_non_null(strstr(told, "Java are not shown: STALLBOX_RUNTIMES is off"));
}

static void test_a_runtime_whose_functions_are_named_is_no_evidence(void **state)
{
    (void)state;
    sbx_scene_runtime(scene, SBX_RUNTIME_PYTHON, SBX_RUNTIME_ATTACHED, 3, 11);
    assert_null(sbx_scene_evidence(sbx_scene_report(scene), "runtime"));
}

static void test_payloads_of_older_recorders_have_no_runtimes(void **state)
{
    (void)state;
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->stall->runtime_count, 0);
    assert_null(sbx_scene_evidence(report, "runtime"));
    assert_non_null(sbx_scene_evidence(report, "script"));
}

static void expect_handler(const char *stack, const char *handler)
{
    struct sbx_stall_scene *own = sbx_scene_create(1, SBX_TRIGGER_ANR, 1000000);
    sbx_scene_samples(own, 0, SBX_RECORD_ASYNC, stack, MS(-990), MS(-10), MS(10), 10000);
    const char *told = sbx_scene_evidence(sbx_scene_report(own), "handler");
    if (handler == NULL) {
        assert_null(told);
    } else {
        assert_non_null(told);
        assert_non_null(strstr(told, handler));
    }
    sbx_scene_destroy(own);
}

static void test_the_sort_of_handler_is_told_by_nodes_own_functions(void **state)
{
    (void)state;
    expect_handler("pay#shop.js:7 < listOnTimeout#node:internal/timers:9 < uv_run < main", "a timer");
    expect_handler("pay#shop.js:7 < processImmediate#node:internal/timers:9 < uv_run < main", "an immediate");
    expect_handler("pay#shop.js:7 < emit#node:events:1 < parserOnIncoming#node:_http_server:9 < uv_run < main",
                   "an HTTP request");
    /* A callback that a timer left to be run: the innermost function decides. */
    expect_handler("pay#shop.js:7 < processTicksAndRejections#node:internal/process/task_queues:9 < "
                   "listOnTimeout#node:internal/timers:9 < main",
                   "a promise's job");
    expect_handler(
        "pay#shop.js:7 < v8::internal::MicrotaskQueue::RunMicrotasks(v8::internal::Isolate*) < uv_run < main",
        "a promise's job");
    /* The program itself has a function with that name. */
    expect_handler("pay#shop.js:7 < listOnTimeout#timers.js:9 < uv_run < main", NULL);
    expect_handler("pay < listOnTimeout < main", NULL);
}

/* A wait in Java for most of a second. */
static struct sbx_stall_scene *java_wait(uint8_t kind, uint32_t op, const char *stack)
{
    struct sbx_stall_scene *own = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_record(
        own,
        (struct sbx_build_record){
            .kind = kind, .op = op, .begin_us = MS(-990), .end_us = MS(-10), .stack = sbx_scene_stack(own, stack)});
    return own;
}

#define RESERVE  "java.nio.Bits.reserveMemory#Bits.java:175"
#define ALLOCATE "java.nio.ByteBuffer.allocateDirect#ByteBuffer.java:332"
#define HANDLER  "Shop.takeBuffer#Shop.java:7 < start_thread"

static void test_how_the_jdk_waits_for_direct_memory_is_a_wait_for_memory(void **state)
{
    (void)state;
    static const struct {
        uint8_t kind;
        uint32_t op;
        const char *stack;
    } waits[] = {
        {SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP,
         "java.lang.Thread.sleep#Thread.java:1 < " RESERVE " < " ALLOCATE " < " HANDLER},
        {SBX_RECORD_COND, SBX_OP_COND_WAIT,
         "java.lang.Object.wait#Object.java:338 < java.lang.ref.Reference.waitForReferenceProcessing#Reference.java:1 "
         "< " RESERVE " < " ALLOCATE " < " HANDLER},
        {SBX_RECORD_COND, SBX_OP_COND_WAIT,
         "libc:VMThread::execute(VM_Operation*) < java.lang.System.gc#System.java:1 < " RESERVE " < " ALLOCATE
         " < " HANDLER},
    };
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        struct sbx_stall_scene *own = java_wait(waits[i].kind, waits[i].op, waits[i].stack);
        const struct sbx_report *report = sbx_scene_report(own);
        assert_int_equal(report->verdict.cause, SBX_CAUSE_MEMORY);
        assert_string_equal(report->verdict.location.function, "Shop.takeBuffer");
        assert_non_null(strstr(report->verdict.headline, "for direct memory in Shop.takeBuffer (Shop.java:7)"));
        assert_non_null(strstr(sbx_scene_evidence(report, "direct_memory"), "MaxDirectMemorySize"));
        sbx_scene_destroy(own);
    }
}

static void test_other_sleeps_and_collections_of_java_are_what_they_were(void **state)
{
    (void)state;
    struct sbx_stall_scene *own =
        java_wait(SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, "java.lang.Thread.sleep#Thread.java:1 < " HANDLER);
    assert_int_equal(sbx_scene_report(own)->verdict.cause, SBX_CAUSE_SLEEP);
    assert_null(sbx_scene_evidence(sbx_scene_report(own), "direct_memory"));
    sbx_scene_destroy(own);
    own = java_wait(SBX_RECORD_COND, SBX_OP_COND_WAIT,
                    "libc:VMThread::execute(VM_Operation*) < java.lang.System.gc#System.java:1 < " HANDLER);
    assert_int_equal(sbx_scene_report(own)->verdict.cause, SBX_CAUSE_GC);
    sbx_scene_destroy(own);
    own = java_wait(SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP,
                    "libc:nanosleep < java.nio.Bits.reserveMemory < main"); /* native code with that name */
    assert_int_equal(sbx_scene_report(own)->verdict.cause, SBX_CAUSE_SLEEP);
    sbx_scene_destroy(own);
}

/* Samples of a thread that allocates that many bytes each 10 ms, and half of that in the time before the stall. */
static void allocates_since(struct sbx_stall_scene *own, uint32_t thread, const char *stack, int64_t each_bytes,
                            int64_t since_ms)
{
    int64_t bytes = 0;
    for (int64_t ms = since_ms; ms <= 0; ms += 10) {
        sbx_scene_record(own, (struct sbx_build_record){.thread = thread,
                                                        .kind = SBX_RECORD_ASYNC,
                                                        .begin_us = MS(ms),
                                                        .end_us = MS(ms),
                                                        .cpu_us = 1 + MS(ms - since_ms),
                                                        .alloc_count = (ms - since_ms) / 10,
                                                        .alloc_bytes = bytes,
                                                        .stack = sbx_scene_stack(own, stack)});
        bytes += ms < -1000 ? each_bytes / 2 : each_bytes;
    }
}

static void test_of_a_java_thread_it_is_told_how_much_it_allocated_a_second_before(void **state)
{
    (void)state;
    static const struct {
        int64_t since_ms;
        const char *told; /* NULL: the records do not reach back far enough */
    } cases[] = {{-3000, "400.0 MiB a second; 200.0 MiB a second before"},
                 {-1600, "; 200.0 MiB a second before"},
                 {-1400, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sbx_stall_scene *own = sbx_scene_create(1, SBX_TRIGGER_ANR, 1000000);
        sbx_scene_runtime(own, SBX_RUNTIME_JAVA, SBX_RUNTIME_ATTACHED, 17, 0);
        allocates_since(own, 0, "Shop.bake#Shop.java:7 < start_thread", 4 << 20, cases[i].since_ms);
        const char *told = sbx_scene_evidence(sbx_scene_report(own), "allocations");
        assert_non_null(told);
        if (cases[i].told != NULL) {
            assert_non_null(strstr(told, cases[i].told));
        } else {
            assert_null(strstr(told, "before"));
        }
        sbx_scene_destroy(own);
    }
}

/* Samples of a thread that allocates that many bytes each 10 ms. */
static void allocates(struct sbx_stall_scene *own, uint32_t thread, const char *stack, int64_t each_bytes)
{
    for (int64_t i = 0; i <= 110; i++) {
        sbx_scene_record(own, (struct sbx_build_record){.thread = thread,
                                                        .kind = SBX_RECORD_ASYNC,
                                                        .begin_us = MS(-1100 + 10 * i),
                                                        .end_us = MS(-1100 + 10 * i),
                                                        .cpu_us = 1 + MS(10 * i),
                                                        .alloc_count = i,
                                                        .alloc_bytes = each_bytes * i,
                                                        .stack = sbx_scene_stack(own, stack)});
    }
}

static void test_of_a_java_thread_that_computes_it_is_told_how_much_it_allocated_a_second(void **state)
{
    (void)state;
    struct sbx_stall_scene *own = sbx_scene_create(2, SBX_TRIGGER_ANR, 1000000);
    sbx_scene_runtime(own, SBX_RUNTIME_JAVA, SBX_RUNTIME_ATTACHED, 17, 0);
    allocates(own, 0, "Shop.bake#Shop.java:7 < start_thread", 4 << 20);
    const char *told = sbx_scene_evidence(sbx_scene_report(own), "allocations");
    assert_non_null(told);
    assert_non_null(strstr(told, "400.0 MiB were allocated in 1.00 s, 400.0 MiB a second"));
    sbx_scene_destroy(own);
    own = sbx_scene_create(2, SBX_TRIGGER_ANR, 1000000); /* in other programs the many calls are malloc() */
    allocates(own, 0, "bake < main", 4 << 20);
    told = sbx_scene_evidence(sbx_scene_report(own), "allocations");
    assert_non_null(told);
    assert_non_null(strstr(told, "100 allocations of 400.0 MiB in all"));
    sbx_scene_destroy(own);
}

static void test_of_a_stop_of_the_world_it_is_told_who_allocated_most(void **state)
{
    (void)state;
    struct sbx_stall_scene *own = sbx_scene_create(3, SBX_TRIGGER_ANR, 1000000);
    sbx_scene_runtime(own, SBX_RUNTIME_JAVA, SBX_RUNTIME_ATTACHED, 17, 0);
    allocates(own, 0, "libc:SafepointSynchronize::block(JavaThread*) < Shop.pay#Shop.java:7 < start_thread", 1 << 10);
    allocates(own, 1, "Shop.bake#Shop.java:9 < start_thread", 2 << 20);
    allocates(own, 2, "Shop.stir#Shop.java:9 < start_thread", 3 << 20);
    const struct sbx_report *report = sbx_scene_report(own);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_GC);
    const char *told = sbx_scene_evidence(report, "allocator");
    assert_non_null(told);
    assert_non_null(strstr(
        told,
        "thread 2 (worker) allocated most meanwhile: 300.0 MiB, 300.0 MiB a second; all threads together 500.1 MiB"));
    assert_null(sbx_scene_evidence(report, "allocations"));
    sbx_scene_destroy(own);
}

static void test_of_a_stop_of_the_world_in_which_next_to_nothing_was_allocated_nobody_is_told(void **state)
{
    (void)state;
    struct sbx_stall_scene *own = sbx_scene_create(2, SBX_TRIGGER_ANR, 1000000);
    allocates(own, 0, "libc:SafepointSynchronize::block(JavaThread*) < Shop.pay#Shop.java:7 < start_thread", 1 << 10);
    allocates(own, 1, "Shop.bake#Shop.java:9 < start_thread", 1 << 10);
    assert_int_equal(sbx_scene_report(own)->verdict.cause, SBX_CAUSE_GC);
    assert_null(sbx_scene_evidence(sbx_scene_report(own), "allocator"));
    sbx_scene_destroy(own);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_runtime_of_an_unknown_version_is_told_with_it),
        TEST(test_a_runtime_that_is_switched_off_is_told_as_such),
        TEST(test_a_runtime_whose_functions_are_named_is_no_evidence),
        TEST(test_the_sort_of_handler_is_told_by_nodes_own_functions),
        TEST(test_payloads_of_older_recorders_have_no_runtimes),
        cmocka_unit_test(test_how_the_jdk_waits_for_direct_memory_is_a_wait_for_memory),
        cmocka_unit_test(test_other_sleeps_and_collections_of_java_are_what_they_were),
        cmocka_unit_test(test_of_a_java_thread_that_computes_it_is_told_how_much_it_allocated_a_second),
        cmocka_unit_test(test_of_a_java_thread_it_is_told_how_much_it_allocated_a_second_before),
        cmocka_unit_test(test_of_a_stop_of_the_world_it_is_told_who_allocated_most),
        cmocka_unit_test(test_of_a_stop_of_the_world_in_which_next_to_nothing_was_allocated_nobody_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
