/* SPDX-License-Identifier: Apache-2.0 */
/* test_watchdog.c - what an application reports about itself (message, frame, watch and deadline) fires when it should,
 * and only then. Real processes, linked with the library as an application would be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stalling_process.h"

#define MS UINT64_C(1000000)

enum {
    KIND_SAVE = 7,
    KIND_DRAW = 8,
    SCENE_INBOX = 255,
    SLOW_MS = 1500, /* far above the limit, because time in which the recorder itself got no processor does not count */
};

static uint64_t length_ms(const struct sbx_snapshot *snapshot)
{
    return (snapshot->header.trigger.end_ns - snapshot->header.trigger.begin_ns) / MS;
}

static const struct sbx_thread_entry *judged_thread(const struct sbx_snapshot *snapshot)
{
    return &snapshot->threads[snapshot->header.trigger.thread].entry;
}

static void in_a_thread(void *(*body)(void *))
{
    pthread_t thread;
    stalling_expect(pthread_create(&thread, NULL, body, NULL) == 0, "a thread starts");
    pthread_join(thread, NULL);
}

/* ---- messages ---- */

static void *handle_a_slow_message(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "handler");
    for (int i = 0; i < 10; i++) {
        stallbox_message_begin(KIND_DRAW);
        stallbox_message_end();
    }
    stallbox_message_begin(KIND_SAVE);
    stallbox_message_begin(KIND_DRAW); /* part of the outer message */
    stalling_pause_ms(SLOW_MS);
    stallbox_message_end();
    stallbox_message_end();
    stallbox_message_end(); /* one end too many */
    return NULL;
}

static void child_has_a_slow_message_on_a_thread(void)
{
    struct stallbox_options options = stalling_options();
    options.slow_message_ms = 300;
    stallbox_message_name(KIND_SAVE, "too early");
    stallbox_scene_name(SCENE_INBOX, "too early");
    stallbox_set_scene(SCENE_INBOX); /* kept until the start */
    stalling_start(&options);
    stallbox_message_name(KIND_SAVE, "save");
    stallbox_message_name(KIND_SAVE, "too late");
    stallbox_message_name(KIND_DRAW, "a name that is longer than there is room for in the recording");
    stallbox_scene_name(SCENE_INBOX, "inbox");
    stallbox_scene_name(SCENE_INBOX, "too late");
    stallbox_scene_name(0, "none");
    stallbox_scene_name(256, "none");
    stallbox_scene_name(2, NULL);
    stallbox_message_name(0, "none");
    stallbox_message_name(224, "none");
    stallbox_message_name(1, NULL);
    in_a_thread(handle_a_slow_message);
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    stallbox_stop(5000);
    stalling_expect(stallbox_read_counts(&counts) == STALLBOX_NOT_RUNNING, "nothing is counted after the stop");
}

static void test_a_slow_message_of_any_thread_fires(void **state)
{
    (void)state;
    stalling_process_run(child_has_a_slow_message_on_a_thread);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    unsigned slow = 0, draws = 0;
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_SLOW_MESSAGE);
    assert_int_equal(snapshot->header.trigger.threshold_ms, 300);
    assert_int_equal(snapshot->header.trigger.in_progress, 0);
    assert_int_equal(snapshot->header.trigger.message, 11);
    assert_int_equal(snapshot->header.trigger.message_kind, KIND_SAVE);
    assert_int_equal(snapshot->header.trigger.scene, SCENE_INBOX);
    assert_int_equal(snapshot->scene_count, SBX_SCENES);
    for (uint32_t i = 0; i < snapshot->scene_count; i++) {
        assert_string_equal(snapshot->scenes[i].name, i == SCENE_INBOX ? "inbox" : "");
    }
    assert_int_equal(snapshot->kind_count, SBX_MESSAGE_KINDS);
    for (uint32_t i = 0; i < snapshot->kind_count; i++) {
        assert_string_equal(snapshot->kinds[i].name, i == KIND_SAVE ? "save"
                                                     : i == KIND_DRAW
                                                         ? "a name that is longer than there is room for in"
                                                         : "");
    }
    assert_string_equal(judged_thread(snapshot)->name, "handler");
    assert_true(length_ms(snapshot) >= SLOW_MS);
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->kind == SBX_RECORD_MESSAGE) {
            assert_int_equal(record->thread, snapshot->header.trigger.thread);
            slow += record->op == KIND_SAVE && record->end_ns - record->begin_ns >= SLOW_MS * MS;
            draws += record->op == KIND_DRAW ? (unsigned)record->amount : 0;
        }
    }
    assert_int_equal(slow, 1);
    assert_int_equal(draws, 10);
    sbx_snapshot_destroy(snapshot);
}

static bool has_snapshot(void)
{
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    return stallbox_read_counts(&counts) == STALLBOX_OK && counts.snapshots > 0;
}

/* Pause for at least `ms`, and until the watch thread has had a processor to see it. */
static void pause_until_told(long ms)
{
    uint64_t end_ms = stalling_now_ms() + 30000;
    stalling_pause_ms(ms);
    while (!has_snapshot() && stalling_now_ms() < end_ms) {
        stalling_pause_ms(100);
    }
}

static void *hang_in_a_message(void *unused)
{
    (void)unused;
    stallbox_message_begin(KIND_SAVE);
    pause_until_told(800);
    stallbox_message_end();
    return NULL;
}

static void child_hangs_in_a_message_of_a_thread(void)
{
    struct stallbox_options options = stalling_options();
    options.anr_ms = 300;
    options.slow_message_ms = 300;
    stalling_start(&options);
    in_a_thread(hang_in_a_message);
    stallbox_stop(5000);
}

static void test_an_open_message_of_any_thread_fires_once_while_it_lasts(void **state)
{
    (void)state;
    stalling_process_run(child_hangs_in_a_message_of_a_thread);
    struct sbx_snapshot *snapshot = stalling_process_snapshot(); /* not also a slow_message */
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_ANR);
    assert_int_equal(snapshot->header.trigger.in_progress, 1);
    assert_int_equal(snapshot->header.trigger.message_kind, KIND_SAVE);
    assert_true(length_ms(snapshot) >= 300 && length_ms(snapshot) < 30000);
    sbx_snapshot_destroy(snapshot);
}

/* ---- loops that poll from two places ---- */

enum {
    TURN_MS = 10
};

/* To the compiler these are two calls, to the recorder two places. */
static inline __attribute__((always_inline)) void poll_here(void)
{
    poll(NULL, 0, TURN_MS);
    __asm__ volatile("");
}

static void child_has_a_loop_in_two_pieces(void)
{
    struct stallbox_options options = stalling_options();
    options.slow_message_ms = 300;
    stalling_start(&options);
    stalling_pause_ms(100);
    for (volatile int turn = 0; turn < 40; turn++) {
        poll_here();
        if (turn == 20) {
            stalling_pause_ms(SLOW_MS);
            poll_here(); /* as if a compiler had duplicated it around the rare turn */
        }
    }
    stallbox_stop(5000);
}

static void test_a_slow_message_between_two_places_of_one_loop_fires(void **state)
{
    (void)state;
    stalling_process_run(child_has_a_loop_in_two_pieces);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_SLOW_MESSAGE);
    assert_true(length_ms(snapshot) >= SLOW_MS);
    sbx_snapshot_destroy(snapshot);
}

static void child_starts_up_between_two_loops(void)
{
    struct stallbox_options options = stalling_options();
    options.slow_message_ms = 300;
    stalling_start(&options);
    stalling_pause_ms(100);
    for (volatile int turn = 0; turn < 5; turn++) {
        poll_here(); /* wait until there is an answer */
    }
    stalling_pause_ms(400); /* outside of any message */
    for (volatile int turn = 0; turn < 20; turn++) {
        poll_here();
    }
    stallbox_stop(5000);
}

static void test_work_between_two_loops_of_a_function_raises_no_alarm(void **state)
{
    struct sbx_snapshot *none[SNAPSHOTS_MAX];
    (void)state;
    stalling_process_run(child_starts_up_between_two_loops);
    stalling_process_snapshots(0, none);
}

__attribute__((noinline)) static void modal_loop(void)
{
    for (volatile int turn = 0; turn < 40; turn++) {
        poll_here();
    }
    __asm__ volatile("");
}

/* The loop is met before there are unwind rows that could identify its activation. */
static void child_loops_at_once(void)
{
    struct stallbox_options options = stalling_options();
    options.slow_message_ms = 300;
    stalling_start(&options);
    for (volatile int turn = 0; turn < 60; turn++) {
        poll_here();
        if (turn == 40) {
            modal_loop();
        }
    }
    stallbox_stop(5000);
}

static void test_a_modal_loop_is_one_message_also_of_a_loop_as_old_as_the_recorder(void **state)
{
    (void)state;
    stalling_process_run(child_loops_at_once);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_SLOW_MESSAGE);
    assert_true(length_ms(snapshot) >= 400);
    sbx_snapshot_destroy(snapshot);
}

/* ---- frames ---- */

static void draw(long ms)
{
    stallbox_frame_begin();
    stalling_pause_ms(ms);
    stallbox_frame_end();
}

static void child_has_a_slow_frame(void)
{
    struct stallbox_options options = stalling_options();
    options.slow_frame_ms = 200;
    stalling_start(&options);
    draw(10);
    stallbox_frame_begin();
    draw(300); /* part of the outer frame */
    stallbox_frame_end();
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    stalling_expect(stallbox_read_counts(&counts) == STALLBOX_OK && counts.frames == 2, "two frames are counted");
    stallbox_stop(5000);
}

static void test_a_slow_frame_fires_when_it_ends(void **state)
{
    (void)state;
    stalling_process_run(child_has_a_slow_frame);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_SLOW_FRAME);
    assert_int_equal(snapshot->header.trigger.threshold_ms, 200);
    assert_int_equal(snapshot->header.trigger.frames, 0);
    assert_int_equal(snapshot->header.trigger.in_progress, 0);
    assert_true(length_ms(snapshot) >= 300);
    sbx_snapshot_destroy(snapshot);
}

static void child_drops_frames_in_a_burst(void)
{
    struct stallbox_options options = stalling_options();
    stalling_start(&options);
    for (int round = 0; round < 10 && !has_snapshot(); round++) { /* a frame in which we were late is not reported */
        uint64_t begin = stalling_now_ms();
        for (int i = 0; i < 70; i++) {
            draw(3);
        }
        uint64_t usual_ms = (stalling_now_ms() - begin) / 70; /* a loaded machine takes longer */
        for (int i = 0; i < 9; i++) {
            draw(80 + 4 * (long)usual_ms);
        }
        for (int i = 0; i < 60 && !has_snapshot(); i++) { /* another round would make another snapshot */
            stalling_pause_ms(50);
        }
    }
    stallbox_stop(5000);
}

static void test_a_burst_of_dropped_frames_fires(void **state)
{
    (void)state;
    stalling_process_run(child_drops_frames_in_a_burst);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_SLOW_FRAME);
    assert_true(snapshot->header.trigger.frames >= 9);
    assert_true(length_ms(snapshot) >= 9 * 80); /* from the first slow frame on */
    sbx_snapshot_destroy(snapshot);
}

static void child_draws_ten_frames_a_second(void)
{
    struct stallbox_options options = stalling_options();
    stalling_start(&options);
    for (int i = 0; i < 80; i++) {
        draw(60);
    }
    stallbox_stop(5000);
}

static void test_an_application_that_always_draws_slowly_raises_no_alarm(void **state)
{
    struct sbx_snapshot *none[SNAPSHOTS_MAX];
    (void)state;
    stalling_process_run(child_draws_ten_frames_a_second);
    stalling_process_snapshots(0, none);
}

static void child_hangs_in_a_frame(void)
{
    struct stallbox_options options = stalling_options();
    options.anr_ms = 300;
    options.slow_frame_ms = 100;
    stalling_start(&options);
    draw(10);
    stallbox_frame_begin();
    pause_until_told(700);
    stallbox_frame_end();
    stallbox_stop(5000);
}

static void test_a_frame_that_hangs_fires_once_before_it_ends(void **state)
{
    (void)state;
    stalling_process_run(child_hangs_in_a_frame);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_SLOW_FRAME);
    assert_int_equal(snapshot->header.trigger.in_progress, 1);
    assert_true(length_ms(snapshot) >= 300 && length_ms(snapshot) < 30000);
    sbx_snapshot_destroy(snapshot);
}

/* ---- deadlines ---- */

static void child_misses_a_deadline(void)
{
    struct stallbox_options options = stalling_options();
    stalling_start(&options);
    stallbox_deadline_end(stallbox_deadline_begin("kept", 60000));
    uint64_t open = stallbox_deadline_begin("still open", 60000);
    uint64_t id = stallbox_deadline_begin("save the document", 300);
    stalling_expect(id != 0 && open != 0 && id != open, "deadlines have ids of their own");
    pause_until_told(800); /* the deadline is never ended */
    stallbox_deadline_end(id);
    stallbox_deadline_end(open);
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    for (int waited = 0; waited < 30000 && (waited == 0 || counts.watches != 0); waited += 50) {
        stalling_pause_ms(50);
        stalling_expect(stallbox_read_counts(&counts) == STALLBOX_OK, "counts are read");
    }
    stalling_expect(counts.watches == 0, "no deadline is left open");
    stallbox_stop(5000);
}

static void test_an_unmet_deadline_fires_at_its_time_while_the_application_rests(void **state)
{
    (void)state;
    stalling_process_run(child_misses_a_deadline);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    const struct sbx_trigger_entry *trigger = &snapshot->header.trigger;
    assert_int_equal(trigger->kind, SBX_TRIGGER_DEADLINE);
    assert_int_equal(trigger->threshold_ms, 300);
    assert_int_equal(trigger->in_progress, 1);
    assert_true(length_ms(snapshot) >= 300 && length_ms(snapshot) < 30000);
    assert_int_equal(judged_thread(snapshot)->flags & 1, 1);
    assert_int_equal(snapshot->watch_count, 2);
    assert_true(trigger->watch >= 1 && trigger->watch <= 2);
    const struct sbx_watch_entry *watch = &snapshot->watches[trigger->watch - 1];
    assert_int_equal(watch->kind, SBX_WATCH_DEADLINE);
    assert_string_equal(watch->name, "save the document");
    assert_int_equal(watch->timeout_ms, 300);
    sbx_snapshot_destroy(snapshot);
}

static uint64_t handed_over;

static void *end_it_late(void *unused)
{
    (void)unused;
    stalling_pause_ms(400);
    stallbox_deadline_end(handed_over);
    return NULL;
}

/* A process that works without a rest of 5 ms keeps the watch thread from looking in time. The deadline must still be
 * reported. */
static void child_ends_deadlines_from_another_thread(void)
{
    struct stallbox_options options = stalling_options();
    stalling_start(&options);
    handed_over = stallbox_deadline_begin("in time", 30000);
    in_a_thread(end_it_late);
    handed_over = stallbox_deadline_begin("too late", 200);
    in_a_thread(end_it_late);
    stallbox_stop(5000);
}

static void test_any_thread_may_end_a_deadline(void **state)
{
    (void)state;
    stalling_process_run(child_ends_deadlines_from_another_thread);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_DEADLINE);
    assert_string_equal(snapshot->watches[snapshot->header.trigger.watch - 1].name, "too late");
    sbx_snapshot_destroy(snapshot);
}

static void child_fills_the_table(void)
{
    struct stallbox_options options = stalling_options();
    uint64_t ids[300];
    stalling_start(&options);
    for (int round = 0; round < 3; round++) {
        unsigned got = 0;
        for (unsigned i = 0; i < 300; i++) {
            ids[i] = stallbox_deadline_begin("one of many", 60000);
            got += ids[i] != 0;
            for (unsigned k = 0; k < i && ids[i] != 0; k++) {
                stalling_expect(ids[k] != ids[i], "no id is given twice");
            }
        }
        stalling_expect(got == 256, "the table has 256 places");
        for (unsigned i = 0; i < 300; i++) {
            stallbox_deadline_end(ids[i]);
            stallbox_deadline_end(ids[i]); /* a second end does nothing */
        }
    }
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    stalling_expect(stallbox_read_counts(&counts) == STALLBOX_OK, "counts are read");
    stalling_expect(counts.watches_dropped == 3 * 44 && counts.watches == 0, "what found no room is counted");
    stallbox_stop(5000);
}

static void test_what_does_not_fit_is_counted_and_has_no_id(void **state)
{
    struct sbx_snapshot *none[SNAPSHOTS_MAX];
    (void)state;
    stalling_process_run(child_fills_the_table);
    stalling_process_snapshots(0, none);
}

enum {
    THREADS = 4,
    TURNS = 20000
};

static void *begin_and_end(void *unused)
{
    (void)unused;
    for (int i = 0; i < TURNS; i++) {
        uint64_t id = stallbox_deadline_begin("short", 60000), watch = stallbox_watch_open("too", 60000);
        stalling_expect(id != 0 && watch != 0, "there is room");
        stallbox_watch_rest(watch);
        stallbox_watch_beat(watch);
        stallbox_deadline_end(id);
        stallbox_watch_close(watch);
    }
    return NULL;
}

static void child_uses_the_table_from_many_threads(void)
{
    pthread_t threads[THREADS];
    struct stallbox_options options = stalling_options();
    stalling_start(&options);
    for (int i = 0; i < THREADS; i++) {
        stalling_expect(pthread_create(&threads[i], NULL, begin_and_end, NULL) == 0, "a thread starts");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    stalling_expect(stallbox_read_counts(&counts) == STALLBOX_OK && counts.watches == 0, "all were given back");
    stallbox_stop(5000);
}

static void test_many_threads_share_the_table(void **state)
{
    struct sbx_snapshot *none[SNAPSHOTS_MAX];
    (void)state;
    stalling_process_run(child_uses_the_table_from_many_threads);
    stalling_process_snapshots(0, none);
}

/* ---- watches ---- */

static void *work_and_fall_silent(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "worker");
    uint64_t watch = stallbox_watch_open("worker", 300);
    for (int i = 0; i < 10; i++) {
        stalling_pause_ms(50);
        stallbox_watch_beat(watch);
    }
    stallbox_watch_rest(watch);
    stalling_pause_ms(600); /* nothing to do for longer than the timeout */
    stallbox_watch_beat(watch);
    stalling_pause_ms(800); /* no beat: silent */
    stallbox_watch_beat(watch);
    stallbox_watch_close(watch);
    return NULL;
}

static void child_has_a_silent_worker(void)
{
    struct stallbox_options options = stalling_options();
    stalling_start(&options);
    in_a_thread(work_and_fall_silent);
    stallbox_stop(5000);
}

static void test_a_watched_thread_that_falls_silent_fires_once(void **state)
{
    (void)state;
    stalling_process_run(child_has_a_silent_worker);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_WATCHDOG);
    assert_int_equal(snapshot->header.trigger.threshold_ms, 300);
    assert_int_equal(snapshot->header.trigger.in_progress, 1);
    assert_string_equal(judged_thread(snapshot)->name, "worker");
    assert_true(length_ms(snapshot) >= 300 && length_ms(snapshot) < 30000);
    assert_int_equal(snapshot->watch_count, 1);
    assert_int_equal(snapshot->watches[0].beats, 11);
    sbx_snapshot_destroy(snapshot);
}

static void *open_a_watch_and_end(void *unused)
{
    (void)unused;
    stalling_expect(stallbox_watch_open("short lived", 200) != 0, "a watch is opened");
    return NULL;
}

static void child_has_a_watched_thread_that_ends(void)
{
    struct stallbox_options options = stalling_options();
    stalling_start(&options);
    in_a_thread(open_a_watch_and_end);
    stalling_pause_ms(600);
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    stalling_expect(stallbox_read_counts(&counts) == STALLBOX_OK && counts.watches == 0, "its watch is closed");
    stallbox_stop(5000);
}

static void test_a_watched_thread_that_ended_raises_no_alarm(void **state)
{
    struct sbx_snapshot *none[SNAPSHOTS_MAX];
    (void)state;
    stalling_process_run(child_has_a_watched_thread_that_ends);
    stalling_process_snapshots(0, none);
}

/* Stop this process for longer than any open limit. */
static void child_is_stopped(void)
{
    struct stallbox_options options = stalling_options();
    options.anr_ms = 3000; /* on a loaded machine it takes a while until the stop happens; that time counts */
    options.slow_message_ms = 3000;
    options.slow_frame_ms = 3000;
    stalling_start(&options);
    uint64_t watch = stallbox_watch_open("stopped", 3000), deadline = stallbox_deadline_begin("stopped", 3000);
    stallbox_message_begin(1);
    stallbox_frame_begin();
    pid_t waker = fork();
    if (waker == 0) {
        stalling_pause_ms(4500);
        kill(getppid(), SIGCONT);
        _exit(0);
    }
    stalling_pause_ms(300);
    raise(SIGSTOP);
    stallbox_frame_end();
    stallbox_message_end();
    stallbox_watch_beat(watch);
    stallbox_deadline_end(deadline);
    stalling_pause_ms(300);
    stallbox_watch_close(watch);
    waitpid(waker, NULL, 0);
    stallbox_stop(5000);
}

static void test_a_stopped_process_raises_no_alarm(void **state)
{
    struct sbx_snapshot *none[SNAPSHOTS_MAX];
    (void)state;
    stalling_process_run(child_is_stopped);
    stalling_process_snapshots(0, none);
}

/* ---- idle ---- */

/* Context switches of the thread called sbx-watch. */
static uint64_t wake_ups(void)
{
    char path[300], line[128];
    uint64_t sum = 0;
    bool is_found = false;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task = readdir(tasks); task != NULL && !is_found; task = readdir(tasks)) {
        snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        FILE *status = task->d_name[0] != '.' ? fopen(path, "r") : NULL;
        while (status != NULL && fgets(line, sizeof line, status) != NULL) {
            is_found |= strcmp(line, "Name:\tsbx-watch\n") == 0;
            if (is_found && strstr(line, "ctxt_switches:") != NULL) {
                sum += strtoull(strchr(line, ':') + 1, NULL, 10);
            }
        }
        if (status != NULL) {
            fclose(status);
        }
    }
    closedir(tasks);
    stalling_expect(is_found, "the watch thread is there");
    return sum;
}

static void child_rests_with_a_deadline(void)
{
    struct stallbox_options options = stalling_options();
    stalling_start(&options);
    uint64_t deadline = stallbox_deadline_begin("far away", 60000), watch = stallbox_watch_open("resting", 500);
    stallbox_watch_rest(watch);
    stalling_pause_ms(1000);
    uint64_t woken = UINT64_MAX;
    for (int i = 0; i < 10 && woken > 20; i++) { /* on a busy machine the work of the start takes a while */
        uint64_t before = wake_ups();
        struct timespec pause = {2, 0};
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        woken = wake_ups() - before;
    }
    stallbox_deadline_end(deadline);
    stallbox_watch_close(watch);
    stallbox_stop(5000);
    /* Asking has a cost: reading files wakes the watch thread for a few ticks. Two seconds of ticks would be 400. */
    stalling_expect(woken <= 20, "a pending deadline costs no ticks");
}

static void test_a_pending_deadline_costs_an_idle_application_no_wake_ups(void **state)
{
    (void)state;
    stalling_process_run(child_rests_with_a_deadline);
}

/* ---- nothing runs ---- */

static void child_never_starts(void)
{
    for (int i = 0; i < 3; i++) {
        stallbox_message_begin(1);
        stallbox_frame_begin();
        stallbox_frame_end();
        stallbox_message_end();
        stalling_expect(stallbox_deadline_begin("x", 10) == 0, "no deadline without a recorder");
        stalling_expect(stallbox_watch_open("x", 10) == 0, "no watch without a recorder");
        stallbox_deadline_end(0x100);
        stallbox_watch_beat(0x100);
        stallbox_watch_rest(0x100);
        stallbox_watch_close(0x100);
        stalling_expect(stallbox_snapshot(10) == STALLBOX_NOT_RUNNING, "no snapshot without a recorder");
        stalling_expect(stallbox_set_consent(STALLBOX_CONSENT_GRANTED) == STALLBOX_NOT_RUNNING, "nor consent");
        if (i == 0) {
            struct stallbox_options options = stalling_options();
            stalling_start(&options);
            stallbox_message_begin(1); /* open during the stop */
            stallbox_stop(5000);
        }
    }
}

static void test_calls_before_the_start_and_after_the_stop_do_nothing(void **state)
{
    struct sbx_snapshot *none[SNAPSHOTS_MAX];
    (void)state;
    stalling_process_run(child_never_starts);
    stalling_process_snapshots(0, none);
}

static void child_gives_wrong_arguments(void)
{
    struct stallbox_options options = stalling_options();
    options.anr_ms = 5;
    stalling_expect(stallbox_start(&options) == STALLBOX_BAD_ARGUMENT, "a limit out of range is refused");
    options = stalling_options();
    options.sizeof_options = 8;
    stalling_expect(stallbox_start(&options) == STALLBOX_BAD_ARGUMENT, "so is a size that never was");
    struct {
        struct stallbox_options known;
        uint64_t later;
    } newer = {.known = stalling_options(), .later = 1};
    newer.known.sizeof_options = sizeof newer;
    stalling_expect(stallbox_start(&newer.known) == STALLBOX_BAD_ARGUMENT, "and an option not known here");
    newer.later = 0;
    stalling_start(&newer.known); /* the header is newer; its new options are not set */
    stalling_expect(stallbox_deadline_begin("x", 0) == 0 && stallbox_deadline_begin("x", 86400001) == 0,
                    "no deadline of no time, nor of more than a day");
    uint64_t nameless = stallbox_deadline_begin(NULL, 1000);
    stalling_expect(nameless != 0, "a deadline needs no name");
    stallbox_deadline_end(nameless);
    stalling_expect(stallbox_snapshot_after(10, 60001) == STALLBOX_BAD_ARGUMENT, "nor a snapshot after an hour");
    stallbox_stop(5000);
}

static void child_was_compiled_against_the_first_header(void)
{
    struct stallbox_options options = stalling_options();
    options.sizeof_options = offsetof(struct stallbox_options, slow_frame_ms);
    options.slow_frame_ms = 1; /* this option does not exist in that header; other bytes lie there */
    stalling_start(&options);
    stallbox_stop(5000);
}

static void test_options_of_older_and_newer_headers_are_understood(void **state)
{
    (void)state;
    stalling_process_run(child_gives_wrong_arguments);
    stalling_process_run(child_was_compiled_against_the_first_header);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, stalling_process_set_up, stalling_process_tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_a_slow_message_of_any_thread_fires),
        CASE(test_an_open_message_of_any_thread_fires_once_while_it_lasts),
        CASE(test_a_slow_message_between_two_places_of_one_loop_fires),
        CASE(test_work_between_two_loops_of_a_function_raises_no_alarm),
        CASE(test_a_modal_loop_is_one_message_also_of_a_loop_as_old_as_the_recorder),
        CASE(test_a_slow_frame_fires_when_it_ends),
        CASE(test_a_burst_of_dropped_frames_fires),
        CASE(test_an_application_that_always_draws_slowly_raises_no_alarm),
        CASE(test_a_frame_that_hangs_fires_once_before_it_ends),
        CASE(test_an_unmet_deadline_fires_at_its_time_while_the_application_rests),
        CASE(test_any_thread_may_end_a_deadline),
        CASE(test_what_does_not_fit_is_counted_and_has_no_id),
        CASE(test_many_threads_share_the_table),
        CASE(test_a_watched_thread_that_falls_silent_fires_once),
        CASE(test_a_watched_thread_that_ended_raises_no_alarm),
        CASE(test_a_stopped_process_raises_no_alarm),
        CASE(test_a_pending_deadline_costs_an_idle_application_no_wake_ups),
        CASE(test_calls_before_the_start_and_after_the_stop_do_nothing),
        CASE(test_options_of_older_and_newer_headers_are_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
