/* SPDX-License-Identifier: Apache-2.0 */
/* control.c - the control page of this process, or of another one. */
#include "control.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "control_order.h"
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

bool bench_control_order(struct sbx_recording_header *header, const struct sbx_capture_settings *wanted)
{
    struct sbx_control_page *control = sbx_control_page_of(header);
    control->wanted = *wanted;
    uint32_t generation = sbx_control_order(control);
    for (int waited_ms = 0; waited_ms < ANSWER_MS; waited_ms++) {
        /* With a budget, the governor may use fewer hooks. */
        if (sbx_control_is_taken(control, generation, wanted->max_cpu_permille == 0) &&
            (sbx_load_relaxed(&header->hooked_slots) != 0) == (wanted->enabled != 0)) {
            return true;
        }
        const struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
    }
    return false;
}
