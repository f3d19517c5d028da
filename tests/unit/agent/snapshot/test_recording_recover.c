/* SPDX-License-Identifier: Apache-2.0 */
/* test_recording_recover.c - what a dead process left becomes one snapshot when a stall killed it, else nothing. */
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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "order.h"
#include "recording_builder.h"
#include "recording_recover.h"

/* ---- decisions ---- */

static void test_decision_follows_the_process_and_the_note(void **unused)
{
    (void)unused;
    const struct sbx_recording_header live = {.state = SBX_STATE_LIVE, .process_start_ticks = 500, .boot_id = {1, 2}};
    const struct sbx_process_facts running = {.is_running = true, .start_ticks = 500, .boot_id = {1, 2}};
    struct sbx_recording_header header = live;
    struct sbx_process_facts facts = running;
    header.note.open = 1;
    assert_int_equal(sbx_recovery_decide(&header, &facts), SBX_RECOVERY_LIVE);
    facts.start_ticks = 501; /* another process has the pid now */
    assert_int_equal(sbx_recovery_decide(&header, &facts), SBX_RECOVERY_KILLED);
    facts = running;
    facts.boot_id[15] = 9; /* the machine was started anew */
    assert_int_equal(sbx_recovery_decide(&header, &facts), SBX_RECOVERY_KILLED);
    facts = running;
    facts.is_running = false;
    assert_int_equal(sbx_recovery_decide(&header, &facts), SBX_RECOVERY_KILLED);
    header.note.open = 0;
    assert_int_equal(sbx_recovery_decide(&header, &facts), SBX_RECOVERY_QUIET);
    header.state = SBX_STATE_CLEAN;
    assert_int_equal(sbx_recovery_decide(&header, &facts), SBX_RECOVERY_CLEAN);
    header.note.open = 1; /* stopped in order: whatever the note says, nothing was killed */
    assert_int_equal(sbx_recovery_decide(&header, &facts), SBX_RECOVERY_CLEAN);
    assert_int_equal(sbx_recovery_decide(&header, &running), SBX_RECOVERY_LIVE);
    header.state = SBX_STATE_STARTING;
    assert_int_equal(sbx_recovery_decide(&header, &facts), SBX_RECOVERY_QUIET);
}

static void test_trigger_reaches_from_the_note_to_the_last_sign_of_life(void **unused)
{
    (void)unused;
    struct sbx_record records[2] = {{.end_ns = 100}, {.end_ns = 7000}};
    struct sbx_snapshot recording = {.records = records, .record_count = 2, .settings = {.note_ms = 300}};
    recording.header.heartbeat_ns = 6000;
    recording.header.note = (struct sbx_note){.open = 1, .thread = 4, .message = 17, .begin_ns = 5000};
    struct sbx_trigger_entry trigger = sbx_recovery_trigger(&recording);
    assert_int_equal(trigger.kind, SBX_TRIGGER_KILLED);
    assert_int_equal(trigger.thread, 4);
    assert_int_equal(trigger.message, 17);
    assert_int_equal(trigger.begin_ns, 5000);
    assert_int_equal(trigger.end_ns, 7000); /* the newest record is later than the heartbeat */
    assert_int_equal(trigger.threshold_ms, 300);
    assert_int_equal(trigger.in_progress, 1);
    recording.header.heartbeat_ns = 8000;
    assert_int_equal(sbx_recovery_trigger(&recording).end_ns, 8000);
    recording.header.heartbeat_ns = 0;
    recording.record_count = 0;
    assert_int_equal(sbx_recovery_trigger(&recording).end_ns, 5000); /* never before it began */
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
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0); /* dead, and not yet buried */
    assert_int_equal(sbx_process_facts_read((uint32_t)child, &child_facts), 0);
    assert_false(child_facts.is_running);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(sbx_process_facts_read((uint32_t)child, &child_facts), 0);
    assert_false(child_facts.is_running);
    assert_memory_equal(child_facts.boot_id, own.boot_id, 16);
}

/* ---- folders ---- */

struct fixture {
    char folder[64], recordings[96], spool[96], raw[128], path[128];
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
    assert_int_equal(sbx_recording_recover_folder(fixture->recordings, fixture->spool, complain, fixture,
                                                  &fixture->counts),
                     0);
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

/* What the recording of a process that hangs in a message looks like. The calling process is the one it names. */
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
        struct sbx_record record = {.kind = SBX_RECORD_ALLOC, .op = SBX_OP_MALLOC, .begin_ns = 1000 + i,
                                    .end_ns = 1000 + i, .message = 8, .stack = stack};
        sbx_recording_put(builder, &record);
    }
    builder->header->heartbeat_ns = 5000;
    builder->header->note = (struct sbx_note){.thread = 0, .message = 8, .begin_ns = 1000};
    sbx_store_release(&builder->header->note.open, 1); /* order: release note.open - the fields above come first */
    return builder;
}

/* The same, of a process that is no more. */
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
        for (uint64_t i = 0;; i++) { /* it goes on writing until the moment it is killed */
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

    recover(fixture); /* it lives: nothing happens */
    assert_int_equal(fixture->counts.live, 1);
    assert_int_equal(list_raw(fixture, path, sizeof path), 0);

    assert_int_equal(kill(child, SIGKILL), 0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    recover(fixture); /* a zombie is dead enough */
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

    recover(fixture); /* and once is enough */
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
    snprintf(other, sizeof other, "%s/notes.txt", fixture->recordings); /* not ours to look at */
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
    recover(fixture); /* perhaps its process is just starting */
    assert_int_equal(fixture->counts.failed, 1);
    assert_int_equal(access(fixture->path, F_OK), 0);
    const struct timespec long_ago[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    assert_int_equal(utimensat(AT_FDCWD, fixture->path, long_ago, 0), 0);
    recover(fixture);
    assert_int_equal(fixture->counts.quiet, 1);
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
        cmocka_unit_test(test_trigger_reaches_from_the_note_to_the_last_sign_of_life),
        cmocka_unit_test(test_snapshot_id_is_the_same_each_time_and_not_the_session),
        cmocka_unit_test(test_facts_tell_the_living_from_the_dead_and_from_zombies),
        WITH_FOLDERS(test_process_killed_in_a_stall_leaves_one_snapshot),
        WITH_FOLDERS(test_recovery_repeated_after_a_break_yields_the_same_snapshot),
        WITH_FOLDERS(test_spool_that_cannot_be_written_keeps_the_recording),
        WITH_FOLDERS(test_recording_without_a_spool_goes_to_the_default),
        WITH_FOLDERS(test_recording_that_another_recoverer_holds_is_left_to_it),
        WITH_FOLDERS(test_quiet_and_clean_recordings_go_without_a_snapshot),
        WITH_FOLDERS(test_files_that_are_no_recordings_are_told_and_left),
        WITH_FOLDERS(test_file_that_never_became_a_recording_goes_after_a_while),
        cmocka_unit_test(test_folder_that_does_not_exist_holds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
