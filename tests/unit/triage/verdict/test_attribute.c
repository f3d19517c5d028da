/* SPDX-License-Identifier: Apache-2.0 */
/* test_attribute.c - one stall for each cause, and what must not be claimed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "stall_scene.h"

#define MS(ms) ((int64_t)(ms)*1000)

/* A record of the main thread with a duration and a stack. */
static void put_wait(struct sbx_stall_scene *scene, uint8_t kind, uint8_t op, uint8_t fd_class, int64_t begin_us,
                     int64_t end_us, const char *stack, uint32_t peer)
{
    sbx_scene_record(scene, (struct sbx_build_record){.kind = kind,
                                                      .op = op,
                                                      .fd_class = fd_class,
                                                      .begin_us = begin_us,
                                                      .end_us = end_us,
                                                      .stack = sbx_scene_stack(scene, stack),
                                                      .message = 1,
                                                      .peer = peer,
                                                      .cpu_us = 1000,
                                                      .object = 1});
}

static void assert_near(double value, double expected, double tolerance)
{
    assert_true(value >= expected - tolerance && value <= expected + tolerance);
}

static void test_sleep_names_the_function_that_slept(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    put_wait(scene, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, 0, MS(-990), MS(-10), "nap < work < main", 0);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_SLEEP);
    assert_int_equal(report->verdict.class_, SBX_CLASS_OFF_CPU);
    assert_string_equal(report->verdict.location.function, "nap");
    assert_string_equal(report->verdict.headline, "main thread slept 980 ms in nap (nanosleep)");
    assert_near(report->verdict.off_cpu_ms, 980, 0.01);
    assert_near(report->verdict.confidence, 0.99, 0.005);
    sbx_scene_destroy(scene);
}

static void test_blocked_stack_from_outside_skips_libc(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_ANR, 1000000);
    for (int64_t at_us = MS(-950); at_us <= 0; at_us += MS(50)) {
        sbx_scene_record(scene,
                         (struct sbx_build_record){
                             .kind = SBX_RECORD_BLOCKED,
                             .op = SBX_OP_SYSCALL,
                             .amount = 230 /* clock_nanosleep */,
                             .begin_us = at_us,
                             .end_us = at_us,
                             .cpu_us = 1000,
                             .message = 1,
                             .stack = sbx_scene_stack(scene, "libc:clock_nanosleep < libc:usleep < nap < main")});
    }
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_SLEEP);
    assert_string_equal(report->verdict.location.function, "nap");
    assert_near(report->verdict.off_cpu_ms, 1000, 51);
    assert_true(report->verdict.confidence > 0.8 && report->verdict.confidence < 0.95); /* seen, not measured */
    sbx_scene_destroy(scene);
}

static void test_anr_in_the_middle_of_a_sleep_is_judged_by_the_open_call(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_ANR, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ALLOC, "nap < main", MS(-1000), MS(-999), MS(1), 1000);
    sbx_scene_call(scene, 0,
                   (struct sbx_build_call){.kind = SBX_RECORD_SLEEP, .op = SBX_OP_SLEEP, .duration_us = 999000});
    sbx_scene_payload(scene)->trigger->in_progress = true;
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_SLEEP);
    assert_string_equal(report->verdict.location.function, "nap");
    assert_string_equal(report->verdict.headline, "main thread slept 999 ms so far in nap (sleep)");
    sbx_scene_destroy(scene);
}

static void test_cpu_names_the_nearest_named_function_and_says_so(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "?1 < ?2 < lua_pcall < eval < loop < main", MS(-1000), MS(-500),
                      MS(10), 990);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "?3 < ?2 < lua_pcall < eval < loop < main", MS(-500), 0, MS(10), 990);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_CPU);
    assert_int_equal(report->verdict.class_, SBX_CLASS_ON_CPU);
    assert_string_equal(report->verdict.location.function, "lua_pcall");
    assert_non_null(sbx_scene_evidence(report, "unnamed"));
    assert_non_null(strstr(report->verdict.headline, "under eval, loop"));
    assert_near(report->verdict.on_cpu_ms, 990, 12);
    assert_near(report->verdict.confidence, 0.93, 0.02);
    sbx_scene_destroy(scene);
}

static void test_cpu_skips_base_library_and_std(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC,
                      "libc:memcpy < void std::copy<int*>(int*, int*) < Grid::relayout() < main", MS(-1000), 0, MS(10),
                      990);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_string_equal(report->verdict.location.function, "Grid::relayout()");
    assert_null(sbx_scene_evidence(report, "unnamed"));
    sbx_scene_destroy(scene);
}

static void test_cpu_spread_over_many_callees_names_their_common_caller(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 900000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "a < solve < main", MS(-900), MS(-600), MS(10), 1000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "b < solve < main", MS(-600), MS(-300), MS(10), 1000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "c < solve < main", MS(-300), 0, MS(10), 1000);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_string_equal(report->verdict.location.function, "solve");
    sbx_scene_destroy(scene);
}

static void test_lock_names_the_holder_and_what_it_did(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(3, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    put_wait(scene, SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, 0, MS(-950), MS(-50), "Cache::get < main", 3);
    sbx_scene_samples(scene, 1, SBX_RECORD_ASYNC, "innocent < run", MS(-950), MS(-50), MS(10), 900);
    sbx_scene_samples(scene, 2, SBX_RECORD_ASYNC, "compact < run", MS(-950), MS(-50), MS(10), 900);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_LOCK);
    assert_string_equal(report->verdict.location.function, "Cache::get");
    assert_int_equal(report->verdict.culprit_thread, 2);
    assert_string_equal(report->verdict.culprit_function, "compact");
    assert_non_null(strstr(sbx_scene_evidence(report, "holder"), "computed in compact"));
    assert_non_null(strstr(report->verdict.headline, "held by thread 2 (worker) in compact"));
    sbx_scene_destroy(scene);
}

static void test_lock_held_by_a_sleeper_says_so(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(2, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    put_wait(scene, SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, 0, MS(-950), MS(-50), "Cache::get < main", 2);
    sbx_scene_record(scene, (struct sbx_build_record){.thread = 1,
                                                      .kind = SBX_RECORD_SYNC,
                                                      .op = SBX_OP_FSYNC,
                                                      .begin_us = MS(-960),
                                                      .end_us = MS(-55),
                                                      .cpu_us = 500,
                                                      .stack = sbx_scene_stack(scene, "Log::flush < run")});
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_string_equal(report->verdict.culprit_function, "Log::flush");
    assert_non_null(strstr(sbx_scene_evidence(report, "holder"), "itself in fsync"));
    sbx_scene_destroy(scene);
}

static void test_lock_without_a_known_holder_accuses_nobody(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(2, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    put_wait(scene, SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, 0, MS(-950), MS(-50), "Cache::get < main", 0);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_LOCK);
    assert_int_equal(report->verdict.culprit_thread, -1);
    assert_string_equal(report->verdict.culprit_function, "");
    sbx_scene_destroy(scene);
}

static void test_two_threads_that_wait_for_each_other_are_a_deadlock(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(2, SBX_TRIGGER_ANR, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ALLOC, "first < main", MS(-1000), MS(-999), MS(1), 0);
    sbx_scene_samples(scene, 1, SBX_RECORD_ALLOC, "second < run", MS(-1000), MS(-999), MS(1), 0);
    sbx_scene_call(scene, 0, (struct sbx_build_call){SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, 2, 1, 998000});
    sbx_scene_call(scene, 1, (struct sbx_build_call){SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, 1, 2, 990000});
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_DEADLOCK);
    assert_int_equal(report->verdict.culprit_thread, 1);
    size_t told = 0;
    for (size_t i = 0; i < report->verdict.evidence_count; i++) {
        told += strcmp(report->verdict.evidence[i].kind, "cycle") == 0;
    }
    assert_int_equal(told, 2);
    sbx_scene_destroy(scene);
}

static void test_a_thread_that_waits_for_a_lock_of_its_own_is_a_deadlock_with_itself(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(2, SBX_TRIGGER_ANR, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ALLOC, "first < main", MS(-1000), MS(-999), MS(1), 0);
    sbx_scene_call(scene, 0, (struct sbx_build_call){SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, 1, 1, 998000});
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_DEADLOCK);
    assert_string_equal(report->verdict.headline,
                        "deadlock: main thread waits for a lock in first that it holds itself");
    sbx_scene_destroy(scene);
}

static void test_waiting_until_another_thread_has_initialised_a_class_is_a_lock(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(2, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    put_wait(scene, SBX_RECORD_COND, SBX_OP_COND_WAIT, 0, MS(-950), MS(-50),
             "ObjectMonitor::wait(long) < InstanceKlass::initialize_impl(JavaThread*) < Shop.open < main", 2);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_LOCK);
    assert_int_equal(report->verdict.culprit_thread, 1);
    assert_non_null(strstr(sbx_scene_evidence(report, "known"), "a class of Java"));
    sbx_scene_destroy(scene);
    scene = sbx_scene_create(2, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    put_wait(scene, SBX_RECORD_COND, SBX_OP_COND_WAIT, 0, MS(-950), MS(-50), "Shop.open < main", 2);
    assert_int_equal(sbx_scene_report(scene)->verdict.cause, SBX_CAUSE_WAIT);
    sbx_scene_destroy(scene);
}

static void test_conditions_that_threads_hold_against_each_other_are_a_deadlock(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(2, SBX_TRIGGER_ANR, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ALLOC, "first < main", MS(-1000), MS(-999), MS(1), 0);
    sbx_scene_samples(scene, 1, SBX_RECORD_ALLOC, "second < run", MS(-1000), MS(-999), MS(1), 0);
    sbx_scene_call(scene, 0, (struct sbx_build_call){SBX_RECORD_COND, SBX_OP_COND_WAIT, 2, 1, 998000});
    sbx_scene_call(scene, 1, (struct sbx_build_call){SBX_RECORD_COND, SBX_OP_COND_WAIT, 1, 2, 990000});
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_DEADLOCK);
    assert_int_equal(report->verdict.cycle_count, 2);
    sbx_scene_destroy(scene);
}

static void test_waiting_for_a_waiting_thread_is_no_deadlock(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(2, SBX_TRIGGER_ANR, 1000000);
    sbx_scene_call(scene, 0, (struct sbx_build_call){SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, 2, 1, 998000});
    sbx_scene_call(scene, 1, (struct sbx_build_call){SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, 0, 2, 990000});
    assert_int_equal(sbx_scene_report(scene)->verdict.cause, SBX_CAUSE_LOCK);
    sbx_scene_destroy(scene);
}

static void test_calls_give_their_causes(void **state)
{
    (void)state;
    static const struct {
        uint8_t kind, op, fd_class;
        enum sbx_cause cause;
    } calls[] = {
        {SBX_RECORD_COND, SBX_OP_COND_WAIT, 0, SBX_CAUSE_WAIT},
        {SBX_RECORD_SYNC, SBX_OP_FSYNC, SBX_FD_REGULAR, SBX_CAUSE_IO},
        {SBX_RECORD_FILE, SBX_OP_READ, SBX_FD_REGULAR, SBX_CAUSE_IO},
        {SBX_RECORD_FILE, SBX_OP_FLOCK, 0, SBX_CAUSE_IO},
        {SBX_RECORD_FILE, SBX_OP_READ, SBX_FD_PIPE, SBX_CAUSE_IPC},
        {SBX_RECORD_FILE, SBX_OP_READ, SBX_FD_SOCKET, SBX_CAUSE_NETWORK},
        {SBX_RECORD_SOCKET, SBX_OP_CONNECT, SBX_FD_SOCKET, SBX_CAUSE_NETWORK},
        {SBX_RECORD_SOCKET, SBX_OP_GETADDRINFO, 0, SBX_CAUSE_NETWORK},
        {SBX_RECORD_POLL, SBX_OP_POLL, SBX_FD_SOCKET, SBX_CAUSE_NETWORK},
        {SBX_RECORD_POLL, SBX_OP_POLL, 0, SBX_CAUSE_WAIT},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
        put_wait(scene, calls[i].kind, calls[i].op, calls[i].fd_class, MS(-950), MS(-50), "act < main", 0);
        const struct sbx_report *report = sbx_scene_report(scene);
        assert_int_equal(report->verdict.cause, calls[i].cause);
        assert_string_equal(report->verdict.location.function, "act");
        sbx_scene_destroy(scene);
    }
}

static void test_many_short_writes_are_added_up(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    for (int64_t at_us = MS(-1000); at_us < 0; at_us += MS(10)) {
        sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_FILE,
                                                          .op = SBX_OP_WRITE,
                                                          .fd_class = SBX_FD_REGULAR,
                                                          .amount = 4096,
                                                          .message = 1,
                                                          .begin_us = at_us,
                                                          .end_us = at_us + MS(9),
                                                          .cpu_us = 1000,
                                                          .stack = sbx_scene_stack(scene, "save < main")});
    }
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_IO);
    assert_non_null(strstr(sbx_scene_evidence(report, "blocked"), "100 calls"));
    assert_non_null(strstr(sbx_scene_evidence(report, "bytes"), "400.0 KiB"));
    sbx_scene_destroy(scene);
}

static void test_one_long_wait_is_not_outvoted_by_many_functions(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "parse < main", MS(-1000), MS(-600), MS(10), 1000);
    put_wait(scene, SBX_RECORD_SLEEP, SBX_OP_USLEEP, 0, MS(-600), MS(-10), "nap < main", 0);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_SLEEP);
    assert_near(report->verdict.confidence, 0.83, 0.01);
    sbx_scene_destroy(scene);
}

static void test_ready_but_not_running_blames_the_thread_that_ran(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(2, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "act < main", MS(-1000), 1, MS(20), 100);
    sbx_scene_samples(scene, 1, SBX_RECORD_ASYNC, "mine < run", MS(-1000), 1, MS(20), 900);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_CPU_CONTENTION);
    assert_int_equal(report->verdict.class_, SBX_CLASS_RUNNABLE);
    assert_int_equal(report->verdict.culprit_thread, 1);
    assert_string_equal(report->verdict.culprit_function, "mine");
    assert_near(report->verdict.runnable_ms, 900, 1);
    sbx_scene_destroy(scene);
}

static void test_ready_but_not_running_without_a_rival_blames_the_outside(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(2, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "act < main", MS(-1000), 1, MS(20), 100);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_CPU_CONTENTION);
    assert_int_equal(report->verdict.culprit_thread, -1);
    assert_string_equal(report->verdict.culprit_function, "external");
    sbx_scene_destroy(scene);
}

static void test_a_starved_function_is_named_all_the_same(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "act < on_event < main", MS(-1000), 1, MS(20), 100);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_CPU_CONTENTION);
    assert_string_equal(report->verdict.location.function, "act");
    assert_string_equal(report->verdict.headline,
                        "main thread was ready for 900 ms but did not get a CPU, in act under on_event, main");
    sbx_scene_destroy(scene);
}

/* On a busy machine only the program's own work can be improved. But the reader expects the larger part first. */
static void test_the_larger_part_of_a_mixed_stall_leads_the_headline(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "act < main", MS(-1000), 1, MS(20), 400);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_CPU);
    assert_string_equal(report->verdict.location.function, "act");
    assert_string_equal(
        report->verdict.headline,
        "main thread was ready for 600 ms but did not get a CPU, and computed for 400 ms in act under main");
    sbx_scene_destroy(scene);
}

/* Short waits for pages, of which looks meet only a few. Time that the kernel does not count as ready was spent in such
 * waits. */
static enum sbx_cause cause_of_page_waits(int looks_every, const char **function_out)
{
    static char function[64];
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    uint32_t stack = sbx_scene_stack(scene, "scan < main");
    struct sbx_build_record count = {
        .kind = SBX_RECORD_KERNEL, .op = SBX_KERNEL_RUN_DELAY, .begin_us = MS(-1000), .end_us = MS(-1000)};
    sbx_scene_record(scene, count);
    for (int i = 0; i <= 100; i++) {
        bool is_blocked = i % looks_every == 0;
        sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_BLOCKED,
                                                          .op = is_blocked ? SBX_OP_PAGE_FAULT : SBX_OP_RUNNING,
                                                          .begin_us = MS(-1000 + i * 10),
                                                          .end_us = MS(-1000 + i * 10),
                                                          .cpu_us = 1000 + i * 1000,
                                                          .message = 1,
                                                          .stack = stack});
    }
    count.begin_us = count.end_us = 1;
    count.amount = 20000;
    sbx_scene_record(scene, count);
    const struct sbx_report *report = sbx_scene_report(scene);
    snprintf(function, sizeof function, "%s", report->verdict.location.function);
    *function_out = function;
    enum sbx_cause cause = report->verdict.cause;
    sbx_scene_destroy(scene);
    return cause;
}

static void test_a_cold_file_whose_waits_are_short_is_memory(void **state)
{
    (void)state;
    const char *function;
    assert_int_equal(cause_of_page_waits(4, &function), SBX_CAUSE_MEMORY);
    assert_string_equal(function, "scan");
    assert_int_equal(cause_of_page_waits(50, &function), SBX_CAUSE_UNKNOWN); /* two looks prove nothing */
}

static void test_many_messages_are_high_frequency(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_DEADLINE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "on_event < loop < main", MS(-1000), 0, MS(10), 980);
    sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_MESSAGE,
                                                      .begin_us = MS(-1000),
                                                      .end_us = 0,
                                                      .amount = 500,
                                                      .message = 1,
                                                      .cpu_us = 990000});
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_HIGH_FREQUENCY);
    assert_int_equal(report->verdict.messages, 500);
    assert_string_equal(report->verdict.location.function, "on_event");
    sbx_scene_destroy(scene);
}

static void test_allocator_in_asynchronous_samples_is_memory(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    uint32_t stack = sbx_scene_stack(scene, "jemalloc:arena_malloc < build < main");
    for (int64_t at_us = MS(-1000); at_us <= 0; at_us += MS(10)) {
        sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_ASYNC,
                                                          .begin_us = at_us,
                                                          .end_us = at_us,
                                                          .cpu_us = 2000000 + at_us,
                                                          .stack = stack,
                                                          .message = 1,
                                                          .alloc_count = 4000000 + at_us,
                                                          .alloc_bytes = (4000000 + at_us) * 32});
    }
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_MEMORY);
    assert_string_equal(report->verdict.location.function, "build");
    sbx_scene_destroy(scene);
}

static void test_samples_at_allocations_alone_prove_no_memory_trouble(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    uint32_t stack = sbx_scene_stack(scene, "jemalloc:malloc < build < main");
    for (int64_t at_us = MS(-1000); at_us <= 0; at_us += MS(10)) {
        sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_ALLOC,
                                                          .begin_us = at_us,
                                                          .end_us = at_us,
                                                          .cpu_us = 2000000 + at_us,
                                                          .stack = stack,
                                                          .message = 1,
                                                          .alloc_count = 4000000 + at_us,
                                                          .alloc_bytes = (4000000 + at_us) * 32});
    }
    assert_int_equal(sbx_scene_report(scene)->verdict.cause, SBX_CAUSE_CPU);
    sbx_scene_destroy(scene);
}

static void test_nothing_recorded_is_unknown_and_says_what_is_missing(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_ANR, 1000000);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_UNKNOWN);
    assert_string_equal(report->verdict.location.function, "");
    assert_non_null(strstr(sbx_scene_evidence(report, "missing"), "no samples"));
    assert_true(report->verdict.confidence == 0);
    assert_near(report->verdict.unknown_ms, 1000, 0.01);
    sbx_scene_destroy(scene);
}

static void test_less_than_half_known_is_unknown(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    put_wait(scene, SBX_RECORD_SLEEP, SBX_OP_USLEEP, 0, MS(-1000), MS(-600), "nap < main", 0);
    assert_int_equal(sbx_scene_report(scene)->verdict.cause, SBX_CAUSE_UNKNOWN);
    sbx_scene_destroy(scene);
}

static void test_waiting_for_work_is_no_stall(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_MANUAL, 0);
    sbx_scene_payload(scene)->trigger->message = 0;
    sbx_scene_payload(scene)->trigger->history_us = 2000000;
    put_wait(scene, SBX_RECORD_IDLE, SBX_OP_EPOLL_WAIT, 0, MS(-2000), MS(-10), "loop < main", 0);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_UNKNOWN);
    assert_non_null(strstr(report->verdict.headline, "waited for work"));
    assert_non_null(sbx_scene_evidence(report, "idle"));
    sbx_scene_destroy(scene);
}

static double confidence_with(uint64_t dropped, size_t stacks_lost, bool truncated)
{
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, truncated ? "act < end:" : "act < main", MS(-1000), 0, MS(10), 990);
    for (size_t i = 0; i < stacks_lost; i++) {
        sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_ASYNC, .stack = UINT32_MAX, .message = 1});
    }
    sbx_scene_payload(scene)->drops[SBX_DROP_NO_CHUNK] = dropped;
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_CPU);
    bool is_lossy = dropped > 0 || stacks_lost > 0 || truncated;
    assert_int_equal(sbx_scene_evidence(report, "loss") != NULL, is_lossy);
    double confidence = report->verdict.confidence;
    sbx_scene_destroy(scene);
    return confidence;
}

static void test_losses_lower_the_confidence(void **state)
{
    (void)state;
    double whole = confidence_with(0, 0, false);
    double dropped = confidence_with(1000, 0, false), lost = confidence_with(0, 100, false);
    double truncated = confidence_with(0, 0, true);
    assert_near(whole, 0.98, 0.02);
    assert_near(dropped, whole * 0.54, 0.03);
    assert_near(lost, whole * 0.5, 0.03);
    assert_near(truncated, whole * 0.9, 0.01);
}

/* When a program is killed after it has hung for a minute, ten seconds of records are left. */
static void test_of_a_stall_older_than_its_records_these_are_judged(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_ANR, 60000000);
    sbx_scene_payload(scene)->trigger->history_us = 10000000;
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "act < main", MS(-10000), 0, MS(20), 1000);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_CPU);
    assert_string_equal(report->verdict.location.function, "act");
    assert_near((double)report->verdict.interval_begin_ns, -10e9, 1);
    assert_string_equal(sbx_scene_evidence(report, "loss"),
                        "the last 10.00 s of the stall's 60.00 s are judged: the records reach back no further");
    assert_true(report->verdict.confidence < 0.9);
    sbx_scene_destroy(scene);
}

static void test_an_open_wait_older_than_the_records_is_told_whole(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_ANR, 60000000);
    sbx_scene_payload(scene)->trigger->history_us = 10000000;
    sbx_scene_call(scene, 0, (struct sbx_build_call){SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, 0, 0, 59000000});
    sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_BLOCKED,
                                                      .op = SBX_OP_NANOSLEEP,
                                                      .begin_us = MS(-100),
                                                      .end_us = MS(-100),
                                                      .cpu_us = 1000,
                                                      .stack = sbx_scene_stack(scene, "nap < main"),
                                                      .message = 1});
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_SLEEP);
    assert_non_null(strstr(report->verdict.headline, "slept 59.00 s so far"));
    sbx_scene_destroy(scene);
}

static void test_generated_code_proves_no_tight_loop(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "gen: < Builtins_JSEntry < main", MS(-1000), 0, MS(20), 1000);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_CPU);
    assert_null(sbx_scene_evidence(report, "spin"));
    assert_non_null(strstr(report->verdict.headline, "running JavaScript, in Builtins_JSEntry"));
    sbx_scene_destroy(scene);
}

static void test_records_that_do_not_reach_back_are_told(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_ANR, 1000000);
    sbx_scene_payload(scene)->trigger->history_us = 600000;
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "act < main", MS(-600), 0, MS(10), 1000);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_CPU);
    assert_non_null(strstr(sbx_scene_evidence(report, "loss"), "600 ms only"));
    assert_true(report->verdict.confidence < 0.9);
    sbx_scene_destroy(scene);
}

static void test_another_thread_can_be_the_judged_one(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(2, SBX_TRIGGER_DEADLINE, 1000000);
    sbx_scene_payload(scene)->trigger->thread = 1;
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "wrong < main", MS(-1000), 0, MS(10), 1000);
    sbx_scene_samples(scene, 1, SBX_RECORD_ASYNC, "right < run", MS(-1000), 0, MS(10), 1000);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_string_equal(report->verdict.location.function, "right");
    assert_non_null(strstr(report->verdict.headline, "thread 1 (worker) computed"));
    sbx_scene_destroy(scene);
}

static void test_without_any_name_the_module_and_offset_stand(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    put_wait(scene, SBX_RECORD_SLEEP, SBX_OP_SLEEP, 0, MS(-1000), MS(-1), "libc:sleep < ?nap < ?main", 0);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_SLEEP);
    assert_string_equal(report->verdict.location.function, "?nap");
    assert_false(report->verdict.location.named);
    assert_near(report->verdict.confidence, 0.6, 0.01);
    sbx_scene_destroy(scene);
}

/* A wait of the main thread for an object without an owner, ended by thread 1 in "post < produce". */
static void put_ended_wait(struct sbx_stall_scene *scene, uint8_t kind, uint8_t op, uint32_t holder)
{
    sbx_scene_record(scene, (struct sbx_build_record){.kind = kind,
                                                      .op = op,
                                                      .begin_us = MS(-950),
                                                      .end_us = MS(-50),
                                                      .cpu_us = 1000,
                                                      .message = 1,
                                                      .peer = holder,
                                                      .wait = 7,
                                                      .stack = sbx_scene_stack(scene, "Queue::take < main")});
    sbx_scene_record(scene, (struct sbx_build_record){.thread = 1,
                                                      .kind = SBX_RECORD_WAKE,
                                                      .op = SBX_OP_SEM_POST,
                                                      .begin_us = MS(-400), /* of another wait */
                                                      .end_us = MS(-400),
                                                      .wait = 6,
                                                      .stack = sbx_scene_stack(scene, "other < run")});
    sbx_scene_record(scene, (struct sbx_build_record){.thread = 1,
                                                      .kind = SBX_RECORD_WAKE,
                                                      .op = SBX_OP_SEM_POST,
                                                      .begin_us = MS(-50),
                                                      .end_us = MS(-50),
                                                      .wait = 7,
                                                      .stack = sbx_scene_stack(scene, "produce < run")});
}

static void test_wait_names_who_ended_it_and_what_that_thread_did(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(3, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    put_ended_wait(scene, SBX_RECORD_WAIT, SBX_OP_SEM_WAIT, 0);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_WAIT);
    assert_string_equal(report->verdict.location.function, "Queue::take");
    assert_int_equal(report->verdict.culprit_thread, 1);
    assert_string_equal(report->verdict.culprit_function, "produce");
    assert_string_equal(sbx_scene_evidence(report, "waker"), "let it go: thread 1 (worker) in produce");
    assert_non_null(strstr(sbx_scene_evidence(report, "holder"), "thread 1 (worker) ended the wait"));
    sbx_scene_destroy(scene);
}

static void test_lock_with_a_holder_and_a_waker_keeps_the_holder_as_culprit(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(3, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    put_ended_wait(scene, SBX_RECORD_LOCK, SBX_OP_RWLOCK_WRLOCK, 3);
    sbx_scene_samples(scene, 2, SBX_RECORD_ASYNC, "compact < run", MS(-950), MS(-50), MS(10), 900);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_LOCK);
    assert_int_equal(report->verdict.culprit_thread, 2);
    assert_string_equal(report->verdict.culprit_function, "compact");
    assert_non_null(strstr(sbx_scene_evidence(report, "waker"), "thread 1 (worker) in produce"));
    sbx_scene_destroy(scene);
}

static void test_run_of_samples_counts_like_the_samples_it_stands_for(void **state)
{
    (void)state;
    double on_cpu_ms[2];
    for (int with_runs = 0; with_runs < 2; with_runs++) {
        struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
        for (int64_t at = -1000; at < 0; at += 100) { /* 30 ms in `big`, 70 in `small` */
            const char *stack = "small < work < main";
            sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "big < work < main", MS(at), MS(at + 30), MS(10), 1000);
            if (with_runs) {
                sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, stack, MS(at + 30), MS(at + 31), MS(1), 1000);
                sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_ASYNC,
                                                                  .begin_us = MS(at + 30),
                                                                  .end_us = MS(at + 90),
                                                                  .repeats = 6,
                                                                  .message = 1,
                                                                  .cpu_us = 1000 + MS(at + 90 + 1000),
                                                                  .stack = sbx_scene_stack(scene, stack)});
            } else {
                sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, stack, MS(at + 30), MS(at + 100), MS(10), 1000);
            }
        }
        const struct sbx_report *report = sbx_scene_report(scene);
        assert_int_equal(report->verdict.cause, SBX_CAUSE_CPU);
        assert_string_equal(report->verdict.location.function, "small");
        on_cpu_ms[with_runs] = report->verdict.on_cpu_ms;
        sbx_scene_destroy(scene);
    }
    assert_near(on_cpu_ms[1], on_cpu_ms[0], 15);
}

/* A stall of 1 s: the thread samples itself each millisecond in one function, and is sampled by signal at every step in
 * another. */
static const char *function_blamed(int64_t step_ms)
{
    static char function[64];
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    for (int64_t at = -1000; at < 0; at++) {
        bool by_signal = (at + 1000) % step_ms == 0;
        sbx_scene_samples(scene, 0, by_signal ? SBX_RECORD_ASYNC : SBX_RECORD_LEAF,
                          by_signal ? "compute < work < main" : "look_at_clock < work < main", MS(at), MS(at) + 1,
                          MS(1), 1000);
    }
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_CPU);
    snprintf(function, sizeof function, "%s", report->verdict.location.function);
    sbx_scene_destroy(scene);
    return function;
}

/* A loop that computes and sometimes reads the clock: all samples that it takes itself are at the clock. */
static void test_samples_at_a_rare_call_do_not_outvote_those_by_signal(void **state)
{
    (void)state;
    assert_string_equal(function_blamed(20), "compute");
    assert_string_equal(function_blamed(200), "look_at_clock"); /* five samples by signal are too few */
}

/* Readings of the resource usage around a second of computing in `stack`. */
static enum sbx_cause cause_with_faults(uint32_t minor, uint32_t major, int64_t cpu_permille)
{
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    struct sbx_build_record reading = {.kind = SBX_RECORD_ALLOC,
                                       .flags = SBX_FLAG_USAGE,
                                       .message = 1,
                                       .cpu_us = 1000,
                                       .stack = sbx_scene_stack(scene, "load < main"),
                                       .begin_us = MS(-1010),
                                       .end_us = MS(-1010)};
    sbx_scene_record(scene, reading);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "load < main", MS(-1000), 0, MS(10), cpu_permille);
    reading.begin_us = reading.end_us = 1;
    reading.cpu_us = 1000 + cpu_permille * 1000;
    memcpy(reading.usage, (uint32_t[]){minor, major, major + 3, 10}, sizeof reading.usage);
    sbx_scene_record(scene, reading);
    enum sbx_cause cause = sbx_scene_report(scene)->verdict.cause;
    sbx_scene_destroy(scene);
    return cause;
}

static void test_first_touches_of_pages_are_memory_when_they_are_the_work(void **state)
{
    (void)state;
    assert_int_equal(cause_with_faults(600000, 0, 1000), SBX_CAUSE_MEMORY);
    assert_int_equal(cause_with_faults(20000, 0, 1000), SBX_CAUSE_CPU);
}

static void test_waits_for_pages_from_a_disk_are_no_rivals(void **state)
{
    (void)state;
    assert_int_equal(cause_with_faults(2000, 900, 100), SBX_CAUSE_MEMORY);
    assert_int_equal(cause_with_faults(2000, 0, 100), SBX_CAUSE_CPU_CONTENTION);
}

static void test_a_collector_on_the_stack_is_gc(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "mark < luaC_fullgc < lua_gc < tidy_up < main", MS(-1000), 0, MS(10),
                      990);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_GC);
    assert_non_null(strstr(report->verdict.headline, "garbage collector of Lua"));
    sbx_scene_destroy(scene);
}

/* Of a hundred looks at a thread that computes every second one meets a short read, and half of those have no stack. */
static void test_looks_that_meet_short_calls_tell_their_share(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    uint32_t computing = sbx_scene_stack(scene, "parse < load < main"),
             reading = sbx_scene_stack(scene, "fill < load < main");
    for (int i = 0; i < 100; i++) {
        int64_t at_us = MS(-1000 + i * 10);
        bool in_call = i % 3 != 0;
        sbx_scene_record(scene, (struct sbx_build_record){.kind = in_call ? SBX_RECORD_BLOCKED : SBX_RECORD_ASYNC,
                                                          .op = in_call ? SBX_OP_READ : SBX_OP_NONE,
                                                          .flags = in_call ? SBX_FLAG_IN_CALL : 0,
                                                          .fd_class = in_call ? SBX_FD_REGULAR : 0,
                                                          .begin_us = at_us,
                                                          .end_us = at_us,
                                                          .cpu_us = 2000000 + at_us,
                                                          .message = 1,
                                                          .stack = !in_call     ? computing
                                                                   : i % 2 != 0 ? reading
                                                                                : 0});
    }
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_IO);
    assert_int_equal(report->verdict.class_, SBX_CLASS_ON_CPU);
    assert_string_equal(report->verdict.location.function, "fill");
    sbx_scene_destroy(scene);
}

/* Samples in `hash` and in its caller: `run` of one, then one of the other. */
static const struct sbx_report *hashing(struct sbx_stall_scene *scene, int run)
{
    uint32_t in = sbx_scene_stack(scene, "hash < index < main"), out = sbx_scene_stack(scene, "index < main");
    for (int i = 0; i < 100; i++) {
        int64_t at_us = MS(-1000 + i * 10);
        sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_ASYNC,
                                                          .begin_us = at_us,
                                                          .end_us = at_us,
                                                          .cpu_us = 2000000 + at_us,
                                                          .message = 1,
                                                          .stack = i / run % 4 == 0 ? out : in});
    }
    return sbx_scene_report(scene);
}

/* Samples of two functions that call each other are also mixed as if at random. */
static void expect_no_cheap_function(const char *in, const char *out)
{
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    uint32_t in_stack = sbx_scene_stack(scene, in), out_stack = sbx_scene_stack(scene, out);
    for (int i = 0; i < 100; i++) {
        int64_t at_us = MS(-1000 + i * 10);
        sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_ASYNC,
                                                          .begin_us = at_us,
                                                          .end_us = at_us,
                                                          .cpu_us = 2000000 + at_us,
                                                          .message = 1,
                                                          .stack = i % 4 == 0 ? out_stack : in_stack});
    }
    assert_int_equal(sbx_scene_report(scene)->verdict.cause, SBX_CAUSE_CPU);
    sbx_scene_destroy(scene);
}

static void test_mutual_recursion_is_no_cheap_function(void **state)
{
    (void)state;
    expect_no_cheap_function("here < star < here < star < filter < main", "star < here < star < filter < main");
}

/* One function calls the other by a tail call, so it is on no stack while the other runs. */
static void test_mutual_recursion_through_tail_calls_is_no_cheap_function(void **state)
{
    (void)state;
    expect_no_cheap_function("here < star < star < star < filter < main", "star < star < star < filter < main");
}

static void test_a_cheap_function_called_again_and_again_is_high_frequency(void **state)
{
    (void)state;
    struct sbx_stall_scene *often = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    const struct sbx_report *report = hashing(often, 1);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_HIGH_FREQUENCY);
    assert_string_equal(report->verdict.location.function, "hash");
    assert_non_null(sbx_scene_evidence(report, "calls"));
    sbx_scene_destroy(often);
    struct sbx_stall_scene *seldom = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    assert_int_equal(hashing(seldom, 8)->verdict.cause, SBX_CAUSE_CPU); /* a few long calls */
    sbx_scene_destroy(seldom);
}

/* A loop over a function that the compiler inlined into it is a single loop: it calls nothing. */
static void test_a_loop_over_an_inlined_function_is_no_cheap_function(void **state)
{
    (void)state;
    expect_no_cheap_function("inlined:hash < index < main", "index < main");
}

static void test_spinning_is_said(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "await_ready < main", MS(-1000), MS(-500), MS(10), 990);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "libc:sched_yield < await_ready < main", MS(-500), 0, MS(10), 990);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_CPU);
    assert_string_equal(report->verdict.location.function, "await_ready");
    assert_non_null(strstr(sbx_scene_evidence(report, "spin"), "looks met it in sched_yield"));
    sbx_scene_destroy(scene);
    scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    for (int i = 0; i < 50; i++) { /* all over the place */
        char stack[40];
        snprintf(stack, sizeof stack, "place%d < solve < main", i % 20);
        sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, stack, MS(-1000 + 20 * i), MS(-1000 + 20 * i + 10), MS(10), 990);
    }
    assert_null(sbx_scene_evidence(sbx_scene_report(scene), "spin"));
    sbx_scene_destroy(scene);
}

static void test_a_collector_that_competes_with_its_helpers_is_gc(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(2, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "mark < luaC_fullgc < tidy_up < main", MS(-1000), 1, MS(20), 200);
    sbx_scene_samples(scene, 1, SBX_RECORD_ASYNC, "mark < help < run", MS(-1000), 1, MS(20), 800);
    assert_int_equal(sbx_scene_report(scene)->verdict.cause, SBX_CAUSE_GC);
    sbx_scene_destroy(scene);
}

static void test_an_earlier_message_is_the_culprit_of_a_missed_deadline(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_DEADLINE, 4000000);
    put_wait(scene, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, 0, MS(-3900), MS(-2600), "load_profile < main", 0);
    put_wait(scene, SBX_RECORD_IDLE, SBX_OP_POLL, 0, MS(-2600), MS(-100), "", 0);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_SLEEP);
    assert_string_equal(report->verdict.location.function, "load_profile");
    sbx_scene_destroy(scene);
}

static void test_a_bare_futex_is_what_its_user_says(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    put_wait(scene, SBX_RECORD_WAIT, SBX_OP_FUTEX_WAIT, 0, MS(-990), MS(-10),
             "glib:g_mutex_lock_slowpath < show < main", 0);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_LOCK);
    assert_string_equal(report->verdict.location.function, "show");
    sbx_scene_destroy(scene);
    scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    put_wait(scene, SBX_RECORD_WAIT, SBX_OP_FUTEX_WAIT, 0, MS(-990), MS(-10), "glib:g_cond_wait < lock_screen < main",
             0);
    assert_int_equal(sbx_scene_report(scene)->verdict.cause, SBX_CAUSE_WAIT);
    sbx_scene_destroy(scene);
}

static void test_times_add_up_to_the_interval(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "act < main", MS(-900), MS(-500), MS(10), 600);
    put_wait(scene, SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, 0, MS(-480), MS(-300), "get < main", 0);
    put_wait(scene, SBX_RECORD_SLEEP, SBX_OP_USLEEP, 0, MS(-300), MS(-50), "nap < main", 0);
    const struct sbx_verdict *verdict = &sbx_scene_report(scene)->verdict;
    double off_ms = verdict->idle_ms;
    for (int cause = 0; cause < SBX_CAUSE_COUNT; cause++) {
        off_ms += verdict->off_cpu_by_ms[cause];
    }
    assert_near(off_ms, verdict->off_cpu_ms, 0.01);
    assert_near(verdict->off_cpu_by_ms[SBX_CAUSE_SLEEP], 250, 0.01);
    assert_near(verdict->off_cpu_by_ms[SBX_CAUSE_LOCK], 180, 0.01);
    assert_near(verdict->on_cpu_ms + verdict->runnable_ms + verdict->off_cpu_ms + verdict->unknown_ms, 1000, 0.01);
    sbx_scene_destroy(scene);
}

static void test_faults_and_switches_are_told_when_read_around_the_stall(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    struct sbx_build_record reading = {.kind = SBX_RECORD_ALLOC,
                                       .flags = SBX_FLAG_USAGE,
                                       .message = 1,
                                       .cpu_us = 1000,
                                       .stack = sbx_scene_stack(scene, "work < main")};
    const struct {
        int64_t at_ms;
        uint32_t usage[4];
    } readings[] = {{-2000, {0, 0, 0, 0}}, {-1100, {5, 1, 2, 0}}, {-500, {100, 20, 3, 4}}, {10, {30, 3, 1, 2}}};
    for (size_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
        reading.begin_us = reading.end_us = MS(readings[i].at_ms);
        memcpy(reading.usage, readings[i].usage, sizeof reading.usage);
        sbx_scene_record(scene, reading);
    }
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_string_equal(sbx_scene_evidence(report, "usage"),
                        "major faults 23, minor 130, context switches 4 voluntary, 6 not, in 1.11 s around it");
    sbx_scene_destroy(scene);
    scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000); /* no reading at its end */
    reading.stack = 0;                                              /* that of the other scene */
    reading.begin_us = reading.end_us = MS(-1100);
    sbx_scene_record(scene, reading);
    reading.begin_us = reading.end_us = MS(-500);
    sbx_scene_record(scene, reading);
    assert_null(sbx_scene_evidence(sbx_scene_report(scene), "usage"));
    sbx_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wait_names_who_ended_it_and_what_that_thread_did),
        cmocka_unit_test(test_lock_with_a_holder_and_a_waker_keeps_the_holder_as_culprit),
        cmocka_unit_test(test_run_of_samples_counts_like_the_samples_it_stands_for),
        cmocka_unit_test(test_samples_at_a_rare_call_do_not_outvote_those_by_signal),
        cmocka_unit_test(test_faults_and_switches_are_told_when_read_around_the_stall),
        cmocka_unit_test(test_first_touches_of_pages_are_memory_when_they_are_the_work),
        cmocka_unit_test(test_waits_for_pages_from_a_disk_are_no_rivals),
        cmocka_unit_test(test_a_collector_on_the_stack_is_gc),
        cmocka_unit_test(test_looks_that_meet_short_calls_tell_their_share),
        cmocka_unit_test(test_mutual_recursion_is_no_cheap_function),
        cmocka_unit_test(test_mutual_recursion_through_tail_calls_is_no_cheap_function),
        cmocka_unit_test(test_a_cheap_function_called_again_and_again_is_high_frequency),
        cmocka_unit_test(test_a_loop_over_an_inlined_function_is_no_cheap_function),
        cmocka_unit_test(test_spinning_is_said),
        cmocka_unit_test(test_a_collector_that_competes_with_its_helpers_is_gc),
        cmocka_unit_test(test_an_earlier_message_is_the_culprit_of_a_missed_deadline),
        cmocka_unit_test(test_a_bare_futex_is_what_its_user_says),
        cmocka_unit_test(test_times_add_up_to_the_interval),
        cmocka_unit_test(test_sleep_names_the_function_that_slept),
        cmocka_unit_test(test_blocked_stack_from_outside_skips_libc),
        cmocka_unit_test(test_anr_in_the_middle_of_a_sleep_is_judged_by_the_open_call),
        cmocka_unit_test(test_cpu_names_the_nearest_named_function_and_says_so),
        cmocka_unit_test(test_cpu_skips_base_library_and_std),
        cmocka_unit_test(test_cpu_spread_over_many_callees_names_their_common_caller),
        cmocka_unit_test(test_lock_names_the_holder_and_what_it_did),
        cmocka_unit_test(test_lock_held_by_a_sleeper_says_so),
        cmocka_unit_test(test_lock_without_a_known_holder_accuses_nobody),
        cmocka_unit_test(test_two_threads_that_wait_for_each_other_are_a_deadlock),
        cmocka_unit_test(test_a_thread_that_waits_for_a_lock_of_its_own_is_a_deadlock_with_itself),
        cmocka_unit_test(test_waiting_until_another_thread_has_initialised_a_class_is_a_lock),
        cmocka_unit_test(test_conditions_that_threads_hold_against_each_other_are_a_deadlock),
        cmocka_unit_test(test_waiting_for_a_waiting_thread_is_no_deadlock),
        cmocka_unit_test(test_calls_give_their_causes),
        cmocka_unit_test(test_many_short_writes_are_added_up),
        cmocka_unit_test(test_one_long_wait_is_not_outvoted_by_many_functions),
        cmocka_unit_test(test_ready_but_not_running_blames_the_thread_that_ran),
        cmocka_unit_test(test_ready_but_not_running_without_a_rival_blames_the_outside),
        cmocka_unit_test(test_a_starved_function_is_named_all_the_same),
        cmocka_unit_test(test_the_larger_part_of_a_mixed_stall_leads_the_headline),
        cmocka_unit_test(test_a_cold_file_whose_waits_are_short_is_memory),
        cmocka_unit_test(test_many_messages_are_high_frequency),
        cmocka_unit_test(test_of_a_stall_older_than_its_records_these_are_judged),
        cmocka_unit_test(test_an_open_wait_older_than_the_records_is_told_whole),
        cmocka_unit_test(test_generated_code_proves_no_tight_loop),
        cmocka_unit_test(test_allocator_in_asynchronous_samples_is_memory),
        cmocka_unit_test(test_samples_at_allocations_alone_prove_no_memory_trouble),
        cmocka_unit_test(test_nothing_recorded_is_unknown_and_says_what_is_missing),
        cmocka_unit_test(test_less_than_half_known_is_unknown),
        cmocka_unit_test(test_waiting_for_work_is_no_stall),
        cmocka_unit_test(test_losses_lower_the_confidence),
        cmocka_unit_test(test_records_that_do_not_reach_back_are_told),
        cmocka_unit_test(test_another_thread_can_be_the_judged_one),
        cmocka_unit_test(test_without_any_name_the_module_and_offset_stand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
