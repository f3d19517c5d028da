/* SPDX-License-Identifier: Apache-2.0 */
/* test_recording_recover.c - what a dead process left becomes one snapshot if the process died in a stall, and
 * otherwise nothing. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "consent.h"
#include "order.h"
#include "recording_builder.h"
#include "recording_name.h"
#include "recording_recover.h"

/* ---- decisions ---- */

static const struct sbx_capture_settings settings = {.enabled = 1, .crash = SBX_CRASH_SETTLED, .note_ms = 300};

static void test_decision_follows_the_process_and_the_note(void **unused)
{
    (void)unused;
    const struct sbx_recording_header live = {
        .state = SBX_STATE_LIVE, .consent = SBX_CONSENT_GRANTED, .process_start_ticks = 500, .boot_id = {1, 2}};
    const struct sbx_process_facts running = {
        .is_running = true, .has_let_go = true, .start_ticks = 500, .boot_id = {1, 2}};
    struct sbx_recording_header header = live;
    struct sbx_process_facts facts = running;
    header.note.open = 1;
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_LIVE);
    facts.start_ticks = 501; /* another process has the pid now */
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_KILLED);
    facts = running;
    facts.boot_id[15] = 9; /* the machine was rebooted */
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_KILLED);
    facts = running;
    facts.is_running = false;
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_KILLED);
    header.consent = SBX_CONSENT_UNKNOWN; /* nobody agreed to keep the recording */
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_QUIET);
    header.consent = SBX_CONSENT_DENIED;
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_QUIET);
    header.consent = SBX_CONSENT_GRANTED;
    header.note.open = 0;
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_QUIET);
    header.state = SBX_STATE_CLEAN;
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_CLEAN);
    header.note.open = 1; /* stopped in order: the note does not matter, nothing was killed */
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_CLEAN);
    assert_int_equal(sbx_recovery_decide(&header, &settings, &running), SBX_RECOVERY_LIVE);
    header.state = SBX_STATE_STARTING;
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_QUIET);
    header.state = SBX_STATE_PUBLISHED; /* whatever else the header says, a snapshot exists */
    header.crash.signal = SIGSEGV;
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_PUBLISHED);
}

static void test_what_had_fired_counts_when_nothing_worse_is_known(void **unused)
{
    (void)unused;
    struct sbx_recording_header header = {.state = SBX_STATE_LIVE,
                                          .consent = SBX_CONSENT_GRANTED,
                                          .pending = {.state = SBX_PENDING_FIRED,
                                                      .trigger = {.kind = SBX_TRIGGER_DEADLINE,
                                                                  .thread = 2,
                                                                  .watch = 3,
                                                                  .begin_ns = 1000000000,
                                                                  .end_ns = 3000000000,
                                                                  .threshold_ms = 2000,
                                                                  .after_ms = 5000}}};
    struct sbx_process_facts facts = {.has_let_go = true};
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_FIRED);
    header.pending.state = SBX_PENDING_DURABLE; /* its snapshot exists */
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_QUIET);
    header.pending.state = 77; /* no valid state: damaged bytes */
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_QUIET);
    header.pending.state = SBX_PENDING_FIRED;
    header.note.open = 1;
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_KILLED);
    header.note.open = 0;
    header.crash.signal = SIGSEGV;
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_CRASHED);
    header.crash.signal = 0;
    header.consent = SBX_CONSENT_DENIED;
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_QUIET);
    header.consent = SBX_CONSENT_GRANTED;
    header.state = SBX_STATE_CLEAN;
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_CLEAN);
    facts.signal = SIGKILL;
    struct sbx_trigger_entry trigger =
        sbx_recovery_trigger(&header, &settings, SBX_RECOVERY_FIRED, &facts, UINT64_C(4200000000));
    assert_int_equal(trigger.kind, SBX_TRIGGER_DEADLINE);
    assert_int_equal(trigger.watch, 3);
    assert_int_equal(trigger.end_ns, 3000000000);
    assert_int_equal(trigger.after_ms, 1200); /* recorded until it died */
    assert_int_equal(trigger.signal, SIGKILL);
    trigger = sbx_recovery_trigger(&header, &settings, SBX_RECOVERY_FIRED, &facts, UINT64_C(90000000000));
    assert_int_equal(trigger.after_ms, 5000);
    trigger = sbx_recovery_trigger(&header, &settings, SBX_RECOVERY_FIRED, &facts, 0);
    assert_int_equal(trigger.after_ms, 0);
}

/* exit() does not wait for the recorder's thread without limit, because that thread may have lost the processor right
 * after the trigger. */
static void test_a_message_that_was_told_as_slow_has_ended_though_its_note_stands(void **unused)
{
    (void)unused;
    struct sbx_recording_header header = {
        .state = SBX_STATE_LIVE,
        .consent = SBX_CONSENT_GRANTED,
        .note = {.open = 1, .thread = 2, .message = 7},
        .pending = {.state = SBX_PENDING_FIRED,
                    .trigger = {.kind = SBX_TRIGGER_SLOW_MESSAGE, .thread = 2, .message = 7}}};
    struct sbx_process_facts facts = {.has_let_go = true};
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_FIRED);
    header.pending.state = SBX_PENDING_DURABLE; /* its snapshot exists; it needs no second one */
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_QUIET);
    header.note.message = 8; /* the next message is open */
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_KILLED);
    header.note.message = 7;
    header.pending.trigger.kind = SBX_TRIGGER_ANR; /* the message goes on */
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_KILLED);
}

static void test_a_pid_of_another_namespace_says_nothing_and_the_lock_everything(void **unused)
{
    (void)unused;
    struct sbx_recording_header header = {.state = SBX_STATE_LIVE,
                                          .consent = SBX_CONSENT_GRANTED,
                                          .process_start_ticks = 500,
                                          .boot_id = {1},
                                          .pid_namespace = 70,
                                          .note = {.open = 1}};
    struct sbx_process_facts facts = {.has_let_go = true, .pid_namespace = 71, .boot_id = {1}};
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_LIVE); /* nobody can tell */
    facts.boot_id[0] = 2; /* but no pid namespace outlives a reboot */
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_KILLED);
    facts.boot_id[0] = 1;
    header.owner_locked = 1; /* the owner held the lock; we hold it now */
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_KILLED);
    facts.is_running = true; /* by chance another process has the pid */
    facts.start_ticks = 501;
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_KILLED);
    facts.start_ticks = 500; /* and by more chance the same start time */
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_KILLED);
    facts.pid_namespace = 70; /* the process itself: it has called exec() */
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_QUIET);
}

static void test_a_fatal_signal_is_a_crash_whoever_saw_it_unless_switched_off(void **unused)
{
    (void)unused;
    struct sbx_recording_header header = {.state = SBX_STATE_LIVE, .consent = SBX_CONSENT_GRANTED};
    struct sbx_process_facts facts = {.has_let_go = true};
    struct sbx_capture_settings off = settings;
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_QUIET);
    facts.signal = SIGKILL;
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_QUIET);
    facts.signal = SIGABRT; /* its parent says so */
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_CRASHED);
    facts.signal = 0;
    header.crash.signal = SIGFPE; /* the process itself says so */
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_CRASHED);
    header.note.open = 1;
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_CRASHED);
    off.crash = SBX_CRASH_OFF;
    assert_int_equal(sbx_recovery_decide(&header, &off, &facts), SBX_RECOVERY_KILLED);
    header.note.open = 0;
    assert_int_equal(sbx_recovery_decide(&header, &off, &facts), SBX_RECOVERY_QUIET);
    off = settings;
    off.enabled = 0;
    assert_int_equal(sbx_recovery_decide(&header, &off, &facts), SBX_RECOVERY_QUIET);
    header.crash.signal = 4000; /* not a signal: damaged bytes */
    assert_int_equal(sbx_recovery_decide(&header, &settings, &facts), SBX_RECOVERY_QUIET);
}

static void test_trigger_reaches_from_the_note_to_the_last_sign_of_life(void **unused)
{
    (void)unused;
    const struct sbx_recording_header header = {.note = {.open = 1, .thread = 4, .message = 17, .begin_ns = 5000},
                                                .main_thread = 4};
    const struct sbx_process_facts facts = {.signal = SIGTERM};
    struct sbx_trigger_entry trigger = sbx_recovery_trigger(&header, &settings, SBX_RECOVERY_KILLED, &facts, 7000);
    assert_int_equal(trigger.kind, SBX_TRIGGER_KILLED);
    assert_int_equal(trigger.thread, 4);
    assert_int_equal(trigger.message, 17);
    assert_int_equal(trigger.begin_ns, 5000);
    assert_int_equal(trigger.end_ns, 7000);
    assert_int_equal(trigger.threshold_ms, 300);
    assert_int_equal(trigger.in_progress, 1);
    assert_int_equal(trigger.signal, SIGTERM);
    trigger = sbx_recovery_trigger(&header, &settings, SBX_RECOVERY_KILLED, &facts, 0);
    assert_int_equal(trigger.end_ns, 5000); /* never before the begin */
}

static void test_trigger_of_a_crash_is_about_the_thread_that_got_the_signal(void **unused)
{
    (void)unused;
    struct sbx_recording_header header = {.note = {.open = 1, .thread = 4, .message = 17, .begin_ns = 5000},
                                          .main_thread = 4};
    struct sbx_process_facts facts = {.signal = SIGABRT};
    header.crash =
        (struct sbx_crash){.claim = 1, .signal = SIGSEGV, .fault = SBX_FAULT_UNMAPPED, .thread = 9, .at_ns = 6000};
    struct sbx_trigger_entry trigger = sbx_recovery_trigger(&header, &settings, SBX_RECOVERY_CRASHED, &facts, 7000);
    assert_int_equal(trigger.kind, SBX_TRIGGER_CRASH);
    assert_int_equal(trigger.signal, SIGSEGV); /* the first signal; its handler called abort() */
    assert_int_equal(trigger.fault, SBX_FAULT_UNMAPPED);
    assert_int_equal(trigger.thread, 9);
    assert_int_equal(trigger.begin_ns, 6000); /* the open message belongs to another thread */
    assert_int_equal(trigger.end_ns, 6000);
    assert_int_equal(trigger.in_progress, 0);
    header.crash.thread = 4;
    trigger = sbx_recovery_trigger(&header, &settings, SBX_RECOVERY_CRASHED, &facts, 7000);
    assert_int_equal(trigger.begin_ns, 5000);
    assert_int_equal(trigger.message, 17);
    assert_int_equal(trigger.in_progress, 1);
    header.crash.signal = 0; /* the host's handler took the signal; the parent knows it */
    trigger = sbx_recovery_trigger(&header, &settings, SBX_RECOVERY_CRASHED, &facts, 7000);
    assert_int_equal(trigger.signal, SIGABRT);
    assert_int_equal(trigger.fault, SBX_FAULT_UNKNOWN);
    assert_int_equal(trigger.thread, 4);
    assert_int_equal(trigger.end_ns, 7000);
}

static void test_snapshot_id_is_the_same_each_time_and_not_the_session(void **unused)
{
    (void)unused;
    const uint8_t session[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    uint8_t first[16], second[16];
    sbx_recovery_snapshot_id(session, first);
    sbx_recovery_snapshot_id(session, second);
    assert_memory_equal(first, second, 16);
    assert_memory_not_equal(first, session, 16);
}

static void test_facts_tell_the_living_from_the_dead_and_from_zombies(void **unused)
{
    (void)unused;
    struct sbx_process_facts own, again, child_facts;
    assert_int_equal(sbx_process_facts_read((uint32_t)getpid(), &own), 0);
    assert_int_equal(sbx_process_facts_read((uint32_t)getpid(), &again), 0);
    assert_true(own.is_running);
    assert_true(own.start_ticks > 0);
    assert_int_equal(own.start_ticks, again.start_ticks);
    static const uint8_t no_boot_id[16];
    assert_memory_not_equal(own.boot_id, no_boot_id, 16);

    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(0);
    }
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0); /* dead, but still a zombie */
    assert_int_equal(sbx_process_facts_read((uint32_t)child, &child_facts), 0);
    assert_false(child_facts.is_running);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(sbx_process_facts_read((uint32_t)child, &child_facts), 0);
    assert_false(child_facts.is_running);
    assert_memory_equal(child_facts.boot_id, own.boot_id, 16);
}

static void read_stat(pid_t pid, char *text_out, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text_out[fread(text_out, 1, bytes - 1, file)] = '\0';
    fclose(file);
}

/* Symptom: a file without a header stayed in /dev/shm when its process ended while its recorder began. The companion
 * had waited for the lock of the process, and then found a process that was not a zombie yet. */
static void test_a_process_that_the_kernel_is_ending_is_told_from_one_that_lives(void **unused)
{
    (void)unused;
    static const char before[] = "12 (x) y) R 1 12 12 0 -1 ", behind[] = " 9 0 0 0 0 0 0 0 20 0 1 0 777 0 0\n";
    char text[1024];
    struct sbx_process_stat stat;
    snprintf(text, sizeof text, "%s4194304%s", before, behind);
    assert_int_equal(sbx_process_stat_parse(text, &stat), 0);
    assert_false(stat.is_ending);
    assert_int_equal(stat.start_ticks, 777);
    snprintf(text, sizeof text, "%s4194308%s", before, behind);
    assert_int_equal(sbx_process_stat_parse(text, &stat), 0);
    assert_true(stat.is_ending);
    assert_int_equal(stat.state, 'R');

    pid_t child = fork(); /* the same for a real process: the kernel marks a zombie too */
    assert_true(child >= 0);
    if (child == 0) {
        _exit(0);
    }
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    read_stat(child, text, sizeof text);
    assert_int_equal(sbx_process_stat_parse(text, &stat), 0);
    assert_int_equal(stat.state, 'Z');
    assert_true(stat.is_ending);
    assert_int_equal(waitpid(child, NULL, 0), child);
    read_stat(getpid(), text, sizeof text);
    assert_int_equal(sbx_process_stat_parse(text, &stat), 0);
    assert_false(stat.is_ending);
}

/* ---- folders ---- */

struct fixture {
    char folder[64], recordings[96], spool[96], raw[128], path[256];
    struct sbx_recovery_counts counts;
    unsigned complaints;
    char last_why[256];
};

static int make_folders(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    if (fixture == NULL) {
        return -1;
    }
    strcpy(fixture->folder, "/tmp/stallbox-test-recover-XXXXXX");
    if (mkdtemp(fixture->folder) == NULL) {
        return -1;
    }
    snprintf(fixture->recordings, sizeof fixture->recordings, "%s/recordings", fixture->folder);
    snprintf(fixture->spool, sizeof fixture->spool, "%s/spool", fixture->folder);
    snprintf(fixture->raw, sizeof fixture->raw, "%s/raw", fixture->spool);
    snprintf(fixture->path, sizeof fixture->path, "%s/one.rec", fixture->recordings);
    *state = fixture;
    return mkdir(fixture->recordings, 0700);
}

static void empty_folder(const char *folder)
{
    DIR *listing = opendir(folder);
    if (listing == NULL) {
        unlink(folder);
        return;
    }
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            unlink(path);
        }
    }
    closedir(listing);
    rmdir(folder);
}

static int remove_folders(void **state)
{
    struct fixture *fixture = *state;
    empty_folder(fixture->raw);
    empty_folder(fixture->spool);
    empty_folder(fixture->recordings);
    int error = rmdir(fixture->folder);
    free(fixture);
    return error;
}

static void complain(void *context, const char *path, const char *why)
{
    struct fixture *fixture = context;
    fixture->complaints++;
    snprintf(fixture->last_why, sizeof fixture->last_why, "%s %s", path, why);
}

static void recover(struct fixture *fixture)
{
    assert_int_equal(
        sbx_recording_recover_folder(fixture->recordings, fixture->spool, complain, fixture, &fixture->counts), 0);
}

/* Names of the raw snapshots in the spool: how many, and the first one's path. Temporary files count too. */
static unsigned list_raw(const struct fixture *fixture, char *path_out, size_t size)
{
    unsigned count = 0;
    DIR *listing = opendir(fixture->raw);
    for (struct dirent *entry = listing == NULL ? NULL : readdir(listing); entry != NULL; entry = readdir(listing)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            snprintf(path_out, size, "%s/%.64s", fixture->raw, entry->d_name);
            count++;
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
    return count;
}

/* Make a recording of a process that hangs in a message. The header names the calling process. */
static struct sbx_recording_builder *make_stalled(const struct fixture *fixture)
{
    struct sbx_recording_builder *builder = sbx_recording_builder_create(SBX_RECORDING_SHAPE_SMALL, fixture->path);
    struct sbx_process_facts facts;
    const struct sbx_built_frame frames[] = {{0, 0x100, 0}, {0, 0x200, 0}};
    assert_int_equal(sbx_process_facts_read((uint32_t)getpid(), &facts), 0);
    builder->header->process_start_ticks = facts.start_ticks;
    memcpy(builder->header->boot_id, facts.boot_id, 16);
    snprintf(builder->header->spool_path, SBX_PATH_MAX, "%s", fixture->spool);
    sbx_recording_add_module(builder, "/usr/bin/application", 0x550000000000, 0x1000, SBX_MODULE_MAIN);
    sbx_recording_add_thread(builder, (uint32_t)getpid(), "application", 1);
    uint32_t stack = sbx_recording_add_stack(builder, frames, 2, SBX_WALK_COMPLETE);
    for (uint64_t i = 0; i < 100; i++) {
        struct sbx_record record = {.kind = SBX_RECORD_ALLOC,
                                    .op = SBX_OP_MALLOC,
                                    .begin_ns = 1000 + i,
                                    .end_ns = 1000 + i,
                                    .message = 8,
                                    .stack = stack};
        sbx_recording_put(builder, &record);
    }
    builder->header->heartbeat_ns = 5000;
    builder->header->note = (struct sbx_note){.thread = 0, .message = 8, .begin_ns = 1000};
    sbx_store_release(&builder->header->note.open, 1); /* order: release note.open - the fields above come first */
    return builder;
}

/* The same, for a process that does not exist any more. */
static void leave_stalled(const struct fixture *fixture)
{
    struct sbx_recording_builder *builder = make_stalled(fixture);
    builder->header->process_start_ticks++;
    sbx_recording_builder_destroy(builder);
}

static void test_process_killed_in_a_stall_leaves_one_snapshot(void **state)
{
    struct fixture *fixture = *state;
    int ready[2];
    char byte, path[256], why[128];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct sbx_recording_builder *builder = make_stalled(fixture);
        struct sbx_record record = {.kind = SBX_RECORD_ALLOC, .message = 8};
        for (uint64_t i = 0;; i++) { /* writes until it is killed */
            record.begin_ns = record.end_ns = 2000 + i % 1000;
            sbx_recording_put(builder, &record);
            if (i == 1000 && write(ready[1], "x", 1) != 1) {
                _exit(1);
            }
        }
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);

    recover(fixture); /* the process lives: nothing happens */
    assert_int_equal(fixture->counts.live, 1);
    assert_int_equal(list_raw(fixture, path, sizeof path), 0);

    assert_int_equal(kill(child, SIGKILL), 0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    recover(fixture); /* a zombie counts as dead */
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(fixture->counts.killed, 1);
    assert_int_equal(fixture->complaints, 0);
    assert_int_equal(access(fixture->path, F_OK), -1);
    assert_int_equal(list_raw(fixture, path, sizeof path), 1);

    struct sbx_snapshot *snapshot;
    assert_int_equal(sbx_snapshot_read_file(path, &snapshot, why, sizeof why), 0);
    assert_int_equal(snapshot->header.state, SBX_STATE_SNAPSHOT);
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_KILLED);
    assert_int_equal(snapshot->header.trigger.begin_ns, 1000);
    assert_int_equal(snapshot->header.trigger.end_ns, 5000);
    assert_int_equal(snapshot->header.trigger.message, 8);
    assert_int_equal(snapshot->header.trigger.threshold_ms, snapshot->settings.note_ms);
    assert_true(snapshot->record_count > 100);
    assert_int_equal(snapshot->drops[SBX_DROP_BAD_RECORD], 0);
    char name[64];
    uint8_t id[16];
    sbx_recovery_snapshot_id(snapshot->header.session_id, id);
    assert_memory_equal(snapshot->header.snapshot_id, id, 16);
    for (int i = 0; i < 16; i++) {
        snprintf(name + 2 * i, 3, "%02x", id[i]);
    }
    strcat(name, SBX_RAW_SUFFIX);
    assert_string_equal(strrchr(path, '/') + 1, name);
    sbx_snapshot_destroy(snapshot);

    recover(fixture); /* a second run finds nothing more */
    assert_int_equal(fixture->counts.killed, 0);
    assert_int_equal(list_raw(fixture, path, sizeof path), 1);
}

static void test_recovery_repeated_after_a_break_yields_the_same_snapshot(void **state)
{
    struct fixture *fixture = *state;
    char first[256], second[256];
    leave_stalled(fixture);
    recover(fixture);
    assert_int_equal(list_raw(fixture, first, sizeof first), 1);
    leave_stalled(fixture); /* as if the first recoverer had been killed between rename and unlink */
    recover(fixture);
    assert_int_equal(fixture->counts.killed, 1);
    assert_int_equal(list_raw(fixture, second, sizeof second), 1);
    assert_string_equal(first, second);
}

/* A recoverer that is killed between any two of its steps leaves a recording that yields one snapshot in the end. */
static void test_recoverer_killed_between_its_steps_leaves_one_snapshot(void **state)
{
    struct fixture *fixture = *state;
    char first[256], temporary[300], path[256];
    const uint32_t published = SBX_STATE_PUBLISHED;
    leave_stalled(fixture);
    recover(fixture);
    assert_int_equal(list_raw(fixture, first, sizeof first), 1);
    snprintf(temporary, sizeof temporary, "%s/.%s-1.1.tmp", fixture->raw, strrchr(first, '/') + 1);

    /* after step 2: a half-written temporary file */
    leave_stalled(fixture);
    assert_int_equal(rename(first, temporary), 0);
    assert_int_equal(truncate(temporary, 1000), 0);
    recover(fixture);
    assert_int_equal(fixture->counts.killed, 1);
    assert_int_equal(list_raw(fixture, path, sizeof path), 1);
    assert_string_equal(path, first);

    /* after step 3: a durable file without its final name */
    leave_stalled(fixture);
    assert_int_equal(rename(first, temporary), 0);
    int fd = open(fixture->path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, &published, 4, offsetof(struct sbx_recording_header, state)), 4);
    recover(fixture);
    assert_int_equal(fixture->counts.published, 1);
    assert_int_equal(fixture->counts.killed, 0);
    assert_int_equal(list_raw(fixture, path, sizeof path), 1);
    assert_string_equal(path, first);
    assert_int_equal(access(fixture->path, F_OK), -1);

    /* after step 4: named, and already taken by the courier */
    leave_stalled(fixture);
    close(fd);
    fd = open(fixture->path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, &published, 4, offsetof(struct sbx_recording_header, state)), 4);
    close(fd);
    assert_int_equal(unlink(first), 0);
    recover(fixture);
    assert_int_equal(fixture->counts.published, 1);
    assert_int_equal(list_raw(fixture, path, sizeof path), 0);
    assert_int_equal(access(fixture->path, F_OK), -1);
}

static void test_a_recording_of_another_version_is_left_for_it_a_week_and_nobody_is_told(void **state)
{
    struct fixture *fixture = *state;
    const uint32_t version = SBX_RECORDING_VERSION - 1;
    leave_stalled(fixture);
    int fd = open(fixture->path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, &version, 4, offsetof(struct sbx_recording_header, version)), 4);
    recover(fixture);
    assert_int_equal(fixture->counts.foreign, 1);
    assert_int_equal(fixture->counts.failed + fixture->complaints, 0);
    assert_int_equal(access(fixture->path, F_OK), 0);
    const struct timespec week_ago[2] = {{time(NULL) - 8 * 24 * 3600, 0}, {time(NULL) - 8 * 24 * 3600, 0}};
    assert_int_equal(futimens(fd, week_ago), 0);
    close(fd);
    recover(fixture);
    assert_int_equal(access(fixture->path, F_OK), -1);
}

static void test_many_recoverers_at_one_moment_make_one_snapshot(void **state)
{
    enum {
        RECOVERERS = 8
    };
    struct fixture *fixture = *state;
    for (int round = 0; round < 10; round++) {
        int start[2], status;
        unsigned made = 0;
        char byte, path[256];
        leave_stalled(fixture);
        assert_int_equal(pipe(start), 0);
        for (int i = 0; i < RECOVERERS; i++) {
            pid_t child = fork();
            assert_true(child >= 0);
            if (child == 0) {
                close(start[1]);
                struct sbx_recovery_counts counts;
                if (read(start[0], &byte, 1) != 0 ||
                    sbx_recording_recover_folder(fixture->recordings, fixture->spool, NULL, NULL, &counts) != 0) {
                    _exit(100);
                }
                _exit((int)counts.killed);
            }
        }
        close(start[0]);
        close(start[1]); /* start all of them now */
        for (int i = 0; i < RECOVERERS; i++) {
            assert_true(wait(&status) > 0);
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
            made += (unsigned)WEXITSTATUS(status);
        }
        assert_int_equal(made, 1);
        assert_int_equal(list_raw(fixture, path, sizeof path), 1);
        assert_int_equal(access(fixture->path, F_OK), -1);
        assert_int_equal(unlink(path), 0);
    }
}

static void test_death_that_its_parent_knows_of_is_believed_of_that_process_only(void **state)
{
    struct fixture *fixture = *state;
    struct sbx_process_facts facts;
    struct sbx_recovery_counts counts;
    char path[256];
    assert_int_equal(sbx_process_facts_read((uint32_t)getpid(), &facts), 0);
    struct sbx_known_death death = {.pid = (uint32_t)getpid(), .start_ticks = facts.start_ticks, .signal = SIGSEGV};
    const struct sbx_recovery_order order = {.folder = fixture->recordings, .spool = fixture->spool, .death = &death};
    for (int round = 0; round < 2; round++) { /* first a wrong start time, then the right one */
        struct sbx_recording_builder *builder = make_stalled(fixture);
        builder->header->process_start_ticks++;
        builder->header->note.open = 0;
        struct sbx_control_page *control = (void *)((char *)builder->header + SBX_CONTROL_AT);
        control->in_force = settings;
        sbx_recording_builder_destroy(builder);
        assert_int_equal(sbx_recording_recover(&order, &counts), 0);
        assert_int_equal(counts.quiet, round == 0);
        assert_int_equal(counts.crashed, round == 1);
        death.start_ticks++;
    }
    assert_int_equal(list_raw(fixture, path, sizeof path), 1);
}

/* A forked worker is killed before any of its threads has passed a capture point. */
static void test_crash_before_any_thread_was_met_is_told_of_the_first_thread(void **state)
{
    struct fixture *fixture = *state;
    struct sbx_process_facts facts;
    struct sbx_recovery_counts counts;
    char path[256], why[160];
    struct sbx_snapshot *snapshot;
    assert_int_equal(sbx_process_facts_read((uint32_t)getpid(), &facts), 0);
    const struct sbx_known_death death = {
        .pid = (uint32_t)getpid(), .start_ticks = facts.start_ticks + 1, .signal = SIGSEGV};
    const struct sbx_recovery_order order = {.folder = fixture->recordings, .spool = fixture->spool, .death = &death};
    struct sbx_recording_builder *builder = make_stalled(fixture);
    builder->header->process_start_ticks++;
    builder->header->note.open = 0;
    builder->header->thread_count = 0;
    struct sbx_control_page *control = (void *)((char *)builder->header + SBX_CONTROL_AT);
    control->in_force = settings;
    sbx_recording_builder_destroy(builder);
    assert_int_equal(sbx_recording_recover(&order, &counts), 0);
    assert_int_equal(counts.crashed, 1);
    assert_int_equal(list_raw(fixture, path, sizeof path), 1);
    assert_int_equal(sbx_snapshot_read_file(path, &snapshot, why, sizeof why), 0);
    assert_int_equal(snapshot->header.thread_count, 1);
    assert_int_equal(snapshot->header.trigger.thread, 0);
    assert_int_equal(snapshot->threads[0].entry.tid, getpid());
    sbx_snapshot_destroy(snapshot);
}

/* When the kernel kills a process because memory ran out, only the parent can know. It is a crash even if no message
 * was open for too long. */
static void test_death_for_want_of_memory_is_a_crash(void **state)
{
    struct fixture *fixture = *state;
    struct sbx_process_facts facts;
    struct sbx_recovery_counts counts;
    char path[256];
    assert_int_equal(sbx_process_facts_read((uint32_t)getpid(), &facts), 0);
    struct sbx_known_death death = {.pid = (uint32_t)getpid(), .start_ticks = facts.start_ticks + 1, .signal = SIGKILL};
    const struct sbx_recovery_order order = {.folder = fixture->recordings, .spool = fixture->spool, .death = &death};
    for (int round = 0; round < 2; round++) {
        death.had_no_memory = round == 1;
        struct sbx_recording_builder *builder = make_stalled(fixture);
        builder->header->process_start_ticks++;
        builder->header->note.open = 0;
        struct sbx_control_page *control = (void *)((char *)builder->header + SBX_CONTROL_AT);
        control->in_force = settings;
        sbx_recording_builder_destroy(builder);
        assert_int_equal(sbx_recording_recover(&order, &counts), 0);
        assert_int_equal(counts.quiet, round == 0);
        assert_int_equal(counts.crashed, round == 1);
    }
    assert_int_equal(list_raw(fixture, path, sizeof path), 1);
    struct sbx_snapshot *snapshot;
    char why[160];
    assert_int_equal(sbx_snapshot_read_file(path, &snapshot, why, sizeof why), 0);
    assert_int_equal(snapshot->header.trigger.signal, SIGKILL);
    assert_int_equal(snapshot->header.trigger.fault, SBX_FAULT_NO_MEMORY);
    sbx_snapshot_destroy(snapshot);
}

static void test_spool_that_cannot_be_written_keeps_the_recording(void **state)
{
    struct fixture *fixture = *state;
    char path[256];
    leave_stalled(fixture);
    int fd = open(fixture->spool, O_WRONLY | O_CREAT | O_CLOEXEC, 0600); /* a file where the folder should be */
    assert_true(fd >= 0);
    close(fd);
    recover(fixture);
    assert_int_equal(fixture->counts.failed, 1);
    assert_int_equal(fixture->complaints, 1);
    assert_non_null(strstr(fixture->last_why, fixture->spool));
    assert_non_null(strstr(fixture->last_why, "Not a directory"));
    assert_int_equal(access(fixture->path, F_OK), 0);
    assert_int_equal(unlink(fixture->spool), 0);
    recover(fixture);
    assert_int_equal(fixture->counts.killed, 1);
    assert_int_equal(list_raw(fixture, path, sizeof path), 1);
}

static void test_recording_without_a_spool_goes_to_the_default(void **state)
{
    struct fixture *fixture = *state;
    char path[256];
    struct sbx_recording_builder *builder = make_stalled(fixture);
    builder->header->process_start_ticks++;
    builder->header->spool_path[0] = 0;
    sbx_recording_builder_destroy(builder);
    recover(fixture);
    assert_int_equal(fixture->counts.killed, 1);
    assert_int_equal(list_raw(fixture, path, sizeof path), 1);
}

/* ---- a recording that its process could write when it had fewer rights than we ---- */

/* Give the recording the name that its own process would give it: session `first_byte`..., and that spool. */
static void give_name(struct fixture *fixture, uint8_t first_byte, const char *spool)
{
    struct sbx_recording_name name = {.pid = (uint32_t)getpid(), .session_id = {first_byte, 7}};
    struct stat status;
    char text[SBX_RECORDING_NAME_BYTES], path[sizeof fixture->path];
    if (spool != NULL) {
        assert_true(mkdir(spool, 0700) == 0 || errno == EEXIST);
        assert_int_equal(stat(spool, &status), 0);
        name.spool = sbx_spool_mark(&status);
    }
    sbx_recording_name_print(&name, text);
    snprintf(path, sizeof path, "%.50s/%s", fixture->recordings, text);
    assert_int_equal(rename(fixture->path, path), 0);
    strcpy(fixture->path, path);
}

static void test_a_name_says_pid_session_and_spool_and_others_say_nothing(void **unused)
{
    struct sbx_recording_name name = {.pid = 4711, .session_id = {0xab, [15] = 0xcd}, .spool = 0xf00}, again;
    char text[SBX_RECORDING_NAME_BYTES];
    (void)unused;
    sbx_recording_name_print(&name, text);
    assert_string_equal(text, "4711-ab0000000000000000000000000000cd-0000000000000f00.rec");
    assert_true(sbx_recording_name_parse(text, &again));
    assert_int_equal(again.pid, name.pid);
    assert_memory_equal(again.session_id, name.session_id, sizeof name.session_id);
    assert_true(again.spool == name.spool);
    static const char *const others[] = {
        "",
        "one.rec",
        "4711-ab0000000000000000000000000000cd.rec",
        "0-ab0000000000000000000000000000cd-0000000000000f00.rec",
        "4711-Ab0000000000000000000000000000cd-0000000000000f00.rec",
        "4711-ab0000000000000000000000000000cd-0000000000000f00.raw",
        "99999999999-ab0000000000000000000000000000cd-0000000000000f00.rec",
        "4711-ab0000000000000000000000000000cd-0000000000000f000.rec",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(sbx_recording_name_parse(others[i], &again));
    }
}

static void test_loc_06_a_recording_of_another_spool_waits_for_who_has_it(void **state)
{
    struct fixture *fixture = *state;
    char path[256], other[128];
    snprintf(other, sizeof other, "%s/other", fixture->folder);
    leave_stalled(fixture); /* its header names our spool */
    give_name(fixture, 1, other);
    recover(fixture);
    assert_int_equal(fixture->counts.others, 1);
    assert_int_equal(fixture->counts.killed + fixture->counts.failed, 0);
    assert_int_equal(list_raw(fixture, path, sizeof path), 0);
    assert_int_equal(access(fixture->path, F_OK), 0);
    assert_int_equal(sbx_recording_recover_folder(fixture->recordings, other, complain, fixture, &fixture->counts), 0);
    assert_int_equal(fixture->counts.killed, 1);
    assert_int_equal(access(fixture->path, F_OK), -1);
    assert_int_equal(list_raw(fixture, path, sizeof path), 0); /* it went into the other spool */
    snprintf(path, sizeof path, "%s/raw", other);
    empty_folder(path);

    /* Nobody recovers that spool: the recording is deleted a week after its death was seen. Its age at that time does
     * not matter. */
    snprintf(fixture->path, sizeof fixture->path, "%s/one.rec", fixture->recordings);
    leave_stalled(fixture);
    give_name(fixture, 2, other);
    const struct timespec long_ago[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    assert_int_equal(utimensat(AT_FDCWD, fixture->path, long_ago, 0), 0);
    recover(fixture);
    assert_int_equal(access(fixture->path, F_OK), 0);
    recover(fixture);
    assert_int_equal(access(fixture->path, F_OK), 0);
    assert_int_equal(utimensat(AT_FDCWD, fixture->path, long_ago, 0), 0);
    recover(fixture);
    assert_int_equal(access(fixture->path, F_OK), -1);
    assert_int_equal(list_raw(fixture, path, sizeof path), 0);
    empty_folder(other);
}

static void test_loc_07_its_id_is_that_of_its_name_and_no_snapshot_is_replaced(void **state)
{
    struct fixture *fixture = *state;
    struct sbx_snapshot *snapshot;
    char first[256], second[256], why[128];
    leave_stalled(fixture); /* always the same session: a writer tries to replace another's snapshot */
    recover(fixture);
    assert_int_equal(list_raw(fixture, first, sizeof first), 1);
    leave_stalled(fixture);
    give_name(fixture, 9, fixture->spool);
    recover(fixture);
    assert_int_equal(fixture->counts.killed, 1);
    assert_int_equal(list_raw(fixture, second, sizeof second), 2);
    assert_int_equal(unlink(first), 0);
    assert_int_equal(list_raw(fixture, second, sizeof second), 1);
    assert_int_equal(sbx_snapshot_read_file(second, &snapshot, why, sizeof why), 0);
    uint8_t id[16];
    sbx_recovery_snapshot_id((const uint8_t[16]){9, 7}, id);
    assert_memory_equal(snapshot->header.snapshot_id, id, 16);
    sbx_snapshot_destroy(snapshot);
}

static void test_loc_08_what_the_user_said_in_the_spool_holds_over_the_recording(void **state)
{
    struct fixture *fixture = *state;
    char path[256];
    assert_int_equal(mkdir(fixture->spool, 0700), 0);
    assert_int_equal(sbx_consent_write(fixture->spool, SBX_CONSENT_DENIED), 0);
    leave_stalled(fixture); /* the recording says that the user agreed */
    recover(fixture);
    assert_int_equal(fixture->counts.quiet, 1);
    assert_int_equal(list_raw(fixture, path, sizeof path), 0);
    assert_int_equal(access(fixture->path, F_OK), -1);
}

/* The recording names its pending snapshot, and may name that of another session. Recovery must not give that snapshot
 * its final name. */
static void test_loc_09_a_snapshot_of_another_session_gets_no_name_and_is_not_taken_away(void **state)
{
    struct fixture *fixture = *state;
    char path[256], temporary[300];
    leave_stalled(fixture);
    give_name(fixture, 3, fixture->spool);
    recover(fixture); /* of session 3 */
    assert_int_equal(list_raw(fixture, path, sizeof path), 1);
    snprintf(temporary, sizeof temporary, "%s/.%s-00000001.1.tmp", fixture->raw, strrchr(path, '/') + 1);
    assert_int_equal(rename(path, temporary), 0);
    int writer = open(temporary, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(writer, LOCK_EX | LOCK_NB), 0); /* its writer lives */

    for (uint32_t pending = SBX_PENDING_FIRED; pending <= SBX_PENDING_DURABLE; pending++) {
        snprintf(fixture->path, sizeof fixture->path, "%s/one.rec", fixture->recordings);
        struct sbx_recording_builder *builder = make_stalled(fixture);
        builder->header->process_start_ticks++;
        builder->header->note.open = 0;
        builder->header->pending.state = pending;
        sbx_recovery_snapshot_id((const uint8_t[16]){3, 7}, builder->header->pending.snapshot_id);
        sbx_recording_builder_destroy(builder);
        give_name(fixture, 4, fixture->spool);
        recover(fixture);
        assert_int_equal(fixture->counts.named, 0);
        assert_int_equal(access(temporary, F_OK), 0);
        assert_int_equal(access(fixture->path, F_OK), -1);
    }
    close(writer);
}

static void test_loc_10_folders_that_are_not_ours_alone_are_not_written_to(void **state)
{
    struct fixture *fixture = *state;
    char elsewhere[128], path[256];
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", fixture->folder);
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    assert_int_equal(mkdir(fixture->spool, 0700), 0);
    leave_stalled(fixture);
    assert_int_equal(symlink(elsewhere, fixture->raw), 0); /* raw is a link to another folder */
    recover(fixture);
    assert_int_equal(fixture->counts.failed, 1);
    assert_int_equal(unlink(fixture->raw), 0);
    assert_int_equal(chmod(fixture->spool, 0777), 0); /* every user may write there */
    recover(fixture);
    assert_int_equal(fixture->counts.failed, 1);
    assert_int_equal(chmod(fixture->spool, 0700), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(fixture->spool, 64001, 64001), 0); /* owned by another user */
        recover(fixture);
        assert_int_equal(fixture->counts.failed, 1);
        assert_int_equal(chown(fixture->spool, 0, 0), 0);
    }
    assert_int_equal(list_raw(fixture, path, sizeof path), 0);
    assert_int_equal(rmdir(elsewhere), 0);                 /* empty */
    assert_int_equal(chmod(fixture->recordings, 0777), 0); /* names in this folder prove nothing */
    assert_int_equal(
        sbx_recording_recover_folder(fixture->recordings, fixture->spool, complain, fixture, &fixture->counts), -EPERM);
    assert_int_equal(chmod(fixture->recordings, 0700), 0);
    recover(fixture);
    assert_int_equal(fixture->counts.killed, 1);
    assert_int_equal(list_raw(fixture, path, sizeof path), 1);
}

static void test_loc_11_what_is_no_file_of_an_agent_is_not_read(void **state)
{
    struct fixture *fixture = *state;
    char path[256], second[256];
    assert_int_equal(mkfifo(fixture->path, 0600), 0); /* opening it must not block */
    recover(fixture);
    assert_int_equal(fixture->counts.failed, 1);
    assert_int_equal(unlink(fixture->path), 0);
    leave_stalled(fixture);
    snprintf(second, sizeof second, "%s/second", fixture->folder);
    assert_int_equal(link(fixture->path, second), 0); /* the file has two names */
    recover(fixture);
    assert_int_equal(fixture->counts.failed, 1);
    assert_int_equal(unlink(second), 0);
    assert_int_equal(truncate(fixture->path, INT64_C(1) << 40), 0); /* a terabyte without content */
    recover(fixture);
    assert_int_equal(fixture->counts.failed, 1);
    assert_non_null(strstr(fixture->last_why, "too large"));
    assert_int_equal(list_raw(fixture, path, sizeof path), 0);
}

static void test_recording_that_another_recoverer_holds_is_left_to_it(void **state)
{
    struct fixture *fixture = *state;
    char path[256];
    leave_stalled(fixture);
    int fd = open(fixture->path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    recover(fixture);
    assert_int_equal(fixture->counts.locked, 1);
    assert_int_equal(access(fixture->path, F_OK), 0);
    assert_int_equal(list_raw(fixture, path, sizeof path), 0);
    close(fd);
    recover(fixture);
    assert_int_equal(fixture->counts.killed, 1);
}

static void test_quiet_and_clean_recordings_go_without_a_snapshot(void **state)
{
    struct fixture *fixture = *state;
    char path[256];
    struct sbx_recording_builder *builder = make_stalled(fixture);
    builder->header->process_start_ticks++;
    builder->header->note.open = 0;
    sbx_recording_builder_destroy(builder);
    recover(fixture);
    assert_int_equal(fixture->counts.quiet, 1);
    assert_int_equal(access(fixture->path, F_OK), -1);

    builder = make_stalled(fixture);
    builder->header->process_start_ticks++;
    builder->header->state = SBX_STATE_CLEAN;
    sbx_recording_builder_destroy(builder);
    recover(fixture);
    assert_int_equal(fixture->counts.clean, 1);
    assert_int_equal(access(fixture->path, F_OK), -1);
    assert_int_equal(list_raw(fixture, path, sizeof path), 0);
}

static void write_file(const char *path, const char *text, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void test_files_that_are_no_recordings_are_told_and_left(void **state)
{
    struct fixture *fixture = *state;
    char other[160], link[160];
    write_file(fixture->path, "something else", 14);
    snprintf(other, sizeof other, "%s/notes.txt", fixture->recordings); /* a file that is not ours */
    write_file(other, "x", 1);
    snprintf(link, sizeof link, "%s/link.rec", fixture->recordings);
    assert_int_equal(symlink(other, link), 0);
    recover(fixture);
    assert_int_equal(fixture->counts.failed, 2);
    assert_int_equal(fixture->complaints, 2);
    assert_int_equal(access(fixture->path, F_OK), 0);
    assert_int_equal(access(other, F_OK), 0);
    assert_int_equal(unlink(link), 0);
    recover(fixture);
    assert_non_null(strstr(fixture->last_why, "one.rec is not a recording"));
}

static void test_file_that_never_became_a_recording_goes_after_a_while(void **state)
{
    struct fixture *fixture = *state;
    const char zeroes[64] = {0};
    write_file(fixture->path, zeroes, sizeof zeroes);
    recover(fixture); /* its process may be starting: nothing is reported */
    assert_int_equal(fixture->counts.live, 1);
    assert_int_equal(fixture->counts.failed + fixture->complaints, 0);
    assert_int_equal(access(fixture->path, F_OK), 0);
    const struct timespec long_ago[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    assert_int_equal(utimensat(AT_FDCWD, fixture->path, long_ago, 0), 0);
    recover(fixture);
    assert_int_equal(fixture->counts.quiet, 1);
    assert_int_equal(access(fixture->path, F_OK), -1);
}

/* Write an empty recording of this process into the fixture's folder, as its recorder would name it. */
static void write_begun(struct fixture *fixture, pid_t pid)
{
    char name[SBX_RECORDING_NAME_BYTES];
    struct stat spool;
    assert_int_equal(stat(fixture->spool, &spool), 0);
    const struct sbx_recording_name says = {.pid = (uint32_t)pid, .session_id = {7}, .spool = sbx_spool_mark(&spool)};
    sbx_recording_name_print(&says, name);
    snprintf(fixture->path, sizeof fixture->path, "%s/%s", fixture->recordings, name);
    write_file(fixture->path, "", 0);
}

static void test_what_a_process_had_only_begun_goes_at_once_when_it_has_ended(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(mkdir(fixture->spool, 0700), 0);
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    write_begun(fixture, child);
    recover(fixture);
    assert_int_equal(fixture->counts.live, 1);
    assert_int_equal(access(fixture->path, F_OK), 0);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    recover(fixture);
    assert_int_equal(fixture->counts.quiet, 1);
    assert_int_equal(fixture->counts.failed + fixture->complaints, 0);
    assert_int_equal(access(fixture->path, F_OK), -1);
}

static void test_folder_that_does_not_exist_holds_nothing(void **unused)
{
    (void)unused;
    struct sbx_recovery_counts counts;
    assert_int_equal(sbx_recording_recover_folder("/nonexistent/folder", "/tmp", NULL, NULL, &counts), 0);
    assert_int_equal(counts.live + counts.killed + counts.quiet + counts.clean + counts.failed, 0);
    assert_int_equal(sbx_recording_recover_folder("/proc/self/stat", "/tmp", NULL, NULL, &counts), -ENOTDIR);
}

int main(void)
{
#define WITH_FOLDERS(test) cmocka_unit_test_setup_teardown(test, make_folders, remove_folders)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decision_follows_the_process_and_the_note),
        cmocka_unit_test(test_what_had_fired_counts_when_nothing_worse_is_known),
        cmocka_unit_test(test_a_message_that_was_told_as_slow_has_ended_though_its_note_stands),
        cmocka_unit_test(test_a_pid_of_another_namespace_says_nothing_and_the_lock_everything),
        cmocka_unit_test(test_a_fatal_signal_is_a_crash_whoever_saw_it_unless_switched_off),
        cmocka_unit_test(test_trigger_reaches_from_the_note_to_the_last_sign_of_life),
        cmocka_unit_test(test_trigger_of_a_crash_is_about_the_thread_that_got_the_signal),
        cmocka_unit_test(test_snapshot_id_is_the_same_each_time_and_not_the_session),
        cmocka_unit_test(test_facts_tell_the_living_from_the_dead_and_from_zombies),
        cmocka_unit_test(test_a_process_that_the_kernel_is_ending_is_told_from_one_that_lives),
        cmocka_unit_test(test_a_name_says_pid_session_and_spool_and_others_say_nothing),
        WITH_FOLDERS(test_loc_06_a_recording_of_another_spool_waits_for_who_has_it),
        WITH_FOLDERS(test_loc_07_its_id_is_that_of_its_name_and_no_snapshot_is_replaced),
        WITH_FOLDERS(test_loc_08_what_the_user_said_in_the_spool_holds_over_the_recording),
        WITH_FOLDERS(test_loc_09_a_snapshot_of_another_session_gets_no_name_and_is_not_taken_away),
        WITH_FOLDERS(test_loc_10_folders_that_are_not_ours_alone_are_not_written_to),
        WITH_FOLDERS(test_loc_11_what_is_no_file_of_an_agent_is_not_read),
        WITH_FOLDERS(test_process_killed_in_a_stall_leaves_one_snapshot),
        WITH_FOLDERS(test_recovery_repeated_after_a_break_yields_the_same_snapshot),
        WITH_FOLDERS(test_recoverer_killed_between_its_steps_leaves_one_snapshot),
        WITH_FOLDERS(test_many_recoverers_at_one_moment_make_one_snapshot),
        WITH_FOLDERS(test_a_recording_of_another_version_is_left_for_it_a_week_and_nobody_is_told),
        WITH_FOLDERS(test_death_that_its_parent_knows_of_is_believed_of_that_process_only),
        WITH_FOLDERS(test_crash_before_any_thread_was_met_is_told_of_the_first_thread),
        WITH_FOLDERS(test_death_for_want_of_memory_is_a_crash),
        WITH_FOLDERS(test_spool_that_cannot_be_written_keeps_the_recording),
        WITH_FOLDERS(test_recording_without_a_spool_goes_to_the_default),
        WITH_FOLDERS(test_recording_that_another_recoverer_holds_is_left_to_it),
        WITH_FOLDERS(test_quiet_and_clean_recordings_go_without_a_snapshot),
        WITH_FOLDERS(test_files_that_are_no_recordings_are_told_and_left),
        WITH_FOLDERS(test_file_that_never_became_a_recording_goes_after_a_while),
        WITH_FOLDERS(test_what_a_process_had_only_begun_goes_at_once_when_it_has_ended),
        cmocka_unit_test(test_folder_that_does_not_exist_holds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
