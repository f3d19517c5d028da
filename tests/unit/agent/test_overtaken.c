/* SPDX-License-Identifier: Apache-2.0 */
/* test_overtaken.c - processes that die between a trigger and its durable snapshot, each killed at one place on that
 * way (docs/DEATH.md, "Overtaken by death"). What had fired is reported once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dying_process.h"
#include "own_slot.h"
#include "snapshot_folder.h"

/* ---- the places ----
 *
 * The recorder's calls of these functions come to this program first (own_slot.h). */

enum place {
    NOWHERE,
    BEFORE_SYNC,
    BEFORE_NAME,
    AFTER_NAME
};
static _Atomic int dies_at;

static int stand_for_fsync(int file)
{
    struct stat status;
    if (dies_at == BEFORE_SYNC && fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
        raise(SIGKILL);
    }
    return (int)syscall(SYS_fsync, file);
}

static int stand_for_renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    bool is_snapshot = strstr(to, SBX_RAW_SUFFIX) != NULL;
    if (dies_at == BEFORE_NAME && is_snapshot) {
        raise(SIGKILL);
    }
    int result = (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
    if (dies_at == AFTER_NAME && is_snapshot) {
        raise(SIGKILL);
    }
    return result;
}

/* ---- what the children do ---- */

#define KEEP_FRAME() __asm__ volatile("") /* keeps the last call from becoming a tail call */

enum {
    LIMIT_MS = 200,
    LONG_AFTER_MS = 10000,
    DEADLY_MS = 40000
};

static void start(uint32_t after_ms)
{
    struct stallbox_options options = stalling_options();
    options.after_ms = after_ms;
    options.slow_message_ms = 300;
    stalling_start(&options);
}

/* Wait until the trigger has fired and waits for its after_ms; nothing is written yet. The time depends on the machine,
 * so the recording is read. */
static void wait_until_fired(void)
{
    char path[300];
    stalling_expect(snapshot_folder_find(stalling_process_recordings(), SBX_RECORDING_SUFFIX, path, sizeof path) == 1,
                    "there is a recording");
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct sbx_recording_header header;
    do {
        stalling_pause_ms(20);
        stalling_expect(pread(file, &header, sizeof header, 0) == (ssize_t)sizeof header, "it can be read");
    } while (header.pending.state == SBX_PENDING_NONE || header.note.open != 0); /* the alarm ends a wait without end */
    close(file);
}

static void child_misses_a_deadline(void)
{
    start(LONG_AFTER_MS);
    stallbox_deadline_begin("save the document", LIMIT_MS);
    wait_until_fired();
    raise(SIGKILL);
}

static void child_misses_a_watch(void)
{
    start(LONG_AFTER_MS);
    stallbox_watch_open("worker", LIMIT_MS);
    wait_until_fired();
    raise(SIGKILL);
}

__attribute__((noinline)) static void poll_once(int fd)
{
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    poll(&watched, 1, 5);
    KEEP_FRAME();
}

static void loop(int turns, long last_ms)
{
    int fd = eventfd(0, EFD_CLOEXEC);
    for (volatile int i = 0; i < turns; i++) {
        poll_once(fd);
        if (i == turns / 2 && last_ms != 0) {
            stalling_pause_ms(last_ms);
        }
    }
    close(fd);
}

static void child_has_a_slow_message(void)
{
    start(LONG_AFTER_MS);
    loop(20, 1000); /* the message ended and its note is withdrawn: the loop polls on */
    wait_until_fired();
    raise(SIGKILL);
}

static void child_dies_at_its_place(void)
{
    start(0);
    stallbox_deadline_begin("save the document", LIMIT_MS);
    stalling_pause_ms(DEADLY_MS);
}

/* The same while a message is open too long. */
static void child_dies_at_its_place_in_a_stall(void)
{
    start(0);
    int fd = eventfd(0, EFD_CLOEXEC);
    for (int i = 0; i < 10; i++) {
        poll_once(fd);
    }
    stallbox_deadline_begin("save the document", 1200); /* due when the note of the message is written: 500 ms */
    stalling_pause_ms(DEADLY_MS);
}

static void child_asks_by_hand(void)
{
    start(0);
    stallbox_snapshot_after(0, LONG_AFTER_MS);
    stalling_pause_ms(300);
    raise(SIGKILL);
}

static void child_ends_in_order(void)
{
    start(LONG_AFTER_MS);
    stallbox_deadline_begin("save the document", LIMIT_MS);
    wait_until_fired();
}

static void child_takes_its_consent_back(void)
{
    start(LONG_AFTER_MS);
    stallbox_deadline_begin("save the document", LIMIT_MS);
    wait_until_fired();
    stalling_expect(stallbox_set_consent(STALLBOX_CONSENT_DENIED) == STALLBOX_OK, "the user says no");
    raise(SIGKILL);
}

/* ---- the judges ---- */

static int run_child(void (*body)(void), enum place place)
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        unsetenv("STALLBOX_DISABLE");
        alarm(50);
        dies_at = place;
        body();
        exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static const char *raw(void)
{
    static char path[160];
    snprintf(path, sizeof path, "%s/raw", stalling_process_spool());
    return path;
}

/* Exactly that many snapshots are left and no partial file, also after another recovery. */
static void expect_left(unsigned snapshots)
{
    for (int look = 0; look < 2; look++) {
        assert_int_equal(snapshot_folder_count(raw(), SBX_RAW_SUFFIX), snapshots);
        assert_int_equal(snapshot_folder_count(raw(), ""), snapshots);
        assert_int_equal(snapshot_folder_count(stalling_process_recordings(), ""), 0);
        struct sbx_recovery_counts counts = dying_process_recover();
        assert_int_equal(counts.killed + counts.fired + counts.named + counts.crashed, 0);
    }
}

/* Returns for how long the snapshot says that recording went on. */
static uint32_t expect_only(enum sbx_trigger_kind kind, const char *watch)
{
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    const struct sbx_trigger_entry *trigger = &snapshot->header.trigger;
    assert_int_equal(trigger->kind, kind);
    if (watch != NULL) {
        assert_true(trigger->watch > 0);
        assert_string_equal(snapshot->watches[trigger->watch - 1].name, watch);
        assert_int_equal(trigger->threshold_ms, LIMIT_MS);
    }
    assert_true(trigger->end_ns - trigger->begin_ns >= LIMIT_MS * UINT64_C(1000000));
    assert_true(snapshot->record_count > 0);
    uint32_t after_ms = trigger->after_ms;
    sbx_snapshot_destroy(snapshot);
    return after_ms;
}

static void test_what_was_missed_is_told_of_a_process_killed_before_its_snapshot(void **state)
{
    static const struct {
        void (*body)(void);
        enum sbx_trigger_kind kind;
        const char *watch;
    } children[] = {
        {child_misses_a_deadline, SBX_TRIGGER_DEADLINE, "save the document"},
        {child_misses_a_watch, SBX_TRIGGER_WATCHDOG, "worker"},
        {child_has_a_slow_message, SBX_TRIGGER_SLOW_MESSAGE, NULL},
    };
    for (size_t i = 0; i < sizeof children / sizeof children[0]; i++) {
        assert_true(died_by(run_child(children[i].body, NOWHERE), SIGKILL));
        assert_int_equal(snapshot_folder_count(raw(), ""), 0);
        assert_int_equal(dying_process_recover().fired, 1);
        expect_left(1);
        assert_true(expect_only(children[i].kind, children[i].watch) < LONG_AFTER_MS); /* while the process lived */
        stalling_process_tear_down(state);
        stalling_process_set_up(state);
    }
}

static void test_half_a_snapshot_goes_and_a_whole_one_is_made(void **state)
{
    (void)state;
    assert_true(died_by(run_child(child_dies_at_its_place, BEFORE_SYNC), SIGKILL));
    assert_int_equal(snapshot_folder_count(raw(), ".tmp"), 1);
    assert_int_equal(dying_process_recover().fired, 1);
    expect_left(1);
    expect_only(SBX_TRIGGER_DEADLINE, "save the document");
}

static void test_a_whole_snapshot_gets_the_name_it_had_not_yet(void **state)
{
    (void)state;
    assert_true(died_by(run_child(child_dies_at_its_place, BEFORE_NAME), SIGKILL));
    assert_int_equal(snapshot_folder_count(raw(), ".tmp"), 1);
    assert_int_equal(snapshot_folder_count(raw(), SBX_RAW_SUFFIX), 0);
    struct sbx_recovery_counts counts = dying_process_recover();
    assert_int_equal(counts.named, 1);
    assert_int_equal(counts.fired, 0);
    expect_left(1);
    expect_only(SBX_TRIGGER_DEADLINE, "save the document");
}

static void test_a_snapshot_that_has_its_name_is_not_made_again(void **state)
{
    (void)state;
    assert_true(died_by(run_child(child_dies_at_its_place, AFTER_NAME), SIGKILL));
    assert_int_equal(snapshot_folder_count(raw(), SBX_RAW_SUFFIX), 1);
    struct sbx_recovery_counts counts = dying_process_recover();
    assert_int_equal(counts.named + counts.fired, 0);
    expect_left(1);
    expect_only(SBX_TRIGGER_DEADLINE, "save the document");
    /* The same when the courier has already taken it away. */
    stalling_process_tear_down(state);
    stalling_process_set_up(state);
    assert_true(died_by(run_child(child_dies_at_its_place, AFTER_NAME), SIGKILL));
    char path[300];
    assert_int_equal(snapshot_folder_find(raw(), SBX_RAW_SUFFIX, path, sizeof path), 1);
    assert_int_equal(unlink(path), 0);
    dying_process_recover();
    expect_left(0);
}

static void test_a_death_in_a_stall_is_told_once_as_that(void **state)
{
    struct sbx_snapshot *snapshots[SNAPSHOTS_MAX];
    struct sbx_recovery_counts counts;
    assert_true(died_by(run_child(child_dies_at_its_place_in_a_stall, BEFORE_SYNC), SIGKILL));
    counts = dying_process_recover();
    assert_int_equal(counts.killed, 1);
    assert_int_equal(counts.fired, 0);
    expect_left(1);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_KILLED);
    sbx_snapshot_destroy(snapshot);
    stalling_process_tear_down(state);
    stalling_process_set_up(state);
    /* The snapshot was complete by then, so it is reported. The death in the stall is reported as well, as if it had
     * come later. */
    assert_true(died_by(run_child(child_dies_at_its_place_in_a_stall, BEFORE_NAME), SIGKILL));
    counts = dying_process_recover();
    assert_int_equal(counts.killed, 1);
    assert_int_equal(counts.named, 1);
    expect_left(2);
    stalling_process_snapshots(2, snapshots);
    uint32_t kinds = 1u << snapshots[0]->header.trigger.kind | 1u << snapshots[1]->header.trigger.kind;
    assert_int_equal(kinds, 1 << SBX_TRIGGER_DEADLINE | 1 << SBX_TRIGGER_KILLED);
    sbx_snapshot_destroy(snapshots[0]);
    sbx_snapshot_destroy(snapshots[1]);
}

static void test_what_nobody_waits_for_any_more_is_not_told(void **state)
{
    assert_true(died_by(run_child(child_asks_by_hand, NOWHERE), SIGKILL));
    dying_process_recover();
    expect_left(0);
    stalling_process_tear_down(state);
    stalling_process_set_up(state);
    assert_true(died_by(run_child(child_takes_its_consent_back, NOWHERE), SIGKILL));
    dying_process_recover();
    expect_left(0);
    stalling_process_tear_down(state);
    stalling_process_set_up(state);
    assert_int_equal(run_child(child_ends_in_order, NOWHERE),
                     0); /* exit does not wait for after_ms: the snapshot is made at once */
    dying_process_recover();
    expect_left(2); /* and that it was never kept */
    expect_only(SBX_TRIGGER_DEADLINE, "save the document");
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, stalling_process_set_up, stalling_process_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_what_was_missed_is_told_of_a_process_killed_before_its_snapshot),
        TEST(test_half_a_snapshot_goes_and_a_whole_one_is_made),
        TEST(test_a_whole_snapshot_gets_the_name_it_had_not_yet),
        TEST(test_a_snapshot_that_has_its_name_is_not_made_again),
        TEST(test_a_death_in_a_stall_is_told_once_as_that),
        TEST(test_what_nobody_waits_for_any_more_is_not_told),
    };
    own_slot_take("fsync", (void (*)(void))stand_for_fsync);
    own_slot_take("renameat", (void (*)(void))stand_for_renameat);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
