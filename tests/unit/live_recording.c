/* SPDX-License-Identifier: Apache-2.0 */
/* live_recording.c - a mapping of a recording in use, and orders. */
#include "live_recording.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "order.h"
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

struct sbx_control_page *live_recording_control(struct sbx_recording_header *header)
{
    return (struct sbx_control_page *)(void *)((char *)header + SBX_CONTROL_AT);
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
    const struct sbx_capture_settings *wanted = &control->wanted;
    uint64_t hooked = wanted->enabled != 0 ? wanted->points | SBX_POINT_BIT(SBX_GROUP_LOADER) : 0, begin_ms = now_ms();
    /* order: release control.generation - `wanted` is whole */
    uint32_t generation = sbx_add_acq_rel(&control->generation, 1) + 1;
    sbx_add_acq_rel(&control->bell, 1); /* order: release bell */
    syscall(SYS_futex, &control->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    do {
        /* order: acquire control.applied - what is in force is there; hooked_points - so are the hooks */
        if (sbx_load_acquire(&control->applied) == generation &&
            (!hooks || sbx_load_acquire(&control->hooked_points) == hooked)) {
            return true;
        }
        syscall(SYS_nanosleep, &pause, NULL);
    } while (now_ms() - begin_ms < patience_ms);
    return false;
}
