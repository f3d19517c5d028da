/* SPDX-License-Identifier: Apache-2.0 */
/* test_stall_ends.c - stalls that are reported while they go on, each in a real process. Their end is reported once,
 * and the recorder's cost meanwhile is close to zero. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dying_process.h"
#include "snapshot_folder.h"
#include "stallbox/stallbox.h"

enum {
    LIMIT_MS = 300,
    FORGOTTEN = SBX_TOLD_MAX + 1,
    HUNG_MS = 1500,
    SETTLED_MS = 2500, /* by then the stall is reported and looks are rare, also on a busy machine */
};

/* ---- what the children do ---- */

static void start(void)
{
    struct stallbox_options options = stalling_options();
    options.anr_ms = LIMIT_MS;
    options.slow_message_ms = LIMIT_MS;
    options.slow_frame_ms = LIMIT_MS;
    stalling_start(&options);
    stalling_pause_ms(150); /* the rows of this executable are built meanwhile */
}

__attribute__((noinline)) static void poll_once(int fd)
{
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    poll(&watched, 1, 5);
    KEEP_FRAME();
}

/* A loop like that of a main thread, which calls `handle` in turns 8, 16 ... of `turns`. */
static void loop(int turns, void (*handle)(void))
{
    int fd = eventfd(0, EFD_CLOEXEC);
    for (volatile int i = 1; i < turns; i++) {
        poll_once(fd);
        if (i % 8 == 0) {
            handle();
        }
    }
    close(fd);
}

static void hang(void)
{
    stalling_pause_ms(HUNG_MS);
}

static void child_hangs_and_goes_on(void)
{
    start();
    loop(12, hang);
    stallbox_stop(10000);
}

static void hang_past_the_pace(void)
{
    stalling_pause_ms(HUNG_MS);
    stalling_pause_ms(1000);
}

static void child_hangs_twice(void)
{
    start();
    loop(20, hang_past_the_pace);
    stallbox_stop(10000);
}

static void die(void)
{
    stalling_pause_ms(HUNG_MS);
    raise(SIGKILL);
}

static void child_hangs_and_is_killed(void)
{
    start();
    loop(12, die);
}

static void leave(void)
{
    stalling_pause_ms(HUNG_MS);
    exit(0);
}

static void child_hangs_and_exits(void)
{
    start();
    loop(12, leave);
}

static void *exit_from_here(void *unused)
{
    (void)unused;
    exit(3);
}

static void be_left(void)
{
    pthread_t thread;
    stalling_pause_ms(HUNG_MS);
    pthread_create(&thread, NULL, exit_from_here, NULL);
    pthread_join(thread, NULL);
}

static void child_hangs_and_another_thread_exits(void)
{
    start();
    loop(12, be_left);
}

static void stop(void)
{
    stalling_pause_ms(HUNG_MS);
    stallbox_stop(10000);
}

static void child_hangs_and_recording_stops(void)
{
    start();
    loop(12, stop);
}

static void refuse(void)
{
    stalling_pause_ms(HUNG_MS);
    stallbox_set_consent(STALLBOX_CONSENT_DENIED);
    stalling_pause_ms(300);
}

static void child_hangs_and_the_user_says_no(void)
{
    start();
    loop(12, refuse);
    stallbox_stop(10000);
}

static void child_is_silent_and_beats_again(void)
{
    start();
    uint64_t watch = stallbox_watch_open("worker", LIMIT_MS);
    stalling_pause_ms(HUNG_MS);
    for (int i = 0; i < 20; i++) {
        stallbox_watch_beat(watch);
        stalling_pause_ms(50);
    }
    stallbox_watch_close(watch);
    stallbox_stop(10000);
}

static void child_keeps_a_deadline_too_late(void)
{
    start();
    uint64_t id = stallbox_deadline_begin("save", LIMIT_MS);
    stalling_pause_ms(HUNG_MS);
    stallbox_deadline_end(id);
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    for (int waited = 0; waited < 30000 && (waited == 0 || counts.watches != 0); waited += 50) {
        stalling_pause_ms(50);
        stalling_expect(stallbox_read_counts(&counts) == STALLBOX_OK, "counts are read");
    }
    stalling_expect(counts.watches == 0, "its entry was given back");
    stallbox_stop(10000);
}

/* Begin more deadlines than there are places and never end them, then hang in a message. */
static void child_forgets_deadlines(void)
{
    start();
    for (int i = 0; i < FORGOTTEN; i++) {
        stalling_expect(stallbox_deadline_begin("forgotten", LIMIT_MS) != 0, "there is an entry");
        stalling_pause_ms(1200); /* at most one snapshot a second is made */
    }
    loop(12, hang);
    stallbox_stop(10000);
}

static void child_shows_a_long_frame(void)
{
    start();
    for (int i = 0; i < 20; i++) {
        stallbox_frame_begin();
        stalling_pause_ms(i == 10 ? HUNG_MS : 5);
        stallbox_frame_end();
    }
    stallbox_stop(10000);
}

/* ---- what it costs meanwhile ---- */

static unsigned long number_after(const char *text, const char *label)
{
    const char *at = strstr(text, label);
    return at != NULL ? strtoul(at + strlen(label), NULL, 10) : 0;
}

/* How often the recorder's threads have been put on a processor. */
static unsigned long wakeups(void)
{
    unsigned long sum = 0;
    unsigned threads = 0;
    DIR *listing = opendir("/proc/self/task");
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        char path[300], text[4096];
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *file = fopen(path, "re");
        size_t bytes = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
        text[bytes] = '\0';
        if (file != NULL) {
            fclose(file);
        }
        if (strstr(text, "Name:\tsbx-") != NULL) {
            sum += number_after(text, "\nvoluntary_ctxt_switches:");
            threads++;
        }
    }
    closedir(listing);
    stalling_expect(threads == 2, "both of our threads are there");
    return sum;
}

enum {
    WATCHED_MS = 8000,
    WAKEUPS_MAX = 60, /* ticks of 5 ms would be 1,600, of 20 ms 400; one look a second and its work are some 20 */
};

static void expect_quiet(unsigned long before)
{
    unsigned long after = wakeups();
    if (after - before > WAKEUPS_MAX) {
        fprintf(stderr, "%lu wakeups in %d ms\n", after - before, WATCHED_MS);
    }
    stalling_expect(after - before <= WAKEUPS_MAX, "a stall that stands is looked at rarely");
}

static void sleep_watched(void)
{
    stalling_pause_ms(SETTLED_MS);
    unsigned long before = wakeups();
    stalling_pause_ms(WATCHED_MS);
    expect_quiet(before);
}

static void compute_watched(void)
{
    stalling_pause_ms(SETTLED_MS);
    unsigned long before = wakeups();
    for (uint64_t end_ms = stalling_now_ms() + WATCHED_MS; stalling_now_ms() < end_ms;) {
        for (volatile int i = 0; i < 1000000; i++) {
        }
    }
    expect_quiet(before);
}

static void child_sleeps_and_is_watched(void)
{
    start();
    loop(12, sleep_watched);
    stallbox_stop(10000);
}

static void child_computes_and_is_watched(void)
{
    start();
    loop(12, compute_watched);
    stallbox_stop(10000);
}

static _Atomic bool has_hung;

/* Pass capture points all the time. */
static void *work(void *unused)
{
    while (!has_hung) {
        free(malloc(100));
        usleep(2000);
    }
    return unused;
}

static void child_hangs_while_another_thread_works(void)
{
    pthread_t thread;
    start();
    pthread_create(&thread, NULL, work, NULL);
    loop(12, sleep_watched);
    has_hung = true;
    pthread_join(thread, NULL);
    stallbox_stop(10000);
}

/* ---- the judges ---- */

/* The second snapshot says how the stall of the first one ended, after at least that long. */
static void expect_end(const struct sbx_snapshot *first, const struct sbx_snapshot *end, enum sbx_trigger_kind kind,
                       enum sbx_stall_end how, uint64_t at_least_ms)
{
    const struct sbx_trigger_entry *told = &first->header.trigger, *trigger = &end->header.trigger;
    assert_int_equal(told->kind, kind);
    assert_int_equal(told->in_progress, 1);
    assert_int_equal(trigger->kind, SBX_TRIGGER_END);
    assert_int_equal(trigger->ended, how);
    assert_memory_equal(trigger->first_id, first->header.snapshot_id, 16);
    assert_memory_not_equal(end->header.snapshot_id, first->header.snapshot_id, 16);
    assert_int_equal(trigger->begin_ns, told->begin_ns);
    assert_true(trigger->end_ns >= told->end_ns);
    assert_true((trigger->end_ns - trigger->begin_ns) / 1000000 >= at_least_ms);
    assert_int_equal(end->record_count, 0);
}

/* How many of the reported stalls of `kind` ended like this after at least that long. Each end was reported once. */
static unsigned match_ends(enum sbx_trigger_kind kind, enum sbx_stall_end how, uint64_t at_least_ms,
                           unsigned *found_out, char why[700])
{
    struct sbx_snapshot *snapshots[4 * FORGOTTEN];
    char raw[160];
    snprintf(raw, sizeof raw, "%s/raw", stalling_process_spool());
    unsigned found = snapshot_folder_read_with_ends(raw, snapshots, SBX_COUNT_OF(snapshots), why, 700);
    unsigned matched = 0;
    for (unsigned i = 0; i < found; i++) {
        const struct sbx_snapshot *end = NULL;
        unsigned ends = 0;
        for (unsigned k = 0; k < found && snapshots[i]->header.trigger.kind == kind; k++) {
            const struct sbx_trigger_entry *trigger = &snapshots[k]->header.trigger;
            if (trigger->kind == SBX_TRIGGER_END &&
                memcmp(trigger->first_id, snapshots[i]->header.snapshot_id, 16) == 0) {
                end = snapshots[k];
                ends++;
            }
        }
        assert_in_range(ends, 0, 1);
        if (ends == 1 && end->header.trigger.ended == how &&
            (end->header.trigger.end_ns - end->header.trigger.begin_ns) / 1000000 >= at_least_ms) {
            expect_end(snapshots[i], end, kind, how, at_least_ms);
            matched++;
        }
    }
    for (unsigned i = 0; i < found; i++) {
        sbx_snapshot_destroy(snapshots[i]);
    }
    *found_out = found;
    return matched;
}

/* On a machine that keeps the process from running there may be more stalls, all of them short. */
static void expect_ends(unsigned count, enum sbx_trigger_kind kind, enum sbx_stall_end how, uint64_t at_least_ms)
{
    char why[700] = "";
    unsigned found, matched = match_ends(kind, how, at_least_ms, &found, why);
    if (matched != count) {
        fail_msg("of %u snapshots %u are such stalls instead of %u %s", found, matched, count, why);
    }
}

/* Run `body` first. Of each kind there is one snapshot a second: if a stall of the machine's came just before the expected
 * one, that one was not reported, and the body runs again. */
static void expect_ends_of(void (*body)(void), unsigned count, enum sbx_trigger_kind kind, enum sbx_stall_end how,
                           uint64_t at_least_ms)
{
    enum {
        TRIES = 4
    };
    for (int tries = 1;; tries++) {
        char why[700] = "", command[200];
        unsigned found;
        stalling_process_run(body);
        unsigned matched = match_ends(kind, how, at_least_ms, &found, why);
        if (matched == count || found <= 2 * matched || tries == TRIES) {
            break;
        }
        snprintf(command, sizeof command, "rm -f '%s'/raw/*", stalling_process_spool());
        assert_int_equal(system(command), 0);
    }
    expect_ends(count, kind, how, at_least_ms);
}

static void test_a_stall_that_was_told_and_ends_is_told_with_its_whole_length(void **state)
{
    (void)state;
    expect_ends_of(child_hangs_and_goes_on, 1, SBX_TRIGGER_ANR, SBX_END_ANSWERED, HUNG_MS);
}

static void test_two_stalls_have_an_end_each(void **state)
{
    (void)state;
    expect_ends_of(child_hangs_twice, 2, SBX_TRIGGER_ANR, SBX_END_ANSWERED, HUNG_MS);
}

static void test_a_stall_that_was_told_and_is_killed_is_not_told_twice(void **state)
{
    (void)state;
    assert_true(died_by(dying_process_run(child_hangs_and_is_killed), SIGKILL));
    struct sbx_recovery_counts counts = dying_process_recover();
    assert_int_equal(counts.ends, 1);
    assert_int_equal(counts.killed, 0);
    dying_process_recover();
    assert_int_equal(dying_process_recordings_left(), 0);
    expect_ends(1, SBX_TRIGGER_ANR, SBX_END_DIED, LIMIT_MS);
}

static void test_an_exit_in_a_told_stall_ends_it(void **state)
{
    (void)state;
    assert_true(exited_with(dying_process_run(child_hangs_and_exits), 0));
    dying_process_recover();
    expect_ends(1, SBX_TRIGGER_ANR, SBX_END_ANSWERED, HUNG_MS);
}

static void test_a_told_stall_that_another_thread_ends_with_the_process_died(void **state)
{
    (void)state;
    assert_true(exited_with(dying_process_run(child_hangs_and_another_thread_exits), 3));
    dying_process_recover();
    assert_int_equal(dying_process_recordings_left(), 0);
    expect_ends(1, SBX_TRIGGER_ANR, SBX_END_DIED, HUNG_MS);
}

static void test_of_a_stall_that_outlives_the_recording_that_is_told(void **state)
{
    (void)state;
    expect_ends_of(child_hangs_and_recording_stops, 1, SBX_TRIGGER_ANR, SBX_END_UNSEEN, HUNG_MS);
}

static void test_after_a_no_no_end_is_told(void **state)
{
    (void)state;
    stalling_process_run(child_hangs_and_the_user_says_no);
    dying_process_recover();
    char raw[160];
    snprintf(raw, sizeof raw, "%s/raw", stalling_process_spool());
    assert_true(snapshot_folder_count(raw, SBX_RAW_SUFFIX) <= 1); /* the first may be left */
}

static void test_a_silence_that_was_told_ends_with_the_first_beat(void **state)
{
    (void)state;
    expect_ends_of(child_is_silent_and_beats_again, 1, SBX_TRIGGER_WATCHDOG, SBX_END_ANSWERED, HUNG_MS);
}

static void test_a_deadline_that_was_missed_is_told_with_its_whole_length(void **state)
{
    (void)state;
    expect_ends_of(child_keeps_a_deadline_too_late, 1, SBX_TRIGGER_DEADLINE, SBX_END_ANSWERED, HUNG_MS);
}

static void test_deadlines_that_nobody_ends_leave_room_for_other_stalls(void **state)
{
    (void)state;
    expect_ends_of(child_forgets_deadlines, 1, SBX_TRIGGER_ANR, SBX_END_ANSWERED, HUNG_MS);
}

static void test_a_frame_that_was_told_is_told_with_its_whole_length(void **state)
{
    (void)state;
    expect_ends_of(child_shows_a_long_frame, 1, SBX_TRIGGER_SLOW_FRAME, SBX_END_ANSWERED, HUNG_MS);
}

static void test_while_a_told_stall_sleeps_the_recorder_sleeps(void **state)
{
    (void)state;
    stalling_process_run(child_sleeps_and_is_watched);
}

static void test_while_a_told_stall_computes_the_recorder_sleeps(void **state)
{
    (void)state;
    stalling_process_run(child_computes_and_is_watched);
}

static void test_other_threads_do_not_wake_the_recorder_while_a_told_stall_stands(void **state)
{
    (void)state;
    stalling_process_run(child_hangs_while_another_thread_works);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DYING_PROCESS_TEST(test_a_stall_that_was_told_and_ends_is_told_with_its_whole_length),
        DYING_PROCESS_TEST(test_two_stalls_have_an_end_each),
        DYING_PROCESS_TEST(test_a_stall_that_was_told_and_is_killed_is_not_told_twice),
        DYING_PROCESS_TEST(test_an_exit_in_a_told_stall_ends_it),
        DYING_PROCESS_TEST(test_a_told_stall_that_another_thread_ends_with_the_process_died),
        DYING_PROCESS_TEST(test_of_a_stall_that_outlives_the_recording_that_is_told),
        DYING_PROCESS_TEST(test_after_a_no_no_end_is_told),
        DYING_PROCESS_TEST(test_a_silence_that_was_told_ends_with_the_first_beat),
        DYING_PROCESS_TEST(test_a_deadline_that_was_missed_is_told_with_its_whole_length),
        DYING_PROCESS_TEST(test_deadlines_that_nobody_ends_leave_room_for_other_stalls),
        DYING_PROCESS_TEST(test_a_frame_that_was_told_is_told_with_its_whole_length),
        DYING_PROCESS_TEST(test_while_a_told_stall_sleeps_the_recorder_sleeps),
        DYING_PROCESS_TEST(test_while_a_told_stall_computes_the_recorder_sleeps),
        DYING_PROCESS_TEST(test_other_threads_do_not_wake_the_recorder_while_a_told_stall_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
