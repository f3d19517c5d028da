/* SPDX-License-Identifier: Apache-2.0 */
/* recorded_child.c - the child is a fork of the test that starts the library it is linked with, as an application
 * does. */
#include "recorded_child.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "order.h"
#include "stallbox/stallbox.h"

static char folder[64], spool[96], recordings[96];

void pause_ms(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&pause, NULL) != 0 && errno == EINTR) {
    }
}

void expect(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "in the child: not so: %s\n", what);
        _exit(1);
    }
}

static atomic_int about_to_wait;

void say_about_to_wait(void)
{
    about_to_wait++;
}

void let_them_wait(int count)
{
    while (about_to_wait < count) {
        pause_ms(1);
    }
    about_to_wait -= count;
    pause_ms(50);
}

/* The path of the only file in `path` that ends in `suffix`. */
static bool find_file(const char *path, const char *suffix, char *found, size_t bytes)
{
    int count = 0;
    DIR *listing = opendir(path);
    for (struct dirent *entry = listing != NULL ? readdir(listing) : NULL; entry != NULL; entry = readdir(listing)) {
        size_t length = strlen(entry->d_name), suffix_length = strlen(suffix);
        if (length > suffix_length && strcmp(entry->d_name + length - suffix_length, suffix) == 0) {
            snprintf(found, bytes, "%s/%s", path, entry->d_name);
            count++;
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
    return count == 1;
}

/* Change the settings as `stallbox ctl` does, and wait until they are in force and the hooks have followed. */
static void set(bool enabled, uint32_t points)
{
    char path[512];
    expect(find_file(recordings, SBX_RECORDING_SUFFIX, path, sizeof path), "there is a recording");
    int file = open(path, O_RDWR | O_CLOEXEC);
    uint8_t *mapping = mmap(NULL, SBX_CONTROL_AT + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    expect(mapping != MAP_FAILED, "the recording can be mapped");
    struct sbx_recording_header *header = (struct sbx_recording_header *)(void *)mapping;
    struct sbx_control_page *control = (struct sbx_control_page *)(void *)(mapping + SBX_CONTROL_AT);
    control->wanted = control->in_force;
    control->wanted.enabled = enabled;
    control->wanted.points = points != 0 ? points : control->in_force.points;
    sbx_add_acq_rel(&control->generation, 1);
    while (sbx_load_acquire(&control->applied) != control->generation ||
           (sbx_load_acquire(&header->hooked_slots) != 0) != enabled) {
        sbx_add_acq_rel(&control->bell, 1);
        syscall(SYS_futex, &control->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
        pause_ms(5);
    }
    munmap(mapping, SBX_CONTROL_AT + 4096);
}

void set_recording(bool enabled)
{
    set(enabled, 0);
}

void set_points(uint32_t points)
{
    set(true, points);
    pause_ms(50); /* the hooks follow within milliseconds */
}

static void run_child(void (*body)(void))
{
    struct stallbox_options options = {.sizeof_options = sizeof options,
                                       .spool_path = spool,
                                       .recording_path = recordings,
                                       .anr_ms = 60000,
                                       .slow_message_ms = 60000};
    unsetenv("STALLBOX_DISABLE");
    alarm(50);
    enum stallbox_result result = stallbox_start(&options);
    expect(result == STALLBOX_OK, stallbox_result_name(result));
    pause_ms(100); /* the unwind rows of the executable are compiled meanwhile */
    body();
    expect(stallbox_snapshot(5000) == STALLBOX_OK, "a snapshot is made");
    stallbox_stop(5000);
    _exit(0);
}

struct sbx_snapshot *run_recorded(void (*body)(void))
{
    char raw[128], path[512] = "", why[200] = "", command[128];
    int status = 0;
    snprintf(folder, sizeof folder, "/tmp/sbx-test-points-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(spool, sizeof spool, "%s/spool", folder);
    snprintf(recordings, sizeof recordings, "%s/recordings", folder);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        run_child(body);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    struct sbx_snapshot *snapshot = NULL;
    snprintf(raw, sizeof raw, "%s/raw", spool);
    bool is_there = find_file(raw, SBX_RAW_SUFFIX, path, sizeof path);
    int error = is_there ? sbx_snapshot_read_file(path, &snapshot, why, sizeof why) : -ENOENT;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(status, 0);
    if (error != 0) {
        fail_msg("%s: %s", path, why);
    }
    return snapshot;
}

bool passes_through(const struct sbx_snapshot *snapshot, const struct sbx_record *record, void *function)
{
    uint64_t frames[600];
    size_t count = sbx_snapshot_stack(snapshot, record->stack, frames, 600);
    if (count == 0 || count > 600) {
        return false;
    }
#ifdef __GLIBC__ /* musl has no rows: a stack ends where its code begins */
    if (frames[count - 1] >> SBX_FRAME_MODULE_SHIFT == SBX_MODULE_END) {
        return false;
    }
#endif
    for (size_t i = 0; i < count; i++) {
        uint32_t module = (uint32_t)(frames[i] >> SBX_FRAME_MODULE_SHIFT);
        if (module < snapshot->module_count && (snapshot->modules[module].flags & SBX_MODULE_MAIN) != 0) {
            uint64_t address = (frames[i] & SBX_FRAME_OFFSET_MASK) + snapshot->modules[module].bias;
            if (address - (uint64_t)(uintptr_t)function < 512) { /* the child is a fork: addresses are the same */
                return true;
            }
        }
    }
    return false;
}

uint32_t tid_of_record(const struct sbx_snapshot *snapshot, const struct sbx_record *record)
{
    return snapshot->threads[record->thread].entry.tid;
}

int count_pairs(const struct sbx_snapshot *snapshot, const struct expected_wait *expected)
{
    int pairs = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *wait = &snapshot->records[i];
        if (wait->kind != expected->kind || wait->op != expected->op ||
            !passes_through(snapshot, wait, expected->waiter)) {
            continue;
        }
        assert_true(wait->begin_ns < wait->end_ns);
        assert_int_not_equal(wait->wait, 0);
        for (size_t j = 0; j < snapshot->record_count; j++) {
            const struct sbx_record *wake = &snapshot->records[j];
            if (wake->kind != SBX_RECORD_WAKE || wake->wait != wait->wait || wake->op != expected->wake_op) {
                continue;
            }
            assert_int_equal(wake->object, wait->object);
            assert_int_equal(wake->peer, tid_of_record(snapshot, wait));
            assert_int_not_equal(wake->thread, wait->thread);
            assert_true(wake->amount >= 1);
            if (expected->kind != SBX_RECORD_LOCK) {
                assert_int_equal(wait->peer, tid_of_record(snapshot, wake));
            }
            if (expected->waker == NULL || passes_through(snapshot, wake, expected->waker)) {
                pairs++;
                break;
            }
        }
    }
    return pairs;
}

const struct sbx_record *only_record(const struct sbx_snapshot *snapshot, uint8_t kind, uint8_t op, void *function)
{
    const struct sbx_record *found = NULL;
    int count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->kind == kind && record->op == op && passes_through(snapshot, record, function)) {
            found = record;
            count++;
        }
    }
    assert_int_equal(count, 1);
    return found;
}
