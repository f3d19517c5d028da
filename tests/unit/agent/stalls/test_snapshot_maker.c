/* SPDX-License-Identifier: Apache-2.0 */
/* test_snapshot_maker.c - when a snapshot is made, what it holds of the time after its trigger, and what the user's consent
 * means for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording_recover.h"
#include "stalling_process.h"

#define MS UINT64_C(1000000)

/* Make sleeps that are recorded, some milliseconds each. */
static void work_for(long ms)
{
    for (uint64_t end = stalling_now_ms() + (uint64_t)ms; stalling_now_ms() < end;) {
        stalling_pause_ms(5);
    }
}

static uint64_t newest_ns(const struct sbx_snapshot *snapshot)
{
    return snapshot->record_count != 0 ? snapshot->records[snapshot->record_count - 1].end_ns : 0;
}

static void *work_in_background(void *unused)
{
    (void)unused;
    work_for(3000);
    return NULL;
}

static void child_asks_and_goes_on(void)
{
    pthread_t worker;
    struct stallbox_options options = stalling_options();
    stalling_start(&options);
    stalling_expect(pthread_create(&worker, NULL, work_in_background, NULL) == 0, "a thread starts");
    work_for(200);
    stalling_expect(stallbox_snapshot_after(5000, 400) == STALLBOX_OK, "a snapshot is made");
    stallbox_stop(5000);
}

static void test_a_manual_snapshot_may_hold_what_came_after_it_was_asked_for(void **state)
{
    (void)state;
    stalling_process_run(child_asks_and_goes_on);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    const struct sbx_trigger_entry *trigger = &snapshot->header.trigger;
    assert_int_equal(trigger->kind, SBX_TRIGGER_MANUAL);
    assert_int_equal(trigger->after_ms, 400);
    assert_true(snapshot->header.snapshot_ns >= trigger->end_ns + 400 * MS);
    assert_true(newest_ns(snapshot) >= trigger->end_ns + 200 * MS);
    unsigned at_trigger = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if ((record->flags & SBX_FLAG_AT_TRIGGER) != 0) {
            at_trigger++;
            assert_true(record->end_ns < trigger->end_ns + 300 * MS); /* taken when it fired, not when copied */
        }
    }
    assert_true(at_trigger >= 1); /* a thread that wakes during the look is missing */
    sbx_snapshot_destroy(snapshot);
}

static void child_has_triggers_at_once(void)
{
    struct stallbox_options options = stalling_options();
    options.after_ms = 600;
    options.slow_message_ms = 100;
    stalling_start(&options);
    stallbox_deadline_begin("first", 100);
    stallbox_message_begin(1);
    stalling_pause_ms(300);
    stallbox_message_end(); /* while the deadline's snapshot is being made */
    stalling_pause_ms(800);
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    stalling_expect(stallbox_read_counts(&counts) == STALLBOX_OK && counts.triggers_dropped == 1 &&
                        counts.snapshots == 1,
                    "one is in flight, the other is counted");
    stallbox_stop(5000);
}

static void test_one_snapshot_is_in_flight_and_the_others_are_counted(void **state)
{
    (void)state;
    stalling_process_run(child_has_triggers_at_once);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_DEADLINE);
    assert_int_equal(snapshot->header.trigger.after_ms, 600);
    assert_int_equal(snapshot->watch_count, 1); /* it is included although it fired long ago */
    assert_int_equal(snapshot->header.trigger.watch, 1);
    assert_int_equal(snapshot->drops[SBX_DROP_SNAPSHOT_BUSY], 1);
    sbx_snapshot_destroy(snapshot);
}

static void child_exits_after_a_trigger(void)
{
    struct stallbox_options options = stalling_options();
    options.after_ms = 10000;
    options.slow_message_ms = 100;
    stalling_start(&options);
    stallbox_message_begin(1);
    stalling_pause_ms(200);
    stallbox_message_end();
    uint64_t begin = stalling_now_ms();
    stallbox_stop(5000);
    stalling_expect(stalling_now_ms() - begin < 4000, "nobody waits for the rest of the ten seconds");
}

static void test_an_exit_makes_what_waits_at_once(void **state)
{
    (void)state;
    stalling_process_run(child_exits_after_a_trigger);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_SLOW_MESSAGE);
    sbx_snapshot_destroy(snapshot);
}

static void child_has_different_triggers(void)
{
    struct stallbox_options options = stalling_options();
    options.slow_message_ms = 100;
    stalling_start(&options);
    for (int i = 0; i < 2; i++) { /* the second trigger comes too soon after the first */
        stallbox_message_begin(1);
        stalling_pause_ms(150);
        stallbox_message_end();
    }
    stalling_pause_ms(100);
    stallbox_deadline_begin("of another kind", 50);
    stalling_pause_ms(200);
    stalling_expect(stallbox_snapshot(5000) == STALLBOX_OK, "and one by hand");
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    stalling_expect(stallbox_read_counts(&counts) == STALLBOX_OK && counts.snapshots == 3 &&
                        counts.triggers_dropped == 1,
                    "each kind has its own distance");
    stallbox_stop(5000);
}

static void test_each_kind_of_trigger_keeps_its_own_distance(void **state)
{
    struct sbx_snapshot *snapshots[SNAPSHOTS_MAX];
    (void)state;
    stalling_process_run(child_has_different_triggers);
    stalling_process_snapshots(3, snapshots);
    uint32_t kinds = 0; /* on a slow disk the other two may fire in one tick, in either order */
    for (unsigned i = 0; i < 3; i++) {
        kinds |= UINT32_C(1) << snapshots[i]->header.trigger.kind;
        sbx_snapshot_destroy(snapshots[i]);
    }
    assert_int_equal(kinds, 1 << SBX_TRIGGER_SLOW_MESSAGE | 1 << SBX_TRIGGER_DEADLINE | 1 << SBX_TRIGGER_MANUAL);
}

/* ---- consent ---- */

static unsigned count_files(const char *path)
{
    unsigned count = 0;
    DIR *listing = opendir(path);
    for (struct dirent *entry = listing != NULL ? readdir(listing) : NULL; entry != NULL; entry = readdir(listing)) {
        count += entry->d_type == DT_REG;
    }
    if (listing != NULL) {
        closedir(listing);
    }
    return count;
}

static unsigned count_snapshots(void)
{
    char raw[160];
    snprintf(raw, sizeof raw, "%s/raw", stalling_process_spool());
    return count_files(raw);
}

static enum stallbox_consent consent_now(void)
{
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    stalling_expect(stallbox_read_counts(&counts) == STALLBOX_OK, "counts are read");
    return (enum stallbox_consent)counts.consent;
}

static void child_waits_for_consent(void)
{
    struct stallbox_options options = stalling_options();
    options.consent_required = 1;
    stalling_start(&options);
    stalling_expect(consent_now() == STALLBOX_CONSENT_UNKNOWN, "nobody was asked yet");
    work_for(100);
    stalling_expect(stallbox_snapshot(5000) == STALLBOX_NO_CONSENT, "nothing is kept without consent");
    stallbox_deadline_begin("unmet", 50);
    stalling_pause_ms(200);
    stalling_expect(count_snapshots() == 0, "nor by another trigger");
    stalling_expect(stallbox_set_consent(STALLBOX_CONSENT_GRANTED) == STALLBOX_OK, "the user agrees");
    work_for(100);
    stalling_expect(stallbox_snapshot(5000) == STALLBOX_OK, "now it is");
    stallbox_stop(5000);
}

static void test_nothing_recorded_before_consent_is_ever_kept(void **state)
{
    (void)state;
    stalling_process_run(child_waits_for_consent);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    uint64_t since_ns = snapshot->header.consent_ns;
    assert_true(since_ns > snapshot->header.started_ns + 200 * MS);
    assert_int_equal(snapshot->drops[SBX_DROP_NO_CONSENT], 2);
    for (size_t i = 0; i < snapshot->record_count; i++) {
        if (snapshot->records[i].end_ns < since_ns) {
            fail_msg("record %zu of kind %u ended %llu ms before consent", i, snapshot->records[i].kind,
                     (unsigned long long)((since_ns - snapshot->records[i].end_ns) / MS));
        }
    }
    assert_true(snapshot->record_count > 0);
    sbx_snapshot_destroy(snapshot);
}

static void put_file(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", stalling_process_spool(), name);
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    stalling_expect(file >= 0, "a file is made");
    close(file);
}

static bool has_file(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", stalling_process_spool(), name);
    return access(path, F_OK) == 0;
}

/* Count the bytes of records that the ring of the single recording still holds: those that are not zero. */
static uint64_t count_recorded_bytes(void)
{
    static struct sbx_chunk chunk;
    static struct sbx_recording_header header;
    char path[400] = "";
    uint64_t count = 0;
    DIR *listing = opendir(stalling_process_recordings());
    for (struct dirent *entry = listing != NULL ? readdir(listing) : NULL; entry != NULL; entry = readdir(listing)) {
        if (entry->d_type == DT_REG) {
            snprintf(path, sizeof path, "%s/%s", stalling_process_recordings(), entry->d_name);
        }
    }
    closedir(listing);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    stalling_expect(pread(file, &header, sizeof header, 0) == (ssize_t)sizeof header && header.chunks.count > 0,
                    "the recording is there");
    for (uint32_t i = 0; i < header.chunks.count; i++) {
        off_t at = (off_t)(header.chunks.at + (uint64_t)i * sizeof chunk);
        stalling_expect(pread(file, &chunk, sizeof chunk, at) == (ssize_t)sizeof chunk, "its chunks are");
        for (size_t byte = 0; byte < sizeof chunk.bytes; byte++) {
            count += chunk.bytes[byte] != 0;
        }
    }
    close(file);
    return count;
}

static void child_is_denied(void)
{
    char sent[160];
    struct stallbox_options options = stalling_options();
    stalling_start(&options);
    stalling_expect(consent_now() == STALLBOX_CONSENT_GRANTED, "who requires no consent has it");
    stalling_expect(stallbox_snapshot(5000) == STALLBOX_OK && count_snapshots() == 1, "something lies in the spool");
    snprintf(sent, sizeof sent, "%s/sent", stalling_process_spool());
    stalling_expect(mkdir(sent, 0700) == 0, "a folder is made");
    put_file("00112233445566778899aabbccddeeff.sbx");
    put_file("sent/ffeeddccbbaa99887766554433221100.sbx");
    put_file("modules");
    stalling_expect(count_recorded_bytes() > 0, "something is recorded");
    stalling_expect(stallbox_set_consent(STALLBOX_CONSENT_DENIED) == STALLBOX_OK, "the user says no");
    stalling_expect(count_recorded_bytes() == 0, "what was recorded is wiped");
    stalling_expect(count_snapshots() == 0, "snapshots are deleted");
    stalling_expect(!has_file("00112233445566778899aabbccddeeff.sbx"), "payloads are deleted");
    stalling_expect(has_file("sent/ffeeddccbbaa99887766554433221100.sbx") && has_file("modules"), "nothing else is");
    uint64_t watch = stallbox_watch_open("none", 100);
    stalling_expect(watch == 0 && stallbox_snapshot(1000) == STALLBOX_NOT_RUNNING, "nothing is recorded");
    stalling_pause_ms(1100);
    stalling_expect(stallbox_set_consent(STALLBOX_CONSENT_GRANTED) == STALLBOX_OK, "the user thinks better of it");
    stalling_expect(stallbox_snapshot(5000) == STALLBOX_OK && count_snapshots() == 1, "and it is recorded again");
    stalling_expect(stallbox_set_consent(STALLBOX_CONSENT_DENIED) == STALLBOX_OK, "no, after all");
    stallbox_stop(5000);
}

static void child_starts_after_a_no(void)
{
    struct stallbox_options options = stalling_options();
    stalling_start(&options);
    stalling_expect(consent_now() == STALLBOX_CONSENT_DENIED, "a no is remembered");
    stalling_expect(stallbox_snapshot(1000) == STALLBOX_NOT_RUNNING, "and obeyed");
    stalling_expect(stallbox_set_consent(STALLBOX_CONSENT_GRANTED) == STALLBOX_OK, "it may be taken back");
    stallbox_stop(5000);
}

static void child_starts_after_a_yes(void)
{
    struct stallbox_options options = stalling_options();
    options.consent_required = 1;
    stalling_start(&options);
    stalling_expect(consent_now() == STALLBOX_CONSENT_GRANTED, "a yes is remembered");
    stalling_expect(stallbox_set_consent(STALLBOX_CONSENT_UNKNOWN) == STALLBOX_OK && !has_file("consent"),
                    "and may be forgotten");
    stallbox_stop(5000);
}

static void test_a_no_deletes_what_waits_and_is_remembered(void **state)
{
    struct sbx_snapshot *none[SNAPSHOTS_MAX];
    (void)state;
    stalling_process_run(child_is_denied);
    stalling_process_snapshots(0, none);
    stalling_process_run(child_starts_after_a_no);
    stalling_process_run(child_starts_after_a_yes);
}

/* Write the consent as another program would, which knows the spool but not this recorder. */
static void say_in_spool(const char *word)
{
    char path[200], aside[200];
    snprintf(path, sizeof path, "%s/consent", stalling_process_spool());
    snprintf(aside, sizeof aside, "%s/consent.new", stalling_process_spool());
    FILE *file = fopen(aside, "we");
    stalling_expect(file != NULL && fputs(word, file) >= 0 && fclose(file) == 0, "a word is written");
    stalling_expect(rename(aside, path) == 0, "and put in its place");
}

/* Make the agent look at the spool, which it does whenever modules may have been loaded or unloaded. */
static void have_it_look(void)
{
    stalling_expect(dlopen("libthat_is_not_there.so", RTLD_NOW) == NULL, "a module does not come");
    work_for(300);
}

static void child_is_not_told(void)
{
    char away[200];
    struct stallbox_options options = stalling_options();
    options.consent_required = 1;
    stalling_start(&options);
    stalling_expect(stallbox_set_consent(STALLBOX_CONSENT_GRANTED) == STALLBOX_OK, "the user agrees");
    snprintf(away, sizeof away, "%s.away", stalling_process_spool());
    stalling_expect(rename(stalling_process_spool(), away) == 0, "the spool cannot be found, as below a new root");
    have_it_look();
    stalling_expect(consent_now() == STALLBOX_CONSENT_GRANTED, "which is no word of his");
    stalling_expect(rename(away, stalling_process_spool()) == 0, "it is there again");
    stalling_expect(stallbox_snapshot(5000) == STALLBOX_OK && count_snapshots() == 1, "something lies in the spool");
    say_in_spool("perhaps\n");
    have_it_look();
    stalling_expect(consent_now() == STALLBOX_CONSENT_DENIED, "what is no yes is a no");
    stalling_expect(count_snapshots() == 1, "but for deleting, which wants the word");
    stalling_expect(stallbox_set_consent(STALLBOX_CONSENT_GRANTED) == STALLBOX_OK, "the user agrees again");
    say_in_spool("denied\n");
    for (int i = 0; i < 300 && consent_now() != STALLBOX_CONSENT_DENIED; i++) {
        work_for(100); /* a resting application is not woken for it, and does not record */
    }
    stalling_expect(consent_now() == STALLBOX_CONSENT_DENIED, "it is read within seconds");
    stalling_expect(stallbox_snapshot(1000) == STALLBOX_NOT_RUNNING, "and obeyed");
    for (int i = 0; i < 300 && count_snapshots() != 0; i++) {
        stalling_pause_ms(10);
    }
    stalling_expect(count_snapshots() == 0, "what waited is deleted");
    stallbox_stop(5000);
}

static void test_a_no_that_others_wrote_into_the_spool_is_obeyed_by_who_works(void **state)
{
    struct sbx_snapshot *none[SNAPSHOTS_MAX];
    (void)state;
    stalling_process_run(child_is_not_told);
    stalling_process_snapshots(0, none);
}

static void child_dies_without_consent(void)
{
    struct stallbox_options options = stalling_options();
    options.consent_required = 1;
    stalling_start(&options);
    stallbox_message_begin(1);
    stalling_pause_ms(900); /* long enough for a note to be left */
    _exit(0);
}

static void test_a_death_without_consent_leaves_nothing(void **state)
{
    struct sbx_snapshot *none[SNAPSHOTS_MAX];
    struct sbx_recovery_counts counts;
    (void)state;
    stalling_process_run(child_dies_without_consent);
    assert_int_equal(count_files(stalling_process_recordings()), 1);
    assert_int_equal(
        sbx_recording_recover_folder(stalling_process_recordings(), stalling_process_spool(), NULL, NULL, &counts), 0);
    assert_int_equal(counts.killed, 0);
    assert_int_equal(count_files(stalling_process_recordings()), 0);
    stalling_process_snapshots(0, none);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, stalling_process_set_up, stalling_process_tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_a_manual_snapshot_may_hold_what_came_after_it_was_asked_for),
        CASE(test_one_snapshot_is_in_flight_and_the_others_are_counted),
        CASE(test_an_exit_makes_what_waits_at_once),
        CASE(test_each_kind_of_trigger_keeps_its_own_distance),
        CASE(test_nothing_recorded_before_consent_is_ever_kept),
        CASE(test_a_no_deletes_what_waits_and_is_remembered),
        CASE(test_a_no_that_others_wrote_into_the_spool_is_obeyed_by_who_works),
        CASE(test_a_death_without_consent_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
