/* SPDX-License-Identifier: Apache-2.0 */
/* point_sync.c - waits for storage: the fsync family. */
#include "point.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define SYNCS(name, parameters, arguments, op, fd, amount)                                   \
    SBX_BLOCKING_HOOK(int, name, parameters, arguments, SBX_GROUP_SYNC, SBX_RECORD_SYNC, op, \
                      (fd) >= 0 ? (uint64_t)(fd) + 1 : 0, amount, result < 0, fd)

SYNCS(fsync, (int fd), (fd), SBX_OP_FSYNC, fd, 0)
SYNCS(fdatasync, (int fd), (fd), SBX_OP_FDATASYNC, fd, 0)
SYNCS(syncfs, (int fd), (fd), SBX_OP_SYNCFS, fd, 0)
SYNCS(sync_file_range, (int fd, off64_t at, off64_t bytes, unsigned flags), (fd, at, bytes, flags),
      SBX_OP_SYNC_FILE_RANGE, fd, bytes > 0 ? bytes : 0)
SYNCS(msync, (void *memory, size_t bytes, int flags), (memory, bytes, flags), SBX_OP_MSYNC, -1, bytes)

static void (*real_sync)(void);
static void hook_sync(void)
{
    struct sbx_blocking call;
    SBX_SAVE_FRAME_POINTER();
    sbx_blocking_begin(&call, SBX_GROUP_SYNC, SBX_RECORD_SYNC, SBX_OP_SYNC, 0, 0);
    real_sync();
    sbx_blocking_end(&call, 0, false, -1);
}

#define POINT(name) SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_SYNC)
static const struct sbx_point points[] = {
    POINT(fsync), POINT(fdatasync), POINT(syncfs), POINT(sync_file_range), POINT(msync), POINT(sync),
};
const struct sbx_point_list sbx_points_sync = SBX_POINT_LIST(points);
