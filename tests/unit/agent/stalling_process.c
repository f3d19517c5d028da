/* SPDX-License-Identifier: Apache-2.0 */
/* stalling_process.c - a child process that runs the recorder, and the snapshots that it leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stalling_process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "control_order.h"
#include "live_recording.h"
#include "order.h"
#include "snapshot_folder.h"

static char folder[64], spool[96], recordings[96], rows[96];

int stalling_process_set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/sbx-test-stall-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(spool, sizeof spool, "%s/spool", folder);
    snprintf(recordings, sizeof recordings, "%s/recordings", folder);
    snprintf(rows, sizeof rows, "%s/rows", folder); /* not the developer's own row cache */
    return setenv("STALLBOX_ROWS", rows, 1);
}

int stalling_process_tear_down(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 ? 0 : -1;
}

const char *stalling_process_spool(void)
{
    return spool;
}

const char *stalling_process_recordings(void)
{
    return recordings;
}

void stalling_process_run(void (*body)(void))
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        unsetenv("STALLBOX_DISABLE");
        alarm(50);
        body();
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

void stalling_process_snapshots(unsigned count, struct sbx_snapshot *snapshots_out[SNAPSHOTS_MAX])
{
    char raw[128], why[700] = "";
    snprintf(raw, sizeof raw, "%s/raw", spool);
    unsigned found = snapshot_folder_read(raw, snapshots_out, SNAPSHOTS_MAX, why, sizeof why);
    for (unsigned i = 0; found != count && i < found; i++) {
        const struct sbx_trigger_entry *trigger = &snapshots_out[i]->header.trigger;
        print_message("snapshot of kind %u, %llu ms\n", trigger->kind,
                      (unsigned long long)(trigger->end_ns - trigger->begin_ns) / 1000000);
    }
    if (found != count) {
        fail_msg("%u snapshots instead of %u %s", found, count, why);
    }
}

struct sbx_snapshot *stalling_process_snapshot(void)
{
    struct sbx_snapshot *snapshots[SNAPSHOTS_MAX];
    stalling_process_snapshots(1, snapshots);
    return snapshots[0];
}

struct stallbox_options stalling_options(void)
{
    return (struct stallbox_options){.sizeof_options = sizeof(struct stallbox_options),
                                     .spool_path = spool,
                                     .recording_path = recordings,
                                     .anr_ms = 60000,
                                     .slow_message_ms = 60000,
                                     .slow_frame_ms = 60000};
}

void stalling_start(const struct stallbox_options *options)
{
    enum stallbox_result result = stallbox_start(options);
    if (result != STALLBOX_OK) {
        fprintf(stderr, "start: %s\n", stallbox_result_name(result));
        _exit(1);
    }
}

void stalling_expect(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "in the child: not so: %s\n", what);
        _exit(1);
    }
}

void stalling_pause_ms(long ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&pause, &pause) != 0 && errno == EINTR) {
    }
}

uint64_t stalling_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

struct sbx_recording_header *stalling_own_recording(void)
{
    struct sbx_recording_header *header = live_recording_map(recordings);
    stalling_expect(header != NULL, "the recording is there");
    return header;
}

enum {
    PATIENCE_MS = 60000
};

bool stalling_order(struct sbx_recording_header *header, const struct sbx_capture_settings *wanted)
{
    struct sbx_control_page *control = sbx_control_page_of(header);
    control->wanted = *wanted;
    return live_recording_order(control, false, PATIENCE_MS);
}

void stalling_spend_until_shed(const struct sbx_overhead *overhead, void (*spend)(void))
{
    const uint64_t points = SBX_POINT_BIT(SBX_GROUP_ALLOC);
    uint64_t begin_ms = stalling_now_ms();
    /* order: acquire overhead.shed */
    while ((sbx_load_acquire(&overhead->shed) & points) != points && stalling_now_ms() - begin_ms < PATIENCE_MS) {
        spend();
    }
    stalling_expect((overhead->shed & points) == points, "the allocation points are shed");
}
