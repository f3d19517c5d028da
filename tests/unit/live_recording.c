/* SPDX-License-Identifier: Apache-2.0 */
/* live_recording.c - maps a recording in use, and gives it orders. */
#include "live_recording.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "control_order.h"
#include "snapshot_folder.h"

struct sbx_recording_header *live_recording_map(const char *folder)
{
    char path[600];
    struct stat status;
    if (snapshot_folder_find(folder, SBX_RECORDING_SUFFIX, path, sizeof path) != 1) {
        return NULL;
    }
    int file = open(path, O_RDWR | O_CLOEXEC);
    void *map = file >= 0 && fstat(file, &status) == 0
                    ? mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                    : MAP_FAILED;
    if (file >= 0) {
        close(file);
    }
    return map != MAP_FAILED ? map : NULL;
}

static uint64_t now_ms(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

bool live_recording_order(struct sbx_control_page *control, bool hooks, uint64_t patience_ms)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    uint64_t begin_ms = now_ms();
    uint32_t generation = sbx_control_order(control);
    do {
        if (sbx_control_is_taken(control, generation, hooks)) {
            return true;
        }
        syscall(SYS_nanosleep, &pause, NULL);
    } while (now_ms() - begin_ms < patience_ms);
    return false;
}
