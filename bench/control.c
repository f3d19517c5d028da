/* SPDX-License-Identifier: Apache-2.0 */
/* control.c - the control page of another process, or of this one. */
#include "control.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "order.h"
#include "recording_file.h"
#include "recording_folder.h"

enum {
    ANSWER_MS = 10000
};

static struct sbx_recording_header *map(const char *path)
{
    struct stat status;
    int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) {
        return NULL;
    }
    void *mapping = MAP_FAILED;
    if (fstat(file, &status) == 0 && (size_t)status.st_size > sizeof(struct sbx_recording_header)) {
        mapping = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    close(file);
    struct sbx_recording_header *header = mapping == MAP_FAILED ? NULL : mapping;
    if (header != NULL && header->layout_hash == sbx_layout_hash() &&
        sbx_load_acquire(&header->state) == SBX_STATE_LIVE) { /* order: acquire header.state */
        return header;
    }
    if (header != NULL) {
        munmap(header, (size_t)status.st_size);
    }
    return NULL;
}

struct sbx_recording_header *bench_control_open(const char *folder, uint32_t pid)
{
    char fallback[SBX_RECORDING_PATH_MAX], prefix[24], path[SBX_RECORDING_PATH_MAX + NAME_MAX + 2];
    if (folder == NULL) {
        if (sbx_recordings_choose(fallback, NULL, 0) != 0) {
            return NULL;
        }
        folder = fallback;
    }
    snprintf(prefix, sizeof prefix, "%u-", pid);
    DIR *listing = opendir(folder);
    struct sbx_recording_header *header = NULL;
    for (struct dirent *entry = listing != NULL ? readdir(listing) : NULL; entry != NULL && header == NULL;
         entry = readdir(listing)) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            header = map(path);
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
    return header;
}

struct sbx_control_page *bench_control_page(struct sbx_recording_header *header)
{
    return (struct sbx_control_page *)(void *)((char *)header + SBX_CONTROL_AT);
}

bool bench_control_order(struct sbx_recording_header *header, const struct sbx_capture_settings *wanted)
{
    struct sbx_control_page *control = bench_control_page(header);
    control->wanted = *wanted;
    /* order: release control.generation - `wanted` is whole */
    uint32_t generation = sbx_add_acq_rel(&control->generation, 1) + 1;
    sbx_add_acq_rel(&control->bell, 1); /* order: release bell - what was written before is seen by the watch thread */
    syscall(SYS_futex, &control->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    /* With a budget the governor may want fewer. */
    uint64_t hooked = wanted->enabled != 0 ? wanted->points | SBX_POINT_BIT(SBX_GROUP_LOADER) : 0;
    for (int waited_ms = 0; waited_ms < ANSWER_MS; waited_ms++) {
        if (sbx_load_acquire(&control->applied) == generation && /* order: acquire control.applied */
            (sbx_load_relaxed(&header->hooked_slots) != 0) == (wanted->enabled != 0) &&
            (wanted->max_cpu_permille != 0 ||
             sbx_load_acquire(&control->hooked_points) == hooked)) { /* order: acquire control.hooked_points */
            return true;
        }
        const struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
    }
    return false;
}
