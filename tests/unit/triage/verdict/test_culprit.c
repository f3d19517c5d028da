/* SPDX-License-Identifier: Apache-2.0 */
/* test_culprit.c - which other thread had a part in the stall, recorded or concluded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "one_scene.h"

#define MS(ms) ((int64_t)(ms)*1000)

/* The main thread and three others. Main has waited for 950 ms and still waits. */
static int begin(void **state)
{
    (void)state;
    scene = sbx_scene_create(4, SBX_TRIGGER_ANR, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ALLOC, "await_result < main", MS(-1000), MS(-960), MS(10), 0);
    return 0;
}

static void wait_still(uint32_t kind, uint32_t op)
{
    sbx_scene_call(scene, 0, (struct sbx_build_call){.kind = kind, .op = op, .duration_us = 950000});
}

static void put(uint32_t thread, uint8_t kind, uint8_t op, int64_t begin_us, int64_t end_us, const char *stack,
                uint32_t peer, uint32_t wait)
{
    sbx_scene_record(scene, (struct sbx_build_record){.thread = thread,
                                                      .kind = kind,
                                                      .op = op,
                                                      .begin_us = begin_us,
                                                      .end_us = end_us,
                                                      .cpu_us = 1000,
                                                      .stack = sbx_scene_stack(scene, stack),
                                                      .peer = peer,
                                                      .wait = wait});
}

static void test_who_ended_a_wait_is_named_with_what_he_did(void **state)
{
    (void)state;
    put(0, SBX_RECORD_COND, SBX_OP_COND_WAIT, MS(-950), MS(-10), "await_result < main", 3, 7);
    sbx_scene_samples(scene, 2, SBX_RECORD_ASYNC, "encode < run", MS(-990), MS(-10), MS(10), 1000);
    put(2, SBX_RECORD_WAKE, SBX_OP_COND_SIGNAL, MS(-10), MS(-10), "done < run", 1, 7);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_WAIT);
    assert_int_equal(report->verdict.culprit_thread, 2);
    assert_string_equal(report->verdict.culprit_function, "encode");
    assert_non_null(strstr(sbx_scene_evidence(report, "waker"), "in done"));
    assert_null(sbx_scene_evidence(report, "inferred"));
    assert_true(report->verdict.confidence > 0.95);
}

static void test_the_holder_of_a_lock_is_named_with_its_file_and_line(void **state)
{
    (void)state;
    put(0, SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, MS(-950), MS(-10), "wait_for_turn#shop.py:7 < main", 3, 0);
    sbx_scene_samples(scene, 2, SBX_RECORD_ASYNC, "crunch#lib/shop.py:12 < run", MS(-990), MS(-10), MS(10), 1000);
    const struct sbx_verdict *verdict = &sbx_scene_report(scene)->verdict;
    assert_int_equal(verdict->cause, SBX_CAUSE_LOCK);
    assert_int_equal(verdict->culprit_thread, 2);
    assert_string_equal(verdict->culprit_function, "crunch");
    assert_string_equal(verdict->culprit_at.file, "lib/shop.py");
    assert_int_equal(verdict->culprit_at.line, 12);
    assert_non_null(strstr(verdict->headline, "in wait_for_turn (shop.py:7)"));
    assert_non_null(strstr(verdict->headline, "in crunch (shop.py:12)"));
}

/* Thread 3 belongs to another process, a worker. */
static void make_other_process(uint32_t role)
{
    sbx_scene_make_process(scene, role);
    sbx_scene_set_process(scene, 3, 1);
}

static void test_the_holder_in_another_process_is_named_with_what_it_did(void **state)
{
    (void)state;
    make_other_process(SBX_ROLE_WORKER);
    put(0, SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, MS(-950), MS(-10), "take < main", 4, 0);
    sbx_scene_samples(scene, 3, SBX_RECORD_ASYNC, "encode < run", MS(-990), MS(-10), MS(10), 1000);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_LOCK);
    assert_int_equal(report->verdict.culprit_thread, 3);
    assert_string_equal(report->verdict.culprit_function, "encode");
    assert_non_null(strstr(report->verdict.headline, "of process 1 (a worker) in encode"));
}

/* The recorder of that process could not be asked to look, so nobody saw the sleep begin. */
static void test_a_sleep_in_another_process_that_nobody_saw_is_not_told_by_the_stack_before_it(void **state)
{
    (void)state;
    make_other_process(SBX_ROLE_WORKER);
    put(0, SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, MS(-950), MS(-10), "take < main", 4, 0);
    sbx_scene_samples(scene, 3, SBX_RECORD_ASYNC, "encode < run", MS(-990), MS(-800), MS(10), 1000);
    sbx_scene_call(scene, 3,
                   (struct sbx_build_call){.kind = SBX_RECORD_SLEEP, .op = SBX_OP_NANOSLEEP, .duration_us = 790000});
    sbx_scene_forget_stack(scene, 3); /* as the reader of the snapshot does (guest_merge.c) */
    const struct sbx_report *report = sbx_scene_report(scene);
    const char *holder = sbx_scene_evidence(report, "holder");
    assert_int_equal(report->verdict.culprit_thread, 3);
    assert_string_equal(report->verdict.culprit_function, "");
    assert_non_null(holder);
    assert_non_null(strstr(holder, "was itself in nanosleep, of which there is no stack"));
    assert_non_null(strstr(holder, "; it was last seen 810 ms before, in encode"));
    assert_non_null(strstr(report->verdict.headline, "which was in nanosleep"));
    assert_null(strstr(report->verdict.headline, "encode"));
}

static void test_who_let_a_shared_semaphore_go_in_another_process_ended_the_wait(void **state)
{
    (void)state;
    make_other_process(SBX_ROLE_WORKER);
    put(0, SBX_RECORD_WAIT, SBX_OP_SEM_WAIT, MS(-950), MS(-10), "take < main", 4, 0);
    sbx_scene_samples(scene, 3, SBX_RECORD_ASYNC, "encode < run", MS(-990), MS(-10), MS(10), 1000);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_WAIT);
    assert_int_equal(report->verdict.culprit_thread, 3);
    assert_string_equal(report->verdict.culprit_function, "encode");
    assert_non_null(strstr(sbx_scene_evidence(report, "holder"), "ended the wait and computed in encode"));
    assert_null(sbx_scene_evidence(report, "inferred"));
}

static void wait_for_another_process(uint32_t thread, uint32_t peer)
{
    sbx_scene_call(
        scene, thread,
        (struct sbx_build_call){.kind = SBX_RECORD_COND, .op = SBX_OP_COND_WAIT, .duration_us = 950000, .peer = peer});
}

static void test_of_a_wait_that_goes_on_it_is_said_that_nobody_has_told_so(void **state)
{
    (void)state;
    make_other_process(SBX_ROLE_WORKER);
    wait_for_another_process(0, 4);
    sbx_scene_samples(scene, 3, SBX_RECORD_ASYNC, "encode < run", MS(-990), MS(-10), MS(10), 1000);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_WAIT);
    assert_int_equal(report->verdict.culprit_thread, 3);
    assert_non_null(strstr(sbx_scene_evidence(report, "holder"), "should have ended the wait"));
    assert_non_null(sbx_scene_evidence(report, "inferred"));
}

static void test_two_processes_that_wait_for_each_others_signal_are_no_deadlock(void **state)
{
    (void)state;
    make_other_process(SBX_ROLE_WORKER);
    wait_for_another_process(0, 4);
    wait_for_another_process(3, 1);
    assert_int_equal(sbx_scene_report(scene)->verdict.cause, SBX_CAUSE_WAIT);
}

static void test_a_lock_on_a_file_names_the_process_that_has_it(void **state)
{
    (void)state;
    make_other_process(SBX_ROLE_MAIN);
    put(0, SBX_RECORD_FILE, SBX_OP_FLOCK, MS(-950), MS(-10), "take < main", 4, 0);
    sbx_scene_samples(scene, 3, SBX_RECORD_ASYNC, "encode < run", MS(-990), MS(-10), MS(10), 1000);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_IO);
    assert_non_null(strstr(report->verdict.headline, "for a lock on a file in take"));
    assert_non_null(strstr(report->verdict.headline, "of process 1 (the main one) in encode"));
    assert_non_null(strstr(sbx_scene_evidence(report, "holder"), "held it and computed in encode"));
}

static void test_a_holder_that_was_not_recorded_is_said_to_be_so(void **state)
{
    (void)state;
    make_other_process(SBX_ROLE_NONE);
    put(0, SBX_RECORD_FILE, SBX_OP_FLOCK, MS(-950), MS(-10), "take < main", 4, 0);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.culprit_thread, 3);
    assert_non_null(strstr(sbx_scene_evidence(report, "holder"), "another process (not recorded) held it"));
}

static void test_who_has_the_other_end_of_a_pipe_is_named_where_that_is_known(void **state)
{
    (void)state;
    make_other_process(SBX_ROLE_WORKER);
    sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_FILE,
                                                      .op = SBX_OP_READ,
                                                      .begin_us = MS(-950),
                                                      .end_us = MS(-10),
                                                      .fd_class = SBX_FD_PIPE,
                                                      .peer = 4,
                                                      .stack = sbx_scene_stack(scene, "await_result < main")});
    sbx_scene_samples(scene, 3, SBX_RECORD_ASYNC, "encode < run", MS(-990), MS(-10), MS(10), 1000);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_IPC);
    assert_int_equal(report->verdict.culprit_thread, 3);
    assert_non_null(strstr(report->verdict.headline, "for another process in await_result"));
    assert_non_null(strstr(sbx_scene_evidence(report, "holder"), "has the other end and computed in encode"));
    assert_null(sbx_scene_evidence(report, "peer"));
}

static void test_workers_that_hold_each_others_locks_are_a_deadlock(void **state)
{
    (void)state;
    make_other_process(SBX_ROLE_WORKER);
    sbx_scene_call(
        scene, 0,
        (struct sbx_build_call){.kind = SBX_RECORD_LOCK, .op = SBX_OP_MUTEX_LOCK, .peer = 4, .duration_us = 950000});
    sbx_scene_call(
        scene, 3,
        (struct sbx_build_call){.kind = SBX_RECORD_FILE, .op = SBX_OP_FLOCK, .peer = 1, .duration_us = 960000});
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_DEADLOCK);
    assert_int_equal(report->verdict.cycle_count, 2);
    assert_non_null(strstr(sbx_scene_evidence(report, "cycle"), "of process 1 (a worker) holds"));
}

static void test_nobody_of_another_process_is_suspected_of_a_wait_in_this_one(void **state)
{
    (void)state;
    make_other_process(SBX_ROLE_WORKER);
    wait_still(SBX_RECORD_COND, SBX_OP_COND_WAIT);
    sbx_scene_samples(scene, 3, SBX_RECORD_ASYNC, "encode < run", MS(-990), MS(-10), MS(10), 1000);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.culprit_thread, -1);
}

static void test_a_pipe_without_a_process_in_sight_may_lead_to_a_thread(void **state)
{
    (void)state;
    sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_FILE,
                                                      .op = SBX_OP_READ,
                                                      .begin_us = MS(-950),
                                                      .end_us = MS(-10),
                                                      .fd_class = SBX_FD_PIPE,
                                                      .stack = sbx_scene_stack(scene, "await_result < main")});
    sbx_scene_samples(scene, 2, SBX_RECORD_ASYNC, "encode < run", MS(-990), MS(-10), MS(10), 10000);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_IPC);
    assert_int_equal(report->verdict.culprit_thread, -1); /* no thread is named for it */
    assert_non_null(strstr(report->verdict.headline, "the other end of a pipe"));
    assert_non_null(strstr(sbx_scene_evidence(report, "meanwhile"), "encode"));
    assert_true(report->verdict.confidence < 0.85);
}

static void test_a_pipe_of_a_program_that_begins_others_leads_to_one(void **state)
{
    (void)state;
    sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_FILE,
                                                      .op = SBX_OP_READ,
                                                      .begin_us = MS(-950),
                                                      .end_us = MS(-10),
                                                      .fd_class = SBX_FD_PIPE,
                                                      .stack = sbx_scene_stack(scene, "await_result < main")});
    put(1, SBX_RECORD_PROCESS, SBX_OP_FORK, MS(-980), MS(-979), "start_helper < run", 0, 0);
    sbx_scene_samples(scene, 2, SBX_RECORD_ASYNC, "encode < run", MS(-990), MS(-10), MS(10), 10000);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_IPC);
    assert_non_null(strstr(report->verdict.headline, "another process"));
    assert_null(sbx_scene_evidence(report, "meanwhile"));
    assert_true(report->verdict.confidence > 0.9);
}

static void test_who_held_a_lock_is_told_before_the_numbers(void **state)
{
    (void)state;
    put(0, SBX_RECORD_COND, SBX_OP_COND_WAIT, MS(-950), MS(-10), "await_result < main", 3, 7);
    sbx_scene_samples(scene, 2, SBX_RECORD_ASYNC, "encode < run", MS(-990), MS(-10), MS(10), 1000);
    put(2, SBX_RECORD_WAKE, SBX_OP_COND_SIGNAL, MS(-10), MS(-10), "done < run", 1, 7);
    const struct sbx_verdict *verdict = &sbx_scene_report(scene)->verdict;
    assert_string_equal(verdict->evidence[0].kind, "blocked");
    assert_string_equal(verdict->evidence[1].kind, "holder");
    assert_string_equal(verdict->evidence[2].kind, "waker");
}

/* A wait of 30 s; only the last second was kept. */
static void test_what_a_holder_did_is_judged_as_far_as_records_reach(void **state)
{
    (void)state;
    struct sbx_stall_scene *usual = scene;
    scene = sbx_scene_create(4, SBX_TRIGGER_SLOW_MESSAGE, 30000000);
    sbx_scene_payload(scene)->trigger->history_us = 1000000;
    put(0, SBX_RECORD_WAIT, SBX_OP_JOIN, MS(-30000), MS(-1), "unload < main", 2, 7);
    sbx_scene_samples(scene, 1, SBX_RECORD_ASYNC, "libc:call < find_primes < run", MS(-1000), MS(-10), MS(10), 10000);
    put(1, SBX_RECORD_WAKE, SBX_OP_THREAD_EXIT, MS(-1), MS(-1), "libc:__nptl_deallocate_tsd", 1, 7);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_WAIT);
    assert_string_equal(report->verdict.culprit_function, "find_primes");
    sbx_scene_destroy(scene);
    scene = usual;
}

static void test_a_join_that_goes_on_is_not_told_as_ended(void **state)
{
    (void)state;
    sbx_scene_call(scene, 0, (struct sbx_build_call){SBX_RECORD_WAIT, SBX_OP_JOIN, 2, 1, 950000});
    sbx_scene_samples(scene, 1, SBX_RECORD_ASYNC, "encode < run", MS(-990), MS(-10), MS(10), 10000);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.culprit_thread, 1);
    assert_non_null(strstr(sbx_scene_evidence(report, "holder"), "is to end the wait"));
}

static void test_a_headline_has_short_names(void **state)
{
    (void)state;
    put(0, SBX_RECORD_COND, SBX_OP_COND_WAIT, MS(-950), MS(-10),
        "(anonymous namespace)::Box<std::pair<int, std::vector<int> > >::take(Lid<int> const&) < main", 3, 7);
    put(2, SBX_RECORD_WAKE, SBX_OP_COND_SIGNAL, MS(-10), MS(-10), "done(int) < run", 1, 7);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_non_null(
        strstr(report->verdict.headline, " in (anonymous namespace)::Box<...>::take(...) (pthread_cond_wait)"));
    assert_non_null(strstr(report->verdict.headline, "in done(int)")); /* the name is shortened */
}

static void test_a_chain_of_locks_is_followed_to_its_end(void **state)
{
    (void)state;
    sbx_scene_call(scene, 0, (struct sbx_build_call){SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, 2, 1, 950000});
    sbx_scene_samples(scene, 1, SBX_RECORD_ALLOC, "merge < run", MS(-1000), MS(-980), MS(10), 0);
    sbx_scene_call(scene, 1, (struct sbx_build_call){SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, 4, 2, 970000});
    put(3, SBX_RECORD_SYNC, SBX_OP_FSYNC, MS(-990), MS(-1), "flush < run", 0, 0);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_LOCK);
    assert_int_equal(report->verdict.culprit_thread, 3);
    assert_string_equal(report->verdict.culprit_function, "flush");
    size_t links = 0;
    for (size_t i = 0; i < report->verdict.evidence_count; i++) {
        links += strcmp(report->verdict.evidence[i].kind, "holder") == 0;
    }
    assert_int_equal(links, 2);
    assert_non_null(strstr(report->verdict.headline,
                           "at the end of a chain of waits is thread 3 (worker) in flush, which was in fsync"));
}

static void test_the_worker_that_was_just_woken_should_end_the_wait(void **state)
{
    (void)state;
    wait_still(SBX_RECORD_COND, SBX_OP_COND_WAIT);
    /* Two threads compute all the time. Main gave work to one of them. */
    sbx_scene_samples(scene, 1, SBX_RECORD_ASYNC, "index < run", MS(-3000), 0, MS(20), 1000);
    put(2, SBX_RECORD_COND, SBX_OP_COND_WAIT, MS(-5000), MS(-960), "next_job < run", 1, 5);
    put(0, SBX_RECORD_WAKE, SBX_OP_COND_SIGNAL, MS(-960), MS(-960), "await_result < main", 3, 5);
    sbx_scene_samples(scene, 2, SBX_RECORD_ASYNC, "encode < run", MS(-950), 0, MS(20), 900);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.culprit_thread, 2);
    assert_string_equal(report->verdict.culprit_function, "encode");
    assert_non_null(strstr(sbx_scene_evidence(report, "inferred"), "by what the threads did"));
    assert_true(report->verdict.confidence > 0.8 && report->verdict.confidence < 0.95);
}

static void test_a_wait_begun_anew_after_each_time_out_is_one_wait(void **state)
{
    (void)state;
    for (int64_t at = -950; at < -50; at += 100) {
        put(0, SBX_RECORD_COND, SBX_OP_COND_TIMEDWAIT, MS(at), MS(at + 99), "await_result < main", 0, 0);
    }
    put(0, SBX_RECORD_COND, SBX_OP_COND_TIMEDWAIT, MS(-50), MS(-20), "await_result < main", 3, 9);
    sbx_scene_samples(scene, 1, SBX_RECORD_ASYNC, "index < run", MS(-3000), 0, MS(20), 1000);
    put(2, SBX_RECORD_SYNC, SBX_OP_FSYNC, MS(-940), MS(-90), "persist < run", 0, 0);
    sbx_scene_samples(scene, 2, SBX_RECORD_ASYNC, "tell < run", MS(-90), MS(-20), MS(10), 1000);
    put(2, SBX_RECORD_WAKE, SBX_OP_COND_SIGNAL, MS(-20), MS(-20), "tell < run", 1, 9);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.culprit_thread, 2);
    assert_string_equal(report->verdict.culprit_function, "persist");
}

static void test_nobody_is_accused_of_a_wait_that_ran_into_its_time(void **state)
{
    (void)state;
    sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_COND,
                                                      .op = SBX_OP_COND_TIMEDWAIT,
                                                      .begin_us = MS(-950),
                                                      .end_us = MS(-10),
                                                      .cpu_us = 1000,
                                                      .stack = sbx_scene_stack(scene, "sleep_in_statement < main"),
                                                      .flags = SBX_FLAG_FAILED});
    sbx_scene_samples(scene, 1, SBX_RECORD_ASYNC, "index < run", MS(-3000), 0, MS(20), 1000);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_WAIT);
    assert_int_equal(report->verdict.culprit_thread, -1);
    assert_null(sbx_scene_evidence(report, "inferred"));
}

static void test_idle_and_ticking_threads_are_not_accused(void **state)
{
    (void)state;
    wait_still(SBX_RECORD_COND, SBX_OP_COND_WAIT);
    sbx_scene_samples(scene, 1, SBX_RECORD_ALLOC, "next_job < run", MS(-8000), MS(-7999), MS(1), 0);
    sbx_scene_call(scene, 1,
                   (struct sbx_build_call){.kind = SBX_RECORD_COND, .op = SBX_OP_COND_WAIT, .duration_us = 7900000});
    for (int64_t at = -1000; at < 0; at += 40) {
        put(2, SBX_RECORD_SLEEP, SBX_OP_USLEEP, MS(at), MS(at + 38), "tick < run", 0, 0);
    }
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_WAIT);
    assert_int_equal(report->verdict.culprit_thread, -1);
    assert_true(report->verdict.confidence < 0.9);
}

static void test_who_polls_for_an_answer_works_and_who_polls_for_questions_rests(void **state)
{
    (void)state;
    wait_still(SBX_RECORD_COND, SBX_OP_COND_WAIT);
    sbx_scene_record(scene, (struct sbx_build_record){.thread = 1,
                                                      .kind = SBX_RECORD_POLL,
                                                      .op = SBX_OP_POLL,
                                                      .fd_class = SBX_FD_SOCKET,
                                                      .begin_us = MS(-6000),
                                                      .end_us = MS(-1),
                                                      .cpu_us = 1000,
                                                      .stack = sbx_scene_stack(scene, "serve < run")});
    sbx_scene_record(scene, (struct sbx_build_record){.thread = 2,
                                                      .kind = SBX_RECORD_POLL,
                                                      .op = SBX_OP_POLL,
                                                      .fd_class = SBX_FD_SOCKET,
                                                      .begin_us = MS(-940),
                                                      .end_us = MS(-1),
                                                      .cpu_us = 1000,
                                                      .stack = sbx_scene_stack(scene, "download < run")});
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.culprit_thread, 2);
    assert_string_equal(report->verdict.culprit_function, "download");
}

static void test_one_of_several_is_said_to_be_that(void **state)
{
    (void)state;
    wait_still(SBX_RECORD_WAIT, SBX_OP_SEM_WAIT);
    sbx_scene_samples(scene, 1, SBX_RECORD_ASYNC, "index < run", MS(-3000), 0, MS(20), 500);
    sbx_scene_samples(scene, 2, SBX_RECORD_ASYNC, "encode < run", MS(-3000), 0, MS(20), 1000);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_true(report->verdict.culprit_thread == 1 || report->verdict.culprit_thread == 2);
    assert_non_null(strstr(sbx_scene_evidence(report, "inferred"), "one of several"));
    assert_true(report->verdict.confidence < 0.75);
}

static void test_a_lock_that_names_nobody_was_held_by_who_worked(void **state)
{
    (void)state;
    wait_still(SBX_RECORD_LOCK, SBX_OP_RWLOCK_WRLOCK);
    sbx_scene_samples(scene, 3, SBX_RECORD_ASYNC, "scan < run", MS(-980), 0, MS(20), 1000);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_LOCK);
    assert_string_equal(report->verdict.culprit_function, "scan");
    assert_non_null(strstr(sbx_scene_evidence(report, "holder"), "probably held it"));
}

static void test_many_small_rivals_are_added_up(void **state)
{
    (void)state;
    struct sbx_stall_scene *many = sbx_scene_create(9, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(many, 0, SBX_RECORD_ASYNC, "act < main", MS(-1000), 1, MS(20), 110);
    for (uint32_t thread = 1; thread < 9; thread++) {
        sbx_scene_samples(many, thread, SBX_RECORD_ASYNC, "grind < run", MS(-1000), 1, MS(20), 110);
    }
    const struct sbx_report *report = sbx_scene_report(many);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_CPU_CONTENTION);
    assert_string_equal(report->verdict.culprit_function, "grind");
    assert_non_null(strstr(sbx_scene_evidence(report, "rival"), "8 other threads"));
    sbx_scene_destroy(many);
}

static void test_a_busy_machine_alone_does_not_excuse_computing(void **state)
{
    (void)state;
    struct sbx_stall_scene *busy = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(busy, 0, SBX_RECORD_ASYNC, "act < main", MS(-1000), 1, MS(20), 400);
    const struct sbx_report *report = sbx_scene_report(busy);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_CPU);
    assert_int_equal(report->verdict.class_, SBX_CLASS_ON_CPU);
    assert_non_null(sbx_scene_evidence(report, "runnable"));
    sbx_scene_destroy(busy);
}

/* As in CPython with threads that compute: the thread with the lock releases it now and then, and then waits for it. */
static void test_who_takes_turns_with_others_is_the_holder_and_no_link(void **state)
{
    (void)state;
    for (int64_t at = -950; at < -50; at += 100) {
        put(0, SBX_RECORD_COND, SBX_OP_COND_TIMEDWAIT, MS(at), MS(at + 99), "take_gil < PyEval_RestoreThread < main", 3,
            7);
    }
    for (int64_t at = -940; at < -50; at += 100) {
        put(2, SBX_RECORD_COND, SBX_OP_COND_TIMEDWAIT, MS(at), MS(at + 70), "_PyEval_EvalFrameDefault < run", 2, 8);
    }
    put(1, SBX_RECORD_WAKE, SBX_OP_COND_SIGNAL, MS(-60), MS(-60), "_PyEval_EvalFrameDefault < run", 3, 8);
    put(2, SBX_RECORD_WAKE, SBX_OP_COND_SIGNAL, MS(-51), MS(-51), "drop_gil < grind < run", 1, 7);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_LOCK);
    assert_int_equal(report->verdict.culprit_thread, 2);
    assert_string_equal(report->verdict.culprit_function, "drop_gil");
    assert_non_null(strstr(report->verdict.headline, "for the interpreter lock of CPython"));
    assert_non_null(strstr(sbx_scene_evidence(report, "holder"), "they take turns"));
    assert_non_null(sbx_scene_evidence(report, "interpreter"));
}

/* The thread's last wake-up happened at its end, which is not where it held the lock. */
static void test_who_takes_turns_had_it_where_he_usually_lets_it_go(void **state)
{
    (void)state;
    const uint32_t lock = 5;
    struct sbx_build_record wait = {.thread = 0,
                                    .kind = SBX_RECORD_COND,
                                    .op = SBX_OP_COND_TIMEDWAIT,
                                    .object = lock,
                                    .begin_us = MS(-950),
                                    .end_us = MS(-60),
                                    .peer = 3,
                                    .wait = 7,
                                    .stack = sbx_scene_stack(scene, "take_gil < PyEval_RestoreThread < main")};
    sbx_scene_record(scene, wait);
    struct sbx_build_record turn = {.thread = 2,
                                    .kind = SBX_RECORD_COND,
                                    .op = SBX_OP_COND_TIMEDWAIT,
                                    .object = lock,
                                    .stack = sbx_scene_stack(scene, "_PyEval_EvalFrameDefault < run")};
    struct sbx_build_record wake = {.thread = 2,
                                    .kind = SBX_RECORD_WAKE,
                                    .op = SBX_OP_COND_SIGNAL,
                                    .object = lock,
                                    .stack = sbx_scene_stack(scene, "drop_gil < grind < run"),
                                    .peer = 2};
    for (int64_t at = -940; at < -200; at += 100) {
        turn.begin_us = MS(at);
        turn.end_us = MS(at + 80);
        wake.begin_us = wake.end_us = MS(at + 90);
        sbx_scene_record(scene, turn);
        sbx_scene_record(scene, wake);
    }
    wake.begin_us = wake.end_us = MS(-60);
    wake.stack = sbx_scene_stack(scene, "end_of_thread < run");
    wake.peer = 1;
    wake.wait = 7;
    sbx_scene_record(scene, wake);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.culprit_thread, 2);
    assert_string_equal(report->verdict.culprit_function, "drop_gil");
}

/* As in CPython with six threads that compute, while objects stay on the machine: each waits for the one that had the lock before it. */
static void test_threads_that_take_turns_for_an_interpreters_lock_are_no_chain(void **state)
{
    (void)state;
    const char *wait_of_main = "handle#app.py:11 < _PyEval_EvalFrameDefault < main";
    const char *turn = "grind#app.py:7 < _PyEval_EvalFrameDefault < run";
    put(0, SBX_RECORD_LOCK, SBX_OP_RUNTIME_LOCK, MS(-950), MS(-500), wait_of_main, 2, 0);
    put(0, SBX_RECORD_LOCK, SBX_OP_RUNTIME_LOCK, MS(-500), MS(-60), wait_of_main, 2, 7);
    put(1, SBX_RECORD_LOCK, SBX_OP_RUNTIME_LOCK, MS(-940), MS(-300), turn, 3, 8);
    put(1, SBX_RECORD_LOCK, SBX_OP_RUNTIME_LOCK, MS(-200), MS(-100), turn, 4, 9);
    put(2, SBX_RECORD_LOCK, SBX_OP_RUNTIME_LOCK, MS(-930), MS(-500), turn, 4, 10);
    put(2, SBX_RECORD_WAKE, SBX_OP_COND_SIGNAL, MS(-300), MS(-300), turn, 2, 8);
    /* Of the third nothing is known but its end, when the lock was free, and that it let main go then. */
    put(3, SBX_RECORD_WAKE, SBX_OP_COND_SIGNAL, MS(-60), MS(-60), "_PyThreadState_DeleteCurrent < run", 1, 7);
    put(3, SBX_RECORD_COND, SBX_OP_COND_WAIT, MS(-59), MS(-58), "_PyThreadState_DeleteCurrent < run", 0, 11);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_string_equal(report->verdict.headline, "main thread waited 890 ms for the interpreter lock of CPython in "
                                                  "handle (app.py:11); held by thread 1 (worker) in grind (app.py:7)");
    assert_int_equal(report->verdict.culprit_thread, 1);
    assert_non_null(strstr(sbx_scene_evidence(report, "holder"), "they take turns"));
}

/* The threads are asked one after the other, and a busy machine takes its time in between: one may still note as the holder who waits by now. */
static void test_two_that_wait_for_an_interpreters_lock_are_no_deadlock(void **state)
{
    (void)state;
    for (uint32_t thread = 0; thread < 2; thread++) {
        sbx_scene_call(
            scene, thread,
            (struct sbx_build_call){
                .kind = SBX_RECORD_LOCK, .op = SBX_OP_RUNTIME_LOCK, .peer = 2 - thread, .duration_us = 900000});
    }
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_LOCK);
    assert_int_equal(report->verdict.cycle_count, 0);
    assert_int_equal(report->verdict.culprit_thread, 1);
}

/* Nothing is known of the holder but what it did when the wait was over. */
static void test_what_a_holder_did_later_is_not_where_it_had_the_lock(void **state)
{
    (void)state;
    put(0, SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, MS(-950), MS(-60), "open_session < main", 3, 0);
    put(2, SBX_RECORD_ALLOC, 0, MS(-10), MS(-10), "end_of_thread < run", 0, 0);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_LOCK);
    assert_int_equal(report->verdict.culprit_thread, 2);
    assert_string_equal(report->verdict.culprit_function, "");
    assert_non_null(strstr(sbx_scene_evidence(report, "holder"), "what it was doing is not known"));
}

static void test_a_holder_that_did_other_things_later_was_last_seen_before(void **state)
{
    (void)state;
    put(2, SBX_RECORD_ALLOC, 0, MS(-960), MS(-960), "take_lock < run", 0, 0);
    put(0, SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, MS(-950), MS(-60), "open_session < main", 3, 0);
    put(2, SBX_RECORD_ALLOC, 0, MS(-10), MS(-10), "end_of_thread < run", 0, 0);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.culprit_thread, 2);
    assert_string_equal(report->verdict.culprit_function, "take_lock");
}

/* Every wait of a thread that runs a script has the interpreter's loop further out. */
static void test_a_wait_below_the_interpreter_is_not_for_its_lock(void **state)
{
    (void)state;
    put(0, SBX_RECORD_COND, SBX_OP_COND_WAIT, MS(-950), MS(-10), "await_result < _PyEval_EvalFrameDefault < main", 0,
        0);
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_WAIT);
    assert_null(sbx_scene_evidence(report, "interpreter"));
    assert_non_null(strstr(sbx_scene_evidence(report, "script"), "Python"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_who_ended_a_wait_is_named_with_what_he_did),
        TEST(test_the_holder_of_a_lock_is_named_with_its_file_and_line),
        TEST(test_who_takes_turns_with_others_is_the_holder_and_no_link),
        TEST(test_who_takes_turns_had_it_where_he_usually_lets_it_go),
        TEST(test_threads_that_take_turns_for_an_interpreters_lock_are_no_chain),
        TEST(test_two_that_wait_for_an_interpreters_lock_are_no_deadlock),
        TEST(test_what_a_holder_did_later_is_not_where_it_had_the_lock),
        TEST(test_a_holder_that_did_other_things_later_was_last_seen_before),
        TEST(test_a_wait_below_the_interpreter_is_not_for_its_lock),
        TEST(test_the_holder_in_another_process_is_named_with_what_it_did),
        TEST(test_a_sleep_in_another_process_that_nobody_saw_is_not_told_by_the_stack_before_it),
        TEST(test_who_let_a_shared_semaphore_go_in_another_process_ended_the_wait),
        TEST(test_of_a_wait_that_goes_on_it_is_said_that_nobody_has_told_so),
        TEST(test_two_processes_that_wait_for_each_others_signal_are_no_deadlock),
        TEST(test_a_lock_on_a_file_names_the_process_that_has_it),
        TEST(test_a_holder_that_was_not_recorded_is_said_to_be_so),
        TEST(test_who_has_the_other_end_of_a_pipe_is_named_where_that_is_known),
        TEST(test_workers_that_hold_each_others_locks_are_a_deadlock),
        TEST(test_nobody_of_another_process_is_suspected_of_a_wait_in_this_one),
        TEST(test_a_pipe_without_a_process_in_sight_may_lead_to_a_thread),
        TEST(test_a_pipe_of_a_program_that_begins_others_leads_to_one),
        TEST(test_who_held_a_lock_is_told_before_the_numbers),
        TEST(test_what_a_holder_did_is_judged_as_far_as_records_reach),
        TEST(test_a_join_that_goes_on_is_not_told_as_ended),
        TEST(test_a_headline_has_short_names),
        TEST(test_a_chain_of_locks_is_followed_to_its_end),
        TEST(test_the_worker_that_was_just_woken_should_end_the_wait),
        TEST(test_a_wait_begun_anew_after_each_time_out_is_one_wait),
        TEST(test_nobody_is_accused_of_a_wait_that_ran_into_its_time),
        TEST(test_idle_and_ticking_threads_are_not_accused),
        TEST(test_who_polls_for_an_answer_works_and_who_polls_for_questions_rests),
        TEST(test_one_of_several_is_said_to_be_that),
        TEST(test_a_lock_that_names_nobody_was_held_by_who_worked),
        TEST(test_many_small_rivals_are_added_up),
        TEST(test_a_busy_machine_alone_does_not_excuse_computing),
    };
    return cmocka_run_group_tests_name("culprit", tests, NULL, NULL);
}
