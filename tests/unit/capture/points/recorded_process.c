/* SPDX-License-Identifier: Apache-2.0 */
/* recorded_process.c - see recorded_process.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorded_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "order.h"
#include "stallbox/stallbox.h"

static char folder[64], spool[96], recordings[96], files[96];
static struct sbx_recording_header *header;

int recorded_process_set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/stallbox-points-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(spool, sizeof spool, "%s/spool", folder);
    snprintf(recordings, sizeof recordings, "%s/recordings", folder);
    snprintf(files, sizeof files, "%s/files", folder);
    assert_int_equal(mkdir(files, 0700), 0);
    return 0;
}

int recorded_process_tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

const char *recorded_process_folder(void)
{
    return files;
}

int recorded_process_run(void (*body)(void))
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
    return status;
}

struct sbx_snapshot *recorded_process_snapshot(void)
{
    char raw[128], path[512] = "", why[200] = "";
    snprintf(raw, sizeof raw, "%s/raw", spool);
    DIR *listing = opendir(raw);
    assert_non_null(listing);
    int found = 0;
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        if (strstr(entry->d_name, SBX_RAW_SUFFIX) != NULL) {
            snprintf(path, sizeof path, "%s/%s", raw, entry->d_name);
            found++;
        }
    }
    closedir(listing);
    assert_int_equal(found, 1);
    struct sbx_snapshot *snapshot = NULL;
    if (sbx_snapshot_read_file(path, &snapshot, why, sizeof why) != 0) {
        fail_msg("%s: %s", path, why);
    }
    return snapshot;
}

void child_expect(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "in the child: not so: %s (errno %d)\n", what, errno);
        _exit(1);
    }
}

void child_pause_ms(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    syscall(SYS_nanosleep, &pause, NULL); /* past every point */
}

static void map_recording(void)
{
    char path[400] = "";
    DIR *listing = opendir(recordings);
    child_expect(listing != NULL, "the recordings folder is there");
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        if (strstr(entry->d_name, SBX_RECORDING_SUFFIX) != NULL) {
            snprintf(path, sizeof path, "%s/%s", recordings, entry->d_name);
        }
    }
    closedir(listing);
    int file = open(path, O_RDWR | O_CLOEXEC);
    struct stat status;
    child_expect(file >= 0 && fstat(file, &status) == 0, "the recording opens");
    header = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    child_expect(header != MAP_FAILED, "the recording maps");
}

void child_start(void)
{
    struct stallbox_options options = {.sizeof_options = sizeof options,
                                       .spool_path = spool,
                                       .recording_path = recordings,
                                       .anr_ms = 60000,
                                       .slow_message_ms = 60000};
    child_expect(stallbox_start(&options) == STALLBOX_OK, "the recorder starts");
    map_recording();
    child_pause_ms(50); /* rows of the executable */
}

void child_finish(void)
{
    child_expect(stallbox_snapshot(5000) == STALLBOX_OK, "a snapshot is made");
    stallbox_stop(5000);
}

struct sbx_recording_header *child_header(void)
{
    return header;
}

struct sbx_thread_entry *child_entry(void)
{
    struct sbx_thread_entry *entries = (struct sbx_thread_entry *)((char *)header + header->threads.at);
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    for (uint32_t i = 0; i < header->thread_count; i++) {
        if (entries[i].tid == tid && entries[i].state == SBX_THREAD_LIVE) {
            return &entries[i];
        }
    }
    return NULL;
}

void child_set_points(uint32_t points)
{
    struct sbx_control_page *control = (struct sbx_control_page *)((char *)header + SBX_CONTROL_AT);
    control->wanted = control->in_force;
    control->wanted.points = points;
    sbx_add_acq_rel(&control->generation, 1);
    sbx_add_acq_rel(&control->bell, 1);
    syscall(SYS_futex, &control->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    uint32_t wanted = points | SBX_POINT_BIT(SBX_GROUP_LOADER);
    for (int waited_ms = 0; waited_ms < 10000; waited_ms++) {
        if (sbx_load_acquire(&control->hooked_points) == wanted) {
            return;
        }
        child_pause_ms(1);
    }
    child_expect(false, "the hooks follow the control page");
}
